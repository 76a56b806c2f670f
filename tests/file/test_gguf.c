/* Good files are read as they are; damaged ones end in a status. */
#include "file/gguf.h"
#include "folder.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "gguf_kinds.h"
#include "gguf_walk.h"

static vact_gguf *parse(const struct bytes *b)
{
    vact_gguf *gguf = NULL;
    vact_error err = { 0 };
    if (vact_gguf_parse(&gguf, "x.gguf", b->data, b->size, &err) != VACT_OK)
        fail_msg("%s", err.text);
    assert_string_equal(err.text, "");
    return gguf;
}

static vact_gguf *parse_tokens(struct bytes *b, const char *tokens)
{
    bytes_build(b, tokens);
    return parse(b);
}

static const vact_gguf_value *value(const vact_gguf *gguf, const char *key, vact_gguf_type element, uint64_t count)
{
    const vact_gguf_value *v = vact_gguf_find(gguf, key);
    assert_non_null(v);
    assert_string_equal(v->key, key);
    assert_int_equal(v->type, strncmp(key, "a.", 2) == 0 ? VACT_GGUF_ARRAY : element);
    assert_int_equal(v->element, element);
    assert_int_equal(v->count, count);
    return v;
}

static void check_text(const vact_gguf_value *v, uint64_t index, const char *expected)
{
    const vact_gguf_text text = vact_gguf_get_text(v, index);
    assert_int_equal(text.length, strlen(expected));
    assert_memory_equal(text.data, expected, text.length);
}

static void check_scalars(const vact_gguf *g)
{
    assert_int_equal(vact_gguf_get_uint(value(g, "u8", VACT_GGUF_U8, 1), 0), 200);
    assert_int_equal(vact_gguf_get_int(value(g, "i8", VACT_GGUF_I8, 1), 0), -100);
    assert_int_equal(vact_gguf_get_uint(value(g, "u16", VACT_GGUF_U16, 1), 0), 60000);
    assert_int_equal(vact_gguf_get_int(value(g, "i16", VACT_GGUF_I16, 1), 0), -30000);
    assert_int_equal(vact_gguf_get_uint(value(g, "u32", VACT_GGUF_U32, 1), 0), 4000000000);
    assert_int_equal(vact_gguf_get_int(value(g, "i32", VACT_GGUF_I32, 1), 0), -2000000000);
    assert_true(vact_gguf_get_float(value(g, "f32", VACT_GGUF_F32, 1), 0) == (double)1e-5f);
    assert_int_equal(vact_gguf_get_uint(value(g, "bool", VACT_GGUF_BOOL, 1), 0), 1);
    check_text(value(g, "text", VACT_GGUF_STRING, 1), 0, "pick up");
    assert_int_equal(vact_gguf_get_uint(value(g, "u64", VACT_GGUF_U64, 1), 0), UINT64_MAX - 1);
    assert_int_equal(vact_gguf_get_int(value(g, "i64", VACT_GGUF_I64, 1), 0), -9000000000);
    assert_true(vact_gguf_get_float(value(g, "f64", VACT_GGUF_F64, 1), 0) == 0.1);
}

static void check_arrays(const vact_gguf *g)
{
    assert_int_equal(vact_gguf_get_uint(value(g, "a.u8", VACT_GGUF_U8, 3), 2), 255);
    assert_int_equal(vact_gguf_get_int(value(g, "a.i8", VACT_GGUF_I8, 2), 0), -1);
    assert_int_equal(vact_gguf_get_uint(value(g, "a.u16", VACT_GGUF_U16, 2), 1), 65535);
    assert_int_equal(vact_gguf_get_int(value(g, "a.i16", VACT_GGUF_I16, 2), 1), 1);
    assert_int_equal(vact_gguf_get_uint(value(g, "a.u32", VACT_GGUF_U32, 1), 0), UINT32_MAX);
    assert_int_equal(vact_gguf_get_int(value(g, "a.i32", VACT_GGUF_I32, 2), 1), 7);
    assert_true(vact_gguf_get_float(value(g, "a.f32", VACT_GGUF_F32, 3), 1) == -1.25);
    assert_int_equal(vact_gguf_get_uint(value(g, "a.bool", VACT_GGUF_BOOL, 2), 0), 0);
    check_text(value(g, "a.text", VACT_GGUF_STRING, 3), 0, "one");
    check_text(value(g, "a.text", VACT_GGUF_STRING, 3), 1, "");
    check_text(value(g, "a.text", VACT_GGUF_STRING, 3), 2, "three");
    assert_int_equal(vact_gguf_get_uint(value(g, "a.u64", VACT_GGUF_U64, 1), 0), UINT64_MAX);
    assert_true(vact_gguf_get_float(value(g, "a.f64", VACT_GGUF_F64, 2), 1) == 1e300);
    value(g, "a.none", VACT_GGUF_STRING, 0);
}

