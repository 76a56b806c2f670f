/* Texts of LARGE bytes (1 MB, or less where that takes long) of one kind: what the ids stand for, put together, is the
 * text. A step that isn't about linear in the text's length would never end here. */
#include "text/cases.h"
#include "text/parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The byte that a character of a byte-level piece stands for, by its code point. */
static uint8_t byte_of[512];

static int set_up(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        char c[2];
        const size_t size = vact_byte_char((uint8_t)byte, c);
        byte_of[size == 1 ? c[0] : (c[0] & 0x1F) << 6 | (c[1] & 0x3F)] = (uint8_t)byte;
    }
    return 0;
}

/* What one character of a piece stands for; the number of bytes that it takes. */
static size_t spell_char(const vact_tokenizer *t, const vact_piece *piece, size_t at, char *out)
{
    const char *c = piece->text + at;
    *out = *c;
    if (!t->byte_level) {
        const bool blank = piece->length - at >= 3 && memcmp(c, VACT_BLANK, 3) == 0;
        *out = blank ? ' ' : *c;
        return blank ? 3 : 1;
    }
    if (piece->kind != VACT_PIECE_NORMAL)
        return 1;
    const bool wide = *c & 0x80;
    *out = (char)byte_of[wide ? (c[0] & 0x1F) << 6 | (c[1] & 0x3F) : *c];
    return wide ? 2 : 1;
}

static char *spell(const vact_tokenizer *t, const int32_t *ids, size_t n, size_t *length)
{
    char *out = malloc((size_t)4 * LARGE);
    size_t at = 0;
    assert_non_null(out);
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0 || ids[i] >= t->size || !t->pieces[ids[i]].text)
            fail_msg("id %d", ids[i]);
        const vact_piece *piece = &t->pieces[ids[i]];
        if (piece->kind == VACT_PIECE_BYTE)
            out[at++] = (char)strtol((char[]){ piece->text[3], piece->text[4], '\0' }, NULL, 16);
        else
            for (size_t j = 0; j < piece->length; at++)
                j += spell_char(t, piece, j, &out[at]);
    }
    *length = at;
    return out;
}

static char *repeat(const char *unit)
{
    const size_t size = strlen(unit);
    char *text = malloc(LARGE + 1);
    assert_non_null(text);
    for (size_t at = 0; at + size <= LARGE; at += size)
        memcpy(text + at, unit, size + 1);
    return text;
}

static void check(const vact_tokenizer *t, vact_encoder *e, const char *text, size_t length)
{
    const int32_t *ids = NULL;
    size_t n = 0, spelled_length = 0;
    vact_error err = { 0 };
    if (vact_encode(e, text, length, false, &ids, &n, &err) != VACT_OK)
        fail_msg("%s", err.text);
    char *spelled = spell(t, ids, n, &spelled_length);
    const size_t blank = !t->byte_level && t->normaliser.n == 2; /* the one before the text */
    assert_int_equal(spelled_length, length + blank);
    assert_memory_equal(spelled + blank, text, length);
    free(spelled);
}

static void check_all(const char *name)
{
    static const char *const units[] = {
        "a",
        " ",
        "\n",
        "\t",
        "7",
        "\n ",
        "\r\n",
        "!?.,",
        "'",
        "<",
        "<|im_start",
        "\xF0\x9F\x98\x80",
        "\xE6\x9D\xB1\xE4\xBA\xAC",
        "pick up the black bowl ",
        "12 ",
        "abcdefghij",
        "          x",
        "\xCC\xA3\xCC\x81", /* two marks */
    };
    vact_tokenizer *t = open_named(name);
    vact_encoder *e = NULL;
    assert_int_equal(vact_encoder_open(&e, t, 0, NULL), VACT_OK);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        char *text = repeat(units[i]);
        check(t, e, text, strlen(text));
        free(text);
    }
    vact_encoder_close(&e);
    vact_tokenizer_close(&t);
}

static void test_one_megabyte_of_anything_byte_level(void **state)
{
    (void)state;
    check_all("llama3");
}

static void test_one_megabyte_of_anything_sentencepiece(void **state)
{
    (void)state;
    check_all("llama2");
}

static void test_one_megabyte_of_anything_with_added_runs(void **state)
{
    (void)state;
    check_all("gemma3");
}

/* Marks in the wrong order, all of one base: the normal form C sorts them. */
static void test_a_megabyte_of_marks_is_put_in_order(void **state)
{
    (void)state;
    enum { MARKS = LARGE / 4 };
    char *text = malloc(1 + 4 * MARKS), *sorted = malloc(1 + 4 * MARKS);
    assert_true(text && sorted);
    text[0] = sorted[0] = 'q';
    for (size_t i = 0; i < MARKS; i++) { /* U+0308 is of class 230, U+0323 of 220 */
        memcpy(text + 1 + 2 * i, "\xCC\x88", 2);
        memcpy(text + 1 + 2 * (MARKS + i), "\xCC\xA3", 2);
        memcpy(sorted + 1 + 2 * i, "\xCC\xA3", 2);
        memcpy(sorted + 1 + 2 * (MARKS + i), "\xCC\x88", 2);
    }
    vact_tokenizer *t = open_named("qwen3");
    vact_encoder *e = NULL;
    const int32_t *ids = NULL;
    size_t n = 0, length = 0;
    assert_int_equal(vact_encoder_open(&e, t, 0, NULL), VACT_OK);
    assert_int_equal(vact_encode(e, text, 1 + 4 * MARKS, false, &ids, &n, NULL), VACT_OK);
    char *spelled = spell(t, ids, n, &length);
    assert_int_equal(length, 1 + 4 * MARKS);
    assert_memory_equal(spelled, sorted, length);
    free(spelled);
    vact_encoder_close(&e);
    vact_tokenizer_close(&t);
    free(text);
    free(sorted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_megabyte_of_anything_byte_level),
        cmocka_unit_test(test_one_megabyte_of_anything_sentencepiece),
        cmocka_unit_test(test_one_megabyte_of_anything_with_added_runs),
        cmocka_unit_test(test_a_megabyte_of_marks_is_put_in_order),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
