/* Made-up weights against what another program, in another language, makes of the same rule. */
#include "fnv.h"
#include "folder.h"
#include "tensor/synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/registry.h"

static int make_folder(void **state)
{
    (void)state;
    return folder_make("tiny.gguf");
}

/* ---- noise ---- */

static void test_noise_is_what_the_rule_says(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t seed, first;
        float want[3];
    } cases[] = {
        { "token_embd.weight", 0, 0, { 0x1.993e1p-3f, 0x1.2aca4cp-1f, -0x1.b51bc8p-2f } },
        { "token_embd.weight", 7, 0, { -0x1.bc50dp-1f, -0x1.cd946p-2f, 0x1.7f29d8p-1f } },
        { "token_embd.weight", 0, 65535, { -0x1.46e334p-1f, -0x1.4c2c28p-2f, 0x1.f651ecp-1f } },
        { "vit.blk.1.fc2.bias", 0, 3, { -0x1.1b587p-1f, -0x1.ab478cp-1f, -0x1.d838acp-1f } },
        { "vit.blk.1.fc2.bias", 123456789, 3, { -0x1.56bd5p-3f, -0x1.34e92cp-1f, -0x1.c09e08p-1f } },
        { "", 0, 0, { 0x1.0e05fp-1f, -0x1.bfcc98p-1f, -0x1.59e2d8p-2f } },
        { "a", UINT64_MAX, 1000000000000, { -0x1.ef9a2cp-1f, 0x1.ff6ffp-1f, -0x1.2c423cp-1f } },
        { "state_mean", 1, 8589934592, { -0x1.c079dp-1f, -0x1.91a354p-1f, 0x1.dc96cp-1f } },
        { "\xc3\xa4", 5, 0, { 0x1.a2982p-2f, 0x1.d39524p-1f, 0x1.daf6acp-1f } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float got[3];
        vact_synth_noise(got, cases[i].name, cases[i].seed, cases[i].first, 3);
        assert_memory_equal(got, cases[i].want, sizeof got);
    }
}

/* ---- the tiny SmolVLA ---- */

static const vact_arch *smolvla(void)
{
    const vact_arch *arch = vact_arch_find("smolvla", 7);
    assert_non_null(arch);
    assert_string_equal(arch->schema.presets[0].name, "tiny");
    return arch;
}

static vact_gguf *write_and_open(uint64_t seed, vact_progress_fn progress, void *user)
{
    vact_error err = { 0 };
    vact_gguf *gguf = NULL;
    const vact_schema *schema = &smolvla()->schema;
    if (vact_synth_write(schema, &schema->presets[0], path, &(vact_synth_options){ seed, 0, progress, user }, &err) !=
            VACT_OK ||
        vact_gguf_open(&gguf, path, &err) != VACT_OK)
        fail_msg("%s", err.text);
    return gguf;
}

/* "NAME TYPE HEX", without the line's kind. */
static void check_key(const vact_gguf *gguf, const char *name, const char *type, const char *hex)
{
    const vact_gguf_value *value = vact_gguf_find(gguf, name);
    if (!value)
        fail_msg("no key %s", name);
    assert_string_equal(vact_gguf_type_name(value->type), type);
    const uint8_t *data = value->data;
    size_t size = value->type == VACT_GGUF_F64 ? 8 : 4;
    if (value->type == VACT_GGUF_STRING) {
        const vact_gguf_text text = vact_gguf_get_text(value, 0);
        data = (const uint8_t *)text.data;
        size = (size_t)text.length;
    }
    char found[100] = "";
    assert_true(2 * size < sizeof found);
    for (size_t i = 0; i < size; i++)
        snprintf(found + 2 * i, 3, "%02x", data[i]);
    if (strcmp(found, hex) != 0)
        fail_msg("key %s holds %s, expected %s", name, found, hex);
}

