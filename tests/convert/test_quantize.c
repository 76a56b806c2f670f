/* What Python's gguf package 0.19.0 makes of the same tensors (hashes of gguf.quants.quantize), chosen by the rule of
 * VinRobotics/vla.cpp, scripts/quantize_gguf.py. */
#include "convert/quantize.h"
#include "file/gguf.h"
#include "fnv.h"
#include "folder.h"
#include "models/golden.h"
#include "models/rewrite.h"
#include <math.h>
#include <string.h>

static char made[64], other[64];

static int make_checkpoint(void **state)
{
    (void)state;
    if (folder_make("tiny.gguf") != 0)
        return -1;
    snprintf(made, sizeof made, "%s/made.gguf", folder);
    snprintf(other, sizeof other, "%s/other.gguf", folder);
    golden_model("smolvla", "tiny", path);
    return 0;
}

static vact_gguf *open_gguf(const char *file)
{
    vact_error err = { 0 };
    vact_gguf *gguf = NULL;
    if (vact_gguf_open(&gguf, file, &err) != VACT_OK)
        fail_msg("%s", err.text);
    return gguf;
}

static void quantize(const char *in, const char *out, vact_dtype type)
{
    vact_error err = { 0 };
    if (vact_quantize(in, out, &(vact_quantize_options){ .type = type }, NULL, &err) != VACT_OK)
        fail_msg("%s", err.text);
}

/* ---- what is stored anew ---- */

static const vact_dtype types[] = { VACT_DTYPE_F32, VACT_DTYPE_F16, VACT_DTYPE_Q8_0, VACT_DTYPE_Q4_0 };

/* All that have rows of whole blocks of 32. */
static const struct {
    const char *name;
    uint64_t hashes[4];
} packed[] = {
    { "mm.fc.weight", { 0x80a758c94e7548ff, 0x991375f8777ea0c0, 0xc67c656d3cb5c6ca, 0x5f3a17a4cb3c3294 } },
    { "vlm.blk.0.attn_o.weight", { 0x83f9ac0cb8967e5b, 0xcac002fcaf5081e0, 0x043623180212c625, 0x66f46e889fd625f2 } },
    { "vlm.blk.1.attn_o.weight", { 0x94f15986f8896be5, 0x2da1df02bab94211, 0x71c335c0f2eaef74, 0x01e71342684f3d3a } },
    { "vlm.blk.2.attn_o.weight", { 0xf6256c4333d404a0, 0x84f176dcdaa4da19, 0xf85b5f1ced13b54b, 0xd0a5b7df998db90b } },
    { "vlm.blk.3.attn_o.weight", { 0x5dca60b1cd41244a, 0x4020305230eab3d6, 0xd7e8d1eba69dc788, 0x117820bdda995ab8 } },
};
enum { PACKED = sizeof packed / sizeof *packed, LANGUAGE = 29 };

static int find_packed(const char *name)
{
    for (int i = 0; i < PACKED; i++)
        if (strcmp(packed[i].name, name) == 0)
            return i;
    return -1;
}

/* Of any width: the connector and the language model's seven matrices a layer. */
static bool is_language_matrix(const vact_gguf_tensor *t)
{
    return t->n_dims == 2 && (strncmp(t->name, "vlm.blk.", 8) == 0 || strcmp(t->name, "mm.fc.weight") == 0);
}

static void check_same_tensor(const vact_gguf_tensor *a, const vact_gguf_tensor *b)
{
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->bytes, b->bytes);
    assert_memory_equal(a->data, b->data, a->bytes);
}

/* Returns how many tensors have another type. */
static int check_tensors(const vact_gguf *in, const vact_gguf *out, int t)
{
    const bool blocks = vact_dtype_get(types[t])->block > 1;
    int changed = 0;
    assert_int_equal(in->n_tensors, out->n_tensors);
    for (uint64_t i = 0; i < in->n_tensors; i++) {
        const vact_gguf_tensor *a = &in->tensors[i], *b = &out->tensors[i];
        const int p = find_packed(a->name);
        assert_string_equal(a->name, b->name);
        assert_int_equal(a->n_dims, b->n_dims);
        assert_memory_equal(a->ne, b->ne, sizeof a->ne);
        if (blocks ? p < 0 : !is_language_matrix(a)) {
            check_same_tensor(a, b);
            continue;
        }
        assert_int_equal(b->dtype, types[t]);
        if (p >= 0 && fnv1a64(b->data, b->bytes) != packed[p].hashes[t])
            fail_msg("tensor %s differs as %s", a->name, vact_dtype_get(types[t])->name);
        changed++;
    }
    return changed;
}

