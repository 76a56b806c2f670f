/* Encoding texts of the announced size allocates nothing; any allocation may fail, and that is told and leaves nothing
 * behind. */
#include "allocations.h"
#include "text/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define WRITTEN "test_tokenizer_memory.gguf"

static int set_up(void **state)
{
    (void)state;
    memory_count_json();
    return 0;
}

/* ---- no allocations ---- */

static vact_tokenizer *parse(const char *text)
{
    vact_tokenizer *t = NULL;
    vact_error err = { 0 };
    if (vact_tokenizer_from_json(&t, "tokenizer.json", text, strlen(text), &err) != VACT_OK)
        fail_msg("%s", err.text);
    return t;
}

static void check_steady(const char *name)
{
    vact_tokenizer *t = open_named(name);
    json_t *all = load_json(TEST_DATA "/tokenizers.json");
    const json_t *cases = json_object_get(json_object_get(all, name), "python");
    size_t longest = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const size_t length = json_string_length(json_object_get(json_array_get(cases, i), "text"));
        longest = length > longest ? length : longest;
    }
    vact_encoder *e = NULL;
    assert_int_equal(vact_encoder_open(&e, t, longest, NULL), VACT_OK);
    const long before = memory.made;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *text = json_object_get(json_array_get(cases, i), "text");
        const int32_t *ids = NULL;
        size_t n = 0;
        assert_int_equal(vact_encode(e, json_string_value(text), json_string_length(text), true, &ids, &n, NULL),
                         VACT_OK);
    }
    char bad[20]; /* each as U+FFFD: 3 byte pieces */
    const int32_t *ids = NULL;
    size_t n = 0;
    memset(bad, 0xFF, sizeof bad);
    assert_int_equal(vact_encode(e, bad, sizeof bad, true, &ids, &n, NULL), VACT_OK);
    assert_int_equal(memory.made, before);
    vact_encoder_close(&e);
    json_decref(all);
    vact_tokenizer_close(&t);
}

static void test_encoding_allocates_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < TOKENIZERS; i++)
        check_steady(tokenizer_names[i]);
}

/* A file may say that its steps make a million bytes of each. */
static void test_what_a_file_says_of_its_steps_reserves_nothing(void **state)
{
    (void)state;
    char content[1024] = { 0 }, text[4096];
    memset(content, 'a', sizeof content - 1);
    snprintf(text, sizeof text,
             "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"%s\"},"
             "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"%s\"},"
             "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}",
             content, content);
    vact_tokenizer *t = parse(text);
    vact_encoder *e = NULL;
    const int32_t *ids = NULL;
    size_t n = 0;
    assert_int_equal(vact_encoder_open(&e, t, 1 << 20, NULL), VACT_OK);
    assert_int_equal(vact_encode(e, "a a", 3, true, &ids, &n, NULL), VACT_OK);
    assert_int_equal(n, 1 + 1023 + 1); /* which begins as Metaspace would have it */
    vact_encoder_close(&e);
    vact_tokenizer_close(&t);
}

/* ---- failing allocations ---- */

/* No string of these is longer than the JSON library's first buffer for one: growing that buffer it takes no notice of
 * failures (jansson 2.14), and loses characters. The first is byte-level, with a normal form and added tokens. */
static const char byte_level[] =
    "{\"added_tokens\":[{\"id\":9,\"content\":\"<x>\",\"special\":true,\"normalized\":true},"
    "{\"id\":8,\"content\":\"<y>\",\"special\":true,\"normalized\":false}],"
    "\"normalizer\":{\"type\":\"NFC\"},"
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\"},"
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"\\u0120\":3},\"merges\":[\"a b\"]}}";

static const char sentencepiece[] =
    "{\"added_tokens\":[{\"id\":0,\"content\":\"?\",\"special\":true,\"normalized\":false}],"
    "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"\\u2581\"},"
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\\u2581\"}]},"
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"?\",\"fuse_unk\":true,\"byte_fallback\":true,"
    "\"vocab\":{\"?\":0,\"a\":1,\"\\u2581\":2,\"\\u2581a\":3},\"merges\":[[\"\\u2581\",\"a\"]]}}";

/* What the operations work on. */
static const char *document;
static vact_tokenizer *tokenizer;
static vact_gguf *gguf;

static vact_status open_json(double *answer, vact_error *err)
{
    vact_tokenizer *t = NULL;
    const vact_status status = vact_tokenizer_from_json(&t, "tokenizer.json", document, strlen(document), err);
    assert_true((status == VACT_OK) == (t != NULL));
    *answer = t ? vact_tokenizer_size(t) : 0;
    vact_tokenizer_close(&t);
    return status;
}

static vact_status open_gguf(double *answer, vact_error *err)
{
    vact_tokenizer *t = NULL;
    const vact_status status = vact_tokenizer_from_gguf(&t, gguf, err);
    assert_true((status == VACT_OK) == (t != NULL));
    *answer = t ? vact_tokenizer_size(t) : 0;
    vact_tokenizer_close(&t);
    return status;
}

static vact_status encode(double *answer, vact_error *err)
{
    static const char text[] =
        "ab <x> a\xCC\x88 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa<y>\xFF\xFF\xFF\xFF";
    vact_encoder *e = NULL;
    const int32_t *ids = NULL;
    size_t n = 0;
    vact_status status = vact_encoder_open(&e, tokenizer, 0, err);
    assert_true((status == VACT_OK) == (e != NULL));
    if (status == VACT_OK)
        status = vact_encode(e, text, strlen(text), true, &ids, &n, err);
    assert_true((status == VACT_OK) == (ids != NULL));
    *answer = ids ? (double)n + ids[n - 1] : 0;
    vact_encoder_close(&e);
    return status;
}

static vact_status put(double *answer, vact_error *err)
{
    vact_gguf_writer *w = NULL;
    vact_status status = vact_gguf_writer_open(&w, WRITTEN, err);
    if (status == VACT_OK)
        status = vact_tokenizer_put(tokenizer, w, err);
    if (status == VACT_OK)
        status = vact_gguf_writer_finish(w, err);
    vact_gguf_writer_close(&w);
    *answer = status == VACT_OK;
    return status;
}

static void test_opening_survives_failing_allocations(void **state)
{
    (void)state;
    document = byte_level;
    memory_check(open_json);
    document = sentencepiece;
    memory_check(open_json);
}

static void test_encoding_survives_failing_allocations(void **state)
{
    (void)state;
    tokenizer = parse(byte_level);
    memory_check(encode);
    vact_tokenizer_close(&tokenizer);
    tokenizer = parse(sentencepiece);
    memory_check(encode);
    vact_tokenizer_close(&tokenizer);
}

static void test_writing_and_reading_gguf_survives_failing_allocations(void **state)
{
    (void)state;
    tokenizer = parse(sentencepiece);
    memory_check(put);
    assert_int_equal(vact_gguf_open(&gguf, WRITTEN, NULL), VACT_OK);
    memory_check(open_gguf);
    vact_gguf_close(&gguf);
    vact_tokenizer_close(&tokenizer);
    unlink(WRITTEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoding_allocates_nothing),
        cmocka_unit_test(test_what_a_file_says_of_its_steps_reserves_nothing),
        cmocka_unit_test(test_opening_survives_failing_allocations),
        cmocka_unit_test(test_encoding_survives_failing_allocations),
        cmocka_unit_test(test_writing_and_reading_gguf_survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
