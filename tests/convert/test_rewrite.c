/* A file written anew holds what its source holds, but for keys that were dropped and added and tensors of another
 * type; it may replace its source, and takes little memory. The bytes expected are put together by hand. */
#include "convert/rewrite.h"
#include "folder.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "file/gguf_kinds.h"

static int make_folder(void **state)
{
    (void)state;
    return folder_make("x.gguf");
}

static vact_status put_text(const void *user, vact_gguf_writer *w, vact_error *err)
{
    return vact_gguf_put_text(w, user, "new", err);
}

/* The file of these bytes, written onto itself. */
static vact_status rewrite_in_place(const struct bytes *b, const vact_rewrite *how, vact_error *err)
{
    vact_gguf *gguf = NULL;
    vact_rewrite rewrite = *how;
    folder_put(b->data, b->size);
    if (vact_gguf_open(&gguf, path, err) != VACT_OK)
        fail_msg("%s", err->text);
    rewrite.in = gguf;
    const vact_status status = vact_rewrite_to(&rewrite, path, err);
    vact_gguf_close(&gguf);
    return status;
}

static void test_every_kind_of_value_and_tensor_is_copied(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    vact_error err = { 0 };
    build_all_kinds(&b, 2);
    assert_int_equal(rewrite_in_place(&b, &(vact_rewrite){ 0 }, &err), VACT_OK);
    bytes_free(&b);
    build_all_kinds(&b, 3);
    bytes_build(&b, "a:32");
    folder_check(b.data, b.size);
    assert_int_equal(unlink(path), 0);
    bytes_free(&b);
}

/* The source aligns to 8, its tensors lie in the other order and with a gap. */
static void test_keys_are_dropped_and_added_and_tensors_are_aligned_anew(void **state)
{
    (void)state;
    struct bytes b = { 0 }, expected = { 0 };
    vact_error err = { 0 };
    bytes_build(&b, "r:GGUF 4:3 8:2 8:5 s:t.old 4:4 4:1 s:u.t.kept 4:4 4:2 s:general.alignment 4:4 4:8 s:t.a 4:0 1:1 "
                    "s:t 4:0 1:7 s:x 4:1 8:3 4:24 8:24 s:y 4:1 8:1 4:24 8:0 a:8 r:y a:8 z:16 r:xxx");
    bytes_build(&expected, "r:GGUF 4:3 8:2 8:3 s:u.t.kept 4:4 4:2 s:t 4:0 1:7 s:t.old 4:8 s:new "
                           "s:x 4:1 8:3 4:24 8:0 s:y 4:1 8:1 4:24 8:32 a:32 r:xxx a:32 r:y a:32");
    const vact_rewrite how = { .dropped = "t.", .put = put_text, .user = "t.old" };
    assert_int_equal(rewrite_in_place(&b, &how, &err), VACT_OK);
    folder_check(expected.data, expected.size);
    assert_int_equal(unlink(path), 0);
    bytes_free(&b);
    bytes_free(&expected);
}

static void test_a_failing_copy_leaves_the_source_alone(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    vact_error err = { 0 };
    build_all_kinds(&b, 3);
    const vact_rewrite how = { .dropped = "a.", .put = put_text, .user = "u8" };
    assert_int_equal(rewrite_in_place(&b, &how, &err), VACT_EARG);
    assert_string_equal(err.text + strlen(path), ": key u8: found twice, expected once");
    folder_check(b.data, b.size);
    assert_int_equal(unlink(path), 0);
    bytes_free(&b);
}

/* ---- types ---- */

/* f32 [2, 3] x; i8 [5] y; q8_0 [32] z with scale 1/2; their bytes. */
static const char three[] = "r:GGUF 4:3 8:3 8:1 s:k 4:4 4:9 s:x 4:2 8:3 8:2 4:0 8:0 s:y 4:1 8:5 4:24 8:32 "
                            "s:z 4:1 8:32 4:8 8:64 a:32 ";
#define X "f:1 f:-2 f:0.5 f:1.00390625 f:1.01171875 f:0 " /* between bf16s: to 1 and to 1.015625, the even ones */
#define Z "2:0x3800 1:-127 z:29 1:3 1:4 a:32 "