static void check_values(const vact_gguf *in, const vact_gguf *out)
{
    assert_int_equal(in->n_values, out->n_values);
    for (uint64_t i = 0; i < in->n_values; i++) {
        char a[200], b[200];
        vact_gguf_format_value(&in->values[i], a, sizeof a);
        vact_gguf_format_value(&out->values[i], b, sizeof b);
        assert_string_equal(in->values[i].key, out->values[i].key);
        assert_string_equal(a, b);
    }
}

static void test_matrices_are_the_other_programs_and_the_rest_is_as_it_was(void **state)
{
    (void)state;
    static const int changed[] = { LANGUAGE, LANGUAGE, PACKED, PACKED };
    vact_gguf *in = open_gguf(path);
    for (int t = 0; t < 4; t++) {
        quantize(path, made, types[t]);
        vact_gguf *out = open_gguf(made);
        assert_int_equal(check_tensors(in, out, t), changed[t]);
        check_values(in, out);
        vact_gguf_close(&out);
        assert_int_equal(unlink(made), 0);
    }
    vact_gguf_close(&in);
}

static void test_the_type_that_they_have_gives_the_same_file(void **state)
{
    (void)state;
    quantize(path, made, VACT_DTYPE_BF16);
    vact_gguf *in = open_gguf(path), *out = open_gguf(made);
    assert_int_equal(in->size, out->size);
    assert_memory_equal(in->tensors[0].data - in->tensors[0].offset, out->tensors[0].data - out->tensors[0].offset,
                        in->size);
    vact_gguf_close(&in);
    vact_gguf_close(&out);
    assert_int_equal(unlink(made), 0);
}

/* There all have rows of whole blocks; the hash of their bytes, one after the other. */
static void test_the_demos_policy_is_the_other_programs(void **state)
{
    (void)state;
    enum { ROOM = 4 << 20 };
    static const uint64_t want[] = { 0x066512f3a183307f, 0x8694898503d601f7, 0xea92554f2ff34075, 0xbc22970ad852e5b7 };
    uint8_t *all = malloc(ROOM);
    assert_non_null(all);
    for (int t = 0; t < 4; t++) {
        size_t size = 0;
        int changed = 0;
        quantize(TEST_DATA "/../../examples/demo/tabletop.gguf", made, types[t]);
        vact_gguf *out = open_gguf(made);
        for (uint64_t i = 0; i < out->n_tensors; i++) {
            const vact_gguf_tensor *tensor = &out->tensors[i];
            if (!is_language_matrix(tensor))
                continue;
            assert_int_equal(tensor->dtype, types[t]);
            assert_true(tensor->bytes <= ROOM - size);
            memcpy(all + size, tensor->data, tensor->bytes);
            size += tensor->bytes;
            changed++;
        }
        vact_gguf_close(&out);
        assert_int_equal(unlink(made), 0);
        assert_int_equal(changed, LANGUAGE);
        assert_true(fnv1a64(all, size) == want[t]);
    }
    free(all);
}

/* ---- patterns ---- */

static double last_done;

static void hear(void *user, double done)
{
    (void)user;
    assert_true(done > last_done && done <= 1);
    last_done = done;
}

/* What of `from` `only` and `keep` leave to change, in a report too; the rest is as it was. */
static vact_gguf *quantize_some(const char *from, vact_dtype type, const char *only, const char *keep,
                                vact_quantize_report *report)
{
    const vact_quantize_options options = { .type = type, .only = only, .keep = keep, .progress = hear };
    vact_error err = { 0 };
    last_done = 0;
    if (vact_quantize(from, made, &options, report, &err) != VACT_OK)
        fail_msg("%s", err.text);
    assert_true(last_done == 1);
    vact_gguf *in = open_gguf(from), *out = open_gguf(made);
    uint64_t changed = 0;
    check_values(in, out);
    assert_int_equal(in->n_tensors, out->n_tensors);
    for (uint64_t i = 0; i < in->n_tensors; i++) {
        const vact_gguf_tensor *a = &in->tensors[i], *b = &out->tensors[i];
        assert_string_equal(a->name, b->name);
        assert_memory_equal(a->ne, b->ne, sizeof a->ne);
        if (a->dtype == b->dtype)
            check_same_tensor(a, b);
        else
            assert_int_equal(b->dtype, type);
        changed += a->dtype != b->dtype;
    }
    assert_int_equal(report->n_changed, changed);
    assert_int_equal(report->n_tensors, in->n_tensors);
    assert_int_equal(report->bytes_before, in->size);
    assert_int_equal(report->bytes_after, out->size);
    vact_gguf_close(&in);
    assert_int_equal(unlink(made), 0);
    return out;
}

