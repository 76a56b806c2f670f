/* What vact_predict and the session refuse, what their units mean, and that a prediction allocates nothing. Runs on
 * SmolVLA's tiny synthetic checkpoint. */
#include "allocations.h"
#include "base/cpu.h"
#include "models/golden.h"
#include "tensor/synth.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TINY      "test_predict_tiny.gguf"
#define TOKENIZER TEST_DATA "/tokenizers/smollm2.tokenizer.json"
enum { SIZE = 32, VIEWS = 2, TOKENS = 3, STATE = 5, MAX_STATE = 8, HORIZON = 5, ACTION = 6, MAX_ACTION = 8 };

static vact_model *model;
static vact_session *session;

/* ---- a good request, to be spoiled ---- */

static uint8_t pixels[3 * SIZE * SIZE];
static float float_pixels[3 * SIZE * SIZE];
static float embeddings[VIEWS * 4 * 16];
static vact_image images[4];
static int32_t tokens[16] = { 1, 100, 2 };
static float proprioception[MAX_STATE + 1];
static float noise[HORIZON * MAX_ACTION];
static float actions[HORIZON * ACTION];

static vact_request good_request(void)
{
    for (size_t i = 0; i < sizeof pixels; i++) {
        pixels[i] = (uint8_t)(i * 31);
        float_pixels[i] = (float)pixels[i] / 255.0f;
    }
    for (int i = 0; i < 4; i++)
        images[i] = (vact_image){ .data = pixels, .width = SIZE, .height = SIZE, .prepared = true };
    for (int i = 0; i < MAX_STATE + 1; i++)
        proprioception[i] = i < STATE ? 0.1f * (float)i : 0;
    for (int i = 0; i < HORIZON * MAX_ACTION; i++)
        noise[i] = 0.01f * (float)(i % 7 - 3);
    tokens[0] = 1;
    return (vact_request){ .images = images,
                           .n_images = VIEWS,
                           .tokens = tokens,
                           .n_tokens = TOKENS,
                           .state = proprioception,
                           .n_state = STATE,
                           .noise = noise };
}

static int set_up(void **state)
{
    (void)state;
    model = golden_open(golden_model("smolvla", "tiny", TINY));
    session = golden_session(model, &(vact_settings){ .threads = 2, .max_views = 3 });
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    vact_session_close(&session);
    vact_model_close(&model);
    unlink(TINY);
    return 0;
}

static void predict_ok(const vact_request *request, float *out)
{
    vact_error err = { 0 };
    vact_reply reply = { .actions = out };
    if (vact_predict(session, request, &reply, &err) != VACT_OK)
        fail_msg("%s", err.text);
}

static void assert_refused(const vact_request *request, const char *text)
{
    vact_error err = { 0 };
    float untouched[HORIZON * ACTION], out[HORIZON * ACTION];
    memset(untouched, 0x5a, sizeof untouched);
    memcpy(out, untouched, sizeof out);
    vact_reply reply = { .actions = out };
    assert_int_equal(vact_predict(session, request, &reply, &err), VACT_EINPUT);
    assert_string_equal(err.text, text);
    assert_memory_equal(out, untouched, sizeof out);
    vact_request good = good_request(); /* a refusal leaves the session as it was */
    predict_ok(&good, out);
}

/* ---- refusals ---- */

static void test_wrong_views_are_refused(void **state)
{
    (void)state;
    vact_request q = good_request();
    q.n_images = 0;
    assert_refused(&q, "the request has 0 camera views, expected 1 to 3");
    q = good_request();
    q.n_images = 4;
    assert_refused(&q, "the request has 4 camera views, expected 1 to 3");
    q = good_request();
    q.n_images = -1;
    assert_refused(&q, "the request has -1 camera views, expected 1 to 3");
    q = good_request();
    q.images = NULL;
    assert_refused(&q, "the request has 2 camera views, but images is NULL");
    q = good_request();
    images[1].width = SIZE - 1;
    assert_refused(&q, "image 1 is 31x32, expected 32x32: its pixels are said to be prepared");
    q = good_request();
    images[0].height = SIZE + 1;
    assert_refused(&q, "image 0 is 32x33, expected 32x32: its pixels are said to be prepared");
    q = good_request();
    images[1].data = NULL;
    assert_refused(&q, "image 1 has no data");
    q = good_request();
    images[1].format = (vact_pixel_format)7;
    assert_refused(&q, "image 1 has pixel format 7, expected rgb_u8 or rgb_f32");
}

