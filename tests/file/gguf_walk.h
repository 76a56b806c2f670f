/* Touches all that an opened file hands out, so that a sanitizer sees a view that leaves the file. */
#ifndef TESTS_FILE_GGUF_WALK_H
#define TESTS_FILE_GGUF_WALK_H

#include "file/gguf.h"
#include <stdint.h>
#include <string.h>

static inline uint64_t walk_texts(const vact_gguf_value *v)
{
    uint64_t sum = 0;
    vact_gguf_text text;
    vact_gguf_texts texts = vact_gguf_texts_begin(v);
    while (vact_gguf_texts_next(&texts, &text))
        sum += text.length > 0 ? (uint8_t)text.data[0] + (uint64_t)(uint8_t)text.data[text.length - 1] : 0;
    return sum;
}

static inline uint64_t walk_number(const vact_gguf_value *v, uint64_t index)
{
    switch (v->element) {
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

/* Every text, the first and the last numbers of arrays. False if a look-up fails. */
static inline bool walk_gguf(const vact_gguf *gguf, uint64_t *sum)
{
    char line[64];
    for (uint64_t i = 0; i < gguf->n_values; i++) {
        const vact_gguf_value *v = &gguf->values[i];
        if (vact_gguf_find(gguf, v->key) != v)
            return false;
        if (v->element == VACT_GGUF_STRING)
            *sum += walk_texts(v);
        for (uint64_t k = 0; v->element != VACT_GGUF_STRING && k < v->count && k < 16; k++)
            *sum += walk_number(v, k) + walk_number(v, v->count - 1 - k);
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
