#include "demo/episode.h"

#include "base/arena.h"
#include "base/error.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const demo_task demo_plain = { .max_steps = DEMO_MAX_STEPS, .replan = 4 };
const demo_task demo_hard = { .max_steps = 24, .replan = 8, .camera_noise = 64, .held_out = true };

struct demo_runner {
    vact_arena arena;
    vact_session *session;
    demo_task task;
    char *told;
    float *actions; /* [horizon, DEMO_ACTION] */
    uint8_t picture[3 * DEMO_SIDE * DEMO_SIDE];
};

/* ---- opening ---- */

static vact_status check_policy(const char *name, const vact_model_info *info, const demo_task *task, vact_error *err)
{
    if (!info->reads_text)
        return vact_fail(err, VACT_EMODEL, "%s: has no tokenizer, the demo needs a policy that reads sentences",
                         vact_path_end(name));
    if (info->state_dim != DEMO_STATE || info->action_dim != DEMO_ACTION || info->n_cameras > 1)
        return vact_fail(err, VACT_EMODEL,
                         "%s: a policy for another robot: state of %d, actions of %d, %d cameras, expected %d, %d, 1",
                         vact_path_end(name), info->state_dim, info->action_dim, info->n_cameras, DEMO_STATE,
                         DEMO_ACTION);
    if (task->replan > info->horizon)
        return vact_fail(err, VACT_EMODEL, "%s: chunks have %d actions, replanning every %d needs as many",
                         vact_path_end(name), info->horizon, task->replan);
    return VACT_OK;
}

vact_status demo_runner_open(demo_runner **out, const char *name, const vact_model *model, vact_session *session,
                             const demo_task *task, vact_error *err)
{
    const vact_model_info *info = vact_model_get_info(model);
    *out = NULL;
    vact_error_clear(err);
    vact_status status = check_policy(name, info, task, err);
    if (status != VACT_OK)
        return status;
    demo_runner *r = calloc(1, sizeof *r);
    if (r) {
        *r = (demo_runner){ .session = session, .task = *task };
        r->told = vact_arena_take(&r->arena, DEMO_TEXT + (task->text ? strlen(task->text) : 0), 1);
        r->actions = vact_arena_take(&r->arena, (size_t)info->horizon * DEMO_ACTION, sizeof *r->actions);
        *out = r;
    }
    if (r && r->told && r->actions)
        return VACT_OK;
    demo_runner_close(out);
    return vact_fail(err, VACT_ENOMEM, "no memory for an episode");
}

void demo_runner_close(demo_runner **runner)
{
    if (!runner || !*runner)
        return;
    vact_arena_free(&(*runner)->arena);
    free(*runner);
    *runner = NULL;
}

/* ---- the user's sentence ---- */

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at++)
        if ((at == text || !is_letter(at[-1])) && !is_letter(at[length]))
            return true;
    return false;
}

/* The only one of the words that the text has, or -1. */
static int only_word(const char *text, const char *const *words)
{
    int found = -1, n = 0;
    for (int i = 0; words[i]; i++) {
        if (has_word(text, words[i])) {
            found = i;
            n++;
        }
    }
    return n == 1 ? found : -1;
}

static void lower_case(char *out, const char *text)
{
    for (; *text; text++)
        *out++ = (char)(*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text);
    *out = 0;
}

/* That no block ever has. */
static const char *const other_colours[] = { "orange", "purple", "violet", "pink", "brown",   "black",
                                             "white",  "grey",   "gray",   "cyan", "magenta", NULL };

/* A colour of the text that no block of the table has; NULL: none. Beside a block's, other colours may stand. */
static const char *missing_colour(const char *text, const demo_table *table)
{
    bool named = false;
    for (int i = 0; i < DEMO_COLOURS; i++) {
        if (!has_word(text, demo_colours[i]))
            continue;
        if (demo_table_find(table, i) < 0)
            return demo_colours[i];
        named = true;
    }
    for (int i = 0; other_colours[i] && !named; i++)
        if (has_word(text, other_colours[i]))
            return other_colours[i];
    return NULL;
}

/* Tells the policy the user's sentence, and makes its goal the table's. */
static vact_status take_text(demo_runner *r, uint64_t seed, demo_table *table, bool *scored, vact_error *err)
{
    lower_case(r->told, r->task.text);
    const char *missing = missing_colour(r->told, table);
    if (missing)
        return vact_fail(
            err, VACT_EINPUT, "there is no %s block on the table of seed %" PRIu64 ", expected %s, %s or %s", missing,
            seed, demo_colours[table->colour[0]], demo_colours[table->colour[1]], demo_colours[table->colour[2]]);
    const int colour = only_word(r->told, demo_colours), zone = only_word(r->told, demo_zones);
    const int block = colour < 0 ? -1 : demo_table_find(table, colour);
    *scored = block >= 0 && zone >= 0;
    if (*scored) {
        table->target = block;
        table->zone = zone;
    }
    return VACT_OK;
}

