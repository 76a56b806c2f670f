/* Checkpoints of SmolVLA that must load, and those that must be refused with one clear line.
 *
 * Bad input, what vla.cpp does with it, and the test here that has our answer ("refusals" is the table below):
 *
 *   a token id out of range                   no actions          test_predict: test_wrong_tokens_are_refused
 *   no tokens, or more than the most          no actions          the same
 *   a view of another size, or without data   no actions          test_predict: test_wrong_views_are_refused
 *   neither views nor embeddings              no actions          the same
 *   a NaN in the state                        NaN actions         test_numbers, with every other float
 *   embeddings of another length              reads beyond them   test_document: test_wrong_documents_are_refused...
 *   real_*_dim above max_*_dim                refused             refusals
 *   image, patch and shuffle that don't fit   refused             refusals
 *   a tensor missing or of another shape      refused             refusals
 *   F16 or quantized tensors                  refused             they compute: test_f16_matrices_compute and so on
 *   a key of another type                     aborts              refusals, test_a_key_of_any_other_type_is_refused
 *   0 in patch_size, vit_pixel_shuffle or
 *     self_attn_every_n_layers                divides by zero     refusals
 *   0 in n_layers or num_steps, an odd
 *     head_dim, heads that don't divide,
 *     num_steps too large                     aborts at predict   refusals
 *   chunk_size 0                              no actions          refusals */
#include "convert/rewrite.h"
#include "models/golden.h"
#include "models/rewrite.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TINY "test_smolvla_files_tiny.gguf"
#define EDIT "test_smolvla_files_edit.gguf"

/* Bf16 matrices of the tiny file: embedding, connector, 7 a layer of 4 in both decoders, 6 a layer of 2 in the tower.
 * Rows of whole 32s: attn_o of both decoders, k and v of 2 cross layers, 5 a layer of the tower, the connector. */
enum { MATRICES = 2 + 2 * 4 * 7 + 2 * 6, WHOLE_BLOCKS = 2 * 4 + 2 * 2 + 2 * 5 + 1 };

static json_t *golden;

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
    unlink(EDIT);
    return 0;
}

/* ---- weight types ---- */

static bool is_matrix(const vact_gguf_tensor *t)
{
    return t->n_dims == 2 && t->dtype == VACT_DTYPE_BF16;
}

static uint32_t to_f32(const vact_gguf_tensor *t)
{
    return is_matrix(t) ? VACT_DTYPE_F32 : t->dtype;
}

static uint32_t to_f16(const vact_gguf_tensor *t)
{
    return is_matrix(t) ? VACT_DTYPE_F16 : t->dtype;
}

static uint32_t to_q8_0(const vact_gguf_tensor *t)
{
    return is_matrix(t) && t->ne[0] % 32 == 0 ? VACT_DTYPE_Q8_0 : t->dtype;
}

static uint32_t to_q4_0(const vact_gguf_tensor *t)
{
    return is_matrix(t) && t->ne[0] % 32 == 0 ? VACT_DTYPE_Q4_0 : t->dtype;
}

static golden_answer base_case_of(const char *path)
{
    vact_model *model = golden_open(path);
    vact_session *session = golden_session(model, NULL);
    golden_answer a = golden_predict(session, model, json_object_get(golden_case(golden, "base"), "request"));
    vact_session_close(&session);
    vact_model_close(&model);
    return a;
}

/* A file whose matrices are stored in a type gives the bits of a file that holds what they decode to. */
static void check_type(rewrite_type_fn type, int tensors)
{
    assert_int_equal(rewrite_gguf(TINY, EDIT, NULL, type, false), tensors);
    golden_answer stored = base_case_of(EDIT);
    rewrite_gguf(TINY, EDIT, NULL, type, true);
    golden_answer decoded = base_case_of(EDIT);
    assert_memory_equal(stored.actions, decoded.actions, 5 * 6 * sizeof(float));
    free(stored.actions);
    free(decoded.actions);
}

static void test_f16_matrices_compute(void **state)
{
    (void)state;
    check_type(to_f16, MATRICES);
}

static void test_q8_0_matrices_compute(void **state)
{
    (void)state;
    check_type(to_q8_0, WHOLE_BLOCKS);
}

static void test_q4_0_matrices_compute(void **state)
{
    (void)state;
    check_type(to_q4_0, WHOLE_BLOCKS);
}

static void test_f32_matrices_give_the_bits_of_bf16_ones(void **state)
{
    (void)state;
    assert_int_equal(rewrite_gguf(TINY, EDIT, NULL, to_f32, false), MATRICES);
    golden_answer wide = base_case_of(EDIT), narrow = base_case_of(TINY);
    assert_memory_equal(wide.actions, narrow.actions, 5 * 6 * sizeof(float));
    free(wide.actions);
    free(narrow.actions);
}