static void check_hash(const vact_gguf *gguf, const char *name, uint64_t want)
{
    const vact_gguf_tensor *t = vact_gguf_find_tensor(gguf, name);
    assert_non_null(t);
    if (fnv1a64(t->data, t->bytes) != want)
        fail_msg("tensor %s differs", name);
}

/* The file has attn_o of four language, four expert and two vision layers, the latter with a bias. */
static void test_patterns_say_which(void **state)
{
    (void)state;
    static const struct {
        const char *only, *keep;
        int changed, unfit;
        const char *first;
    } cases[] = {
        { "attn_o", NULL, 10, 2, "vit.blk.0.attn_o.bias" },
        { "attn_o", "^vit", 8, 0, "" },
        { "^(vlm|vit)\\.blk\\.[01].*\\.attn_o\\.weight$", NULL, 4, 0, "" },
        { "attn_o|token_embd", "b$|attn_o.b", 10, 1, "token_embd.weight" },
        { NULL, "vlm.blk.[12]", 3, 0, "" },
        { NULL, "nothing like it", 5, 0, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vact_quantize_report report = { 0 };
        vact_gguf *out = quantize_some(path, VACT_DTYPE_Q8_0, cases[i].only, cases[i].keep, &report);
        assert_int_equal(report.n_changed, cases[i].changed);
        assert_int_equal(report.n_unfit, cases[i].unfit);
        if (cases[i].unfit > 0)
            assert_string_equal(report.unfit, cases[i].first);
        const vact_gguf_tensor *vision = vact_gguf_find_tensor(out, "vit.blk.1.attn_o.weight");
        if (vision->dtype == VACT_DTYPE_Q8_0)
            check_hash(out, vision->name, 0x574cb703ea0eb8cd);
        assert_int_equal(vision->dtype == VACT_DTYPE_Q8_0, i == 0 || i == 2 || i == 3);
        check_hash(out, packed[1].name, packed[1].hashes[2]);
        vact_gguf_close(&out);
    }
}

/* The time embedding's matrix is read in parts that may cut blocks. */
static void test_what_is_read_as_floats_stays_floats(void **state)
{
    (void)state;
    vact_quantize_report report = { 0 };
    static const char demo[] = TEST_DATA "/../../examples/demo/tabletop.gguf";
    vact_gguf_close(&(vact_gguf *){ quantize_some(demo, VACT_DTYPE_Q8_0, "mlp_(in|out).weight", NULL, &report) });
    assert_int_equal(report.n_changed, 1);
    assert_int_equal(report.n_unfit, 1);
    assert_string_equal(report.unfit, "action_time_mlp_in.weight");
    vact_gguf_close(&(vact_gguf *){ quantize_some(demo, VACT_DTYPE_F16, "mlp_(in|out).weight", NULL, &report) });
    assert_int_equal(report.n_changed, 2);
    assert_int_equal(report.n_unfit, 0);
}

/* Only where a pattern names them; the hashes are of gguf.quants.quantize(gguf.quants.dequantize(...)). */
static void test_codes_are_rounded_from_codes_only_by_name(void **state)
{
    (void)state;
    vact_quantize_report report = { 0 };
    quantize(path, other, VACT_DTYPE_Q8_0);
    vact_gguf *out = quantize_some(other, VACT_DTYPE_Q4_0, "mm.fc|vlm.blk.3.attn_o", NULL, &report);
    assert_int_equal(report.n_changed, 2);
    check_hash(out, "mm.fc.weight", 0x321d21b52dd94f26);
    check_hash(out, "vlm.blk.3.attn_o.weight", 0xb6047a439db32220);
    vact_gguf_close(&out);
    assert_int_equal(unlink(other), 0);
}

/* ---- what it predicts ---- */

enum { ACTIONS = 30 };

static void predict(const char *file, float actions[ACTIONS])
{
    static uint8_t pixels[32 * 32 * 3];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 7);
    const vact_image image = { .data = pixels, .width = 32, .height = 32, .prepared = true };
    const int32_t tokens[] = { 1, 2, 3 };
    const vact_request request = {
        .images = &image, .n_images = 1, .tokens = tokens, .n_tokens = 3, .has_seed = true, .seed = 1
    };
    vact_reply reply = { .actions = actions };
    vact_error err = { 0 };
    vact_model *model = golden_open(file);
    vact_session *session = golden_session(model, NULL);
    const vact_model_info *info = vact_model_get_info(model);
    assert_int_equal(info->horizon * info->action_dim, ACTIONS);
    if (vact_predict(session, &request, &reply, &err) != VACT_OK)
        fail_msg("%s", err.text);
    vact_session_close(&session);
    vact_model_close(&model);
}

