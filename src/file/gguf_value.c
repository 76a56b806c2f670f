/* checked values and tensors -> look-up by name, sizes; numbers, texts and lines for people */
#include "base/error.h"
#include "file/gguf.h"
#include "file/line.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are read as the file holds them");

/* ---- look-up ---- */

static int compare_to_key(const void *key, const void *entry)
{
    return strcmp(key, (*(const vact_gguf_value *const *)entry)->key);
}

static int compare_to_name(const void *name, const void *entry)
{
    return strcmp(name, (*(const vact_gguf_tensor *const *)entry)->name);
}

const vact_gguf_value *vact_gguf_find(const vact_gguf *gguf, const char *key)
{
    const vact_gguf_value *const *hit =
        bsearch(key, gguf->by_key, gguf->n_values, sizeof *gguf->by_key, compare_to_key);
    return hit ? *hit : NULL;
}

const vact_gguf_tensor *vact_gguf_find_tensor(const vact_gguf *gguf, const char *name)
{
    const vact_gguf_tensor *const *hit =
        bsearch(name, gguf->by_name, gguf->n_tensors, sizeof *gguf->by_name, compare_to_name);
    return hit ? *hit : NULL;
}

static int compare_keys(const void *a, const void *b)
{
    return compare_to_key((*(const vact_gguf_value *const *)a)->key, b);
}

static int compare_names(const void *a, const void *b)
{
    return compare_to_name((*(const vact_gguf_tensor *const *)a)->name, b);
}

bool vact_gguf_index_values(vact_gguf *gguf, vact_arena *arena, const char **twice)
{
    const uint64_t n = gguf->n_values;
    const vact_gguf_value **by_key = vact_arena_take(arena, n, sizeof *by_key);
    if (!by_key)
        return false;
    for (uint64_t i = 0; i < n; i++)
        by_key[i] = &gguf->values[i];
    qsort(by_key, n, sizeof *by_key, compare_keys);
    for (uint64_t i = 1; i < n; i++)
        if (compare_keys(&by_key[i - 1], &by_key[i]) == 0)
            *twice = by_key[i]->key;
    gguf->by_key = by_key;
    return true;
}

bool vact_gguf_index_tensors(vact_gguf *gguf, vact_arena *arena, const char **twice)
{
    const uint64_t n = gguf->n_tensors;
    const vact_gguf_tensor **by_name = vact_arena_take(arena, n, sizeof *by_name);
    if (!by_name)
        return false;
    for (uint64_t i = 0; i < n; i++)
        by_name[i] = &gguf->tensors[i];
    qsort(by_name, n, sizeof *by_name, compare_names);
    for (uint64_t i = 1; i < n; i++)
        if (compare_names(&by_name[i - 1], &by_name[i]) == 0)
            *twice = by_name[i]->name;
    gguf->by_name = by_name;
    return true;
}

void vact_gguf_forget(const vact_gguf *gguf, const void *data, size_t size)
{
    gguf->forget(gguf, data, size);
}

vact_status vact_gguf_need(const vact_gguf *gguf, const char *key, vact_gguf_type type, vact_gguf_type element,
                           const vact_gguf_value **out, vact_error *err)
{
    const vact_gguf_value *value = vact_gguf_find(gguf, key);
    const char *array = type == VACT_GGUF_ARRAY ? "array of " : "";
    *out = NULL;
    if (!value)
        return vact_fail(err, VACT_EFORMAT, "%s: key %s: is missing, expected %s%s", gguf->path, key, array,
                         vact_gguf_type_name(element));
    if (value->type != type || value->element != element)
        return vact_fail(err, VACT_EFORMAT, "%s: key %s: found %s%s, expected %s%s", gguf->path, key,
                         value->type == VACT_GGUF_ARRAY ? "array of " : "", vact_gguf_type_name(value->element), array,
                         vact_gguf_type_name(element));
    *out = value;
    return VACT_OK;
}

/* ---- tensors ---- */

uint64_t vact_gguf_count(const vact_gguf_tensor *tensor)
{
    return tensor->ne[0] * tensor->ne[1] * tensor->ne[2] * tensor->ne[3];
}

