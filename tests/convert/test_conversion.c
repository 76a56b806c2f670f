/* What the converter of VinRobotics/vla.cpp makes of the same directory (tools/reference/list_gguf.py), and what each type
 * stores. */
#include "convert/convert.h"
#include "file/gguf.h"
#include "fnv.h"
#include "folder.h"

#include <string.h>

#define DIRECTORY TEST_DATA "/lerobot_smolvla"

static int make_folder(void **state)
{
    (void)state;
    return folder_make("made.gguf");
}

static vact_gguf *convert(vact_dtype type)
{
    vact_error err = { 0 };
    vact_converted made;
    vact_gguf *gguf = NULL;
    if (vact_convert(DIRECTORY, path, &(vact_conversion){ .type = type }, &made, &err) != VACT_OK ||
        vact_gguf_open(&gguf, path, &err) != VACT_OK)
        fail_msg("%s", err.text);
    assert_string_equal(made.arch, "smolvla");
    assert_int_equal(made.bytes, gguf->size);
    return gguf;
}

/* Lines "key NAME TYPE HEX" and "tensor NAME TYPE 512x32 HASH". */
static void check_key(const vact_gguf *gguf, const char *name, const char *type, const char *hex)
{
    const vact_gguf_value *value = vact_gguf_find(gguf, name);
    if (!value)
        fail_msg("key %s is missing", name);
    assert_string_equal(vact_gguf_type_name(value->type), type);
    const uint8_t *bytes = value->data + (value->type == VACT_GGUF_STRING ? 8 : 0);
    char has[512] = "";
    const size_t n = strlen(hex) / 2;
    assert_true(2 * n < sizeof has);
    assert_int_equal(
        value->type == VACT_GGUF_STRING ? vact_gguf_get_text(value, 0).length : vact_gguf_type_bytes(value->type), n);
    for (size_t i = 0; i < n; i++)
        snprintf(has + 2 * i, 3, "%02x", bytes[i]);
    if (strcmp(has, hex) != 0)
        fail_msg("key %s is %s, expected %s", name, has, hex);
}

static void check_tensor(const vact_gguf *gguf, const char *name, const char *type, const char *shape, const char *hash)
{
    const vact_gguf_tensor *t = vact_gguf_find_tensor(gguf, name);
    char has[100] = "";
    if (!t)
        fail_msg("tensor %s is missing", name);
    assert_string_equal(vact_dtype_get(t->dtype)->name, type);
    for (uint32_t i = t->n_dims; i-- > 0;)
        snprintf(has + strlen(has), sizeof has - strlen(has), "%s%llu", has[0] ? "x" : "",
                 (unsigned long long)t->ne[i]);
    assert_string_equal(has, shape);
    if (fnv1a64(t->data, t->bytes) != strtoull(hash, NULL, 16))
        fail_msg("tensor %s differs", name);
}

static void test_keys_and_tensors_are_those_of_the_peers_converter(void **state)
{
    (void)state;
    char line[600], kind[8], name[128], type[16], third[256], fourth[64];
    uint64_t keys = 0, tensors = 0;
    vact_gguf *gguf = convert(VACT_DTYPE_END);
    FILE *f = fopen(TEST_DATA "/lerobot_smolvla_tensors.txt", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        const int n = sscanf(line, "%7s %127s %15s %255s %63s", kind, name, type, third, fourth);
        if (strcmp(kind, "key") == 0 && n == 4 && ++keys)
            check_key(gguf, name, type, third);
        else if (strcmp(kind, "tensor") == 0 && n == 5 && ++tensors)
            check_tensor(gguf, name, type, third, fourth);
        else
            assert_int_equal(kind[0], '#');
    }
    fclose(f);
    assert_int_equal(keys, 32);
    assert_int_equal(tensors, gguf->n_tensors);
    vact_gguf_close(&gguf);
    assert_int_equal(unlink(path), 0);
}

static const char *type_of(const vact_gguf *gguf, const char *name)
{
    const vact_gguf_tensor *t = vact_gguf_find_tensor(gguf, name);
    assert_non_null(t);
    return vact_dtype_get(t->dtype)->name;
}