static float distance(const float *a, const float *b)
{
    float most = 0;
    for (int i = 0; i < ACTIONS; i++)
        most = fmaxf(most, fabsf(a[i] - b[i]));
    return most;
}

/* bf16 fits into f32 whole, so the bits are the same; q8_0 has 16 times as many levels as q4_0. */
static void test_the_result_predicts(void **state)
{
    (void)state;
    float original[ACTIONS], found[4][ACTIONS];
    predict(path, original);
    for (int t = 0; t < 4; t++) {
        quantize(path, made, types[t]);
        predict(made, found[t]);
        assert_int_equal(unlink(made), 0);
    }
    assert_memory_equal(found[0], original, sizeof original);
    const float q8_0 = distance(found[2], original), q4_0 = distance(found[3], original);
    assert_true(0 < q8_0 && 4 * q8_0 < q4_0 && q4_0 < 0.5f);
}

/* ---- what is refused ---- */

static void check_options_refused(const char *in, const char *out, const vact_quantize_options *options,
                                  vact_status code, const char *text)
{
    vact_error err = { 0 };
    assert_int_equal(vact_quantize(in, out, options, NULL, &err), code);
    if (!strstr(err.text, text))
        fail_msg("found \"%s\", expected \"%s\"", err.text, text);
    assert_int_not_equal(access(made, F_OK), 0);
}

static void check_refused(const char *in, const char *out, uint32_t type, vact_status code, const char *text)
{
    check_options_refused(in, out, &(vact_quantize_options){ .type = (vact_dtype)type }, code, text);
}

static void check_pattern_refused(const char *only, const char *keep, const char *text)
{
    check_options_refused(path, made, &(vact_quantize_options){ .type = VACT_DTYPE_Q8_0, .only = only, .keep = keep },
                          VACT_EARG, text);
}

static void test_patterns_that_do_not_work_are_refused(void **state)
{
    (void)state;
    check_pattern_refused(
        "vlm.(blk", NULL,
        "the pattern \"vlm.(blk\" is no regular expression: missing closing parenthesis at its byte 8");
    check_pattern_refused(NULL, "a**+[", "the pattern \"a**+[\" is no regular expression: ");
    check_pattern_refused("(?:(?:v|v.|.)+)+$x", NULL,
                          "the pattern \"(?:(?:v|v.|.)+)+$x\" takes too long to search the name");
    check_pattern_refused(
        "norm", NULL,
        "tiny.gguf: the pattern \"norm\" matches no matrix that can be stored as q8_0, expected one for "
        "names like vit.");
    check_pattern_refused(NULL, ".", "tiny.gguf: the pattern \".\" keeps all 5 matrices to store as q8_0");
    check_pattern_refused("attn_o", "attn", "the pattern \"attn\" keeps all 10 matrices to store as q8_0");
}