static void test_every_value_type_is_read_in_versions_2_and_3(void **state)
{
    (void)state;
    for (int version = 2; version <= 3; version++) {
        struct bytes b = { 0 };
        build_all_kinds(&b, version);
        vact_gguf *gguf = parse(&b);
        assert_int_equal(gguf->version, version);
        assert_int_equal(gguf->size, b.size);
        assert_int_equal(gguf->alignment, 32);
        assert_int_equal(gguf->n_values, 24);
        assert_string_equal(gguf->path, "x.gguf");
        assert_string_equal(gguf->values[0].key, "u8");
        assert_string_equal(gguf->by_key[0]->key, "a.bool");
        check_scalars(gguf);
        check_arrays(gguf);
        vact_gguf_close(&gguf);
        assert_null(gguf);
        bytes_free(&b);
    }
}

static void test_tensors_are_views_of_the_file(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    build_all_kinds(&b, 3);
    vact_gguf *gguf = parse(&b);
    assert_int_equal(gguf->n_tensors, 3);
    assert_string_equal(gguf->tensors[0].name, "z.weight");
    assert_string_equal(gguf->by_name[0]->name, "a.weight");

    const vact_gguf_tensor *z = vact_gguf_find_tensor(gguf, "z.weight");
    assert_ptr_equal(z, &gguf->tensors[0]);
    assert_int_equal(z->dtype, VACT_DTYPE_F32);
    assert_int_equal(z->n_dims, 2);
    assert_memory_equal(z->ne, ((uint64_t[]){ 3, 2, 1, 1 }), sizeof z->ne);
    assert_int_equal(z->bytes, 24);
    assert_int_equal(z->offset % 32, 0);
    assert_ptr_equal(z->data, b.data + z->offset);
    assert_memory_equal(z->data, ((float[]){ 1, 2, 3, 4, 5, 6 }), 24);

    const vact_gguf_tensor *a = vact_gguf_find_tensor(gguf, "a.weight");
    assert_int_equal(a->dtype, VACT_DTYPE_Q8_0);
    assert_int_equal(a->bytes, 68);
    assert_int_equal(a->offset, z->offset + 32);
    assert_int_equal(a->data[67], 8);

    const vact_gguf_tensor *m = vact_gguf_find_tensor(gguf, "m.bias");
    assert_int_equal(m->dtype, VACT_DTYPE_BF16);
    assert_int_equal(m->n_dims, 4);
    assert_memory_equal(m->ne, ((uint64_t[]){ 1, 1, 5, 1 }), sizeof m->ne);
    assert_int_equal(m->offset + m->bytes, gguf->size);
    assert_memory_equal(m->data, "0123456789", 10);
    vact_gguf_close(&gguf);
    bytes_free(&b);
}

static void test_the_alignment_of_the_file_is_used(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    vact_gguf *gguf = parse_tokens(&b, "r:GGUF 4:3 8:2 8:1 s:general.alignment 4:4 4:8 s:t 4:1 8:1 4:24 8:0 "
                                       "s:u 4:1 8:1 4:24 8:8 a:8 r:t a:8 r:u");
    assert_int_equal(gguf->alignment, 8);
    assert_int_equal(*vact_gguf_find_tensor(gguf, "t")->data, 't');
    assert_int_equal(*vact_gguf_find_tensor(gguf, "u")->data, 'u');
    vact_gguf_close(&gguf);
    bytes_free(&b);
}

static void test_a_file_without_tensors_may_end_at_its_last_value(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    vact_gguf *gguf = parse_tokens(&b, "r:GGUF 4:3 8:0 8:1 s:k 4:0 1:5");
    assert_int_equal(vact_gguf_get_uint(vact_gguf_find(gguf, "k"), 0), 5);
    vact_gguf_close(&gguf);
    bytes_free(&b);

    gguf = parse_tokens(&b, "r:GGUF 4:3 8:0 8:0");
    assert_null(vact_gguf_find(gguf, "k"));
    assert_null(vact_gguf_find_tensor(gguf, "k"));
    vact_gguf_close(&gguf);
    bytes_free(&b);
}

