/* Ids of real tokenizers, cut down by tools/cut_tokenizer.py to what these texts touch; the same ids from the GGUF
 * keys that the tokenizers are written as. "golden" ids are from independent JavaScript implementations, "python" ids
 * from the Python package tokenizers 0.23.3 with the whole vocabularies. */
#include "text/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static json_t *all;

/* Where the JavaScript implementations and the Python package differ: the package's ids. */
static const struct verdict {
    const char *name, *text, *ids, *ids_special, *reason;
} verdicts[] = {
    { "llama2", "", "[]", "[1]", "the beginning of text is there for an empty text too" },
    { "llama2", "<s>hello</s>", "[1,22172,2]", "[1,1,22172,2]",
      "special tokens in a text are read as such; that implementation has none" },
};

static void apply_verdicts(void)
{
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        const json_t *cases = json_object_get(json_object_get(all, verdicts[i].name), "golden");
        int hits = 0;
        for (size_t j = 0; j < json_array_size(cases); j++) {
            json_t *one = json_array_get(cases, j);
            const json_t *text = json_object_get(one, "text");
            if (json_string_length(text) != strlen(verdicts[i].text) ||
                strcmp(json_string_value(text), verdicts[i].text) != 0)
                continue;
            json_object_set_new(one, "ids", json_loads(verdicts[i].ids, 0, NULL));
            json_object_set_new(one, "ids_special", json_loads(verdicts[i].ids_special, 0, NULL));
            hits++;
        }
        assert_int_equal(hits, 1);
    }
}

static int set_up(void **state)
{
    (void)state;
    all = load_json(TEST_DATA "/tokenizers.json");
    apply_verdicts();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(all);
    return 0;
}

static void check_named(const vact_tokenizer *t, const char *name)
{
    const json_t *sets = json_object_get(all, name);
    assert_true(json_array_size(json_object_get(sets, "golden")) == (strcmp(name, "smollm2") == 0 ? 0 : 80));
    assert_true(json_array_size(json_object_get(sets, "python")) >= 80);
    check_cases(t, name, json_object_get(sets, "golden"));
    check_cases(t, name, json_object_get(sets, "python"));
}

static void test_ids_are_those_of_the_originals(void **state)
{
    (void)state;
    for (int i = 0; i < TOKENIZERS; i++) {
        vact_tokenizer *t = open_named(tokenizer_names[i]);
        check_named(t, tokenizer_names[i]);
        vact_tokenizer_close(&t);
        assert_null(t);
    }
}

static void test_ids_are_the_same_through_gguf(void **state)
{
    (void)state;
    for (int i = 0; i < TOKENIZERS; i++) {
        vact_tokenizer *t = open_named(tokenizer_names[i]);
        vact_tokenizer *back = through_gguf(t, "test_tokenizer.gguf");
        assert_int_equal(vact_tokenizer_size(back), vact_tokenizer_size(t));
        check_named(back, tokenizer_names[i]);
        vact_tokenizer_close(&back);
        vact_tokenizer_close(&t);
    }
}

static void test_size_is_the_largest_id_and_one(void **state)
{
    (void)state;
    static const int32_t sizes[TOKENIZERS] = { 262145, 151669, 128256, 32000, 32000, 49152 };
    for (int i = 0; i < TOKENIZERS; i++) {
        vact_tokenizer *t = open_named(tokenizer_names[i]);
        assert_int_equal(vact_tokenizer_size(t), sizes[i]);
        vact_tokenizer_close(&t);
    }
}

/* ---- bytes that are no UTF-8 ---- */

static void test_each_bad_byte_counts_as_a_replacement_character(void **state)
{
    (void)state;
#define FFFD "\xEF\xBF\xBD"
    static const struct {
        const char *text, *as;
    } pairs[] = {
        { "\xFF", FFFD },
        { "a\x80z", "a" FFFD "z" },
        { "\xE2\x82", FFFD FFFD },                   /* cut */
        { "\xE2\x82 x", FFFD FFFD " x" },            /* broken off */
        { "\xC0\xAF", FFFD FFFD },                   /* overlong */
        { "\xED\xA0\x80", FFFD FFFD FFFD },          /* a surrogate */
        { "\xF4\x90\x80\x80", FFFD FFFD FFFD FFFD }, /* beyond U+10FFFF */
        { "\xF0\x9F\x98\x80\xF0\x9F", "\xF0\x9F\x98\x80" FFFD FFFD },
    };
    for (int i = 0; i < TOKENIZERS; i++) {
        vact_tokenizer *t = open_named(tokenizer_names[i]);
        vact_encoder *e = NULL, *f = NULL;
        assert_int_equal(vact_encoder_open(&e, t, 64, NULL), VACT_OK);
        assert_int_equal(vact_encoder_open(&f, t, 64, NULL), VACT_OK);
        for (size_t j = 0; j < sizeof pairs / sizeof *pairs; j++) {
            const int32_t *ids = NULL, *as = NULL;
            size_t n = 0, m = 0;
            assert_int_equal(vact_encode(e, pairs[j].text, strlen(pairs[j].text), true, &ids, &n, NULL), VACT_OK);
            assert_int_equal(vact_encode(f, pairs[j].as, strlen(pairs[j].as), true, &as, &m, NULL), VACT_OK);
            assert_int_equal(n, m);
            assert_memory_equal(ids, as, n * sizeof *ids);
        }
        vact_encoder_close(&f);
        vact_encoder_close(&e);
        vact_tokenizer_close(&t);
    }
}

static void test_close_accepts_nothing(void **state)
{
    (void)state;
    vact_tokenizer *t = NULL;
    vact_encoder *e = NULL;
    vact_tokenizer_close(NULL);
    vact_tokenizer_close(&t);
    vact_encoder_close(NULL);
    vact_encoder_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_those_of_the_originals),
        cmocka_unit_test(test_ids_are_the_same_through_gguf),
        cmocka_unit_test(test_size_is_the_largest_id_and_one),
        cmocka_unit_test(test_each_bad_byte_counts_as_a_replacement_character),
        cmocka_unit_test(test_close_accepts_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
