/* declared values and tensors, then their bytes -> a GGUF 3 file that appears whole or not at all
 *
 * Offsets and counts precede the data in the file, so declarations wait in memory until the first data. */
#include "base/arena.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/replace.h"
#include "file/gguf.h"
#include "file/line.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as memory holds them");

enum { VERSION = 3, ALIGNMENT = 32, MAX_NAME_BYTES = 65535, SHOWN = 100 };

/* Grows by doubling. */
struct bytes {
    uint8_t *data;
    size_t size, room;
};

struct vact_gguf_writer {
    vact_replacement out;
    vact_arena arena; /* path and names */
    const char *path;
    struct bytes values, tensors; /* as the file will hold them */
    struct bytes keys, names;     /* [n] const char *, in the order of their puts */
    struct bytes sizes;           /* [n_tensors] uint64_t */
    uint64_t n_values, n_tensors;
    uint64_t data_size; /* declared, with padding */
    uint64_t current;   /* tensor that the next byte belongs to */
    uint64_t written;   /* bytes of it so far */
    bool declared;      /* the header is in the file: no more puts */
    bool finished;
    vact_status failed; /* the first failure, or VACT_OK */
};

/* ---- errors ---- */

const char *vact_gguf_writer_path(const vact_gguf_writer *w)
{
    return vact_path_end(w->path);
}

__attribute__((format(printf, 5, 6))) static vact_status refuse(vact_gguf_writer *w, vact_error *err, const char *kind,
                                                                const char *name, const char *format, ...)
{
    char shown[SHOWN], why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    w->failed = VACT_EARG;
    return vact_fail(err, VACT_EARG, "%s: %s %s: %s", vact_gguf_writer_path(w), kind,
                     vact_printable(shown, sizeof shown, name, strlen(name)), why);
}

static vact_status system_failed(vact_gguf_writer *w, vact_error *err, const char *what)
{
    const int reason = errno;
    w->failed = VACT_EIO;
    return vact_fail(err, VACT_EIO, "%s: cannot %s: %s", vact_gguf_writer_path(w), what, strerror(reason));
}

static vact_status no_memory(vact_gguf_writer *w, vact_error *err)
{
    w->failed = VACT_ENOMEM;
    return vact_fail(err, VACT_ENOMEM, "%s: no memory to describe it", vact_gguf_writer_path(w));
}

static vact_status failed_before(vact_gguf_writer *w, vact_error *err)
{
    return vact_fail(err, w->failed, "%s: writing has failed before", vact_gguf_writer_path(w));
}

static vact_status out_of_order(vact_gguf_writer *w, vact_error *err, const char *why)
{
    w->failed = VACT_EARG;
    return vact_fail(err, VACT_EARG, "%s: %s", vact_gguf_writer_path(w), why);
}

/* ---- declarations ---- */

static bool append(struct bytes *b, const void *data, size_t size)
{
    if (size == 0)
        return true;
    uint8_t *grown = size < SIZE_MAX - b->size ? vact_grown(b->data, &b->room, b->size + size, 1) : NULL;
    if (!grown)
        return false;
    b->data = grown;
    memcpy(b->data + b->size, data, size);
    b->size += size;
    return true;
}

static bool append_u32(struct bytes *b, uint32_t v)
{
    return append(b, &v, sizeof v);
}

static bool append_u64(struct bytes *b, uint64_t v)
{
    return append(b, &v, sizeof v);
}

static bool append_text(struct bytes *b, const char *text, uint64_t length)
{
    return append_u64(b, length) && append(b, text, length);
}

static const char *name_at(const struct bytes *names, uint64_t i)
{
    const char *name;
    memcpy(&name, names->data + i * sizeof name, sizeof name);
    return name;
}

