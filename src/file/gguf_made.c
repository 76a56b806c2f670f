/* values that no file held: laid out as a file has them, in an arena */
#include "file/gguf.h"
#include <string.h>

/* Room for a value's bytes, or NULL. */
static uint8_t *make(vact_gguf_value *out, vact_arena *arena, const char *key, size_t bytes)
{
    uint8_t *data = vact_arena_take(arena, 1, bytes);
    *out = (vact_gguf_value){ .key = vact_arena_text(arena, key, strlen(key)), .count = 1, .data = data };
    return out->key ? data : NULL;
}

bool vact_gguf_make_number(vact_gguf_value *out, vact_arena *arena, const char *key, vact_gguf_type type, double number)
{
    uint8_t *data = make(out, arena, key, sizeof number);
    out->type = out->element = type;
    if (!data)
        return false;
    const uint32_t whole = type == VACT_GGUF_U32 ? (uint32_t)number : 0;
    const float single = (float)number;
    const uint8_t flag = number != 0;
    if (type == VACT_GGUF_U32)
        memcpy(data, &whole, sizeof whole);
    else if (type == VACT_GGUF_BOOL)
        memcpy(data, &flag, sizeof flag);
    else if (type == VACT_GGUF_F32)
        memcpy(data, &single, sizeof single);
    else
        memcpy(data, &number, sizeof number);
    return true;
}

bool vact_gguf_make_text(vact_gguf_value *out, vact_arena *arena, const char *key, const char *text)
{
    const bool made = vact_gguf_make_texts(out, arena, key, &text, 1);
    out->type = VACT_GGUF_STRING;
    return made;
}

bool vact_gguf_make_texts(vact_gguf_value *out, vact_arena *arena, const char *key, const char *const *texts, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += sizeof(uint64_t) + strlen(texts[i]);
    uint8_t *data = make(out, arena, key, bytes);
    out->type = VACT_GGUF_ARRAY;
    out->element = VACT_GGUF_STRING;
    out->count = n;
    for (size_t i = 0; data && i < n; i++) {
        const uint64_t length = strlen(texts[i]);
        memcpy(data, &length, sizeof length);
        memcpy(data + sizeof length, texts[i], (size_t)length);
        data += sizeof length + length;
    }
    return data != NULL;
}