static void test_pixels_out_of_range_are_refused(void **state)
{
    (void)state;
    const float bad[] = { NAN, -0.01f, 1.01f, 255.0f, INFINITY };
    const char *const texts[] = { "nan", "-0.01", "1.01", "255", "inf" };
    for (int i = 0; i < 5; i++) {
        char text[128];
        vact_request q = good_request();
        images[1] = (vact_image){
            .data = float_pixels, .width = SIZE, .height = SIZE, .format = VACT_RGB_F32, .prepared = true
        };
        float_pixels[3 * (SIZE * 4 + 9) + 2] = bad[i];
        snprintf(text, sizeof text, "image 1 has %s at row 4, column 9, expected 0 to 1", texts[i]);
        assert_refused(&q, text);
    }
}

static void test_wrong_embeddings_are_refused(void **state)
{
    (void)state;
    vact_request q = good_request();
    q.image_embeddings = embeddings;
    q.n_embedded_views = VIEWS;
    assert_refused(&q, "images and image_embeddings are both given, expected one of them");
    q = good_request();
    q.n_images = 0;
    q.image_embeddings = embeddings;
    q.n_embedded_views = VIEWS;
    embeddings[17] = -INFINITY;
    assert_refused(&q, "image_embeddings[17] is -inf, expected a finite number");
    embeddings[17] = 1e19f; /* its square is beyond float32 */
    assert_refused(&q, "image_embeddings[17] is 1e+19, expected -1e+09 to 1e+09");
    embeddings[17] = 0;
}

static void test_wrong_tokens_are_refused(void **state)
{
    (void)state;
    vact_request q = good_request();
    q.n_tokens = 0;
    assert_refused(&q, "the request has 0 tokens, expected 1 to 12");
    q = good_request();
    q.n_tokens = 13;
    assert_refused(&q, "the request has 13 tokens, expected 1 to 12");
    q = good_request();
    q.tokens = NULL;
    assert_refused(&q, "the request has 3 tokens, but tokens is NULL");
    q = good_request();
    tokens[0] = 49280;
    assert_refused(&q, "tokens[0] is 49280, expected 0 to 49279");
    q = good_request();
    tokens[0] = -1;
    assert_refused(&q, "tokens[0] is -1, expected 0 to 49279");
}

static void test_a_wrong_state_is_refused(void **state)
{
    (void)state;
    vact_request q = good_request();
    q.n_state = STATE - 1;
    assert_refused(&q, "state has 4 values, expected 5");
    q = good_request();
    q.n_state = MAX_STATE + 1;
    assert_refused(&q, "state has 9 values, expected 5");
    q = good_request();
    q.n_state = STATE + 1;
    proprioception[STATE] = 0.5f;
    assert_refused(&q, "state[5] is 0.5, expected 0 beyond the policy's 5 values");
    q = good_request();
    proprioception[3] = NAN;
    assert_refused(&q, "state[3] is nan, expected a finite number");
    q = good_request();
    noise[11] = INFINITY;
    assert_refused(&q, "noise[11] is inf, expected a finite number");
    q = good_request();
    noise[11] = -2e9f;
    assert_refused(&q, "noise[11] is -2e+09, expected -1e+09 to 1e+09");
    q = good_request();
    proprioception[3] = 1e30f;
    assert_refused(&q, "state[3] is 1e+30, expected -1e+09 to 1e+09");
    q = good_request();
    q.state_units = (vact_units)9;
    assert_refused(&q, "state_units is 9, expected VACT_UNITS_REAL or VACT_UNITS_MODEL");
}

