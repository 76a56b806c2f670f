/* Closed loop: picture, sentence and state go to a policy through vact.h, as any robot's would; the first actions of its
 * chunk are carried out, then it looks again. */
#ifndef VACT_DEMO_EPISODE_H
#define VACT_DEMO_EPISODE_H

#include "demo/table.h"
#include "vact.h"

/* What the policy is told. */
typedef enum demo_telling {
    DEMO_TELL_GOAL,   /* what is scored */
    DEMO_TELL_COLOUR, /* to take another block of the table */
    DEMO_TELL_ZONE    /* to take it to another zone */
} demo_telling;

typedef struct demo_task {
    int32_t max_steps;    /* 1..DEMO_MAX_STEPS */
    int32_t replan;       /* actions carried out of each chunk: 1..the policy's horizon */
    double camera_noise;  /* standard deviation of what is added to each value of the picture, of 255 */
    bool held_out;        /* sentences that the policy was never trained on */
    bool blind;           /* black pictures */
    demo_telling telling; /* DEMO_TELL_GOAL where there is a text */
    const char *text;     /* the user's own sentence; NULL: the table's. What it names is the goal */
    const float *noise;   /* [horizon, max_action_dim], of every prediction; NULL: from the episode's seed */
} demo_task;

/* As the policy was trained; and against its limits: fewer steps, whole chunks, a noisy camera, sentences that it never
 * saw (docs/QUALITY.md). */
extern const demo_task demo_plain, demo_hard;

/* What may be looked at while it runs; either may be NULL. */
typedef struct demo_watch {
    void *user;
    void (*moved)(void *user, const demo_table *table, int32_t step); /* before the first step (0) and after each */
    vact_status (*predicted)(void *user, const vact_request *request, const vact_reply *reply, vact_error *err);
} demo_watch;

typedef struct demo_episode {
    uint64_t seed;
    demo_table start;     /* its target and zone are the goal */
    const char *told;     /* as the policy got it; the runner's, until its next episode */
    bool scored;          /* false: the user's sentence doesn't name just one colour and one zone */
    bool solved;          /* the goal was reached; ends the episode, unless something else was told */
    bool as_told;         /* what was told was reached, at any time; as `solved` where that is the goal */
    int32_t steps;        /* until it was solved, or all */
    int32_t expert_steps; /* that the scripted expert takes from the same start */
} demo_episode;

typedef struct demo_runner demo_runner;

/* Borrows model, session and what the task points to. `name` stands for the policy in messages.
 * EMODEL: a policy for another robot: it reads no text, or state, actions or horizon don't fit. ENOMEM. */
vact_status demo_runner_open(demo_runner **out, const char *name, const vact_model *model, vact_session *session,
                             const demo_task *task, vact_error *err);
void demo_runner_close(demo_runner **runner); /* accepts NULL and a pointer to NULL */

/* The same seed gives the same table and the same start noise, whatever the policy. watch may be NULL.
 * *episode is filled in as far as it went, whatever is returned.
 * EINPUT: the task's text names a colour that no block of this table has. Else what vact_predict or `predicted` fails
 * with. */
vact_status demo_run(demo_runner *runner, uint64_t seed, const demo_watch *watch, demo_episode *episode,
                     vact_error *err);

#endif