/* What a reader would refuse about a name by itself; remembers it. */
static vact_status add_name(vact_gguf_writer *w, struct bytes *names, const char *kind, const char *name,
                            vact_error *err)
{
    const size_t length = strlen(name);
    if (w->failed != VACT_OK)
        return failed_before(w, err);
    if (w->declared)
        return out_of_order(w, err, "found a declaration after data, expected it before");
    if (length < 1 || length > MAX_NAME_BYTES)
        return refuse(w, err, kind, name, "found a name of %zu bytes, expected 1 to %d", length, MAX_NAME_BYTES);
    const char *kept = vact_arena_text(&w->arena, name, length);
    return kept && append(names, &kept, sizeof kept) ? VACT_OK : no_memory(w, err);
}

/* The start of a value: its elements are to follow. */
static vact_status put_key(vact_gguf_writer *w, const char *key, vact_gguf_type type, vact_error *err)
{
    const vact_status status = add_name(w, &w->keys, "key", key, err);
    if (status != VACT_OK)
        return status;
    if (vact_gguf_is_layout(key))
        return refuse(w, err, "key", key, "found by name, expected none: the writer aligns to %d", ALIGNMENT);
    w->n_values++;
    return append_text(&w->values, key, strlen(key)) && append_u32(&w->values, (uint32_t)type) ? VACT_OK
                                                                                               : no_memory(w, err);
}

static vact_status put_array_key(vact_gguf_writer *w, const char *key, vact_gguf_type element, uint64_t count,
                                 vact_error *err)
{
    const vact_status status = put_key(w, key, VACT_GGUF_ARRAY, err);
    if (status != VACT_OK)
        return status;
    return append_u32(&w->values, (uint32_t)element) && append_u64(&w->values, count) ? VACT_OK : no_memory(w, err);
}

static vact_status put_scalar(vact_gguf_writer *w, const char *key, vact_gguf_type type, const void *data,
                              vact_error *err)
{
    const vact_status status = put_key(w, key, type, err);
    if (status != VACT_OK)
        return status;
    return append(&w->values, data, vact_gguf_type_bytes(type)) ? VACT_OK : no_memory(w, err);
}

vact_status vact_gguf_put_text(vact_gguf_writer *w, const char *key, const char *text, vact_error *err)
{
    const vact_status status = put_key(w, key, VACT_GGUF_STRING, err);
    if (status != VACT_OK)
        return status;
    return append_text(&w->values, text, strlen(text)) ? VACT_OK : no_memory(w, err);
}

vact_status vact_gguf_put_u32(vact_gguf_writer *w, const char *key, uint32_t v, vact_error *err)
{
    return put_scalar(w, key, VACT_GGUF_U32, &v, err);
}

vact_status vact_gguf_put_f32(vact_gguf_writer *w, const char *key, float v, vact_error *err)
{
    return put_scalar(w, key, VACT_GGUF_F32, &v, err);
}

vact_status vact_gguf_put_f64(vact_gguf_writer *w, const char *key, double v, vact_error *err)
{
    return put_scalar(w, key, VACT_GGUF_F64, &v, err);
}

vact_status vact_gguf_put_bool(vact_gguf_writer *w, const char *key, bool v, vact_error *err)
{
    return put_scalar(w, key, VACT_GGUF_BOOL, &(uint8_t){ v }, err);
}

vact_status vact_gguf_put_array(vact_gguf_writer *w, const char *key, vact_gguf_type element, const void *data,
                                uint64_t count, vact_error *err)
{
    const uint8_t *bytes = data;
    const uint64_t width = element == VACT_GGUF_STRING ? 0 : vact_gguf_type_bytes(element);
    const vact_status status = put_array_key(w, key, element, count, err);
    if (status != VACT_OK)
        return status;
    if (width == 0)
        return refuse(w, err, "key", key, "found elements of %s, expected numbers or bools",
                      vact_gguf_type_name(element));
    if (count > SIZE_MAX / width)
        return no_memory(w, err);
    for (uint64_t i = 0; element == VACT_GGUF_BOOL && i < count; i++)
        if (bytes[i] > 1)
            return refuse(w, err, "key", key, "found the bool %d, expected 0 or 1", bytes[i]);
    return append(&w->values, data, count * width) ? VACT_OK : no_memory(w, err);
}