void vact_gguf_format_shape(const vact_gguf_tensor *tensor, char *out, size_t out_size)
{
    char piece[32];
    vact_line line;
    vact_line_begin(&line, out, out_size);
    for (uint32_t d = tensor->n_dims; d-- > 0;) {
        snprintf(piece, sizeof piece, "%s%" PRIu64 "%s", d + 1 == tensor->n_dims ? "[" : ", ", tensor->ne[d],
                 d == 0 ? "]" : "");
        vact_line_put(&line, piece);
    }
}

/* ---- values ---- */

static const char *const names[VACT_GGUF_TYPE_END] = {
    [VACT_GGUF_U8] = "u8",         [VACT_GGUF_I8] = "i8",       [VACT_GGUF_U16] = "u16", [VACT_GGUF_I16] = "i16",
    [VACT_GGUF_U32] = "u32",       [VACT_GGUF_I32] = "i32",     [VACT_GGUF_F32] = "f32", [VACT_GGUF_BOOL] = "bool",
    [VACT_GGUF_STRING] = "string", [VACT_GGUF_ARRAY] = "array", [VACT_GGUF_U64] = "u64", [VACT_GGUF_I64] = "i64",
    [VACT_GGUF_F64] = "f64",
};

const char *vact_gguf_type_name(vact_gguf_type type)
{
    return (uint32_t)type < VACT_GGUF_TYPE_END ? names[type] : "unknown";
}

uint64_t vact_gguf_type_bytes(vact_gguf_type type)
{
    static const uint8_t bytes[VACT_GGUF_TYPE_END] = {
        [VACT_GGUF_U8] = 1,  [VACT_GGUF_I8] = 1,  [VACT_GGUF_U16] = 2, [VACT_GGUF_I16] = 2,
        [VACT_GGUF_U32] = 4, [VACT_GGUF_I32] = 4, [VACT_GGUF_F32] = 4, [VACT_GGUF_BOOL] = 1,
        [VACT_GGUF_U64] = 8, [VACT_GGUF_I64] = 8, [VACT_GGUF_F64] = 8, [VACT_GGUF_STRING] = 8,
    };
    return (uint32_t)type < VACT_GGUF_TYPE_END ? bytes[type] : 0;
}

bool vact_gguf_is_layout(const char *key)
{
    return strcmp(key, "general.alignment") == 0;
}

uint64_t vact_gguf_value_bytes(const vact_gguf_value *value)
{
    if (value->element != VACT_GGUF_STRING)
        return value->count * vact_gguf_type_bytes(value->element);
    vact_gguf_text text;
    vact_gguf_texts texts = vact_gguf_texts_begin(value);
    while (vact_gguf_texts_next(&texts, &text))
        continue;
    return (uint64_t)(texts.at - value->data);
}

bool vact_gguf_same_value(const vact_gguf_value *a, const vact_gguf_value *b)
{
    const uint64_t bytes = vact_gguf_value_bytes(a);
    return a->type == b->type && a->element == b->element && a->count == b->count &&
           bytes == vact_gguf_value_bytes(b) && memcmp(a->data, b->data, bytes) == 0;
}

/* The file gives no alignment to values, so each is copied out. */
static const void *element(void *copy, size_t width, const vact_gguf_value *value, uint64_t index)
{
    assert(index < value->count);
    return memcpy(copy, value->data + index * width, width);
}

#define ELEMENT(type, value, index) (*(const type *)element(&(type){ 0 }, sizeof(type), value, index))

uint64_t vact_gguf_get_uint(const vact_gguf_value *value, uint64_t index)
{
    switch (value->element) {
    case VACT_GGUF_U8:
    case VACT_GGUF_BOOL:
        return ELEMENT(uint8_t, value, index);
    case VACT_GGUF_U16:
        return ELEMENT(uint16_t, value, index);
    case VACT_GGUF_U32:
        return ELEMENT(uint32_t, value, index);
    default:
        assert(value->element == VACT_GGUF_U64);
        return ELEMENT(uint64_t, value, index);
    }
}

