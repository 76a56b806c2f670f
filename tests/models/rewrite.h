/* A checkpoint with something changed, for tests of what a loader must notice or must not care about. */
#ifndef TESTS_MODELS_REWRITE_H
#define TESTS_MODELS_REWRITE_H

#include "file/gguf.h"

typedef enum rewrite_kind {
    REWRITE_END,
    REWRITE_DROP_KEY,
    REWRITE_KEY_U32, /* sets or adds */
    REWRITE_KEY_F32,
    REWRITE_KEY_F64,
    REWRITE_KEY_TEXT,
    REWRITE_DROP_TENSOR,
    REWRITE_RENAME_TENSOR,  /* to text */
    REWRITE_FLATTEN_TENSOR, /* [a, b] becomes [a * b] */
    REWRITE_SET_VALUE,      /* element 0 of an f32 tensor becomes number */
} rewrite_kind;

typedef struct rewrite_edit {
    rewrite_kind kind;
    const char *name; /* of the key or tensor */
    double number;
    const char *text;
} rewrite_edit;

/* Gives a tensor another type: returns the type to store it in. The bytes are made by quantizing with a plain
 * round-to-nearest of our own; types that nothing here writes get random codes of the values' magnitude. What matters is
 * that both sides of a comparison hold the same codes. */
typedef uint32_t (*rewrite_type_fn)(const vact_gguf_tensor *tensor);

/* Copies `in` to `out` with edits (ended by REWRITE_END, or NULL) and types (NULL: as they are). With `decoded` a
 * tensor that would change its type is stored as the f32 values that its blocks decode to, instead. Returns how many tensors changed
 * their type. */
int rewrite_gguf(const char *in, const char *out, const rewrite_edit *edits, rewrite_type_fn type, bool decoded);

#endif