static void test_optional_keys_may_be_absent(void **state)
{
    (void)state;
    const rewrite_edit edits[] = { { .kind = REWRITE_DROP_KEY, .name = "smolvla.norm_eps" },
                                   { .kind = REWRITE_DROP_KEY, .name = "smolvla.vit_ln_eps" },
                                   { .kind = REWRITE_DROP_KEY, .name = "smolvla.expert_width_multiplier" },
                                   { .kind = REWRITE_DROP_KEY, .name = "general.architecture" },
                                   { 0 } };
    rewrite_gguf(TINY, EDIT, edits, NULL, false);
    golden_answer without = base_case_of(EDIT), with = base_case_of(TINY);
    assert_memory_equal(without.actions, with.actions, 5 * 6 * sizeof(float));
    free(without.actions);
    free(with.actions);
}

/* ---- refusals ---- */

static void assert_refused(const char *path, vact_status code, const char *text)
{
    vact_error err = { 0 };
    vact_model *model = NULL;
    const vact_status status = vact_model_open(&model, path, NULL, &err);
    assert_string_equal(err.text, text);
    assert_int_equal(status, code);
    assert_int_equal(err.code, code);
    assert_null(model);
}

#define KEY "smolvla."
static const struct {
    rewrite_edit edits[3];
    vact_status code;
    const char *text; /* after the path */
} refusals[] = {
    { { { REWRITE_RENAME_TENSOR, "vlm.blk.2.attn_k.weight", 0, "vlm.blk.2.attn_key.weight" } },
      VACT_EFORMAT,
      "tensor vlm.blk.2.attn_k.weight is missing, expected [32, 16]" },
    { { { REWRITE_DROP_TENSOR, "vit.pos_embd", 0, NULL }, { REWRITE_DROP_TENSOR, "mm.fc.weight", 0, NULL } },
      VACT_EFORMAT,
      "tensor vit.pos_embd is missing, expected [16, 32] (and 1 more; vact inspect lists them)" },
    { { { REWRITE_FLATTEN_TENSOR, "aex.blk.1.attn_k.weight", 0, NULL } },
      VACT_EFORMAT,
      "tensor aex.blk.1.attn_k.weight is [1024], expected [32, 32]" },
    { { { REWRITE_DROP_TENSOR, "action_std", 0, NULL } }, VACT_EFORMAT, "tensor action_std is missing, expected [6]" },
    { { { REWRITE_SET_VALUE, "action_std", -1, NULL } },
      VACT_EFORMAT,
      "the std of action value 0 is -1, expected a positive number" },
    { { { REWRITE_SET_VALUE, "state_mean", INFINITY, NULL } },
      VACT_EFORMAT,
      "the mean of state value 0 is inf, expected a finite number" },
    { { { REWRITE_KEY_F32, KEY "hidden", 16, NULL } }, VACT_EFORMAT, "key smolvla.hidden has type f32, expected u32" },
    { { { REWRITE_KEY_U32, KEY "min_period", 1, NULL } },
      VACT_EFORMAT,
      "key smolvla.min_period has type u32, expected f64" },
    { { { REWRITE_DROP_KEY, KEY "n_layers", 0, NULL } },
      VACT_EFORMAT,
      "key smolvla.n_layers is missing, expected a u32" },
    { { { REWRITE_KEY_U32, KEY "patch_size", 0, NULL } },
      VACT_EFORMAT,
      "key smolvla.patch_size is 0, expected 1 to 512" },
    { { { REWRITE_KEY_U32, KEY "vit_pixel_shuffle", 0, NULL } },
      VACT_EFORMAT,
      "key smolvla.vit_pixel_shuffle is 0, expected 1 to 64" },
    { { { REWRITE_KEY_U32, KEY "self_attn_every_n_layers", 0, NULL } },
      VACT_EFORMAT,
      "key smolvla.self_attn_every_n_layers is 0, expected 1 to 1024" },
    { { { REWRITE_KEY_U32, KEY "n_layers", 0, NULL }, { REWRITE_KEY_U32, KEY "num_steps", 0, NULL } },
      VACT_EFORMAT,
      "key smolvla.n_layers is 0, expected 1 to 1024 (and 1 more; vact inspect lists them)" },
    { { { REWRITE_KEY_U32, KEY "chunk_size", 0, NULL } },
      VACT_EFORMAT,
      "key smolvla.chunk_size is 0, expected 1 to 1024" },
    { { { REWRITE_KEY_U32, KEY "num_steps", 100000, NULL } },
      VACT_EFORMAT,
      "key smolvla.num_steps is 100000, expected 1 to 1000" },
    { { { REWRITE_KEY_U32, KEY "head_dim", 15, NULL } },
      VACT_EFORMAT,
      "smolvla.head_dim is 15, expected an even number" },
    { { { REWRITE_KEY_U32, KEY "n_kv_heads", 4, NULL } },
      VACT_EFORMAT,
      "smolvla.n_q_heads is 6, expected a multiple of n_kv_heads 4" },
    { { { REWRITE_KEY_U32, KEY "vit_heads", 5, NULL } },
      VACT_EFORMAT,
      "smolvla.vit_hidden is 32, expected a multiple of vit_heads 5" },
    { { { REWRITE_KEY_U32, KEY "real_state_dim", 9, NULL } },
      VACT_EFORMAT,
      "smolvla.real_state_dim is 9, expected at most max_state_dim 8" },
    { { { REWRITE_KEY_U32, KEY "real_action_dim", 9, NULL } },
      VACT_EFORMAT,
      "smolvla.real_action_dim is 9, expected at most max_action_dim 8" },
    { { { REWRITE_KEY_U32, KEY "n_img_tokens", 5, NULL } },
      VACT_EFORMAT,
      "smolvla.n_img_tokens is 5, expected 4 from image_size, patch_size and vit_pixel_shuffle" },
    { { { REWRITE_KEY_U32, KEY "image_size", 33, NULL } },
      VACT_EFORMAT,
      "smolvla.image_size is 33, expected a multiple of patch_size 8" },
    { { { REWRITE_KEY_U32, KEY "image_size", 24, NULL } },
      VACT_EFORMAT,
      "smolvla.vit_pixel_shuffle is 2, expected a divisor of the 3 patches in a row" },
    { { { REWRITE_KEY_U32, KEY "n_kv_heads", 0, NULL } },
      VACT_EFORMAT,
      "key smolvla.n_kv_heads is 0, expected 1 to 1024" },
    { { { REWRITE_KEY_U32, KEY "vit_heads", 0, NULL } },
      VACT_EFORMAT,
      "key smolvla.vit_heads is 0, expected 1 to 1024" },
    { { { REWRITE_KEY_U32, KEY "expert_h", 23, NULL } },
      VACT_EFORMAT,
      "smolvla.expert_h is 23, expected an even number" },
    { { { REWRITE_KEY_U32, KEY "hidden", 4294967295, NULL } },
      VACT_EFORMAT,
      "key smolvla.hidden is 4294967295, expected 1 to 65536" },
    { { { REWRITE_KEY_F64, KEY "min_period", NAN, NULL } },
      VACT_EFORMAT,
      "key smolvla.min_period is nan, expected 1e-09 to 1e+09" },
    { { { REWRITE_KEY_TEXT, KEY "architecture", 0, "pi0" } },
      VACT_EFORMAT,
      "key smolvla.architecture is \"pi0\", expected \"smolvla\"" },
    { { { REWRITE_KEY_TEXT, "general.architecture", 0, "llama" } },
      VACT_EMODEL,
      "architecture \"llama\" is not known, expected one of: smolvla, pi0, pi05" },
    { { { REWRITE_KEY_U32, "general.architecture", 0, NULL } },
      VACT_EFORMAT,
      "key general.architecture: found u32, expected string" },
};

