/* NaNs, infinities, subnormal numbers and negative zeros, in everything that holds floats: requests, documents, weights,
 * statistics and keys. Each is refused by place, or taken for what it is; none comes out as an action. */
#include "models/golden.h"
#include "models/rewrite.h"
#include "policy/document.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TINY "test_numbers_tiny.gguf"
#define EDIT "test_numbers_edit.gguf"
enum { SIZE = 32, VIEW_TOKENS = 4, WIDTH = 16, STATE = 5, HORIZON = 5, ACTION = 6, MAX_ACTION = 8 };

#define BOUND   2e-5   /* f32 arithmetic against float64, as in tests/models/test_smolvla.c */
#define TINIEST 1e-41f /* below the smallest normal number, 1.2e-38 */

static const vact_settings ways[] = {
    { .threads = 2, .max_views = 1, .denoise_steps = 2 },
    { .threads = 1, .max_views = 1, .denoise_steps = 2, .isa = "scalar" },
    { .threads = 1, .max_views = 1, .denoise_steps = 2, .reference = true },
};
enum { WAYS = sizeof ways / sizeof *ways };

/* ---- a good request, to be spoiled ---- */

static float pixels[3 * SIZE * SIZE], embeddings[VIEW_TOKENS * WIDTH], proprioception[STATE];
static float noise[HORIZON * MAX_ACTION];
static const vact_image image = { pixels, SIZE, SIZE, VACT_RGB_F32, .prepared = true, .camera = NULL };

/* The view is a picture, or its embedding. */
static vact_request good_request(bool embedded)
{
    for (int i = 0; i < 3 * SIZE * SIZE; i++)
        pixels[i] = (float)(i * 31 % 256) / 255.0f;
    for (int i = 0; i < VIEW_TOKENS * WIDTH; i++)
        embeddings[i] = 0.1f * (float)(i % 11 - 5);
    for (int i = 0; i < STATE; i++)
        proprioception[i] = 0.1f * (float)i;
    for (int i = 0; i < HORIZON * MAX_ACTION; i++)
        noise[i] = 0.3f * (float)(i % 7 - 3);
    static const int32_t tokens[] = { 1, 100, 2 };
    return (vact_request){ .images = embedded ? NULL : &image,
                           .n_images = !embedded,
                           .image_embeddings = embedded ? embeddings : NULL,
                           .n_embedded_views = embedded,
                           .tokens = tokens,
                           .n_tokens = 3,
                           .state = proprioception,
                           .n_state = STATE,
                           .noise = noise };
}

/* Every float input of a request. */
static const struct {
    const char *name; /* as messages tell one of its values */
    float *values;
    int n, spoiled;
    bool embedded;
    const char *range;
} inputs[] = {
    { "state[4]", proprioception, STATE, 4, true, "a finite number" },
    { "noise[38]", noise, HORIZON *MAX_ACTION, 38, true, "a finite number" },
    { "image_embeddings[63]", embeddings, VIEW_TOKENS *WIDTH, 63, true, "a finite number" },
    { "image 0", pixels, 3 * SIZE *SIZE, 3 * SIZE *SIZE - 1, false, "0 to 1" },
};
enum { INPUTS = sizeof inputs / sizeof *inputs };

static vact_model *model;

/* ---- predicting ---- */

static vact_status predict(const vact_model *of, int way, const vact_request *q, float *actions, vact_error *err)
{
    vact_session *session = golden_session(of, &ways[way]);
    const vact_status status = vact_predict(session, q, &(vact_reply){ .actions = actions }, err);
    vact_session_close(&session);
    return status;
}

/* The actions of every way to compute are finite and agree. */
static void check_agreement(const vact_model *of, const vact_request *q, const char *what)
{
    float actions[WAYS][HORIZON * ACTION];
    for (int way = 0; way < WAYS; way++) {
        vact_error err;
        if (predict(of, way, q, actions[way], &err) != VACT_OK)
            fail_msg("%s: %s", what, err.text);
        for (int i = 0; i < HORIZON * ACTION; i++)
            if (!(fabs((double)actions[way][i] - (double)actions[0][i]) <= BOUND))
                fail_msg("%s: action %d is %g, another way %g", what, i, (double)actions[way][i],
                         (double)actions[0][i]);
    }
}

static void test_numbers_that_are_none_are_refused_by_place(void **state)
{
    (void)state;
    static const float values[] = { NAN, INFINITY, -INFINITY };
    static const char *const names[] = { "nan", "inf", "-inf" };
    for (int i = 0; i < INPUTS; i++)
        for (int j = 0; j < 3; j++) {
            char place[64], want[128];
            float actions[HORIZON * ACTION];
            vact_error err;
            const vact_request q = good_request(inputs[i].embedded);
            inputs[i].values[inputs[i].spoiled] = values[j];
            if (inputs[i].embedded)
                snprintf(place, sizeof place, "%s is %s", inputs[i].name, names[j]);
            else
                snprintf(place, sizeof place, "image 0 has %s at row 31, column 31", names[j]);
            snprintf(want, sizeof want, "%s, expected %s", place, inputs[i].range);
            assert_int_equal(predict(model, 0, &q, actions, &err), VACT_EINPUT);
            assert_string_equal(err.text, want);
        }
}

