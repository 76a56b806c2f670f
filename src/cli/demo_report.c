#include "cli/demo_report.h"

#include "base/statistics.h"
#include "cli/cli.h"
#include "file/line.h"
#include <jansson.h>
#include <string.h>

static const char *const time_names[CLI_DEMO_TIMES] = { "total", "vision", "prefix", "denoise" };

/* ---- counting ---- */

typedef enum group { ZONE, COLOUR, SENTENCE, GROUPS, ALL = GROUPS } group;

static const struct {
    const char *name, *prefix; /* of a kind's label */
    int kinds;
} groups[GROUPS] = {
    { "zone", "zone ", DEMO_ZONES },
    { "colour", "colour ", DEMO_COLOURS },
    { "sentence", "", DEMO_SENTENCES },
};

/* Which of the group's kinds an episode is, -1: none of them. ALL has the kind 0. */
static int kind_of(const demo_episode *e, const demo_task *task, group g)
{
    switch (g) {
    case ZONE:
        return e->start.zone;
    case COLOUR:
        return e->start.colour[e->start.target];
    case SENTENCE:
        return task->text ? -1 : task->held_out ? e->start.sentence % DEMO_HELD_OUT : e->start.sentence;
    default:
        return 0;
    }
}

static void label_of(int kind, const demo_task *task, group g, char out[DEMO_TEXT])
{
    if (g == SENTENCE)
        demo_sentence(kind, task->held_out, "...", "...", out);
    else
        snprintf(out, DEMO_TEXT, "%s", g == ZONE ? demo_zones[kind] : demo_colours[kind]);
}

typedef struct count {
    int32_t n, solved, as_told;
    double steps, expert_steps; /* sums over those solved */
} count;

static count count_episodes(const cli_demo_tally *t, group g, int kind)
{
    count c = { 0 };
    for (int32_t i = 0; i < t->n; i++) {
        const demo_episode *e = &t->episodes[i];
        if (!e->scored || kind_of(e, t->task, g) != kind)
            continue;
        c.n++;
        c.as_told += e->as_told;
        c.solved += e->solved;
        c.steps += e->solved ? e->steps : 0;
        c.expert_steps += e->solved ? e->expert_steps : 0;
    }
    return c;
}

/* ---- text ---- */

void cli_demo_outcome(const demo_episode *e, char *out, size_t size)
{
    if (!e->scored)
        snprintf(out, size, "not scored, a goal is one colour and one of left, right, top, bottom");
    else if (e->as_told && !e->solved)
        snprintf(out, size, "did as told, which is not the goal");
    else
        snprintf(out, size, e->solved ? "solved in %d steps" : "not solved in %d steps", e->steps);
}

static void print_rate(const char *label, int32_t k, int32_t n)
{
    const vact_interval w = vact_wilson(k, n);
    printf("%-42s %4d of %4d  %5.1f %% [%5.1f, %5.1f]\n", label, k, n, 100.0 * k / n, 100 * w.low, 100 * w.high);
}

static void print_groups(const cli_demo_tally *t)
{
    for (group g = 0; g < GROUPS; g++) {
        for (int kind = 0; kind < groups[g].kinds; kind++) {
            char name[DEMO_TEXT], label[DEMO_TEXT + 16];
            const count c = count_episodes(t, g, kind);
            if (c.n == 0)
                continue;
            label_of(kind, t->task, g, name);
            snprintf(label, sizeof label, "  %s%s", groups[g].prefix, name);
            print_rate(label, c.solved, c.n);
        }
    }
}

static void print_latency(const cli_demo_tally *t)
{
    double ms[CLI_DEMO_TIMES];
    for (int i = 0; i < CLI_DEMO_TIMES; i++)
        ms[i] = vact_quantile(t->ms[i], t->predictions, 0.5);
    printf("median latency %.2f ms: vision %.2f, prefix %.2f, denoise %.2f (%zu chunks)\n", ms[0], ms[1], ms[2], ms[3],
           t->predictions);
}