static void check_types(const uint32_t *types, const char *descriptions, const char *data)
{
    struct bytes b = { 0 }, expected = { 0 };
    vact_error err = { 0 };
    bytes_build(&b, three);
    bytes_build(&b, X "a:32 r:01234 a:32 " Z);
    bytes_build(&expected, "r:GGUF 4:3 8:3 8:1 s:k 4:4 4:9 ");
    bytes_build(&expected, descriptions);
    bytes_build(&expected, data);
    if (rewrite_in_place(&b, &(vact_rewrite){ .types = types }, &err) != VACT_OK)
        fail_msg("%s", err.text);
    folder_check(expected.data, expected.size);
    assert_int_equal(unlink(path), 0);
    bytes_free(&b);
    bytes_free(&expected);
}

static void test_a_tensor_takes_another_type_and_the_rest_moves(void **state)
{
    (void)state;
    check_types((uint32_t[]){ VACT_DTYPE_BF16, 24, VACT_DTYPE_Q8_0 },
                "s:x 4:2 8:3 8:2 4:30 8:0 s:y 4:1 8:5 4:24 8:32 s:z 4:1 8:32 4:8 8:64 a:32 ",
                "2:0x3f80 2:0xc000 2:0x3f00 2:0x3f80 2:0x3f82 2:0 a:32 r:01234 a:32 " Z);
    check_types((uint32_t[]){ VACT_DTYPE_F16, 24, VACT_DTYPE_Q8_0 },
                "s:x 4:2 8:3 8:2 4:1 8:0 s:y 4:1 8:5 4:24 8:32 s:z 4:1 8:32 4:8 8:64 a:32 ",
                "2:0x3c00 2:0xc000 2:0x3800 2:0x3c04 2:0x3c0c 2:0 a:32 r:01234 a:32 " Z);
    check_types((uint32_t[]){ VACT_DTYPE_F32, 24, VACT_DTYPE_F32 },
                "s:x 4:2 8:3 8:2 4:0 8:0 s:y 4:1 8:5 4:24 8:32 s:z 4:1 8:32 4:0 8:64 a:32 ",
                X "a:32 r:01234 a:32 f:-63.5 z:116 f:1.5 f:2 ");
}

static void check_type_refused(const uint32_t *types, const char *x, const char *text)
{
    struct bytes b = { 0 };
    vact_error err = { 0 };
    bytes_build(&b, three);
    bytes_build(&b, x);
    bytes_build(&b, "a:32 r:01234 a:32 " Z);
    assert_int_not_equal(rewrite_in_place(&b, &(vact_rewrite){ .types = types }, &err), VACT_OK);
    if (!strstr(err.text, text))
        fail_msg("found \"%s\", expected \"%s\"", err.text, text);
    folder_check(b.data, b.size);
    assert_int_equal(unlink(path), 0);
    bytes_free(&b);
}

static void test_types_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    check_type_refused((uint32_t[]){ 0, VACT_DTYPE_F32, 8 }, X,
                       "x.gguf: tensor y: is i8, which cannot be stored as another type");
    check_type_refused((uint32_t[]){ 25, 24, 8 }, X, "tensors cannot be stored as i16, expected f32, f16, bf16,");
    check_type_refused((uint32_t[]){ VACT_DTYPE_Q8_0, 24, 8 }, X, "x.gguf: tensor x: ");
    check_type_refused((uint32_t[]){ VACT_DTYPE_F16, 24, 8 }, "f:1 f:2 f:3 f:4 f:65520 f:6 ",
                       "x.gguf: tensor x: value 4 is 65520, which f16 cannot hold");
}

/* ---- memory ---- */

static void hear(void *user, double done)
{
    double *last = user;
    assert_true(done > *last && done <= 1);
    *last = done;
}