static void test_a_wrong_file_is_refused_with_its_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char text[400];
        rewrite_gguf(TINY, EDIT, refusals[i].edits, NULL, false);
        snprintf(text, sizeof text, "%s: %s", EDIT, refusals[i].text);
        assert_refused(EDIT, refusals[i].code, text);
    }
}

/* The tiny checkpoint with that key of another type. */
typedef struct retyped {
    const char *key;
    vact_gguf_type type;
} retyped;

static vact_status put_retyped(const void *user, vact_gguf_writer *w, vact_error *err)
{
    static const uint8_t one[16] = { 1 }; /* 1 as a number; as a text, one NUL */
    const retyped *r = user;
    if (r->type == VACT_GGUF_ARRAY)
        return vact_gguf_put_array(w, r->key, VACT_GGUF_U32, one, 1, err);
    return vact_gguf_put_value(w, &(vact_gguf_value){ r->key, r->type, r->type, 1, one }, err);
}

static void test_a_key_of_any_other_type_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        vact_gguf_type right;
    } keys[] = {
        { KEY "n_layers", VACT_GGUF_U32 },
        { KEY "min_period", VACT_GGUF_F64 },
        { KEY "norm_eps", VACT_GGUF_F32 },
        { KEY "architecture", VACT_GGUF_STRING },
    };
    vact_error err = { 0 };
    vact_gguf *gguf = NULL;
    assert_int_equal(vact_gguf_open(&gguf, TINY, &err), VACT_OK);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (vact_gguf_type type = 0; type < VACT_GGUF_TYPE_END; type++) {
            char text[400];
            if (type == keys[i].right)
                continue;
            const retyped user = { keys[i].key, type };
            const vact_rewrite rewrite = { .in = gguf, .dropped = keys[i].key, .put = put_retyped, .user = &user };
            assert_int_equal(vact_rewrite_to(&rewrite, EDIT, &err), VACT_OK);
            snprintf(text, sizeof text, "%s: key %s has type %s, expected %s", EDIT, keys[i].key,
                     vact_gguf_type_name(type), vact_gguf_type_name(keys[i].right));
            assert_refused(EDIT, VACT_EFORMAT, text);
        }
    vact_gguf_close(&gguf);
}