static void print_one(const demo_episode *e)
{
    char outcome[96], told[256];
    cli_demo_outcome(e, outcome, sizeof outcome);
    printf("\"%s\": %s", vact_printable(told, sizeof told, e->told, strlen(e->told)), outcome);
    if (e->solved)
        printf(", the scripted expert takes %d", e->expert_steps);
    printf("\n");
}

static void print_all(const cli_demo_tally *t)
{
    const count all = count_episodes(t, ALL, 0);
    print_rate("solved, with Wilson's 95% interval", all.solved, all.n);
    print_groups(t);
    if (t->task->telling != DEMO_TELL_GOAL)
        print_rate("did what it was told instead", all.as_told, all.n);
    if (all.solved > 0)
        printf("%.1f steps to success on average, the scripted expert takes %.1f there\n", all.steps / all.solved,
               all.expert_steps / all.solved);
}

void cli_demo_print(const cli_demo_tally *t)
{
    if (t->n == 1)
        print_one(t->episodes);
    else
        print_all(t);
    print_latency(t);
}

/* ---- JSON ---- */

static json_t *rate_json(const count *c)
{
    const vact_interval w = c->n > 0 ? vact_wilson(c->solved, c->n) : (vact_interval){ 0, 1 };
    json_t *rate = json_pack("{s:i, s:i, s:[f, f], s:i}", "episodes", c->n, "solved", c->solved, "interval", w.low,
                             w.high, "as_told", c->as_told);
    if (c->solved > 0) {
        json_object_set_new(rate, "steps", json_real(c->steps / c->solved));
        json_object_set_new(rate, "expert_steps", json_real(c->expert_steps / c->solved));
    }
    return rate;
}

static json_t *group_json(const cli_demo_tally *t, group g)
{
    json_t *kinds = json_object();
    for (int kind = 0; kind < groups[g].kinds; kind++) {
        char name[DEMO_TEXT];
        const count c = count_episodes(t, g, kind);
        if (c.n == 0)
            continue;
        label_of(kind, t->task, g, name);
        json_object_set_new(kinds, name, rate_json(&c));
    }
    return kinds;
}

static json_t *task_json(const demo_task *task)
{
    static const char *const tellings[] = { "goal", "colour", "zone" };
    return json_pack("{s:i, s:i, s:f, s:b, s:b, s:s}", "max_steps", task->max_steps, "replan", task->replan,
                     "camera_noise", task->camera_noise, "held_out", task->held_out, "blind", task->blind, "telling",
                     tellings[task->telling]);
}

static json_t *episodes_json(const cli_demo_tally *t)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < t->n; i++) {
        const demo_episode *e = &t->episodes[i];
        json_array_append_new(list, json_pack("{s:I, s:s, s:b, s:b, s:b, s:i, s:i}", "seed", (json_int_t)e->seed,
                                              "told", e->told, "scored", e->scored, "solved", e->solved, "as_told",
                                              e->as_told, "steps", e->steps, "expert_steps", e->expert_steps));
    }
    return list;
}

int cli_demo_print_json(const cli_demo_tally *t)
{
    const count all = count_episodes(t, ALL, 0);
    char path[512];
    json_t *root =
        json_pack("{s:s, s:o, s:o}", "policy", vact_printable(path, sizeof path, t->policy, strlen(t->policy)), "task",
                  task_json(t->task), "all", rate_json(&all));
    json_t *ms = json_object();
    for (int i = 0; i < CLI_DEMO_TIMES; i++)
        json_object_set_new(ms, time_names[i], json_real(vact_quantile(t->ms[i], t->predictions, 0.5)));
    json_object_set_new(root, "chunks", json_integer((json_int_t)t->predictions));
    json_object_set_new(root, "median_ms", ms);
    for (group g = 0; g < GROUPS; g++)
        json_object_set_new(root, groups[g].name, group_json(t, g));
    json_object_set_new(root, "runs", episodes_json(t));
    const bool written = root && json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0;
    json_decref(root);
    if (!written)
        return cli_fail("standard output: cannot write the report, or no memory for it");
    printf("\n");
    return CLI_OK;
}
