#include "models/policy.h"

#include "models/golden.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EXACT_BOUND 2e-5 /* f32 arithmetic against float64 */
#define BF16_BOUND  5e-3 /* vla.cpp rounds activations to bf16, we don't */

static json_t *golden;
static vact_model *model;
static const vact_model_info *info;

/* Ways to compute that must all agree with the goldens. */
static const struct {
    const char *name;
    vact_settings settings;
} ways[] = {
    { "best, 2 threads", { .threads = 2, .max_views = 3 } },
    { "scalar, 1 thread", { .threads = 1, .max_views = 3, .isa = "scalar" } },
    { "reference", { .threads = 1, .max_views = 3, .reference = true } },
};
enum { WAYS = sizeof ways / sizeof *ways };

#ifndef SLOW_BUILD /* emulated or sanitized */
#define SLOW_BUILD 0
#endif

/* Whether only policy_under_test.few cases are run. */
static bool is_slow(int way)
{
    return policy_under_test.few && (SLOW_BUILD || way > 0);
}

/* Any request. */
static const json_t *small_request(void)
{
    return json_object_get(golden_case(golden, is_slow(0) ? "one_view_one_token" : "base"), "request");
}

/* A request of several views. */
static const json_t *large_request(void)
{
    return json_object_get(golden_case(golden, is_slow(0) ? "base" : "three_views_full_length"), "request");
}

static int set_up(void **state)
{
    (void)state;
    char file[64], path[256];
    snprintf(file, sizeof file, "test_%s_tiny.gguf", policy_under_test.arch);
    snprintf(path, sizeof path, TEST_DATA "/%s.json", policy_under_test.arch);
    golden = load_json(path);
    model = golden_open(golden_model(policy_under_test.arch, "tiny", file));
    info = vact_model_get_info(model);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    vact_model_close(&model);
    json_decref(golden);
    return 0;
}

static void test_every_case_agrees(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        vact_session *session = golden_session(model, &ways[way].settings);
        size_t i, judged = 0;
        json_t *one;
        json_array_foreach(json_object_get(golden, "cases"), i, one)
        {
            const char *name = json_string_value(json_object_get(one, "name"));
            if (policy_under_test.refused && strcmp(policy_under_test.refused, name) == 0)
                continue;
            if (is_slow(way) && (int)judged == policy_under_test.few)
                break;
            const json_t *exact = json_object_get(one, "exact");
            const size_t width = (size_t)json_integer_value(json_array_get(json_object_get(one, "shape"), 1));
            golden_answer a = golden_predict(session, model, json_object_get(one, "request"));
            const double bound = exact ? EXACT_BOUND : BF16_BOUND;
            const double d = golden_distance(info, a.actions, exact ? exact : json_object_get(one, "peer"), width);
            if (!(d <= bound))
                fail_msg("%s, %s: %.3e from the golden, bound %.0e", ways[way].name, name, d, bound);
            free(a.actions);
            judged++;
        }
        assert_int_equal(judged, is_slow(way) ? policy_under_test.few : policy_under_test.cases);
        vact_session_close(&session);
    }
}

/* ---- traces ---- */

/* The golden trace, and how many of its values are of rows that ours hasn't. */
static const json_t *exact_trace(const char *ours, size_t *before)
{
    const char *theirs = NULL;
    *before = 0;
    for (const policy_trace *t = policy_under_test.traces; t->ours; t++)
        if (strcmp(t->ours, ours) == 0) {
            theirs = t->theirs;
            *before = t->before;
        }
    size_t i;
    json_t *trace;
    json_array_foreach(json_object_get(golden, "traces"), i, trace)
    {
        const char *note = json_string_value(json_object_get(trace, "note"));
        const char *name = json_string_value(json_object_get(trace, "name"));
        if (theirs && note && strcmp(note, "exact") == 0 && strcmp(name, theirs) == 0)
            return trace;
    }
    return NULL;
}

typedef struct trace_check {
    const char *way;
    int compared;
} trace_check;