/* All of an input tiny, and of both signs where it may be negative. */
static void test_subnormal_numbers_compute_alike_everywhere(void **state)
{
    (void)state;
    for (int i = 0; i < INPUTS; i++) {
        vact_request q = good_request(inputs[i].embedded);
        for (int k = 0; k < inputs[i].n; k++)
            inputs[i].values[k] = inputs[i].embedded && k % 2 ? -TINIEST : TINIEST;
        check_agreement(model, &q, inputs[i].name);
        q.state_units = VACT_UNITS_MODEL; /* the state as it is, and the actions too */
        q.action_units = VACT_UNITS_MODEL;
        check_agreement(model, &q, inputs[i].name);
    }
}

static void test_negative_zeros_are_zeros(void **state)
{
    (void)state;
    for (int i = 0; i < INPUTS; i++) {
        float plus[HORIZON * ACTION], minus[HORIZON * ACTION];
        vact_error err;
        const vact_request q = good_request(inputs[i].embedded);
        inputs[i].values[inputs[i].spoiled] = 0;
        assert_int_equal(predict(model, 0, &q, plus, &err), VACT_OK);
        inputs[i].values[inputs[i].spoiled] = -0.0f;
        assert_int_equal(predict(model, 0, &q, minus, &err), VACT_OK);
        for (int k = 0; k < HORIZON * ACTION; k++)
            assert_true(plus[k] == minus[k]);
    }
}

/* ---- documents ---- */

static void test_tiny_numbers_of_a_document_are_the_nearest_floats(void **state)
{
    (void)state;
    static const char text[] = "{\"state\":[-0.0,1e-320,1e-41,-1e-41,4e-46]}";
    static const float want[] = { -0.0f, 0, TINIEST, -TINIEST, 0 };
    vact_document document;
    vact_error err;
    const vact_document_source source = { .name = "d", .text = text, .length = strlen(text) };
    assert_int_equal(vact_document_parse(&document, vact_model_get_info(model), &source, &err), VACT_OK);
    assert_memory_equal(document.request.state, want, sizeof want);
    vact_document_free(&document);
}

/* ---- files ---- */

static const char *edited_name;

/* f32 for the tensor that is edited: one number of a bf16 matrix cannot be set. */
static uint32_t edited_to_f32(const vact_gguf_tensor *t)
{
    return strcmp(t->name, edited_name) == 0 ? VACT_DTYPE_F32 : t->dtype;
}

/* The tiny checkpoint with one number changed. */
static vact_model *open_edited(rewrite_kind kind, const char *name, double number)
{
    const rewrite_edit edits[] = { { kind, name, number, NULL }, { 0 } };
    edited_name = name;
    rewrite_gguf(TINY, EDIT, edits, edited_to_f32, false);
    return golden_open(EDIT);
}

/* At least one weight of every kind of op that a number passes on its way. */
static const char *const weights[] = {
    "token_embd.weight",         "vit.patch_embd.weight",   "vit.patch_embd.bias",       "vit.pos_embd",
    "vit.blk.0.ln1.weight",      "vit.blk.0.attn_q.weight", "vit.blk.1.attn_k.weight",   "vit.blk.1.attn_v.weight",
    "vit.blk.0.fc1.weight",      "vit.blk.1.fc2.bias",      "vit.post_ln.bias",          "mm.fc.weight",
    "state_proj.weight",         "vlm.blk.0.attn_q.weight", "vlm.blk.1.attn_k.weight",   "vlm.blk.2.attn_v.weight",
    "vlm.blk.0.ffn_gate.weight", "vlm.blk.1.ffn_up.weight", "vlm.blk.2.ffn_down.weight", "vlm.blk.3.attn_v.weight",
    "aex.blk.0.attn_k.weight",   "aex.blk.1.attn_k.weight", "aex.blk.1.attn_q.weight",   "aex.blk.3.ffn_down.weight",
    "action_in_proj.weight",     "action_time_mlp_in.bias", "action_time_mlp_out.bias",  "action_out_proj.bias",
};
enum { WEIGHTS = sizeof weights / sizeof *weights };

/* An infinity may lawfully vanish, as the score of a key that is never looked at; a NaN may not. */
static void check_broken_weight(const char *name, double number)
{
    vact_request q = good_request(false);
    q.tokens = (const int32_t[]){ 0 }; /* whose embedding holds the number, if the table does */
    q.n_tokens = 1;
    vact_model *broken = open_edited(REWRITE_SET_VALUE, name, number);
    for (int way = 0; way < WAYS; way++) {
        float actions[HORIZON * ACTION] = { 0 };
        vact_error err;
        const vact_status status = predict(broken, way, &q, actions, &err);
        if (isnan(number) ? status != VACT_EMODEL : status != VACT_EMODEL && status != VACT_OK)
            fail_msg("%s, %g, way %d: status %d, %s", name, number, way, (int)status, err.text);
        if (status == VACT_EMODEL)
            assert_non_null(strstr(err.text, "the model's weights are broken"));
        for (int i = 0; i < HORIZON * ACTION; i++)
            assert_true(status == VACT_OK ? isfinite(actions[i]) : actions[i] == 0);
    }
    vact_model_close(&broken);
}