/* Memory of the caller's own would not come back. */
static void test_what_is_no_mapping_is_not_forgotten(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20 };
    struct bytes b = { 0 };
    vact_error err = { 0 };
    vact_gguf *gguf = NULL;
    double done = 0;
    bytes_build(&b, "r:GGUF 4:3 8:1 8:0 s:x 4:1 8:0x100000 4:24 8:0 a:32 ");
    const size_t start = b.size;
    uint8_t *data = malloc(BYTES);
    assert_non_null(data);
    memset(data, 7, BYTES);
    bytes_add(&b, data, BYTES);
    free(data);
    assert_int_equal(vact_gguf_parse(&gguf, "x", b.data, b.size, &err), VACT_OK);
    const vact_rewrite rewrite = { .in = gguf, .progress = hear, .progress_user = &done };
    assert_int_equal(vact_rewrite_to(&rewrite, path, &err), VACT_OK);
    assert_true(done == 1);
    for (size_t i = start; i < b.size; i++)
        if (b.data[i] != 7)
            fail_msg("byte %zu is %d, expected 7", i, b.data[i]);
    folder_check(b.data, b.size);
    assert_int_equal(unlink(path), 0);
    vact_gguf_close(&gguf);
    bytes_free(&b);
}

/* Bytes of the file that are in this process's memory. */
static size_t resident(void)
{
    char line[512];
    size_t bytes = 0, kib;
    bool ours = false;
    FILE *f = fopen("/proc/self/smaps", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (strstr(line, "-") && strstr(line, " r")) /* a mapping's first line: addresses, access, ..., its file */
            ours = strstr(line, path) != NULL;
        if (ours && sscanf(line, "Rss: %zu kB", &kib) == 1)
            bytes += kib << 10;
    }
    if (f)
        fclose(f);
    return bytes;
}

static void hear_memory(void *user, double done)
{
    (void)done;
    size_t *most = user;
    const size_t now = resident();
    *most = now > *most ? now : *most;
}

/* Two tensors of 24 MiB, zeros without a place on the disk: one is copied, the other encoded. */
static void test_a_large_file_takes_little_memory(void **state)
{
    (void)state;
    enum { BYTES = 24 << 20, MOST = 2 << 20 };
    struct bytes b = { 0 };
    vact_error err = { 0 };
    vact_gguf *gguf = NULL;
    size_t most = 0;
    int sum = 0;
    bytes_build(&b, "r:GGUF 4:3 8:2 8:0 s:x 4:1 8:0x600000 4:0 8:0 s:y 4:1 8:0x600000 4:0 8:0x1800000 a:32 ");
    folder_put(b.data, b.size);
    assert_int_equal(truncate(path, (off_t)b.size + 2 * BYTES), 0);
    assert_int_equal(vact_gguf_open(&gguf, path, &err), VACT_OK);
    for (size_t i = 0; i < BYTES; i += 512)
        sum += gguf->tensors[0].data[i] + gguf->tensors[1].data[i];
    assert_int_equal(sum, 0);
    const bool told = resident() >= 2 * BYTES; /* an emulator may not say */
    const vact_rewrite rewrite = { .in = gguf,
                                   .types = (uint32_t[]){ VACT_DTYPE_F32, VACT_DTYPE_BF16 },
                                   .progress = hear_memory,
                                   .progress_user = &most };
    for (int i = 0; i < 2; i++) { /* the first from memory, the second from the file */
        char other[80];
        snprintf(other, sizeof other, "%s/other", folder);
        most = 0;
        assert_int_equal(vact_rewrite_to(&rewrite, other, &err), VACT_OK);
        assert_int_equal(unlink(other), 0);
        if (told) {
            assert_true(i == 0 || most < MOST);
            assert_true(resident() < MOST);
        }
    }
    vact_gguf_close(&gguf);
    assert_int_equal(unlink(path), 0);
    bytes_free(&b);
    if (!told)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_of_value_and_tensor_is_copied),
        cmocka_unit_test(test_keys_are_dropped_and_added_and_tensors_are_aligned_anew),
        cmocka_unit_test(test_a_tensor_takes_another_type_and_the_rest_moves),
        cmocka_unit_test(test_types_that_do_not_fit_are_refused),
        cmocka_unit_test(test_what_is_no_mapping_is_not_forgotten),
        cmocka_unit_test(test_a_large_file_takes_little_memory),
        cmocka_unit_test(test_a_failing_copy_leaves_the_source_alone),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