int64_t vact_gguf_get_int(const vact_gguf_value *value, uint64_t index)
{
    switch (value->element) {
    case VACT_GGUF_I8:
        return ELEMENT(int8_t, value, index);
    case VACT_GGUF_I16:
        return ELEMENT(int16_t, value, index);
    case VACT_GGUF_I32:
        return ELEMENT(int32_t, value, index);
    default:
        assert(value->element == VACT_GGUF_I64);
        return ELEMENT(int64_t, value, index);
    }
}

double vact_gguf_get_float(const vact_gguf_value *value, uint64_t index)
{
    if (value->element == VACT_GGUF_F32)
        return (double)ELEMENT(float, value, index);
    assert(value->element == VACT_GGUF_F64);
    return ELEMENT(double, value, index);
}

vact_gguf_texts vact_gguf_texts_begin(const vact_gguf_value *value)
{
    assert(value->element == VACT_GGUF_STRING);
    return (vact_gguf_texts){ value->data, value->count };
}

bool vact_gguf_texts_next(vact_gguf_texts *texts, vact_gguf_text *text)
{
    if (texts->left == 0)
        return false;
    memcpy(&text->length, texts->at, sizeof text->length);
    text->data = (const char *)texts->at + sizeof text->length;
    texts->at += sizeof text->length + text->length;
    texts->left--;
    return true;
}

vact_gguf_text vact_gguf_get_text(const vact_gguf_value *value, uint64_t index)
{
    vact_gguf_text text = { 0 };
    vact_gguf_texts texts = vact_gguf_texts_begin(value);
    assert(index < value->count);
    for (uint64_t i = 0; i <= index; i++)
        vact_gguf_texts_next(&texts, &text);
    return text;
}

/* The fewest digits that read back as the same number: 1e-05, not 9.99999975e-06. */
static void format_float(char *piece, size_t size, const vact_gguf_value *value, uint64_t index)
{
    const double want = vact_gguf_get_float(value, index);
    const bool single = value->element == VACT_GGUF_F32;
    const int last = single ? 9 : 17;
    for (int digits = 6; digits <= last; digits++) {
        snprintf(piece, size, "%.*g", digits, want);
        const double got = single ? (double)strtof(piece, NULL) : strtod(piece, NULL);
        if (got == want)
            return;
    }
}

static void format_number(char *piece, size_t size, const vact_gguf_value *value, uint64_t index)
{
    switch (value->element) {
    case VACT_GGUF_F32:
    case VACT_GGUF_F64:
        format_float(piece, size, value, index);
        break;
    case VACT_GGUF_BOOL:
        snprintf(piece, size, "%s", vact_gguf_get_uint(value, index) ? "true" : "false");
        break;
    case VACT_GGUF_I8:
    case VACT_GGUF_I16:
    case VACT_GGUF_I32:
    case VACT_GGUF_I64:
        snprintf(piece, size, "%" PRId64, vact_gguf_get_int(value, index));
        break;
    default:
        snprintf(piece, size, "%" PRIu64, vact_gguf_get_uint(value, index));
    }
}

void vact_gguf_format_value(const vact_gguf_value *value, char *out, size_t out_size)
{
    const bool is_text = value->element == VACT_GGUF_STRING;
    vact_gguf_texts texts = { 0 };
    vact_gguf_text text = { 0 };
    char piece[48];
    vact_line line;
    vact_line_begin(&line, out, out_size);
    if (is_text)
        texts = vact_gguf_texts_begin(value);
    if (value->type == VACT_GGUF_ARRAY) {
        snprintf(piece, sizeof piece, "[%" PRIu64 "]", value->count);
        vact_line_put(&line, piece);
    }
    for (uint64_t i = 0; i < value->count && !line.cut && out_size > 0; i++) {
        if (value->type == VACT_GGUF_ARRAY)
            vact_line_put(&line, i == 0 ? " " : ", ");
        if (is_text) {
            vact_gguf_texts_next(&texts, &text);
            vact_line_put(&line, "\"");
            vact_line_text(&line, text.data, text.length);
            vact_line_put(&line, "\"");
        } else {
            format_number(piece, sizeof piece, value, i);
            vact_line_put(&line, piece);
        }
    }
}