/* Traces arrive in the order of computation, so the first that diverges is the one reported. */
static void compare_trace(void *user, const char *name, const float *values, int32_t rows, int32_t cols)
{
    trace_check *check = user;
    size_t before;
    const json_t *trace = exact_trace(name, &before), *want = json_object_get(trace, "values");
    const size_t n = json_array_size(want) - before, size = (size_t)rows * (size_t)cols;
    const size_t stride = (size_t)json_integer_value(json_object_get(trace, "stride"));
    double largest = 0;
    if (!want)
        return;
    assert_true(json_array_size(want) > before && (n - 1) * stride < size);
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(json_number_value(json_array_get(want, before + i))));
    for (size_t i = 0; i < n; i++) {
        const double d = fabs((double)values[i * stride] - json_number_value(json_array_get(want, before + i)));
        if (!(d <= EXACT_BOUND * largest))
            fail_msg("%s: trace %s[%zu] is %.3e from exact, bound %.3e", check->way, name, i, d, EXACT_BOUND * largest);
    }
    check->compared++;
}

static void test_every_exact_trace_agrees(void **state)
{
    (void)state;
    for (int way = 0; way < (SLOW_BUILD && policy_under_test.few ? 1 : WAYS); way++) {
        trace_check check = { ways[way].name, 0 };
        vact_session *session = golden_session(model, &ways[way].settings);
        vact_trace(session, compare_trace, &check);
        free(golden_predict(session, model, json_object_get(golden_case(golden, "base"), "request")).actions);
        int traces = 0;
        while (policy_under_test.traces[traces].ours)
            traces++;
        assert_int_equal(check.compared, traces);
        vact_session_close(&session);
    }
}

/* ---- bits ---- */

static void assert_same_bits(const golden_answer *a, const golden_answer *b)
{
    assert_memory_equal(a->actions, b->actions, (size_t)(info->horizon * info->action_dim) * sizeof(float));
}

static void test_threads_do_not_change_bits(void **state)
{
    (void)state;
    static const int32_t threads[] = { 1, 3, 2, 7 };
    const size_t n = is_slow(0) ? 2 : sizeof threads / sizeof *threads;
    const json_t *request = large_request();
    golden_answer first = { 0 };
    for (size_t i = 0; i < n; i++) {
        vact_session *session = golden_session(model, &(vact_settings){ .threads = threads[i], .max_views = 3 });
        golden_answer a = golden_predict(session, model, request);
        if (i == 0) {
            first = a;
        } else {
            assert_same_bits(&first, &a);
            free(a.actions);
        }
        vact_session_close(&session);
    }
    free(first.actions);
}

static void test_a_session_remembers_nothing(void **state)
{
    (void)state;
    const json_t *small = json_object_get(golden_case(golden, "one_view_one_token"), "request");
    const json_t *large = large_request();
    vact_session *used = golden_session(model, NULL), *fresh = golden_session(model, NULL);
    golden_answer before = golden_predict(fresh, model, small);
    golden_answer between = golden_predict(used, model, large);
    golden_answer after = golden_predict(used, model, small);
    assert_same_bits(&before, &after);
    free(before.actions);
    free(between.actions);
    free(after.actions);
    vact_session_close(&used);
    vact_session_close(&fresh);
}

typedef struct robot {
    vact_session *session;
    golden_answer answer;
} robot;

static void *predict_often(void *argument)
{
    robot *one = argument;
    const json_t *request = small_request();
    for (int i = 0; i < (policy_under_test.few ? 2 : 20); i++) {
        free(one->answer.actions);
        one->answer = golden_predict(one->session, model, request);
    }
    return NULL;
}

static void test_sessions_share_a_model_between_threads(void **state)
{
    (void)state;
    enum { ROBOTS = 3 };
    robot robots[ROBOTS] = { 0 };
    pthread_t threads[ROBOTS];
    for (int i = 0; i < ROBOTS; i++) {
        robots[i].session = golden_session(model, &(vact_settings){ .threads = 2, .max_views = 2 });
        assert_int_equal(pthread_create(&threads[i], NULL, predict_often, &robots[i]), 0);
    }
    for (int i = 0; i < ROBOTS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        vact_session_close(&robots[i].session);
        assert_same_bits(&robots[0].answer, &robots[i].answer);
    }
    for (int i = 0; i < ROBOTS; i++)
        free(robots[i].answer.actions);
}