static void test_tensors_may_lie_in_any_order_with_gaps(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    vact_gguf *gguf = parse_tokens(&b, "r:GGUF 4:3 8:2 8:0 s:late 4:1 8:1 4:24 8:96 s:early 4:1 8:1 4:24 8:32 "
                                       "a:32 z:32 r:e a:32 z:32 r:l z:99");
    assert_int_equal(*vact_gguf_find_tensor(gguf, "early")->data, 'e');
    assert_int_equal(*vact_gguf_find_tensor(gguf, "late")->data, 'l');
    vact_gguf_close(&gguf);
    bytes_free(&b);
}

static void test_each_of_many_names_is_found_and_no_other(void **state)
{
    (void)state;
    enum { N = 500 };
    struct bytes b = { 0 };
    char text[128];
    bytes_build(&b, "r:GGUF 4:3 8:500 8:500");
    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "s:key.%d 4:4 4:%d", i * 7919 % N, i);
        bytes_build(&b, text);
    }
    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "s:blk.%d.weight 4:1 8:1 4:24 8:%d", i * 7919 % N, i * 32);
        bytes_build(&b, text);
    }
    bytes_build(&b, "a:32 z:16000");
    vact_gguf *gguf = parse(&b);
    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "key.%d", i * 7919 % N);
        assert_ptr_equal(vact_gguf_find(gguf, text), &gguf->values[i]);
        snprintf(text, sizeof text, "blk.%d.weight", i * 7919 % N);
        assert_ptr_equal(vact_gguf_find_tensor(gguf, text), &gguf->tensors[i]);
    }
    assert_null(vact_gguf_find(gguf, ""));
    assert_null(vact_gguf_find(gguf, "key."));
    assert_null(vact_gguf_find(gguf, "key.500"));
    assert_null(vact_gguf_find_tensor(gguf, "zzz"));
    vact_gguf_close(&gguf);
    bytes_free(&b);
}

static void check_line(const vact_gguf *gguf, const char *key, size_t size, const char *expected)
{
    char line[256];
    memset(line, '#', sizeof line);
    vact_gguf_format_value(vact_gguf_find(gguf, key), line, size);
    assert_int_equal(line[size], '#');
    if (size > 0)
        assert_string_equal(line, expected);
}

static void test_values_are_written_as_a_person_would(void **state)
{
    (void)state;
    static const struct {
        const char *key, *line;
    } lines[] = {
        { "u8", "200" },
        { "i8", "-100" },
        { "u16", "60000" },
        { "i16", "-30000" },
        { "u32", "4000000000" },
        { "i32", "-2000000000" },
        { "f32", "1e-05" },
        { "bool", "true" },
        { "text", "\"pick up\"" },
        { "u64", "18446744073709551614" },
        { "i64", "-9000000000" },
        { "f64", "0.1" },
        { "a.u8", "[3] 1, 2, 255" },
        { "a.i8", "[2] -1, 1" },
        { "a.f32", "[3] 0.5, -1.25, 3" },
        { "a.bool", "[2] false, true" },
        { "a.text", "[3] \"one\", \"\", \"three\"" },
        { "a.f64", "[2] 0.25, 1e+300" },
        { "a.none", "[0]" },
    };
    struct bytes b = { 0 };
    build_all_kinds(&b, 3);
    vact_gguf *gguf = parse(&b);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        check_line(gguf, lines[i].key, 200, lines[i].line);
    check_line(gguf, "a.u8", 14, "[3] 1, 2, 255");
    check_line(gguf, "a.u8", 13, "[3] 1, 2...");
    check_line(gguf, "text", 8, "\"pic...");
    check_line(gguf, "u32", 4, "...");
    check_line(gguf, "u32", 1, "");
    check_line(gguf, "u32", 0, "");
    vact_gguf_close(&gguf);
    bytes_free(&b);
}