static void test_the_file_to_read_is_not_written(void **state)
{
    (void)state;
    check_refused(path, path, VACT_DTYPE_Q8_0, VACT_EARG, "tiny.gguf: is the file to read and to write, expected two");
    assert_int_equal(symlink(path, other), 0);
    check_refused(path, other, VACT_DTYPE_Q8_0, VACT_EARG, "expected two");
    check_refused(other, path, VACT_DTYPE_Q8_0, VACT_EARG, "expected two");
    assert_int_equal(unlink(other), 0);
    assert_int_equal(link(path, other), 0);
    check_refused(path, other, VACT_DTYPE_Q8_0, VACT_EARG, "expected two");
    assert_int_equal(unlink(other), 0);
}

static void test_files_and_types_that_do_not_work_are_refused(void **state)
{
    (void)state;
    char missing[80];
    snprintf(missing, sizeof missing, "%s/no/made.gguf", folder);
    check_refused(missing, made, VACT_DTYPE_Q8_0, VACT_EIO, "no/made.gguf");
    check_refused(path, missing, VACT_DTYPE_Q8_0, VACT_EIO, "no/made.gguf");
    check_refused(path, folder, VACT_DTYPE_Q8_0, VACT_EIO, "is a directory");
    check_refused(path, made, 3, VACT_EARG, "as q4_1, expected f32, f16, bf16, q8_0 or q4_0");
    check_refused(path, made, 1000, VACT_EARG, "as type 1000");
}

/* Codes would be rounded from codes. */
static void test_what_is_quantized_stays_as_it_is(void **state)
{
    (void)state;
    quantize(path, other, VACT_DTYPE_Q8_0);
    check_refused(other, made, VACT_DTYPE_Q4_0, VACT_EMODEL,
                  "other.gguf: has no matrix to store as q4_0, expected one in floating point with rows of whole "
                  "blocks of 32");
    assert_int_equal(unlink(other), 0);
}

static void test_values_that_a_type_cannot_hold_are_refused(void **state)
{
    (void)state;
    static const struct {
        double value;
        vact_dtype type;
        const char *text;
    } cases[] = {
        { 1e6, VACT_DTYPE_F16, "other.gguf: tensor vlm.blk.1.attn_o.weight: value 0 is 1e+06, which f16 cannot hold" },
        { 1e7, VACT_DTYPE_Q8_0, "value 0 is 1e+07, which q8_0 cannot hold" },
        { 1e7, VACT_DTYPE_Q4_0, "value 0 is 1e+07, which q4_0 cannot hold" },
        { 3.4028e38, VACT_DTYPE_BF16, "value 0 is 3.4028e+38, which bf16 cannot hold" },
        { (double)NAN, VACT_DTYPE_BF16, "value 0 is nan, which bf16 cannot hold" },
        { (double)NAN, VACT_DTYPE_Q8_0, "value 0 is nan, which q8_0 cannot hold" },
        { (double)-INFINITY, VACT_DTYPE_Q4_0, "value 0 is -inf, which q4_0 cannot hold" },
    };
    char f32[80];
    snprintf(f32, sizeof f32, "%s/f32.gguf", folder);
    quantize(path, f32, VACT_DTYPE_F32);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const rewrite_edit edits[] = { { REWRITE_SET_VALUE, "vlm.blk.1.attn_o.weight", cases[i].value, NULL },
                                       { REWRITE_END, NULL, 0, NULL } };
        rewrite_gguf(f32, other, edits, NULL, false);
        check_refused(other, made, cases[i].type, VACT_EFORMAT, cases[i].text);
        assert_int_equal(unlink(other), 0);
    }
    assert_int_equal(unlink(f32), 0);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrices_are_the_other_programs_and_the_rest_is_as_it_was),
        cmocka_unit_test(test_the_type_that_they_have_gives_the_same_file),
        cmocka_unit_test(test_the_demos_policy_is_the_other_programs),
        cmocka_unit_test(test_patterns_say_which),
        cmocka_unit_test(test_what_is_read_as_floats_stays_floats),
        cmocka_unit_test(test_codes_are_rounded_from_codes_only_by_name),
        cmocka_unit_test(test_the_result_predicts),
        cmocka_unit_test(test_patterns_that_do_not_work_are_refused),
        cmocka_unit_test(test_the_file_to_read_is_not_written),
        cmocka_unit_test(test_files_and_types_that_do_not_work_are_refused),
        cmocka_unit_test(test_what_is_quantized_stays_as_it_is),
        cmocka_unit_test(test_values_that_a_type_cannot_hold_are_refused),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, make_checkpoint, NULL);
}
