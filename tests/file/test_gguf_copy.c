/* A copy holds what its source holds, but for the keys that were dropped and added; it may replace its source. */
#include "file/gguf.h"
#include "folder.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gguf_kinds.h"

static int make_folder(void **state)
{
    (void)state;
    return folder_make("x.gguf");
}

static vact_status put_nothing(const void *user, vact_gguf_writer *w, vact_error *err)
{
    (void)user, (void)w, (void)err;
    return VACT_OK;
}

static vact_status put_text(const void *user, vact_gguf_writer *w, vact_error *err)
{
    return vact_gguf_put_text(w, user, "new", err);
}

/* The file of these bytes, copied onto itself. */
static vact_status copy_in_place(const struct bytes *b, const char *dropped, vact_gguf_put_fn put, const void *user,
                                 vact_error *err)
{
    vact_gguf *gguf = NULL;
    folder_put(b->data, b->size);
    if (vact_gguf_open(&gguf, path, err) != VACT_OK)
        fail_msg("%s", err->text);
    const vact_status status = vact_gguf_copy(gguf, path, dropped, put, user, err);
    vact_gguf_close(&gguf);
    return status;
}

static void test_every_kind_of_value_and_tensor_is_copied(void **state)
{
    (void)state;
    struct bytes b = { 0 };
    vact_error err = { 0 };
    build_all_kinds(&b, 2);
    assert_int_equal(copy_in_place(&b, "none", put_nothing, NULL, &err), VACT_OK);
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
    assert_int_equal(copy_in_place(&b, "t.", put_text, "t.old", &err), VACT_OK);
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
    assert_int_equal(copy_in_place(&b, "a.", put_text, "u8", &err), VACT_EARG);
    assert_string_equal(err.text + strlen(path), ": key u8: found twice, expected once");
    folder_check(b.data, b.size);
    assert_int_equal(unlink(path), 0);
    bytes_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_of_value_and_tensor_is_copied),
        cmocka_unit_test(test_keys_are_dropped_and_added_and_tensors_are_aligned_anew),
        cmocka_unit_test(test_a_failing_copy_leaves_the_source_alone),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
