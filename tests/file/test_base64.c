#include "file/base64.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Decodes memory of exactly the text's length into exactly the promised room, so a sanitizer sees any byte beyond. */
static bool decode(const char *text, size_t length, uint8_t *out, size_t *size, size_t *at)
{
    char *copy = malloc(length + !length);
    uint8_t *room = malloc(vact_base64_room(length) + !length);
    assert_true(copy && room);
    memcpy(copy, text, length);
    const bool good = vact_base64_decode(room, size, copy, length, at);
    if (good)
        memcpy(out, room, *size);
    free(copy);
    free(room);
    return good;
}

static void test_vectors_of_rfc_4648(void **state)
{
    (void)state;
    static const char *const vectors[][2] = {
        { "", "" },
        { "Zg==", "f" },
        { "Zm8=", "fo" },
        { "Zm9v", "foo" },
        { "Zm9vYg==", "foob" },
        { "Zm9vYmE=", "fooba" },
        { "Zm9vYmFy", "foobar" },
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint8_t out[16];
        size_t size = 99, at = 99;
        assert_true(decode(vectors[i][0], strlen(vectors[i][0]), out, &size, &at));
        assert_int_equal(size, strlen(vectors[i][1]));
        assert_memory_equal(out, vectors[i][1], size);
    }
}

/* What another encoder (Python's) writes for the bytes 0 to 255. */
static const char all_bytes[] = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4"
                                "OTo7PD0+P0BBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFiY2RlZmdoaWprbG1ub3Bx"
                                "cnN0dXZ3eHl6e3x9fn+AgYKDhIWGh4iJiouMjY6PkJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmq"
                                "q6ytrq+wsbKztLW2t7i5uru8vb6/wMHCw8TFxsfIycrLzM3Oz9DR0tPU1dbX2Nna29zd3t/g4eLj"
                                "5OXm5+jp6uvs7e7v8PHy8/T19vf4+fr7/P3+/w==";

static void test_every_byte_value_is_decoded(void **state)
{
    (void)state;
    uint8_t out[256];
    size_t size, at;
    assert_true(decode(all_bytes, strlen(all_bytes), out, &size, &at));
    assert_int_equal(size, 256);
    for (int i = 0; i < 256; i++)
        assert_int_equal(out[i], i);
}

static void test_the_room_is_what_a_text_without_padding_fills(void **state)
{
    (void)state;
    assert_int_equal(vact_base64_room(0), 0);
    assert_int_equal(vact_base64_room(3), 0);
    assert_int_equal(vact_base64_room(4), 3);
    assert_int_equal(vact_base64_room(344), 258);
}

static void test_malformed_texts_are_refused_where_they_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t at;
    } cases[] = {
        { "Z", 1 },        { "Zg", 2 },       { "Zg=", 3 },      { "Zm9vY", 5 },      { "Zm9vYmF", 7 },
        { "=", 1 },        { "==", 2 },       { "===", 3 },      { "====", 0 },       { "Z===", 1 },
        { "Zg==Zg==", 2 }, { "Zm8=Zm8=", 3 }, { "Z=8=", 1 },     { "=m9v", 0 },       { "Zm=v", 2 },
        { "Zm9v====", 4 }, { "Zm9vY===", 5 }, { "Zm9\n", 3 },    { "Zm 9", 2 },       { "\tm9v", 0 },
        { "Zm9-", 3 },     { "Zm9_", 3 },     { "Zm9v*m9v", 4 }, { "Z\xc3\xa4v", 1 }, { "Zm9\xff", 3 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t out[16];
        size_t size, at = 99;
        if (decode(cases[i].text, strlen(cases[i].text), out, &size, &at) || at != cases[i].at)
            fail_msg("\"%s\" is wrong at %zu, expected %zu", cases[i].text, at, cases[i].at);
    }
}

/* 64 characters are digits, "=" is padding, at one place only. */
static void test_no_other_character_is_a_digit(void **state)
{
    (void)state;
    int digits = 0;
    for (int c = 0; c < 256; c++) {
        const char text[] = { 'A', (char)c, 'A', 'A' };
        uint8_t out[16];
        size_t size, at;
        digits += decode(text, 4, out, &size, &at);
    }
    assert_int_equal(digits, 64);
}

/* RFC 4648, 3.5: a decoder may accept them. */
static void test_unused_bits_are_ignored(void **state)
{
    (void)state;
    uint8_t out[16];
    size_t size, at;
    assert_true(decode("Zh==", 4, out, &size, &at));
    assert_int_equal(size, 1);
    assert_int_equal(out[0], 'f');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_of_rfc_4648),
        cmocka_unit_test(test_every_byte_value_is_decoded),
        cmocka_unit_test(test_the_room_is_what_a_text_without_padding_fills),
        cmocka_unit_test(test_malformed_texts_are_refused_where_they_are_wrong),
        cmocka_unit_test(test_no_other_character_is_a_digit),
        cmocka_unit_test(test_unused_bits_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
