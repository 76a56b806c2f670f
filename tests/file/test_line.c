#include "base/error.h"
#include "file/line.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_a_line_that_fits_is_whole(void **state)
{
    (void)state;
    char out[9];
    vact_line line;
    vact_line_begin(&line, out, sizeof out);
    vact_line_put(&line, "1, ");
    vact_line_put(&line, "");
    vact_line_text(&line, "abcde", 5);
    assert_string_equal(out, "1, abcde");
    assert_false(line.cut);
}

static void test_a_cut_line_ends_in_dots_between_pieces(void **state)
{
    (void)state;
    char out[12];
    vact_line line;
    vact_line_begin(&line, out, sizeof out);
    vact_line_put(&line, "100,");
    vact_line_put(&line, "200,");
    vact_line_put(&line, "3000");
    vact_line_put(&line, "4");
    assert_string_equal(out, "100,200,...");
    assert_true(line.cut);

    vact_line_begin(&line, out, sizeof out - 1);
    vact_line_put(&line, "100,");
    vact_line_put(&line, "200,");
    vact_line_put(&line, "3000");
    assert_string_equal(out, "100,...");
}

static void test_escapes_are_not_split(void **state)
{
    (void)state;
    char out[16];
    assert_string_equal(vact_printable(out, 9, "\xff\xff", 2), "\\xff\\xff");
    assert_string_equal(vact_printable(out, 8, "\xff\xff", 2), "\\xff...");
    assert_string_equal(vact_printable(out, 7, "\xff\xff", 2), "...");
    assert_string_equal(vact_printable(out, 16, "\t\r\n\"\\\0", 6), "\\t\\r\\n\\\"\\\\\\x00");
}

static void test_tiny_buffers_are_kept(void **state)
{
    (void)state;
    char out[8] = "#######";
    vact_printable(out, 0, "abc", 3);
    assert_string_equal(out, "#######");
    assert_string_equal(vact_printable(out, 1, "abc", 3), "");
    assert_string_equal(vact_printable(out, 2, "abc", 3), ".");
    assert_string_equal(vact_printable(out, 3, "abc", 3), "..");
    assert_string_equal(vact_printable(out, 4, "abc", 3), "abc");
    assert_string_equal(vact_printable(out, 4, "abcd", 4), "...");
}

static void test_a_path_is_shown_from_its_end(void **state)
{
    (void)state;
    char path[302];
    memset(path, 'd', sizeof path);
    path[300] = 'e';
    path[301] = '\0';
    assert_string_equal(vact_path_end("a/b"), "a/b");
    assert_ptr_equal(vact_path_end(path), path + 101);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_that_fits_is_whole),
        cmocka_unit_test(test_a_cut_line_ends_in_dots_between_pieces),
        cmocka_unit_test(test_escapes_are_not_split),
        cmocka_unit_test(test_tiny_buffers_are_kept),
        cmocka_unit_test(test_a_path_is_shown_from_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
