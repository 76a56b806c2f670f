/* Texts and the ids they should have, from JSON. */
#ifndef TESTS_TEXT_CASES_H
#define TESTS_TEXT_CASES_H

#include "load_json.h"
#include "text/tokenizer.h"

/* The real tokenizers of tests/data/tokenizers, whose texts and ids are in tests/data/tokenizers.json. */
enum { TOKENIZERS = 6 };
extern const char *const tokenizer_names[TOKENIZERS];
vact_tokenizer *open_named(const char *name);

vact_tokenizer *open_tokenizer(const char *path);
vact_tokenizer *parse_tokenizer(const json_t *document);

/* Fails unless the text has these ids: `want` is an array. */
void check_ids(vact_encoder *e, const char *name, const char *text, size_t length, bool special, const json_t *want);

/* [{"text", "ids", "ids_special"}] */
void check_cases(const vact_tokenizer *t, const char *name, const json_t *cases);

/* The tokenizer that comes back from a GGUF file. */
vact_tokenizer *through_gguf(const vact_tokenizer *t, const char *path);

#endif
