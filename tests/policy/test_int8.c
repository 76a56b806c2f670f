/* Policies on int8 activations against the same files on float activations: the made-up checkpoint on every golden
 * request, the demo's policy on the demo's tables. docs/numerics.md has the figures. */
#include "allocations.h"
#include "convert/quantize.h"
#include "demo/table.h"
#include "models/golden.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TINY "test_int8_tiny.gguf"
#define MADE "test_int8_made.gguf"
enum { TABLES = 16, MOST_ACTIONS = 64 };

static const vact_settings floats = { .threads = 2 };
static const vact_settings int8 = { .threads = 2, .activations = VACT_ACTIVATIONS_INT8 };
static json_t *golden;

static vact_model *open_quantized(const char *in, vact_dtype type)
{
    vact_error err = { 0 };
    if (vact_quantize(in, MADE, &(vact_quantize_options){ .type = type }, NULL, &err) != VACT_OK)
        fail_msg("%s", err.text);
    return golden_open(MADE);
}

/* The demo's own observation of table `seed`. */
static void predict_table(vact_session *session, uint64_t seed, float *actions)
{
    static uint8_t picture[3 * DEMO_SIDE * DEMO_SIDE];
    float state[DEMO_STATE];
    char text[DEMO_TEXT];
    demo_table t;
    demo_table_reset(&t, seed);
    demo_table_render(&t, DEMO_SIDE, picture);
    demo_table_state(&t, state);
    demo_table_sentence(&t, false, text);
    const vact_image image = { .data = picture, .width = DEMO_SIDE, .height = DEMO_SIDE };
    const vact_request request = { .images = &image,
                                   .n_images = 1,
                                   .text = text,
                                   .state = state,
                                   .n_state = DEMO_STATE,
                                   .action_units = VACT_UNITS_MODEL,
                                   .has_seed = true,
                                   .seed = seed };
    vact_reply reply = { .actions = actions };
    vact_error err = { 0 };
    if (vact_predict(session, &request, &reply, &err) != VACT_OK)
        fail_msg("%s", err.text);
}

static void predict_golden(vact_session *session, const vact_model *model, size_t i, float *actions)
{
    const json_t *request = json_object_get(json_array_get(json_object_get(golden, "cases"), i), "request");
    const vact_model_info *info = vact_model_get_info(model);
    golden_answer a = golden_predict(session, model, request);
    memcpy(actions, a.actions, (size_t)(info->horizon * info->action_dim) * sizeof *actions);
    free(a.actions);
}

/* ---- how far apart ---- */

typedef struct gap {
    double difference, largest; /* of an action; the largest action of all requests */
    double cosine;              /* the least of any request */
} gap;

static void compare(gap *g, const float *want, const float *got, int32_t n)
{
    double both = 0, a = 0, b = 0;
    for (int32_t i = 0; i < n; i++) {
        g->difference = fmax(g->difference, fabs((double)got[i] - (double)want[i]));
        g->largest = fmax(g->largest, fabs((double)want[i]));
        both += (double)got[i] * (double)want[i];
        a += (double)want[i] * (double)want[i];
        b += (double)got[i] * (double)got[i];
    }
    g->cosine = fmin(g->cosine, both / sqrt(a * b));
}

static gap measure(vact_model *model, bool demo)
{
    const vact_model_info *info = vact_model_get_info(model);
    vact_session *a = golden_session(model, &floats), *b = golden_session(model, &int8);
    const size_t n = demo ? TABLES : json_array_size(json_object_get(golden, "cases"));
    float want[MOST_ACTIONS], got[MOST_ACTIONS];
    gap g = { .cosine = 1 };
    for (size_t i = 0; i < n; i++) {
        if (demo) {
            predict_table(a, i, want);
            predict_table(b, i, got);
        } else {
            predict_golden(a, model, i, want);
            predict_golden(b, model, i, got);
        }
        compare(&g, want, got, info->horizon * info->action_dim);
    }
    vact_session_close(&a);
    vact_session_close(&b);
    vact_model_close(&model);
    return g;
}

/* ---- tests ---- */

/* Bounds are twice what avx2 and scalar measured (docs/numerics.md). Below a hundredth of that, nothing was rounded. */
static void test_actions_stay_close_to_those_on_floats(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        vact_dtype type;
        double difference, cosine; /* difference relative to the largest action; 1 - cosine */
    } bounds[] = {
        { TINY, VACT_DTYPE_Q8_0, 1.1e-2, 4.4e-5 },
        { TINY, VACT_DTYPE_Q4_0, 1.9e-2, 6.2e-5 },
        { TABLETOP, VACT_DTYPE_Q8_0, 0.8, 1.8e-2 },
        { TABLETOP, VACT_DTYPE_Q4_0, 0.64, 1.2e-2 },
    };
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        const gap g = measure(open_quantized(bounds[i].file, bounds[i].type), i >= 2);
        const double difference = g.difference / g.largest;
        if (!(difference > bounds[i].difference / 100 && difference <= bounds[i].difference &&
              1 - g.cosine <= bounds[i].cosine))
            fail_msg("%s as %s: largest difference %.2e, an action is at most %.3g, 1 - cosine %.2e", bounds[i].file,
                     vact_dtype_get(bounds[i].type)->name, g.difference, g.largest, 1 - g.cosine);
    }
}

