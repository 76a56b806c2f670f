/* bytes of a GGUF file -> checked values and tensors, and an index of each by name
 *
 *   "GGUF", version, n tensors, n values | values | tensor descriptions | padding | data
 *
 * One cursor walks the first three parts; everything it hands out has been compared with the bytes left. */
#include "file/gguf.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/mapping.h"
#include "file/line.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are read as the file holds them");

enum {
    HEADER_BYTES = 24,
    MIN_VALUE_BYTES = 14,  /* key length, one byte of key, type, one byte */
    MIN_TENSOR_BYTES = 33, /* name length, one byte of name, n_dims, one dimension, type, offset */
    MAX_NAME_BYTES = 65535,
    MIN_ALIGNMENT = 8,
    MAX_ALIGNMENT = 65536,
    DEFAULT_ALIGNMENT = 32,
    NAME_CHUNK = 4096,
    SHOWN_NAME = 100 /* of a name in an error: its text is short */
};

struct gguf_file {
    vact_gguf view; /* first: callers hold its address */
    vact_arena arena;
    vact_mapping mapping;
    bool mapped; /* else the bytes are the caller's */
    vact_gguf_value *values;
    vact_gguf_tensor *tensors;
};

struct reader {
    struct gguf_file *file;
    const uint8_t *data;
    uint64_t size, at;
    uint64_t data_start; /* offsets of tensors count from here */
    const char *kind;    /* what is being read, for errors: "key", "tensor", NULL for the file itself */
    const char *name;    /* its name, or NULL while only its index is known */
    uint64_t name_length, index;
    char *names; /* room for copies of names */
    size_t names_left;
    vact_status status;
    vact_error *err;
};

/* ---- errors ---- */

/* "PATH: key NAME: what is wrong"; returns false. */
__attribute__((format(printf, 2, 3))) static bool bad(struct reader *r, const char *format, ...)
{
    char subject[SHOWN_NAME + 16] = "", name[SHOWN_NAME], text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (r->name)
        snprintf(subject, sizeof subject, "%s %s: ", r->kind,
                 vact_printable(name, sizeof name, r->name, r->name_length));
    else if (r->kind)
        snprintf(subject, sizeof subject, "%s %" PRIu64 ": ", r->kind, r->index);
    r->status = vact_fail(r->err, VACT_EFORMAT, "%s: %s%s", r->file->view.path, subject, text);
    return false;
}

static bool bad_size(struct reader *r, uint64_t need)
{
    return bad(r, "found a file of %" PRIu64 " bytes, expected at least %" PRIu64, r->size, need);
}

static bool no_memory(struct reader *r)
{
    r->status = vact_fail(r->err, VACT_ENOMEM, "%s: no memory for %" PRIu64 " values and %" PRIu64 " tensors",
                          r->file->view.path, r->file->view.n_values, r->file->view.n_tensors);
    return false;
}

static void about(struct reader *r, const char *kind, uint64_t index)
{
    r->kind = kind;
    r->name = NULL;
    r->index = index;
}

static void about_named(struct reader *r, const char *kind, const char *name, uint64_t length)
{
    r->kind = kind;
    r->name = name;
    r->name_length = length;
}

/* ---- cursor ---- */

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The next n bytes, or NULL. */
static const uint8_t *take(struct reader *r, uint64_t n)
{
    const uint8_t *p = r->data + r->at;
    if (n > r->size - r->at) {
        bad_size(r, add_saturated(r->at, n));
        return NULL;
    }
    r->at += n;
    return p;
}

static bool read_u32(struct reader *r, uint32_t *out)
{
    const uint8_t *p = take(r, sizeof *out);
    if (p)
        memcpy(out, p, sizeof *out);
    return p;
}

static bool read_u64(struct reader *r, uint64_t *out)
{
    const uint8_t *p = take(r, sizeof *out);
    if (p)
        memcpy(out, p, sizeof *out);
    return p;
}

/* A copy with a closing NUL. Names are many and short, so they share chunks. */
static char *keep_name(struct reader *r, const char *name, size_t length)
{
    if (r->names_left < length + 1) {
        const size_t size = length + 1 > NAME_CHUNK ? length + 1 : NAME_CHUNK;
        r->names = vact_arena_take(&r->file->arena, 1, size);
        r->names_left = r->names ? size : 0;
        if (!r->names)
            return NULL;
    }
    char *kept = r->names;
    memcpy(kept, name, length);
    kept[length] = '\0';
    r->names += length + 1;
    r->names_left -= length + 1;
    return kept;
}