static void test_odd_numbers_and_texts_are_written_safely(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    vact_gguf *gguf = parse_tokens(&b, "r:GGUF 4:3 8:0 8:5 s:nan 4:6 f:nan s:inf 4:12 d:-inf s:third 4:6 f:0.333333343 "
                                       "s:pi 4:12 d:3.141592653589793 s:text 4:8 s:a%0a%1b%22%00%ff");
    check_line(gguf, "inf", 100, "-inf");
    check_line(gguf, "third", 100, "0.33333334");
    check_line(gguf, "pi", 100, "3.141592653589793");
    check_line(gguf, "text", 100, "\"a\\n\\x1b\\\"\\x00\\xff\"");
    assert_true(isnan(vact_gguf_get_float(vact_gguf_find(gguf, "nan"), 0)));
    check_line(gguf, "nan", 100, "nan");
    vact_gguf_close(&gguf);
    bytes_free(&b);
}

static void test_texts_come_one_after_the_other(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    build_all_kinds(&b, 3);
    vact_gguf *gguf = parse(&b);
    vact_gguf_text text = { 0 };
    vact_gguf_texts texts = vact_gguf_texts_begin(vact_gguf_find(gguf, "a.text"));
    static const char *const expected[] = { "one", "", "three" };
    for (int i = 0; i < 3; i++) {
        assert_true(vact_gguf_texts_next(&texts, &text));
        assert_int_equal(text.length, strlen(expected[i]));
        assert_memory_equal(text.data, expected[i], text.length);
    }
    assert_false(vact_gguf_texts_next(&texts, &text));
    texts = vact_gguf_texts_begin(vact_gguf_find(gguf, "text"));
    assert_true(vact_gguf_texts_next(&texts, &text));
    assert_memory_equal(text.data, "pick up", 7);
    assert_false(vact_gguf_texts_next(&texts, &text));
    texts = vact_gguf_texts_begin(vact_gguf_find(gguf, "a.none"));
    assert_false(vact_gguf_texts_next(&texts, &text));
    vact_gguf_close(&gguf);
    bytes_free(&b);
}

static void test_types_have_names_and_sizes(void **state)
{
    (void)state;
    assert_string_equal(vact_gguf_type_name(VACT_GGUF_U8), "u8");
    assert_string_equal(vact_gguf_type_name(VACT_GGUF_F64), "f64");
    assert_string_equal(vact_gguf_type_name(VACT_GGUF_TYPE_END), "unknown");
    assert_int_equal(vact_gguf_type_bytes(VACT_GGUF_BOOL), 1);
    assert_int_equal(vact_gguf_type_bytes(VACT_GGUF_I64), 8);
    assert_int_equal(vact_gguf_type_bytes(VACT_GGUF_ARRAY), 0);
    assert_int_equal(vact_gguf_type_bytes(VACT_GGUF_TYPE_END), 0);
}

/* ---- damage ---- */

/* A copy of its own size, so that a sanitizer sees any read beyond it. */
static vact_status parse_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    vact_gguf *gguf = NULL;
    vact_error err = { 0 };
    uint64_t sum = 0;
    assert_non_null(copy);
    memcpy(copy, data, size);
    const vact_status status = vact_gguf_parse(&gguf, "x.gguf", copy, size, &err);
    if (status == VACT_OK) {
        assert_true(walk_gguf(gguf, &sum));
    } else {
        assert_int_equal(status, VACT_EFORMAT);
        assert_int_equal(err.code, VACT_EFORMAT);
        assert_null(gguf);
        assert_true(strncmp(err.text, "x.gguf: ", 8) == 0 && strlen(err.text) > 20);
        for (const char *c = err.text; *c; c++)
            assert_true(*c >= 0x20 && *c < 0x7f);
    }
    vact_gguf_close(&gguf);
    free(copy);
    return status;
}