static void check_tensor(const vact_gguf *gguf, const char *name, const char *type, const char *shape, const char *hash)
{
    const vact_gguf_tensor *t = vact_gguf_find_tensor(gguf, name);
    if (!t)
        fail_msg("no tensor %s", name);
    assert_string_equal(vact_dtype_get(t->dtype)->name, type);
    char found[100] = "", hex[20];
    for (uint32_t i = t->n_dims; i-- > 0;)
        snprintf(found + strlen(found), sizeof found - strlen(found), i ? "%llux" : "%llu",
                 (unsigned long long)t->ne[i]);
    assert_string_equal(found, shape);
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)fnv1a64(t->data, t->bytes));
    if (strcmp(hex, hash) != 0)
        fail_msg("the bytes of tensor %s hash to %s, expected %s", name, hex, hash);
}

/* Every line of the table is in the file, and there is nothing else. `column`: which of the two hashes. */
static void check_file(const vact_gguf *gguf, int column)
{
    char line[400], kind[16], name[80], a[40], b[40], hash[2][40];
    uint64_t keys = 0, tensors = 0;
    FILE *table = fopen(TEST_DATA "/smolvla_tiny_hashes.txt", "r");
    assert_non_null(table);
    while (fgets(line, sizeof line, table)) {
        if (line[0] == '#')
            continue;
        const int n = sscanf(line, "%15s %79s %39s %39s %39s %39s", kind, name, a, b, hash[0], hash[1]);
        if (strcmp(kind, "key") == 0) {
            assert_int_equal(n, 4);
            check_key(gguf, name, a, b);
            keys++;
        } else {
            assert_int_equal(n, 6);
            check_tensor(gguf, name, a, b, hash[column]);
            tensors++;
        }
    }
    fclose(table);
    assert_int_equal(gguf->n_values, keys);
    assert_int_equal(gguf->n_tensors, tensors);
    assert_true(tensors > 100);
}

static void test_the_tiny_checkpoint_is_the_other_programs(void **state)
{
    (void)state;
    static const uint64_t seeds[] = { 0, 7 };
    for (int i = 0; i < 2; i++) {
        vact_gguf *gguf = write_and_open(seeds[i], NULL, NULL);
        check_file(gguf, i);
        vact_gguf_close(&gguf);
        assert_int_equal(unlink(path), 0);
    }
}

static void follow(void *user, double done)
{
    double *last = user;
    assert_true(done > *last && done <= 1);
    *last = done;
}

static void test_progress_grows_to_one(void **state)
{
    (void)state;
    double last = 0;
    vact_gguf *gguf = write_and_open(0, follow, &last);
    vact_gguf_close(&gguf);
    assert_int_equal(unlink(path), 0);
    assert_true(last == 1);
}

/* ---- what is refused ---- */

static const char *refuse(void *config, char *text, size_t size)
{
    (void)config;
    snprintf(text, size, "toy.width is 6, expected a multiple of 4");
    return text;
}

static void test_a_preset_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const vact_preset preset = { "odd", "" };
    static const vact_schema toy = { .arch = "toy", .config_bytes = 1, .derive = refuse };
    vact_error err = { 0 };
    assert_int_equal(vact_synth_write(&toy, &preset, "odd.gguf", &(vact_synth_options){ 0 }, &err), VACT_EARG);
    assert_string_equal(err.text, "odd.gguf: preset odd: toy.width is 6, expected a multiple of 4");
    assert_int_not_equal(access("odd.gguf", F_OK), 0);
}

static void test_a_folder_that_is_not_there_is_eio(void **state)
{
    (void)state;
    vact_error err = { 0 };
    const vact_schema *schema = &smolvla()->schema;
    char missing[80];
    snprintf(missing, sizeof missing, "%s/no/tiny.gguf", folder);
    assert_int_equal(vact_synth_write(schema, &schema->presets[0], missing, &(vact_synth_options){ 0 }, &err),
                     VACT_EIO);
    assert_non_null(strstr(err.text, missing));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise_is_what_the_rule_says),
        cmocka_unit_test(test_the_tiny_checkpoint_is_the_other_programs),
        cmocka_unit_test(test_progress_grows_to_one),
        cmocka_unit_test(test_a_preset_that_does_not_fit_is_refused),
        cmocka_unit_test(test_a_folder_that_is_not_there_is_eio),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