vact_status vact_gguf_put_texts(vact_gguf_writer *w, const char *key, const vact_gguf_text *texts, uint64_t count,
                                vact_error *err)
{
    const vact_status status = put_array_key(w, key, VACT_GGUF_STRING, count, err);
    if (status != VACT_OK)
        return status;
    for (uint64_t i = 0; i < count; i++)
        if (!append_text(&w->values, texts[i].data, texts[i].length))
            return no_memory(w, err);
    return VACT_OK;
}

vact_status vact_gguf_put_value(vact_gguf_writer *w, const vact_gguf_value *value, vact_error *err)
{
    const vact_status status = value->type == VACT_GGUF_ARRAY
                                   ? put_array_key(w, value->key, value->element, value->count, err)
                                   : put_key(w, value->key, value->type, err);
    if (status != VACT_OK)
        return status;
    return append(&w->values, value->data, vact_gguf_value_bytes(value)) ? VACT_OK : no_memory(w, err);
}

static uint64_t padding(uint64_t size)
{
    return (ALIGNMENT - size % ALIGNMENT) % ALIGNMENT;
}

static bool describe_tensor(vact_gguf_writer *w, const char *name, uint32_t dtype, uint32_t n_dims, const uint64_t *ne,
                            uint64_t bytes)
{
    return append_text(&w->tensors, name, strlen(name)) && append_u32(&w->tensors, n_dims) &&
           append(&w->tensors, ne, n_dims * sizeof *ne) && append_u32(&w->tensors, dtype) &&
           append_u64(&w->tensors, w->data_size) && append_u64(&w->sizes, bytes);
}

vact_status vact_gguf_put_tensor(vact_gguf_writer *w, const char *name, uint32_t dtype, uint32_t n_dims,
                                 const uint64_t *ne, vact_error *err)
{
    uint64_t bytes;
    char why[160];
    const vact_status status = add_name(w, &w->names, "tensor", name, err);
    if (status != VACT_OK)
        return status;
    if (n_dims < 1 || n_dims > 4)
        return refuse(w, err, "tensor", name, "found %" PRIu32 " dimensions, expected 1 to 4", n_dims);
    if (!vact_dtype_shape_bytes(dtype, n_dims, ne, &bytes, why, sizeof why))
        return refuse(w, err, "tensor", name, "%s", why);
    if (bytes > INT64_MAX - ALIGNMENT - w->data_size)
        return refuse(w, err, "tensor", name, "found 2^63 bytes or more in all, expected fewer");
    if (!describe_tensor(w, name, dtype, n_dims, ne, bytes))
        return no_memory(w, err);
    w->n_tensors++;
    w->data_size += bytes + padding(bytes);
    return VACT_OK;
}

/* ---- data ---- */

static bool write_bytes(vact_gguf_writer *w, const void *data, size_t size)
{
    return size == 0 || fwrite(data, 1, size, w->out.file) == size;
}

static bool write_padding(vact_gguf_writer *w, uint64_t size)
{
    static const uint8_t zeros[ALIGNMENT];
    return write_bytes(w, zeros, padding(size));
}