static uint32_t f16_state_std(const vact_gguf_tensor *t)
{
    return strcmp(t->name, "state_std") == 0 ? VACT_DTYPE_F16 : t->dtype;
}

static void test_statistics_may_be_f16(void **state)
{
    (void)state;
    assert_int_equal(rewrite_gguf(TINY, EDIT, NULL, f16_state_std, false), 1);
    vact_model *model = golden_open(EDIT);
    vact_model_close(&model);
}

static void test_a_truncated_file_is_refused(void **state)
{
    (void)state;
    rewrite_gguf(TINY, EDIT, NULL, NULL, false);
    assert_int_equal(truncate(EDIT, 1000000), 0);
    vact_error err = { 0 };
    vact_model *model = NULL;
    assert_int_equal(vact_model_open(&model, EDIT, NULL, &err), VACT_EFORMAT);
    assert_non_null(strstr(err.text, EDIT ": tensor token_embd.weight"));
    assert_non_null(strstr(err.text, "1000000"));
}

static void test_a_missing_file_is_an_io_error(void **state)
{
    (void)state;
    assert_refused("no-such.gguf", VACT_EIO, "no-such.gguf: No such file or directory");
}

static void test_actions_that_the_statistics_make_infinite_are_not_handed_out(void **state)
{
    (void)state;
    const rewrite_edit edits[] = { { REWRITE_SET_VALUE, "action_std", 3e38, NULL },
                                   { REWRITE_SET_VALUE, "action_mean", 3e38, NULL },
                                   { 0 } };
    rewrite_gguf(TINY, EDIT, edits, NULL, false);
    vact_error err;
    vact_model *model = golden_open(EDIT);
    vact_session *session = golden_session(model, NULL);
    float actions[5 * 6] = { 0 }, noise[5 * 8] = { 0 }, embedding[4 * 16] = { 0 };
    for (int i = 0; i < 5; i++)
        noise[i * 8] = 100; /* far more than 10 steps of velocity take away */
    vact_reply reply = { .actions = actions };
    const vact_request q = {
        .image_embeddings = embedding, .n_embedded_views = 1, .tokens = (int32_t[]){ 1 }, .n_tokens = 1, .noise = noise
    };
    assert_int_equal(vact_predict(session, &q, &reply, &err), VACT_EMODEL);
    assert_string_equal(err.text, "action 0 has inf in column 0: the model's weights are broken");
    for (int i = 0; i < 5 * 6; i++)
        assert_true(actions[i] == 0);
    vact_session_close(&session);
    vact_model_close(&model);
}

static void test_close_accepts_nothing(void **state)
{
    (void)state;
    vact_model *model = NULL;
    vact_session *session = NULL;
    vact_model_close(NULL);
    vact_model_close(&model);
    vact_session_close(NULL);
    vact_session_close(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f16_matrices_compute),
        cmocka_unit_test(test_q8_0_matrices_compute),
        cmocka_unit_test(test_q4_0_matrices_compute),
        cmocka_unit_test(test_f32_matrices_give_the_bits_of_bf16_ones),
        cmocka_unit_test(test_optional_keys_may_be_absent),
        cmocka_unit_test(test_a_wrong_file_is_refused_with_its_reason),
        cmocka_unit_test(test_a_key_of_any_other_type_is_refused),
        cmocka_unit_test(test_statistics_may_be_f16),
        cmocka_unit_test(test_a_truncated_file_is_refused),
        cmocka_unit_test(test_a_missing_file_is_an_io_error),
        cmocka_unit_test(test_actions_that_the_statistics_make_infinite_are_not_handed_out),
        cmocka_unit_test(test_close_accepts_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
