/* Touches all that an opened file hands out, so that a sanitizer sees a view that leaves the file. */
#ifndef TESTS_FILE_GGUF_WALK_H
#define TESTS_FILE_GGUF_WALK_H

#include "file/gguf.h"
#include <stdint.h>
#include <string.h>

static inline uint64_t walk_text(const vact_gguf_value *v, uint64_t index)
{
    const vact_gguf_text text = vact_gguf_get_text(v, index);
    return text.length > 0 ? (uint8_t)text.data[0] + (uint64_t)(uint8_t)text.data[text.length - 1] : 0;
}

static inline uint64_t walk_element(const vact_gguf_value *v, uint64_t index)
{
    switch (v->element) {
    case VACT_GGUF_STRING:
        return walk_text(v, index);
    case VACT_GGUF_F32:
    case VACT_GGUF_F64:
        return vact_gguf_get_float(v, index) > 0;
    case VACT_GGUF_I8:
    case VACT_GGUF_I16:
    case VACT_GGUF_I32:
    case VACT_GGUF_I64:
        return (uint64_t)vact_gguf_get_int(v, index);
    default:
        return vact_gguf_get_uint(v, index);
    }
}

/* The first and the last elements of arrays: texts are found by walking. False if a look-up fails. */
static inline bool walk_gguf(const vact_gguf *gguf, uint64_t *sum)
{
    char line[64];
    for (uint64_t i = 0; i < gguf->n_values; i++) {
        const vact_gguf_value *v = &gguf->values[i];
        if (vact_gguf_find(gguf, v->key) != v)
            return false;
        for (uint64_t k = 0; k < v->count && k < 16; k++)
            *sum += walk_element(v, k) + walk_element(v, v->count - 1 - k);
        vact_gguf_format_value(v, line, sizeof line);
        *sum += strlen(line);
    }
    for (uint64_t i = 0; i < gguf->n_tensors; i++) {
        const vact_gguf_tensor *t = &gguf->tensors[i];
        if (vact_gguf_find_tensor(gguf, t->name) != t || !vact_dtype_get(t->dtype) || t->bytes == 0)
            return false;
        *sum += t->data[0] + (uint64_t)t->data[t->bytes - 1];
    }
    return true;
}

#endif
