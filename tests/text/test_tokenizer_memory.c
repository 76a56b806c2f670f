/* Encoding texts of the announced size allocates nothing; any allocation may fail, and that is told and leaves nothing
 * behind (the address sanitizer looks). */
#include "text/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Link-time wrappers: every allocation of this program passes here, those of JSON too. */
static long allocations, fail_at = -1; /* the allocation of this number, and all after it, fail */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool refused(void)
{
    return allocations++ >= fail_at && fail_at >= 0;
}

void *__wrap_malloc(size_t size)
{
    return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return refused() ? NULL : __real_realloc(memory, size);
}

static void *json_malloc(size_t size)
{
    return malloc(size);
}

static void json_free(void *memory)
{
    free(memory);
}

static int set_up(void **state)
{
    (void)state;
    json_set_alloc_funcs(json_malloc, json_free);
    return 0;
}

/* ---- no allocations ---- */

static void check_steady(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, TOKENIZER_DATA "%s.tokenizer.json", name);
    vact_tokenizer *t = open_tokenizer(path);
    json_t *all = load_json(TEST_DATA "/tokenizers.json");
    const json_t *cases = json_object_get(json_object_get(all, name), "python");
    size_t longest = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const size_t length = json_string_length(json_object_get(json_array_get(cases, i), "text"));
        longest = length > longest ? length : longest;
    }
    vact_encoder *e = NULL;
    assert_int_equal(vact_encoder_open(&e, t, longest, NULL), VACT_OK);
    const long before = allocations;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *text = json_object_get(json_array_get(cases, i), "text");
        const int32_t *ids = NULL;
        size_t n = 0;
        assert_int_equal(vact_encode(e, json_string_value(text), json_string_length(text), true, &ids, &n, NULL),
                         VACT_OK);
    }
    char bad[64];
    const int32_t *ids = NULL;
    size_t n = 0;
    memset(bad, 0xFF, sizeof bad);
    assert_int_equal(vact_encode(e, bad, longest < sizeof bad ? longest : sizeof bad, true, &ids, &n, NULL), VACT_OK);
    assert_int_equal(allocations, before);
    vact_encoder_close(&e);
    json_decref(all);
    vact_tokenizer_close(&t);
}

static void test_encoding_allocates_nothing(void **state)
{
    (void)state;
    static const char *const names[] = { "gemma3", "qwen3", "llama3", "mistral", "llama2", "smollm2" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_steady(names[i]);
}

/* ---- failing allocations ---- */

/* Byte-level with a normal form, and added tokens behind it. */
static const char byte_level[] =
    "{\"added_tokens\":[{\"id\":9,\"content\":\"<x>\",\"special\":true,\"normalized\":true},"
    "{\"id\":8,\"content\":\"<y>\",\"special\":true,\"normalized\":false}],"
    "\"normalizer\":{\"type\":\"NFC\"},"
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true},"
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"\\u0120\":3},\"merges\":[\"a b\"]}}";

static const char sentencepiece[] =
    "{\"added_tokens\":[{\"id\":0,\"content\":\"?\",\"special\":true,\"normalized\":false}],"
    "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"\\u2581\"},"
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\\u2581\"}]},"
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"?\",\"fuse_unk\":true,\"byte_fallback\":true,"
    "\"vocab\":{\"?\":0,\"a\":1,\"\\u2581\":2,\"\\u2581a\":3},\"merges\":[[\"\\u2581\",\"a\"]]}}";

typedef vact_status (*operation)(const void *input, vact_error *err);

/* With the first, the second, ... allocation failing, until it succeeds. */
static void check_failures(operation run, const void *input)
{
    for (long n = 0;; n++) {
        vact_error err = { 0 };
        allocations = 0;
        fail_at = n;
        const vact_status status = run(input, &err);
        fail_at = -1;
        if (status == VACT_OK) {
            assert_true(n > 0);
            return;
        }
        const bool told = status == VACT_ENOMEM && strstr(err.text, "memory");
        /* Inside its lexer the JSON library takes a failed allocation for a fault of syntax. */
        const bool taken = status == VACT_EFORMAT && strstr(err.text, ": not JSON at ");
        if (err.code != status || (!told && !taken))
            fail_msg("allocation %ld: status %d, \"%s\"", n, (int)status, err.text);
    }
}

static vact_status open_json(const void *input, vact_error *err)
{
    vact_tokenizer *t = NULL;
    const vact_status status = vact_tokenizer_from_json(&t, "tokenizer.json", input, strlen(input), err);
    assert_true((status == VACT_OK) == (t != NULL));
    vact_tokenizer_close(&t);
    return status;
}

static vact_status open_gguf(const void *input, vact_error *err)
{
    vact_tokenizer *t = NULL;
    const vact_status status = vact_tokenizer_from_gguf(&t, input, err);
    assert_true((status == VACT_OK) == (t != NULL));
    vact_tokenizer_close(&t);
    return status;
}

static vact_status encode(const void *input, vact_error *err)
{
    static const char text[] =
        "ab <x> a\xCC\x88 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa<y>\xFF\xFF\xFF\xFF";
    vact_encoder *e = NULL;
    const int32_t *ids = NULL;
    size_t n = 0;
    vact_status status = vact_encoder_open(&e, input, 0, err);
    assert_true((status == VACT_OK) == (e != NULL));
    if (status == VACT_OK)
        status = vact_encode(e, text, strlen(text), true, &ids, &n, err);
    assert_true((status == VACT_OK) == (ids != NULL));
    vact_encoder_close(&e);
    return status;
}

static vact_status put(const void *input, vact_error *err)
{
    vact_gguf_writer *w = NULL;
    vact_status status = vact_gguf_writer_open(&w, "test_tokenizer_memory.gguf", err);
    if (status == VACT_OK)
        status = vact_tokenizer_put(input, w, err);
    if (status == VACT_OK)
        status = vact_gguf_writer_finish(w, err);
    vact_gguf_writer_close(&w);
    return status;
}

static vact_tokenizer *parse(const char *text)
{
    vact_tokenizer *t = NULL;
    vact_error err = { 0 };
    if (vact_tokenizer_from_json(&t, "tokenizer.json", text, strlen(text), &err) != VACT_OK)
        fail_msg("%s", err.text);
    return t;
}

static void test_opening_survives_failing_allocations(void **state)
{
    (void)state;
    check_failures(open_json, byte_level);
    check_failures(open_json, sentencepiece);
}

static void test_encoding_survives_failing_allocations(void **state)
{
    (void)state;
    vact_tokenizer *t = parse(byte_level);
    check_failures(encode, t);
    vact_tokenizer_close(&t);
    t = parse(sentencepiece);
    check_failures(encode, t);
    vact_tokenizer_close(&t);
}

static void test_writing_and_reading_gguf_survives_failing_allocations(void **state)
{
    (void)state;
    vact_gguf *gguf = NULL;
    vact_tokenizer *t = parse(sentencepiece);
    check_failures(put, t);
    assert_int_equal(vact_gguf_open(&gguf, "test_tokenizer_memory.gguf", NULL), VACT_OK);
    check_failures(open_gguf, gguf);
    vact_gguf_close(&gguf);
    vact_tokenizer_close(&t);
    unlink("test_tokenizer_memory.gguf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoding_allocates_nothing),
        cmocka_unit_test(test_opening_survives_failing_allocations),
        cmocka_unit_test(test_encoding_survives_failing_allocations),
        cmocka_unit_test(test_writing_and_reading_gguf_survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