/* The name of a key or tensor; from here on errors tell it. */
static bool read_name(struct reader *r, const char *kind, uint64_t index, const char **out)
{
    uint64_t length = 0;
    about(r, kind, index);
    if (!read_u64(r, &length))
        return false;
    if (length < 1 || length > MAX_NAME_BYTES)
        return bad(r, "found a name of %" PRIu64 " bytes, expected 1 to %d", length, MAX_NAME_BYTES);
    const uint8_t *p = take(r, length);
    if (!p)
        return false;
    about_named(r, kind, (const char *)p, length);
    if (memchr(p, 0, length))
        return bad(r, "found a NUL byte in the name, expected none");
    *out = keep_name(r, (const char *)p, length);
    return *out || no_memory(r);
}

/* ---- header ---- */

static uint32_t swap_bytes(uint32_t v)
{
    return v >> 24 | (v >> 8 & 0xff00) | (v << 8 & 0xff0000) | v << 24;
}

static bool check_count(struct reader *r, uint64_t n, uint64_t min_bytes, uint64_t left, const char *what)
{
    if (n > left / min_bytes)
        return bad(r, "found %" PRIu64 " %s, expected at most %" PRIu64 " in a file of %" PRIu64 " bytes", n, what,
                   left / min_bytes, r->size);
    return true;
}

static bool read_header(struct reader *r)
{
    vact_gguf *view = &r->file->view;
    char shown[24];
    if (r->size >= 4 && memcmp(r->data, "GGUF", 4) != 0)
        return bad(r, "found the magic \"%s\", expected \"GGUF\"",
                   vact_printable(shown, sizeof shown, (const char *)r->data, 4));
    if (r->size < HEADER_BYTES)
        return bad_size(r, HEADER_BYTES);
    if (!take(r, 4) || !read_u32(r, &view->version) || !read_u64(r, &view->n_tensors) || !read_u64(r, &view->n_values))
        return false;
    if (view->version > 0xffff && swap_bytes(view->version) <= 0xffff)
        return bad(r, "found a big-endian file, expected little-endian");
    if (view->version != 2 && view->version != 3)
        return bad(r, "found GGUF version %" PRIu32 ", expected 2 or 3", view->version);
    const uint64_t left = r->size - r->at;
    return check_count(r, view->n_tensors, MIN_TENSOR_BYTES, left, "tensors") &&
           check_count(r, view->n_values, MIN_VALUE_BYTES, left - view->n_tensors * MIN_TENSOR_BYTES, "values");
}

/* ---- values ---- */

static bool read_value_type(struct reader *r, vact_gguf_type *out, const char *what)
{
    uint32_t type = 0;
    if (!read_u32(r, &type))
        return false;
    if (type >= VACT_GGUF_TYPE_END)
        return bad(r, "found %s type %" PRIu32 ", expected 0 to %d", what, type, VACT_GGUF_TYPE_END - 1);
    *out = (vact_gguf_type)type;
    return true;
}

static bool read_array_head(struct reader *r, vact_gguf_value *v)
{
    if (!read_value_type(r, &v->element, "element") || !read_u64(r, &v->count))
        return false;
    if (v->element == VACT_GGUF_ARRAY)
        return bad(r, "found an array of arrays, expected an array of numbers, bools or strings");
    const uint64_t most = (r->size - r->at) / vact_gguf_type_bytes(v->element);
    if (v->count > most)
        return bad(r, "found %" PRIu64 " elements of %s, expected at most %" PRIu64 " in a file of %" PRIu64 " bytes",
                   v->count, vact_gguf_type_name(v->element), most, r->size);
    return true;
}

static bool read_strings(struct reader *r, uint64_t count)
{
    uint64_t length = 0;
    for (uint64_t i = 0; i < count; i++)
        if (!read_u64(r, &length) || !take(r, length))
            return false;
    return true;
}

static bool read_elements(struct reader *r, const vact_gguf_value *v)
{
    if (v->element == VACT_GGUF_STRING)
        return read_strings(r, v->count);
    const uint8_t *p = take(r, v->count * vact_gguf_type_bytes(v->element));
    if (!p)
        return false;
    for (uint64_t i = 0; v->element == VACT_GGUF_BOOL && i < v->count; i++)
        if (p[i] > 1)
            return bad(r, "found the bool %d, expected 0 or 1", p[i]);
    return true;
}