static void test_bits_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    vact_model *model = open_quantized(TABLETOP, VACT_DTYPE_Q8_0);
    float want[MOST_ACTIONS], got[MOST_ACTIONS];
    for (int32_t threads = 1; threads <= 3; threads++) {
        vact_settings settings = int8;
        settings.threads = threads;
        vact_session *session = golden_session(model, &settings);
        predict_table(session, 7, threads == 1 ? want : got);
        if (threads > 1)
            assert_memory_equal(got, want, DEMO_ACTION * 8 * sizeof *got);
        vact_session_close(&session);
    }
    vact_model_close(&model);
}

static void test_predictions_allocate_nothing(void **state)
{
    (void)state;
    vact_model *model = open_quantized(TABLETOP, VACT_DTYPE_Q4_0);
    vact_session *session = golden_session(model, &int8);
    float actions[MOST_ACTIONS];
    const long before = memory.made;
    assert_true(before > 0); /* the wrappers are in place */
    for (uint64_t i = 0; i < 3; i++)
        predict_table(session, i, actions);
    assert_int_equal(memory.made, before);
    vact_session_close(&session);
    vact_model_close(&model);
}

/* What a session says as it opens, line by line. */
static void keep_lines(void *user, vact_log_level level, const char *line)
{
    char *lines = user;
    snprintf(lines + strlen(lines), 1024 - strlen(lines), "%s%s\n", level == VACT_LOG_WARNING ? "warning: " : "", line);
}

static void check_log(vact_model *model, vact_activations activations, const char *first)
{
    char lines[1024] = "";
    const vact_settings settings = { .threads = 1, .activations = activations, .log = keep_lines, .log_user = lines };
    vact_session *session = golden_session(model, &settings);
    const char *end = strchr(lines, '\n');
    assert_non_null(end);
    if (strncmp(lines, first, strlen(first)) != 0 || strstr(end, "warning") || strstr(end, "int8"))
        fail_msg("said \"%s\", expected \"%s\" first", lines, first);
    vact_session_close(&session);
}

static void test_a_file_without_such_matrices_is_warned_of(void **state)
{
    (void)state;
    vact_model *plain = golden_open(TINY), *model = open_quantized(TINY, VACT_DTYPE_F16);
    check_log(plain, VACT_ACTIVATIONS_INT8,
              "warning: int8 activations change nothing: " TINY " has no Q8_0 or Q4_0 matrix that they apply to\n");
    check_log(model, VACT_ACTIVATIONS_INT8, "warning: int8 activations change nothing: " MADE);
    check_log(plain, VACT_ACTIVATIONS_F32, "session: device cpu");
    vact_model_close(&model);
    model = open_quantized(TINY, VACT_DTYPE_Q8_0);
    check_log(model, VACT_ACTIVATIONS_INT8, "session: int8 activations for ");
    check_log(model, VACT_ACTIVATIONS_F32, "session: device cpu");
    vact_model_close(&model);
    vact_model_close(&plain);
}

/* Nothing to apply to: the bits of floats. */
static void test_a_file_without_such_matrices_computes_as_before(void **state)
{
    (void)state;
    vact_model *model = golden_open(TABLETOP);
    vact_session *a = golden_session(model, &floats), *b = golden_session(model, &int8);
    float want[MOST_ACTIONS], got[MOST_ACTIONS];
    predict_table(a, 3, want);
    predict_table(b, 3, got);
    assert_memory_equal(got, want, DEMO_ACTION * 8 * sizeof *got);
    vact_session_close(&a);
    vact_session_close(&b);
    vact_model_close(&model);
}

static int set_up(void **state)
{
    (void)state;
    golden = load_json(TEST_DATA "/smolvla.json");
    golden_model("smolvla", "tiny", TINY);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(golden);
    unlink(TINY);
    unlink(MADE);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_actions_stay_close_to_those_on_floats),
        cmocka_unit_test(test_bits_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(test_predictions_allocate_nothing),
        cmocka_unit_test(test_a_file_without_such_matrices_is_warned_of),
        cmocka_unit_test(test_a_file_without_such_matrices_computes_as_before),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
