#include "text/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

vact_tokenizer *open_tokenizer(const char *path)
{
    vact_tokenizer *t = NULL;
    vact_error err = { 0 };
    if (vact_tokenizer_open(&t, path, &err) != VACT_OK)
        fail_msg("%s", err.text);
    return t;
}

const char *const tokenizer_names[TOKENIZERS] = { "gemma3", "qwen3", "llama3", "mistral", "llama2", "smollm2" };

vact_tokenizer *open_named(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, TEST_DATA "/tokenizers/%s.tokenizer.json", name);
    return open_tokenizer(path);
}

vact_tokenizer *parse_tokenizer(const json_t *document)
{
    vact_tokenizer *t = NULL;
    vact_error err = { 0 };
    char *text = json_dumps(document, JSON_COMPACT);
    assert_non_null(text);
    if (vact_tokenizer_from_json(&t, "tokenizer.json", text, strlen(text), &err) != VACT_OK)
        fail_msg("%s", err.text);
    free(text);
    return t;
}

void check_ids(vact_encoder *e, const char *name, const char *text, size_t length, bool special, const json_t *want)
{
    const int32_t *ids = NULL;
    size_t n = 0;
    vact_error err = { 0 };
    if (vact_encode(e, text, length, special, &ids, &n, &err) != VACT_OK)
        fail_msg("%s: %s", name, err.text);
    bool same = n == json_array_size(want);
    for (size_t i = 0; i < n && same; i++)
        same = ids[i] == json_integer_value(json_array_get(want, i));
    if (same)
        return;
    print_error("%s: \"%s\"%s:\n   ", name, text, special ? " with special tokens" : "");
    for (size_t i = 0; i < n; i++)
        print_error(" %d", ids[i]);
    print_error("\nexpected:\n   ");
    for (size_t i = 0; i < json_array_size(want); i++)
        print_error(" %d", (int)json_integer_value(json_array_get(want, i)));
    fail_msg("other ids");
}

void check_cases(const vact_tokenizer *t, const char *name, const json_t *cases)
{
    vact_encoder *e = NULL;
    assert_int_equal(vact_encoder_open(&e, t, 64, NULL), VACT_OK);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i), *text = json_object_get(one, "text");
        for (int special = 0; special < 2; special++)
            check_ids(e, name, json_string_value(text), json_string_length(text), special,
                      json_object_get(one, special ? "ids_special" : "ids"));
    }
    vact_encoder_close(&e);
}

vact_tokenizer *through_gguf(const vact_tokenizer *t, const char *path)
{
    vact_gguf_writer *w = NULL;
    vact_error err = { 0 };
    if (vact_gguf_writer_open(&w, path, &err) != VACT_OK || vact_tokenizer_put(t, w, &err) != VACT_OK ||
        vact_gguf_writer_finish(w, &err) != VACT_OK)
        fail_msg("%s", err.text);
    vact_gguf_writer_close(&w);
    vact_tokenizer *back = open_tokenizer(path);
    unlink(path);
    return back;
}