static void test_null_arguments_are_refused(void **state)
{
    (void)state;
    vact_error err = { 0 };
    vact_reply reply = { .actions = actions };
    vact_request q = good_request();
    assert_int_equal(vact_predict(NULL, &q, &reply, &err), VACT_EARG);
    assert_int_equal(vact_predict(session, NULL, &reply, NULL), VACT_EARG);
    assert_int_equal(vact_predict(session, &q, &(vact_reply){ 0 }, NULL), VACT_EARG);
    q.n_tokens = 0;
    assert_int_equal(vact_predict(session, &q, &reply, NULL), VACT_EINPUT); /* err may be NULL */
    vact_session *none = NULL;
    vact_model *no_model = NULL;
    uint64_t bytes;
    vact_cost cost;
    assert_int_equal(vact_model_open(NULL, TINY, NULL, &err), VACT_EARG);
    assert_int_equal(vact_model_open(&no_model, NULL, NULL, &err), VACT_EARG);
    assert_int_equal(vact_session_open(NULL, model, NULL, &err), VACT_EARG);
    assert_int_equal(vact_session_open(&none, NULL, NULL, &err), VACT_EARG);
    assert_int_equal(vact_session_bytes(NULL, NULL, &bytes, &err), VACT_EARG);
    assert_int_equal(vact_session_bytes(model, NULL, NULL, &err), VACT_EARG);
    assert_int_equal(vact_session_cost(NULL, NULL, 1, 1, &cost, &err), VACT_EARG);
    assert_string_equal(err.text, "vact_session_cost: model is NULL");
    assert_null(vact_model_get_info(NULL));
    vact_trace(NULL, NULL, NULL);
    vact_progress(NULL, NULL, NULL);
}

static void test_settings_out_of_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        vact_settings settings;
        const char *text;
    } bad[] = {
        { { .threads = -1, .max_views = 1 }, "threads is -1, expected 0 to 1024" },
        { { .threads = 1025, .max_views = 1 }, "threads is 1025, expected 0 to 1024" },
        { { .denoise_steps = 1001, .max_views = 1 }, "denoise steps is 1001, expected 0 to 1000" },
        { { .max_views = -1 }, "max views is -1, expected 0 to 16" },
        { { .max_views = 17 }, "max views is 17, expected 0 to 16" },
        { { .activations = (vact_activations)2 }, "activations is 2, expected 0 (f32) or 1 (int8)" },
        { { .activations = VACT_ACTIVATIONS_INT8, .reference = true },
          "activations is int8, expected f32: the reference computes in double precision" },
        { { .max_views = 1, .isa = "sse9" },
          "isa is \"sse9\", expected one of: scalar, avx2, avxvnni, avx512, neon, dotprod, i8mm" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        vact_error err = { 0 };
        vact_session *none = NULL;
        assert_int_equal(vact_session_open(&none, model, &bad[i].settings, &err), VACT_EARG);
        assert_string_equal(err.text, bad[i].text);
        assert_null(none);
    }
}

static void test_an_isa_of_other_processors_is_refused(void **state)
{
    (void)state;
    const char *other = vact_cpu_has(VACT_ISA_NEON) ? "avx2" : "neon";
    char text[128];
    snprintf(text, sizeof text, "isa is \"%s\", which this processor lacks; the highest it has is \"%s\"", other,
             vact_isa_name(vact_cpu_isa()));
    vact_error err = { 0 };
    vact_session *none = NULL;
    assert_int_equal(vact_session_open(&none, model, &(vact_settings){ .isa = other }, &err), VACT_EARG);
    assert_string_equal(err.text, text);
}

static void test_an_error_can_be_used_again(void **state)
{
    (void)state;
    vact_error err; /* nothing prepares it */
    memset(&err, 0x5a, sizeof err);
    vact_reply reply = { .actions = actions };
    vact_request q = good_request();
    q.n_tokens = 0;
    assert_int_equal(vact_predict(session, &q, &reply, &err), VACT_EINPUT);
    q = good_request();
    q.n_state = 2;
    assert_int_equal(vact_predict(session, &q, &reply, &err), VACT_EINPUT);
    assert_string_equal(err.text, "state has 2 values, expected 5");
    q = good_request();
    assert_int_equal(vact_predict(session, &q, &reply, &err), VACT_OK);
    assert_int_equal(err.code, VACT_OK);
    assert_string_equal(err.text, "");
}

/* ---- meaning ---- */

static void test_extreme_finite_inputs_give_finite_actions(void **state)
{
    (void)state;
    static const float values[] = { 1e-40f, -1e-40f, 1e-30f, 1e4f, -1e4f };
    for (int i = 0; i < 5; i++) {
        vact_request q = good_request();
        proprioception[0] = values[i];
        noise[0] = values[i];
        predict_ok(&q, actions); /* which refuses to hand out anything else */
    }
}

static void test_trailing_zeros_of_the_state_are_tolerated(void **state)
{
    (void)state;
    float padded[HORIZON * ACTION];
    vact_request q = good_request();
    predict_ok(&q, actions);
    q.n_state = MAX_STATE;
    predict_ok(&q, padded);
    assert_memory_equal(actions, padded, sizeof actions);
}