static void test_types_are_for_matrices(void **state)
{
    (void)state;
    static const struct {
        vact_dtype type;
        const char *embedding, *language, *expert, *projection, *norm, *vision;
    } cases[] = {
        { VACT_DTYPE_BF16, "bf16", "bf16", "bf16", "f32", "f32", "bf16" },
        { VACT_DTYPE_F32, "f32", "f32", "f32", "f32", "f32", "f32" },
        { VACT_DTYPE_Q8_0, "bf16", "q8_0", "bf16", "f32", "f32", "bf16" },
        { VACT_DTYPE_Q4_0, "bf16", "q4_0", "bf16", "f32", "f32", "bf16" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vact_gguf *gguf = convert(cases[i].type);
        assert_string_equal(type_of(gguf, "token_embd.weight"), cases[i].embedding);
        assert_string_equal(type_of(gguf, "vlm.blk.2.ffn_up.weight"), cases[i].language);
        assert_string_equal(type_of(gguf, "mm.fc.weight"), cases[i].language);
        assert_string_equal(type_of(gguf, "aex.blk.1.attn_q.weight"), cases[i].expert);
        assert_string_equal(type_of(gguf, "action_time_mlp_out.weight"), cases[i].projection);
        assert_string_equal(type_of(gguf, "vlm.blk.0.attn_norm.weight"), cases[i].norm);
        assert_string_equal(type_of(gguf, "vit.blk.0.fc1.weight"), cases[i].vision);
        assert_string_equal(type_of(gguf, "vit.patch_embd.weight"), "f32");
        vact_gguf_close(&gguf);
        assert_int_equal(unlink(path), 0);
    }
}

static void write_text(const char *file, const char *text)
{
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void check_names(const char *key, const char *const want[6])
{
    vact_error err = { 0 };
    vact_gguf *gguf = NULL;
    assert_int_equal(vact_gguf_open(&gguf, path, &err), VACT_OK);
    const vact_gguf_value *value = vact_gguf_find(gguf, key);
    assert_true(value && value->count == 6);
    for (uint64_t i = 0; i < 6; i++) {
        const vact_gguf_text text = vact_gguf_get_text(value, i);
        assert_int_equal(text.length, strlen(want[i]));
        assert_memory_equal(text.data, want[i], text.length);
    }
    vact_gguf_close(&gguf);
}

#define STATE_NAMES(names)  "{\"features\": {\"observation.state\": {\"names\": " names "}}}"
#define ACTION_NAMES(names) "{\"features\": {\"action\": {\"names\": " names "}}}"

static void test_a_data_set_names_values_in_place_of_what_the_checkpoint_has(void **state)
{
    (void)state;
    static const char *const state_names[] = { "a", "b", "c", "d", "e", "f" };
    static const char *const action_names[] = { "u", "v", "w", "x", "y", "z" };
    vact_error err = { 0 };
    vact_converted made;
    char info[80], first[80];
    vact_conversion how = { .type = VACT_DTYPE_END, .dataset_info = info };
    snprintf(info, sizeof info, "%s/info.json", folder);
    snprintf(first, sizeof first, "%s/first.gguf", folder);

    write_text(info, STATE_NAMES("[\"1\", \"2\", \"3\", \"4\", \"5\", \"6\"]"));
    assert_int_equal(vact_convert(DIRECTORY, first, &how, &made, &err), VACT_OK);
    write_text(info, ACTION_NAMES("{\"motors\": [\"u\", \"v\", \"w\", \"x\", \"y\", \"z\"]}"));
    assert_int_equal(vact_convert(first, path, &how, &made, &err), VACT_OK);
    check_names("vact.state_names", (const char *const[6]){ "1", "2", "3", "4", "5", "6" });
    check_names("vact.action_names", action_names);
    write_text(info, STATE_NAMES("[\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]"));
    assert_int_equal(vact_convert(first, path, &how, &made, &err), VACT_OK);
    check_names("vact.state_names", state_names);
    assert_int_equal(unlink(path), 0);

    write_text(info, STATE_NAMES("[\"a\", \"b\", \"c\", \"d\", \"e\"]"));
    assert_int_equal(vact_convert(first, path, &how, &made, &err), VACT_EFORMAT);
    assert_non_null(strstr(err.text, "info.json: features/observation.state/names: has 5 names, expected 6"));
    write_text(info, ACTION_NAMES("[\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\"]"));
    assert_int_equal(vact_convert(DIRECTORY, path, &how, &made, &err), VACT_EFORMAT);
    assert_non_null(strstr(err.text, "info.json: features/action/names: has 7 names, expected 6"));
    assert_int_equal(access(path, F_OK), -1);

    how.tokenizer = first;
    assert_int_equal(vact_convert(DIRECTORY, info, &how, &made, &err), VACT_EARG);
    assert_int_equal(vact_convert(DIRECTORY, first, &how, &made, &err), VACT_EARG);
    assert_int_equal(unlink(info), 0);
    assert_int_equal(unlink(first), 0);
}

static void test_what_would_be_overwritten_is_refused(void **state)
{
    (void)state;
    vact_error err = { 0 };
    vact_converted made;
    const vact_conversion plain = { .type = VACT_DTYPE_END };
    assert_int_equal(vact_convert(DIRECTORY, DIRECTORY "/model.safetensors", &plain, &made, &err), VACT_EARG);
    assert_non_null(
        strstr(err.text, "model.safetensors: is a file of the checkpoint itself, expected another to write"));
    assert_int_equal(vact_convert(DIRECTORY, DIRECTORY "/./config.json", &plain, &made, &err), VACT_EARG);
    assert_int_equal(vact_convert(DIRECTORY, DIRECTORY, &plain, &made, &err), VACT_EARG);
    assert_int_equal(vact_convert(DIRECTORY, path, &(vact_conversion){ .type = VACT_DTYPE_Q4_0 + 1 }, &made, &err),
                     VACT_EARG);
    assert_non_null(strstr(err.text, "expected bf16, f32, q8_0 or q4_0"));

    vact_gguf *gguf = convert(VACT_DTYPE_END);
    assert_int_equal(vact_convert(path, path, &plain, &made, &err), VACT_EARG);
    const vact_conversion with = { .type = VACT_DTYPE_END, .tokenizer = path }; /* a GGUF file may be one, too */
    assert_int_equal(vact_convert(DIRECTORY, path, &with, &made, &err), VACT_EARG);
    assert_non_null(strstr(err.text, "made.gguf: is the file to read and to write, expected two"));
    vact_gguf_close(&gguf);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_and_tensors_are_those_of_the_peers_converter),
        cmocka_unit_test(test_types_are_for_matrices),
        cmocka_unit_test(test_a_data_set_names_values_in_place_of_what_the_checkpoint_has),
        cmocka_unit_test(test_what_would_be_overwritten_is_refused),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