static bool read_value(struct reader *r, vact_gguf_value *v, uint64_t index)
{
    if (!read_name(r, "key", index, &v->key) || !read_value_type(r, &v->type, "value"))
        return false;
    v->element = v->type;
    v->count = 1;
    if (v->type == VACT_GGUF_ARRAY && !read_array_head(r, v))
        return false;
    v->data = r->data + r->at;
    return read_elements(r, v);
}

static bool read_values(struct reader *r)
{
    struct gguf_file *file = r->file;
    const uint64_t n = file->view.n_values;
    file->view.values = file->values = vact_arena_take(&file->arena, n, sizeof *file->values);
    if (!file->values)
        return no_memory(r);
    for (uint64_t i = 0; i < n; i++)
        if (!read_value(r, &file->values[i], i))
            return false;
    const char *twice = NULL;
    if (!vact_gguf_index_values(&file->view, &file->arena, &twice))
        return no_memory(r);
    if (twice)
        about_named(r, "key", twice, strlen(twice));
    return !twice || bad(r, "found twice, expected once");
}

static bool read_alignment(struct reader *r)
{
    static const char key[] = "general.alignment";
    struct gguf_file *file = r->file;
    const vact_gguf_value *v = vact_gguf_find(&file->view, key);
    file->view.alignment = DEFAULT_ALIGNMENT;
    if (!v)
        return true;
    about_named(r, "key", key, sizeof key - 1);
    if (v->type != VACT_GGUF_U32)
        return bad(r, "found type %s, expected u32", vact_gguf_type_name(v->type));
    const uint32_t a = (uint32_t)vact_gguf_get_uint(v, 0);
    if (a < MIN_ALIGNMENT || a > MAX_ALIGNMENT || (a & (a - 1)) != 0)
        return bad(r, "found %" PRIu32 ", expected a power of two from %d to %d", a, MIN_ALIGNMENT, MAX_ALIGNMENT);
    file->view.alignment = a;
    return true;
}

/* ---- tensors ---- */

static bool read_tensor(struct reader *r, vact_gguf_tensor *t, uint64_t index)
{
    char why[160];
    if (!read_name(r, "tensor", index, &t->name) || !read_u32(r, &t->n_dims))
        return false;
    if (t->n_dims < 1 || t->n_dims > 4)
        return bad(r, "found %" PRIu32 " dimensions, expected 1 to 4", t->n_dims);
    for (uint32_t i = 0; i < 4; i++) {
        t->ne[i] = 1;
        if (i < t->n_dims && !read_u64(r, &t->ne[i]))
            return false;
    }
    if (!read_u32(r, &t->dtype) || !read_u64(r, &t->offset))
        return false;
    if (!vact_dtype_shape_bytes(t->dtype, t->n_dims, t->ne, &t->bytes, why, sizeof why))
        return bad(r, "%s", why);
    if (t->offset % r->file->view.alignment != 0)
        return bad(r, "found the data offset %" PRIu64 ", expected a multiple of %" PRIu32, t->offset,
                   r->file->view.alignment);
    return true;
}

static int compare_offsets(const void *a, const void *b)
{
    const uint64_t x = (*(const vact_gguf_tensor *const *)a)->offset;
    const uint64_t y = (*(const vact_gguf_tensor *const *)b)->offset;
    return (x > y) - (x < y);
}

static bool read_tensors(struct reader *r)
{
    struct gguf_file *file = r->file;
    const uint64_t n = file->view.n_tensors;
    file->view.tensors = file->tensors = vact_arena_take(&file->arena, n, sizeof *file->tensors);
    if (!file->tensors)
        return no_memory(r);
    for (uint64_t i = 0; i < n; i++)
        if (!read_tensor(r, &file->tensors[i], i))
            return false;
    const char *twice = NULL;
    if (!vact_gguf_index_tensors(&file->view, &file->arena, &twice))
        return no_memory(r);
    if (twice)
        about_named(r, "tensor", twice, strlen(twice));
    return !twice || bad(r, "found twice, expected once");
}

/* Offsets from the data section become offsets in the file. A truncated file is told by its first tensor
 * that is not whole and by the size that all would need. */