typedef struct embeddings {
    float values[3 * 256 * 32];
    size_t n;
} embeddings;

static void keep_embeddings(void *user, const char *name, const float *values, int32_t rows, int32_t cols)
{
    embeddings *e = user;
    if (strcmp(name, "vision.out") != 0)
        return;
    e->n = (size_t)rows * (size_t)cols;
    assert_true(e->n <= sizeof e->values / sizeof *e->values);
    memcpy(e->values, values, e->n * sizeof *values);
}

static void test_a_view_has_the_same_bits_alone_or_among_others(void **state)
{
    (void)state;
    const json_t *several = large_request();
    const size_t views = json_array_size(json_object_get(several, "images"));
    vact_session *session = golden_session(model, NULL);
    embeddings all = { 0 }, one = { 0 };
    vact_trace(session, keep_embeddings, &all);
    free(golden_predict(session, model, several).actions);
    assert_true(views > 1);
    assert_int_equal(all.n, views * (size_t)(info->view_tokens * info->embedding_width));
    vact_trace(session, keep_embeddings, &one);
    for (size_t view = 0; view < views; view++) {
        json_t *alone = json_deep_copy(several), *images = json_array();
        json_array_append(images, json_array_get(json_object_get(several, "images"), view));
        json_object_set_new(alone, "images", images);
        free(golden_predict(session, model, alone).actions);
        assert_int_equal(one.n * views, all.n);
        assert_memory_equal(one.values, all.values + view * one.n, one.n * sizeof *one.values);
        json_decref(alone);
    }
    vact_session_close(&session);
}

/* ---- noise, steps, units ---- */

static void test_the_reply_names_a_seed_that_repeats_it(void **state)
{
    (void)state;
    json_t *request = json_deep_copy(small_request());
    json_object_del(request, "noise");
    vact_session *session = golden_session(model, NULL);
    golden_answer drawn = golden_predict(session, model, request), other = golden_predict(session, model, request);
    assert_true(drawn.reply.seed != other.reply.seed);
    json_object_set_new(request, "seed", json_integer((json_int_t)drawn.reply.seed));
    golden_answer again = golden_predict(session, model, request);
    assert_same_bits(&drawn, &again);
    assert_memory_not_equal(drawn.actions, other.actions, (size_t)info->horizon * sizeof(float));
    free(drawn.actions);
    free(other.actions);
    free(again.actions);
    json_decref(request);
    vact_session_close(&session);
}

static void test_one_denoise_step_is_noise_minus_velocity(void **state)
{
    (void)state;
    const json_t *request = json_object_get(golden_case(golden, "base"), "request");
    json_t *one = json_deep_copy(request);
    json_object_set_new(one, "action_units", json_string("model"));
    vact_session *session = golden_session(model, &(vact_settings){ .max_views = 3, .denoise_steps = 1 });
    golden_answer a = golden_predict(session, model, one);
    /* The velocity at t = 1 does not depend on the number of steps, and is a golden. */
    size_t before;
    const json_t *velocity = json_object_get(exact_trace("step.0.velocity", &before), "values");
    for (int32_t i = 0; i < info->horizon; i++)
        for (int32_t j = 0; j < info->action_dim; j++) {
            const size_t at = (size_t)(i * info->max_action_dim + j);
            const double want = json_number_value(json_array_get(json_object_get(request, "noise"), at)) -
                                json_number_value(json_array_get(velocity, at));
            assert_true(fabs((double)a.actions[i * info->action_dim + j] - want) <= 2e-5);
        }
    free(a.actions);
    json_decref(one);
    vact_session_close(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_case_agrees),
        cmocka_unit_test(test_every_exact_trace_agrees),
        cmocka_unit_test(test_threads_do_not_change_bits),
        cmocka_unit_test(test_a_session_remembers_nothing),
        cmocka_unit_test(test_sessions_share_a_model_between_threads),
        cmocka_unit_test(test_a_view_has_the_same_bits_alone_or_among_others),
        cmocka_unit_test(test_the_reply_names_a_seed_that_repeats_it),
        cmocka_unit_test(test_one_denoise_step_is_noise_minus_velocity),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