/* ---- running ---- */

/* Something like a normal distribution of deviation 1, the same on every machine: the sum of four even ones. */
static double camera_noise(uint64_t seed, uint64_t i)
{
    const uint64_t first = (uint64_t)1 << 32; /* far from the draws that the table was made from */
    double sum = -2;
    for (uint64_t k = 0; k < 4; k++)
        sum += demo_uniform(seed, first + 4 * i + k);
    return sum * sqrt(3);
}

static void take_picture(demo_runner *r, uint64_t seed, const demo_table *table, int32_t step)
{
    if (r->task.blind) {
        memset(r->picture, 0, sizeof r->picture);
        return;
    }
    demo_table_render(table, DEMO_SIDE, r->picture);
    for (size_t i = 0; i < sizeof r->picture && r->task.camera_noise > 0; i++) {
        const uint64_t draw = (uint64_t)step * sizeof r->picture + i;
        const double v = floor(r->picture[i] + r->task.camera_noise * camera_noise(seed, draw) + 0.5);
        r->picture[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

/* A new chunk from what the robot sees now. */
static vact_status look(demo_runner *r, uint64_t seed, const demo_table *table, int32_t step, const demo_watch *watch,
                        vact_error *err)
{
    float state[DEMO_STATE];
    take_picture(r, seed, table, step);
    demo_table_state(table, state);
    const vact_image image = { .data = r->picture, .width = DEMO_SIDE, .height = DEMO_SIDE, .format = VACT_RGB_U8 };
    const vact_request request = {
        .images = &image,
        .n_images = 1,
        .text = r->told,
        .state = state,
        .n_state = DEMO_STATE,
        .noise = r->task.noise,
        .has_seed = !r->task.noise,
        .seed = seed * (DEMO_MAX_STEPS + 1) + (uint64_t)step,
    };
    vact_reply reply = { .actions = r->actions };
    const vact_status status = vact_predict(r->session, &request, &reply, err);
    return status == VACT_OK && watch && watch->predicted ? watch->predicted(watch->user, &request, &reply, err)
                                                          : status;
}

static int32_t expert_steps(demo_table table)
{
    int32_t steps = 0;
    while (steps < DEMO_MAX_STEPS && !demo_table_solved(&table)) {
        double action[DEMO_ACTION];
        demo_table_expert(&table, action);
        demo_table_step(&table, action);
        steps++;
    }
    return steps;
}

/* The table, its goal, and in *told the goal of the sentence. */
static vact_status begin(demo_runner *r, uint64_t seed, demo_episode *episode, demo_table *told, vact_error *err)
{
    *episode = (demo_episode){ .seed = seed, .scored = true, .told = r->told };
    demo_table_reset(&episode->start, seed);
    const vact_status status = r->task.text ? take_text(r, seed, &episode->start, &episode->scored, err) : VACT_OK;
    *told = episode->start;
    if (r->task.telling == DEMO_TELL_COLOUR)
        told->target = (told->target + 1) % DEMO_BLOCKS;
    if (r->task.telling == DEMO_TELL_ZONE)
        told->zone = (told->zone + 1) % DEMO_ZONES;
    if (!r->task.text)
        demo_table_sentence(told, r->task.held_out, r->told);
    if (episode->scored)
        episode->expert_steps = expert_steps(episode->start);
    return status;
}

/* Looks whether the goal, or what was told, is reached after so many steps. */
static void judge(const demo_table *table, demo_table *told, int32_t steps, demo_episode *episode)
{
    memcpy(told->block, table->block, sizeof told->block);
    told->held = table->held;
    episode->as_told |= episode->scored && demo_table_solved(told);
    if (!episode->solved)
        episode->steps = steps;
    episode->solved |= episode->scored && demo_table_solved(table);
}

vact_status demo_run(demo_runner *r, uint64_t seed, const demo_watch *watch, demo_episode *episode, vact_error *err)
{
    demo_table told;
    vact_error_clear(err);
    vact_status status = begin(r, seed, episode, &told, err);
    if (status != VACT_OK)
        return status;
    demo_table table = episode->start;
    if (watch && watch->moved)
        watch->moved(watch->user, &table, 0);
    const bool ends_when_solved = r->task.telling == DEMO_TELL_GOAL;
    for (int32_t step = 0; step < r->task.max_steps && !(episode->solved && ends_when_solved); step++) {
        const int32_t at = step % r->task.replan;
        if (at == 0)
            status = look(r, seed, &table, step, watch, err);
        if (status != VACT_OK)
            return status;
        const float *now = r->actions + at * DEMO_ACTION;
        demo_table_step(&table, (double[DEMO_ACTION]){ now[0], now[1], now[2] });
        if (watch && watch->moved)
            watch->moved(watch->user, &table, step + 1);
        judge(&table, &told, step + 1, episode);
    }
    return status;
}