static void test_an_absent_state_is_zeros_in_real_units(void **state)
{
    (void)state;
    float absent[HORIZON * ACTION];
    vact_request q = good_request();
    memset(proprioception, 0, sizeof proprioception);
    predict_ok(&q, actions);
    q.state = NULL;
    q.n_state = 0;
    predict_ok(&q, absent);
    assert_memory_equal(actions, absent, sizeof actions);
}

/* The statistics of the synthetic file: 0.2 * noise for means, 0.5 + 0.2 * noise for deviations (tensor/synth.h). */
static void statistics(const char *name, double offset, int n, double *out)
{
    float values[MAX_ACTION];
    vact_synth_noise(values, name, 0, 0, (size_t)n);
    for (int i = 0; i < n; i++)
        out[i] = offset + 0.2 * (double)values[i];
}

static void test_units_are_the_statistics_of_the_file(void **state)
{
    (void)state;
    double mean[MAX_ACTION], std[MAX_ACTION];
    float normalised[HORIZON * ACTION];
    vact_request q = good_request();
    predict_ok(&q, actions);
    q.action_units = VACT_UNITS_MODEL;
    statistics("state_mean", 0, STATE, mean);
    statistics("state_std", 0.5, STATE, std);
    q.state_units = VACT_UNITS_MODEL;
    for (int i = 0; i < STATE; i++)
        proprioception[i] = (float)(((double)proprioception[i] - mean[i]) / (std[i] + 1e-8));
    predict_ok(&q, normalised);
    statistics("action_mean", 0, ACTION, mean);
    statistics("action_std", 0.5, ACTION, std);
    for (int i = 0; i < HORIZON * ACTION; i++) {
        const double real = (double)normalised[i] * (std[i % ACTION] + 1e-8) + mean[i % ACTION];
        assert_true(fabs(real - (double)actions[i]) < 5e-6);
    }
}

static void test_predictions_allocate_nothing(void **state)
{
    (void)state;
    vact_request q = good_request();
    q.noise = NULL; /* the seed comes from the system */
    q.tokens = NULL;
    q.n_tokens = 0;
    images[0].height = SIZE / 2; /* a camera's picture and prepared pixels */
    images[0].prepared = false;
    vact_error err = { 0 };
    vact_model *reader = NULL;
    const vact_settings settings = { .threads = 3, .max_views = 2, .tokenizer = TOKENIZER };
    assert_int_equal(vact_model_open(&reader, TINY, &settings, &err), VACT_OK);
    vact_session *fresh = golden_session(reader, NULL);
    vact_reply reply = { .actions = actions };
    static const char *const texts[] = { "pick up the bowl", "caf\u00e9", "put 2 blocks on the plate." };
    const long before = memory.made;
    assert_true(before > 0); /* the wrappers are in place */
    for (int i = 0; i < 3; i++) {
        q.text = texts[i];
        assert_int_equal(vact_predict(fresh, &q, &reply, &err), VACT_OK);
    }
    assert_int_equal(memory.made, before);
    vact_session_close(&fresh);
    vact_model_close(&reader);
}

static void count_progress(void *user, double done)
{
    double *last = user;
    assert_true(done >= *last && done <= 1);
    *last = done;
}

static void test_progress_rises_to_one(void **state)
{
    (void)state;
    double last = 0;
    vact_request q = good_request();
    vact_progress(session, count_progress, &last);
    predict_ok(&q, actions);
    vact_progress(session, NULL, NULL);
    assert_true(last > 0.999999);
}

static void test_session_bytes_follow_the_settings(void **state)
{
    (void)state;
    uint64_t one = 0, three = 0;
    vact_error err = { 0 };
    assert_int_equal(vact_session_bytes(model, &(vact_settings){ .threads = 1, .max_views = 1 }, &one, &err), VACT_OK);
    assert_int_equal(vact_session_bytes(model, &(vact_settings){ .threads = 1, .max_views = 3 }, &three, &err),
                     VACT_OK);
    /* A view more adds at least its residual stream, queries, keys and values in the tower: 16 patches, 32 wide. */
    assert_true(three - one >= 2 * 4 * 16 * 32 * sizeof(float));
    /* Everything at once would not be more than ten such buffers a view, and what no view adds to. */
    assert_true(three - one <= 2 * 12 * 16 * 48 * sizeof(float));
    uint64_t standard = 0;
    assert_int_equal(vact_session_bytes(model, &(vact_settings){ .threads = 1 }, &standard, &err), VACT_OK);
    assert_int_equal(standard, three); /* 0 views stands for 3 */
}