static bool place_tensors(struct reader *r)
{
    struct gguf_file *file = r->file;
    const uint64_t mask = file->view.alignment - 1;
    const vact_gguf_tensor *outside = NULL;
    uint64_t need = 0;
    r->data_start = (r->at + mask) & ~mask;
    for (uint64_t i = 0; i < file->view.n_tensors; i++) {
        vact_gguf_tensor *t = &file->tensors[i];
        const uint64_t end = add_saturated(add_saturated(r->data_start, t->offset), t->bytes);
        if (end > r->size && !outside)
            outside = t;
        if (end > need)
            need = end;
    }
    if (outside) {
        about_named(r, "tensor", outside->name, strlen(outside->name));
        return bad_size(r, need);
    }
    for (uint64_t i = 0; i < file->view.n_tensors; i++) {
        vact_gguf_tensor *t = &file->tensors[i];
        t->offset += r->data_start;
        t->data = r->data + t->offset;
    }
    return true;
}

static bool check_overlaps(struct reader *r)
{
    struct gguf_file *file = r->file;
    const uint64_t n = file->view.n_tensors;
    const vact_gguf_tensor **by_offset = vact_arena_take(&file->arena, n, sizeof *by_offset);
    char shown[SHOWN_NAME];
    if (!by_offset)
        return no_memory(r);
    memcpy(by_offset, file->view.by_name, n * sizeof *by_offset);
    qsort(by_offset, n, sizeof *by_offset, compare_offsets);
    for (uint64_t i = 1; i < n; i++) {
        const vact_gguf_tensor *a = by_offset[i - 1], *b = by_offset[i];
        if (b->offset < a->offset + a->bytes) {
            about_named(r, "tensor", b->name, strlen(b->name));
            return bad(r, "found the data offset %" PRIu64 ", expected at least %" PRIu64 ", the end of tensor %s",
                       b->offset - r->data_start, a->offset - r->data_start + a->bytes,
                       vact_printable(shown, sizeof shown, a->name, strlen(a->name)));
        }
    }
    return true;
}

/* ---- open and close ---- */

static void forget_file(const vact_gguf *gguf, const void *data, size_t size)
{
    const struct gguf_file *file = (const struct gguf_file *)gguf;
    if (file->mapped)
        vact_mapping_forget(&file->mapping, data, size);
}

static void close_file(vact_gguf *gguf)
{
    struct gguf_file *file = (struct gguf_file *)gguf;
    vact_arena_free(&file->arena);
    if (file->mapped)
        vact_mapping_close(&file->mapping);
    free(file);
}

/* Takes the mapping over if `mapped`, on failure too. */
static vact_status load(vact_gguf **out, const char *path, vact_mapping mapping, bool mapped, vact_error *err)
{
    struct gguf_file *file = calloc(1, sizeof *file);
    if (!file) {
        if (mapped)
            vact_mapping_close(&mapping);
        return vact_fail(err, VACT_ENOMEM, "%s: no memory to read it", vact_path_end(path));
    }
    file->mapping = mapping;
    file->mapped = mapped;
    struct reader r = { .file = file, .data = mapping.data, .size = mapping.size, .err = err };
    file->view.size = mapping.size;
    file->view.forget = forget_file;
    file->view.close = close_file;
    file->view.path = vact_arena_text(&file->arena, vact_path_end(path), strlen(vact_path_end(path)));
    vact_gguf *gguf = &file->view;
    if (!file->view.path)
        r.status = vact_fail(err, VACT_ENOMEM, "%s: no memory to read it", vact_path_end(path));
    else if (read_header(&r) && read_values(&r) && read_alignment(&r) && read_tensors(&r) && place_tensors(&r) &&
             check_overlaps(&r)) {
        *out = gguf;
        return VACT_OK;
    }
    vact_gguf_close(&gguf);
    return r.status;
}

vact_status vact_gguf_parse(vact_gguf **out, const char *name, const uint8_t *data, size_t size, vact_error *err)
{
    *out = NULL;
    return load(out, name, (vact_mapping){ .data = data, .size = size }, false, err);
}

vact_status vact_gguf_open(vact_gguf **out, const char *path, vact_error *err)
{
    vact_mapping mapping = { 0 };
    *out = NULL;
    const vact_status status = vact_mapping_open(&mapping, path, err);
    return status == VACT_OK ? load(out, path, mapping, true, err) : status;
}

void vact_gguf_close(vact_gguf **gguf)
{
    if (!gguf || !*gguf)
        return;
    (*gguf)->close(*gguf);
    *gguf = NULL;
}