static void test_a_file_cut_at_any_byte_is_eformat(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    build_all_kinds(&b, 3);
    for (size_t size = 0; size < b.size; size++)
        assert_int_equal(parse_copy(b.data, size), VACT_EFORMAT);
    assert_int_equal(parse_copy(b.data, b.size), VACT_OK);
    bytes_free(&b);
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void test_random_damage_is_ok_or_eformat(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    uint64_t seed = 1;
    int accepted = 0, refused = 0;
    build_all_kinds(&b, 3);
    for (int round = 0; round < 20000; round++) {
        uint32_t at[4];
        uint8_t was[4];
        const uint32_t n = 1 + next_random(&seed) % 4;
        for (uint32_t i = 0; i < n; i++) {
            at[i] = next_random(&seed) % (uint32_t)b.size;
            was[i] = b.data[at[i]];
            b.data[at[i]] =
                (uint8_t)(next_random(&seed) % 4 == 0 ? next_random(&seed) : was[i] ^ 1u << next_random(&seed) % 8);
        }
        if (parse_copy(b.data, b.size) == VACT_OK)
            accepted++;
        else
            refused++;
        for (uint32_t i = n; i-- > 0;)
            b.data[at[i]] = was[i];
    }
    assert_true(accepted > 1000 && refused > 1000);
    assert_int_equal(parse_copy(b.data, b.size), VACT_OK);
    bytes_free(&b);
}

/* ---- files ---- */

static int make_folder(void **state)
{
    (void)state;
    return folder_make("x.gguf");
}

static void check_open_fails(const char *name, vact_status code, const char *reason)
{
    vact_gguf *gguf = NULL;
    vact_error err = { 0 };
    assert_int_equal(vact_gguf_open(&gguf, name, &err), code);
    assert_null(gguf);
    assert_int_equal(strncmp(err.text, name, strlen(name)), 0);
    if (!strstr(err.text, reason))
        fail_msg("\"%s\", expected \"%s\" in it", err.text, reason);
}

static void test_what_cannot_be_read_is_eio(void **state)
{
    (void)state;
    check_open_fails(path, VACT_EIO, "No such file");
    check_open_fails(folder, VACT_EIO, "directory");
}

static void test_empty_and_short_files_are_eformat(void **state)
{
    (void)state;
    folder_put("", 0);
    check_open_fails(path, VACT_EFORMAT, ": found a file of 0 bytes, expected at least 24");
    folder_put("GGUF\3", 5);
    check_open_fails(path, VACT_EFORMAT, ": found a file of 5 bytes, expected at least 24");
    folder_put("{\"tensors\": 1}", 14);
    check_open_fails(path, VACT_EFORMAT, ": found the magic \"{\\\"te\", expected \"GGUF\"");
    assert_int_equal(unlink(path), 0);
}

static void test_an_opened_file_is_like_its_bytes(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    vact_gguf *gguf = NULL;
    vact_error err = { 0 };
    build_all_kinds(&b, 3);
    folder_put(b.data, b.size);
    assert_int_equal(vact_gguf_open(&gguf, path, &err), VACT_OK);
    assert_int_equal(unlink(path), 0);
    assert_string_equal(gguf->path, path);
    check_scalars(gguf);
    check_arrays(gguf);
    for (uint64_t i = 0; i < gguf->n_tensors; i++) {
        const vact_gguf_tensor *t = &gguf->tensors[i];
        assert_int_equal((uintptr_t)t->data % 32, 0);
        assert_memory_equal(t->data, b.data + t->offset, t->bytes);
    }
    vact_gguf_close(&gguf);
    bytes_free(&b);
}

static void test_close_accepts_nothing(void **state)
{
    (void)state;
    vact_gguf *gguf = NULL;
    vact_gguf_close(NULL);
    vact_gguf_close(&gguf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_value_type_is_read_in_versions_2_and_3),
        cmocka_unit_test(test_tensors_are_views_of_the_file),
        cmocka_unit_test(test_the_alignment_of_the_file_is_used),
        cmocka_unit_test(test_a_file_without_tensors_may_end_at_its_last_value),
        cmocka_unit_test(test_tensors_may_lie_in_any_order_with_gaps),
        cmocka_unit_test(test_each_of_many_names_is_found_and_no_other),
        cmocka_unit_test(test_values_are_written_as_a_person_would),
        cmocka_unit_test(test_odd_numbers_and_texts_are_written_safely),
        cmocka_unit_test(test_texts_come_one_after_the_other),
        cmocka_unit_test(test_types_have_names_and_sizes),
        cmocka_unit_test(test_a_file_cut_at_any_byte_is_eformat),
        cmocka_unit_test(test_random_damage_is_ok_or_eformat),
        cmocka_unit_test(test_what_cannot_be_read_is_eio),
        cmocka_unit_test(test_empty_and_short_files_are_eformat),
        cmocka_unit_test(test_an_opened_file_is_like_its_bytes),
        cmocka_unit_test(test_close_accepts_nothing),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