static void test_cost_is_the_closed_form(void **state)
{
    (void)state;
    vact_cost cost;
    vact_error err = { 0 };
    assert_int_equal(vact_session_cost(model, NULL, 2, 3, &cost, &err), VACT_OK);
    /* Tower, a view of 16 patches, 32 wide: patches, 2 layers of 4 square maps, 2 of 48, attention; 4 tokens of 128
     * to 16. */
    const double tower = 2.0 * 16 * (192 * 32 + 2 * (4 * 32 * 32 + 2 * 32 * 48)) + 2 * 4.0 * 16 * 16 * 32;
    assert_true(fabs(cost.vision.flops - 2 * (tower + 2.0 * 4 * 128 * 16)) < 0.5);
    /* Prefix, 8 image rows, 3 tokens, 1 state row; layers 0..2 whole, layer 3 keys and values; 1 and 3 cross maps.
     * 11 rows see 11 keys, the last sees 12. */
    const double layer = 2.0 * 12 * (16 * 96 * 2 + 16 * 32 * 2 + 3 * 16 * 40) + 4.0 * (11 * 11 + 12) * 96;
    const double last = 2.0 * 12 * 16 * 32 * 2, cross = 2 * 2.0 * 12 * 32 * 32 * 2, state_row = 2.0 * 8 * 16;
    assert_true(fabs(cost.prefix.flops - (3 * layer + last + cross + state_row)) < 0.5);
    /* A denoise step, 5 action tokens: action and time maps, 2 self layers that see the 12 of the prefix and 1..5 of
     * their own, 2 cross layers that see the 12, the velocity. */
    const double maps = 2.0 * 5 * (8 * 24 + 24 * 24 + 24 * 24 + 24 * 8), mlp = 2.0 * 5 * 3 * 24 * 48;
    const double self = 2.0 * 5 * (24 * 96 * 2 + 24 * 32 * 2) + 4.0 * (5 * 12 + 15) * 96 + mlp;
    const double crossing = 2.0 * 5 * 24 * 96 * 2 + 4.0 * 5 * 12 * 96 + mlp;
    assert_true(fabs(cost.denoise.flops - 10 * (maps + 2 * self + 2 * crossing)) < 0.5);
    /* Matrices of a step as stored: f32 maps (half of the first time map), bf16 layers. */
    const double f32_maps = 4.0 * (8 * 24 + 24 * 24 + 24 * 24 + 24 * 8);
    const double layers = 2.0 * (4 * (24 * 96 * 2 + 3 * 24 * 48) + 2 * 24 * 32 * 2);
    assert_true(fabs(cost.denoise.weight_bytes - 10 * (f32_maps + layers)) < 0.5);
    assert_int_equal(vact_session_cost(model, NULL, 4, 3, &cost, &err), VACT_EARG);
    assert_string_equal(err.text, "views is 4, expected 1 to 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_views_are_refused),
        cmocka_unit_test(test_pixels_out_of_range_are_refused),
        cmocka_unit_test(test_wrong_embeddings_are_refused),
        cmocka_unit_test(test_wrong_tokens_are_refused),
        cmocka_unit_test(test_a_wrong_state_is_refused),
        cmocka_unit_test(test_null_arguments_are_refused),
        cmocka_unit_test(test_settings_out_of_range_are_refused),
        cmocka_unit_test(test_an_isa_of_other_processors_is_refused),
        cmocka_unit_test(test_an_error_can_be_used_again),
        cmocka_unit_test(test_extreme_finite_inputs_give_finite_actions),
        cmocka_unit_test(test_trailing_zeros_of_the_state_are_tolerated),
        cmocka_unit_test(test_an_absent_state_is_zeros_in_real_units),
        cmocka_unit_test(test_units_are_the_statistics_of_the_file),
        cmocka_unit_test(test_predictions_allocate_nothing),
        cmocka_unit_test(test_progress_rises_to_one),
        cmocka_unit_test(test_session_bytes_follow_the_settings),
        cmocka_unit_test(test_cost_is_the_closed_form),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