static void test_weights_that_are_no_numbers_give_no_actions(void **state)
{
    (void)state;
    for (int i = 0; i < WEIGHTS; i++) {
        check_broken_weight(weights[i], NAN);
        check_broken_weight(weights[i], i % 2 ? INFINITY : -INFINITY);
    }
}

static void test_subnormal_weights_compute_alike_everywhere(void **state)
{
    (void)state;
    for (int i = 0; i < WEIGHTS; i++) {
        const vact_request q = good_request(false);
        vact_model *edited = open_edited(REWRITE_SET_VALUE, weights[i], (double)TINIEST);
        check_agreement(edited, &q, weights[i]);
        vact_model_close(&edited);
    }
}

static void test_statistics_that_are_no_numbers_are_refused(void **state)
{
    (void)state;
    static const struct {
        rewrite_kind kind;
        const char *name;
        double number;
        const char *text;
    } bad[] = {
        { REWRITE_SET_VALUE, "state_mean", NAN, "the mean of state value 0 is nan, expected a finite number" },
        { REWRITE_SET_VALUE, "action_mean", -INFINITY, "the mean of action value 0 is -inf, expected a finite number" },
        { REWRITE_SET_VALUE, "state_std", NAN, "the std of state value 0 is nan, expected a positive number" },
        { REWRITE_SET_VALUE, "action_std", INFINITY, "the std of action value 0 is inf, expected a positive number" },
        { REWRITE_KEY_F32, "smolvla.norm_eps", NAN, "key smolvla.norm_eps is nan, expected 0 to 1" },
        { REWRITE_KEY_F32, "smolvla.vit_ln_eps", INFINITY, "key smolvla.vit_ln_eps is inf, expected 0 to 1" },
        { REWRITE_KEY_F32, "smolvla.norm_eps", -1e-41, "key smolvla.norm_eps is -9.99967e-42, expected 0 to 1" },
        { REWRITE_KEY_F64, "smolvla.max_period", INFINITY, "key smolvla.max_period is inf, expected 1e-09 to 1e+09" },
        { REWRITE_KEY_F64, "smolvla.min_period", 1e-320, "key smolvla.min_period is 9.99989e-321, expected 1e-09" },
        { REWRITE_KEY_F64, "smolvla.expert_width_multiplier", NAN, "key smolvla.expert_width_multiplier is nan" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const rewrite_edit edits[] = { { bad[i].kind, bad[i].name, bad[i].number, NULL }, { 0 } };
        vact_model *none = NULL;
        vact_error err;
        rewrite_gguf(TINY, EDIT, edits, NULL, false);
        assert_int_equal(vact_model_open(&none, EDIT, NULL, &err), VACT_EFORMAT);
        if (!strstr(err.text, bad[i].text))
            fail_msg("\"%s\", expected \"%s\" in it", err.text, bad[i].text);
    }
}

/* A deviation that is next to nothing makes a state immense: told as such, with both numbers. A subnormal mean or
 * epsilon is next to zero. */
static void test_subnormal_statistics_are_taken_as_they_are(void **state)
{
    (void)state;
    float actions[HORIZON * ACTION];
    vact_error err;
    const vact_request q = good_request(true);
    vact_model *edited = open_edited(REWRITE_SET_VALUE, "state_std", (double)TINIEST);
    proprioception[0] = 1e6f;
    assert_int_equal(predict(edited, 0, &q, actions, &err), VACT_EINPUT);
    assert_non_null(strstr(err.text, "state[0] is 1e+06, by the file's statistics 1e+14, expected -1e+09 to 1e+09"));
    vact_model_close(&edited);
    proprioception[0] = 0.1f;
    static const char *const means[] = { "state_mean", "action_mean", "action_std" };
    for (int i = 0; i < 3; i++) {
        edited = open_edited(REWRITE_SET_VALUE, means[i], (double)TINIEST);
        check_agreement(edited, &q, means[i]);
        vact_model_close(&edited);
    }
    edited = open_edited(REWRITE_KEY_F32, "smolvla.norm_eps", (double)TINIEST);
    check_agreement(edited, &q, "norm_eps");
    vact_model_close(&edited);
}

static int set_up(void **state)
{
    (void)state;
    model = golden_open(golden_model("smolvla", "tiny", TINY));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    vact_model_close(&model);
    unlink(TINY);
    unlink(EDIT);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_that_are_none_are_refused_by_place),
        cmocka_unit_test(test_subnormal_numbers_compute_alike_everywhere),
        cmocka_unit_test(test_negative_zeros_are_zeros),
        cmocka_unit_test(test_tiny_numbers_of_a_document_are_the_nearest_floats),
        cmocka_unit_test(test_weights_that_are_no_numbers_give_no_actions),
        cmocka_unit_test(test_subnormal_weights_compute_alike_everywhere),
        cmocka_unit_test(test_statistics_that_are_no_numbers_are_refused),
        cmocka_unit_test(test_subnormal_statistics_are_taken_as_they_are),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
