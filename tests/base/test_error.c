#include "base/error.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_code_and_text_are_filled(void **state)
{
    (void)state;
    vact_error err = { 0 };
    assert_int_equal(vact_fail(&err, VACT_EFORMAT, "%s: %d rows", "a.gguf", 3), VACT_EFORMAT);
    assert_int_equal(err.code, VACT_EFORMAT);
    assert_string_equal(err.text, "a.gguf: 3 rows");
}

static void test_first_failure_is_kept(void **state)
{
    (void)state;
    vact_error err = { 0 };
    vact_fail(&err, VACT_EIO, "first");
    assert_int_equal(vact_fail(&err, VACT_ENOMEM, "second"), VACT_ENOMEM);
    assert_int_equal(err.code, VACT_EIO);
    assert_string_equal(err.text, "first");
}

static void test_null_is_accepted(void **state)
{
    (void)state;
    assert_int_equal(vact_fail(NULL, VACT_EINPUT, "nobody reads this"), VACT_EINPUT);
}

static void test_long_text_is_cut_and_closed(void **state)
{
    (void)state;
    char text[2 * sizeof((vact_error *)0)->text];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    vact_error err = { 0 };
    vact_fail(&err, VACT_EARG, "%s", text);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_string_equal(err.text + strlen(err.text) - 4, "x...");

    vact_error whole = { 0 };
    vact_fail(&whole, VACT_EARG, "%.*s", (int)sizeof whole.text - 1, text);
    assert_int_equal(strlen(whole.text), sizeof whole.text - 1);
    assert_null(strchr(whole.text, '.'));
}

static void test_cut_leaves_whole_utf8_characters(void **state)
{
    (void)state;
    for (int shift = 0; shift < 3; shift++) {
        char text[1024];
        memset(text, 'x', (size_t)shift);
        size_t n = (size_t)shift;
        for (; n + 3 < sizeof text; n += 3)
            memcpy(text + n, "\xE2\x82\xAC", 3); /* a euro sign */
        text[n] = '\0';
        vact_error err = { 0 };
        vact_fail(&err, VACT_EARG, "%s", text);
        const size_t length = strlen(err.text);
        assert_true(length < sizeof err.text && length >= sizeof err.text - 4);
        assert_string_equal(err.text + length - 3, "...");
        assert_int_equal((length - 3 - (size_t)shift) % 3, 0);
    }
}

static void test_text_is_one_line(void **state)
{
    (void)state;
    vact_error err = { 0 };
    vact_fail(&err, VACT_EFORMAT, "key \"%s\"", "a\nb\r\x1B[31m\x7F\t\xC3\xA9");
    assert_string_equal(err.text, "key \"a?b??[31m??\xC3\xA9\"");
    vact_error more = { 0 };
    vact_fail(&more, VACT_EFORMAT, "%s", "\xC2\x9B\x31m\xC2\x80\xC2\xA0\xC3\x9B\xC2");
    assert_string_equal(more.text, "??1m??\xC2\xA0\xC3\x9B\xC2");
}

static void test_every_status_has_words(void **state)
{
    (void)state;
    assert_string_equal(vact_status_text(VACT_OK), "ok");
    assert_string_equal(vact_status_text(VACT_EINPUT), "input rejected");
    assert_string_equal(vact_status_text(VACT_EDEVICE), "device failed");
    assert_string_equal(vact_status_text((vact_status)99), "unknown status");
}

static void test_version_is_the_headers(void **state)
{
    (void)state;
    assert_string_equal(vact_version(), VACT_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code_and_text_are_filled),
        cmocka_unit_test(test_first_failure_is_kept),
        cmocka_unit_test(test_null_is_accepted),
        cmocka_unit_test(test_long_text_is_cut_and_closed),
        cmocka_unit_test(test_cut_leaves_whole_utf8_characters),
        cmocka_unit_test(test_text_is_one_line),
        cmocka_unit_test(test_every_status_has_words),
        cmocka_unit_test(test_version_is_the_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