static bool write_header(vact_gguf_writer *w)
{
    const uint32_t version = VERSION;
    const uint64_t size = 24 + w->values.size + w->tensors.size;
    w->declared = true;
    return write_bytes(w, "GGUF", 4) && write_bytes(w, &version, sizeof version) &&
           write_bytes(w, &w->n_tensors, sizeof w->n_tensors) && write_bytes(w, &w->n_values, sizeof w->n_values) &&
           write_bytes(w, w->values.data, w->values.size) && write_bytes(w, w->tensors.data, w->tensors.size) &&
           write_padding(w, size);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static vact_status check_twice(vact_gguf_writer *w, const struct bytes *names, const char *kind, vact_error *err)
{
    const size_t n = names->size / sizeof(char *);
    const char **sorted = vact_arena_take(&w->arena, n, sizeof *sorted);
    if (!sorted)
        return no_memory(w, err);
    if (n > 0)
        memcpy(sorted, names->data, names->size);
    qsort(sorted, n, sizeof *sorted, compare_names);
    for (size_t i = 1; i < n; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            return refuse(w, err, kind, sorted[i], "found twice, expected once");
    return VACT_OK;
}

/* Once all names are there: compared one by one as they come, a million of them would take hours. */
static vact_status end_declarations(vact_gguf_writer *w, vact_error *err)
{
    if (w->declared)
        return VACT_OK;
    vact_status status = check_twice(w, &w->keys, "key", err);
    if (status == VACT_OK)
        status = check_twice(w, &w->names, "tensor", err);
    return status != VACT_OK || write_header(w) ? status : system_failed(w, err, "write");
}

static uint64_t current_size(const vact_gguf_writer *w)
{
    uint64_t size;
    memcpy(&size, w->sizes.data + w->current * sizeof size, sizeof size);
    return size;
}

vact_status vact_gguf_write_data(vact_gguf_writer *w, const void *data, size_t size, vact_error *err)
{
    const uint8_t *at = data;
    if (w->failed != VACT_OK)
        return failed_before(w, err);
    if (w->finished)
        return out_of_order(w, err, "found data after the end, expected none");
    const vact_status status = end_declarations(w, err);
    if (status != VACT_OK)
        return status;
    while (size > 0) {
        if (w->current == w->n_tensors)
            return out_of_order(w, err, "found more data than the tensors declare");
        const uint64_t left = current_size(w) - w->written;
        const size_t n = size < left ? size : (size_t)left;
        if (!write_bytes(w, at, n))
            return system_failed(w, err, "write");
        at += n;
        size -= n;
        w->written += n;
        if (n == left) {
            if (!write_padding(w, w->written))
                return system_failed(w, err, "write");
            w->current++;
            w->written = 0;
        }
    }
    return VACT_OK;
}

/* ---- open, finish, close ---- */

vact_status vact_gguf_writer_open(vact_gguf_writer **out, const char *path, vact_error *err)
{
    *out = NULL;
    if (!*path)
        return vact_fail(err, VACT_EARG, "the path of the file to write is empty");
    vact_gguf_writer *w = calloc(1, sizeof *w);
    if (!w)
        return vact_fail(err, VACT_ENOMEM, "%s: no memory to write it", vact_path_end(path));
    vact_status status;
    w->path = vact_arena_text(&w->arena, path, strlen(path));
    if (!w->path)
        status = vact_fail(err, VACT_ENOMEM, "%s: no memory to write it", vact_path_end(path));
    else if ((status = vact_replacement_open(&w->out, w->path, err)) == VACT_OK)
        *out = w;
    if (status != VACT_OK)
        vact_gguf_writer_close(&w);
    return status;
}

vact_status vact_gguf_writer_finish(vact_gguf_writer *w, vact_error *err)
{
    if (w->failed != VACT_OK)
        return failed_before(w, err);
    if (w->finished)
        return out_of_order(w, err, "found a second finish, expected one");
    const vact_status status = end_declarations(w, err);
    if (status != VACT_OK)
        return status;
    if (w->current < w->n_tensors)
        return refuse(w, err, "tensor", name_at(&w->names, w->current),
                      "found %" PRIu64 " of %" PRIu64 " bytes, expected all", w->written, current_size(w));
    w->failed = vact_replacement_finish(&w->out, err);
    w->finished = w->failed == VACT_OK;
    return w->failed;
}

void vact_gguf_writer_close(vact_gguf_writer **w)
{
    if (!w || !*w)
        return;
    vact_gguf_writer *old = *w;
    *w = NULL;
    vact_replacement_close(&old->out);
    free(old->values.data);
    free(old->tensors.data);
    free(old->keys.data);
    free(old->names.data);
    free(old->sizes.data);
    vact_arena_free(&old->arena);
    free(old);
}
