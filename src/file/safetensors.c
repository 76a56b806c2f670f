/* bytes of a safetensors file -> checked tensors, and an index of them by name
 *
 *   length of the header (u64) | header: JSON, {"NAME": {"dtype", "shape", "data_offsets"}, ...} | data
 *
 * Where the reference is more lenient than its README (blanks before the header, a key twice), the README is followed.
 * Fields of a tensor that the README doesn't name are passed over, as the reference does. */
#include "file/safetensors.h"

#include "base/error.h"
#include "base/grow.h"
#include "file/line.h"
#include "file/safetensors_parts.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are read as the file holds them");

enum { LENGTH_BYTES = 8 };

/* The types that the reference knows, in its order. */
static const struct type {
    const char *name;
    unsigned bits;
    uint32_t dtype;
} types[] = {
    { "BOOL", 8, UINT32_MAX },        { "F4", 4, UINT32_MAX },          { "F6_E2M3", 6, UINT32_MAX },
    { "F6_E3M2", 6, UINT32_MAX },     { "U8", 8, UINT32_MAX },          { "I8", 8, UINT32_MAX },
    { "F8_E5M2", 8, UINT32_MAX },     { "F8_E4M3", 8, UINT32_MAX },     { "F8_E8M0", 8, UINT32_MAX },
    { "F8_E4M3FNUZ", 8, UINT32_MAX }, { "F8_E5M2FNUZ", 8, UINT32_MAX }, { "I16", 16, UINT32_MAX },
    { "U16", 16, UINT32_MAX },        { "F16", 16, VACT_DTYPE_F16 },    { "BF16", 16, VACT_DTYPE_BF16 },
    { "I32", 32, UINT32_MAX },        { "U32", 32, UINT32_MAX },        { "F32", 32, VACT_DTYPE_F32 },
    { "C64", 64, UINT32_MAX },        { "F64", 64, UINT32_MAX },        { "I64", 64, UINT32_MAX },
    { "U64", 64, UINT32_MAX },
};

enum { N_TYPES = sizeof types / sizeof *types };

struct reader {
    vact_tensor_set *set;
    vact_tensor_file *file;
    uint64_t header_bytes; /* with the length before it */
    const char *tensor;    /* the one being read, for errors; NULL for the file itself */
    vact_status status;
    vact_error *err;
};

/* ---- errors ---- */

/* "PATH: tensor NAME: what is wrong"; returns false. */
__attribute__((format(printf, 2, 3))) static bool bad(struct reader *r, const char *format, ...)
{
    char subject[VACT_SAFETENSORS_SHOWN + 16] = "", name[VACT_SAFETENSORS_SHOWN], text[320];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (r->tensor)
        snprintf(subject, sizeof subject,
                 "tensor %s: ", vact_printable(name, sizeof name, r->tensor, strlen(r->tensor)));
    r->status = vact_fail(r->err, VACT_EFORMAT, "%s: %s%s", r->file->path, subject, text);
    return false;
}

static bool no_memory(struct reader *r)
{
    r->status = vact_fail(r->err, VACT_ENOMEM, "%s: no memory to read it", r->file->path);
    return false;
}

/* ---- fields of a tensor ---- */

static bool read_type(struct reader *r, vact_safetensor *t, const struct type **out, const json_t *value)
{
    char known[200], shown[40];
    vact_line line;
    if (!json_is_string(value))
        return bad(r, "dtype is %s, expected a string", vact_json_kind(value));
    const char *name = json_string_value(value);
    const size_t length = json_string_length(value);
    for (int i = 0; i < N_TYPES; i++)
        if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0) {
            *out = &types[i];
            t->type_name = types[i].name;
            t->dtype = types[i].dtype;
            return true;
        }
    vact_line_begin(&line, known, sizeof known);
    for (int i = 0; i < N_TYPES; i++) {
        vact_line_put(&line, i == 0 ? "" : i < N_TYPES - 1 ? ", " : " or ");
        vact_line_put(&line, types[i].name);
    }
    return bad(r, "found the dtype \"%s\", expected %s", vact_printable(shown, sizeof shown, name, length), known);
}

/* Element `index` of a field, an array. */
static bool read_size(struct reader *r, uint64_t *out, const char *field, const json_t *array, size_t index)
{
    const json_t *value = json_array_get(array, index);
    if (!json_is_integer(value))
        return bad(r, "%s[%zu] is %s, expected an integer", field, index, vact_json_kind(value));
    if (json_integer_value(value) < 0)
        return bad(r, "%s[%zu] is %" JSON_INTEGER_FORMAT ", expected 0 or more", field, index,
                   json_integer_value(value));
    *out = (uint64_t)json_integer_value(value);
    return true;
}

/* How many values the shape makes; as in the reference, dimensions that overflow before a 0 is met are refused. */
static bool read_shape(struct reader *r, vact_safetensor *t, uint64_t *values, const json_t *shape)
{
    if (!json_is_array(shape))
        return bad(r, "shape is %s, expected an array", vact_json_kind(shape));
    if (json_array_size(shape) > VACT_SAFETENSOR_DIMS)
        return bad(r, "found %zu dimensions, expected at most %d", json_array_size(shape), VACT_SAFETENSOR_DIMS);
    t->n_dims = (uint32_t)json_array_size(shape);
    *values = 1;
    for (uint32_t i = 0; i < VACT_SAFETENSOR_DIMS; i++) {
        t->dims[i] = 1;
        if (i < t->n_dims && !read_size(r, &t->dims[i], "shape", shape, i))
            return false;
        if (t->dims[i] > 0 && *values > INT64_MAX / t->dims[i])
            return bad(r, "found 2^63 values or more, expected fewer");
        *values *= t->dims[i];
    }
    return true;
}

static void show_shape(char *out, size_t size, const vact_safetensor *t)
{
    vact_line line;
    vact_line_begin(&line, out, size);
    for (uint32_t i = 0; i < t->n_dims; i++) {
        char number[24];
        snprintf(number, sizeof number, "%s%" PRIu64, i > 0 ? ", " : "", t->dims[i]);
        vact_line_put(&line, number);
    }
}

static bool read_offsets(struct reader *r, vact_safetensor *t, const json_t *offsets)
{
    char shape[120];
    uint64_t end = 0;
    if (!json_is_array(offsets))
        return bad(r, "data_offsets is %s, expected an array", vact_json_kind(offsets));
    if (json_array_size(offsets) != 2)
        return bad(r, "found %zu data_offsets, expected 2", json_array_size(offsets));
    if (!read_size(r, &t->offset, "data_offsets", offsets, 0) || !read_size(r, &end, "data_offsets", offsets, 1))
        return false;
    show_shape(shape, sizeof shape, t);
    if (end - t->offset != t->bytes) /* wraps where they are swapped, to more than any tensor has */
        return bad(r, "found data_offsets [%" PRIu64 ", %" PRIu64 "], expected %" PRIu64 " bytes for %s [%s]",
                   t->offset, end, t->bytes, t->type_name, shape);
    return true;
}

static bool read_tensor(struct reader *r, vact_safetensor *t, const char *name, const json_t *value)
{
    const struct type *type = NULL;
    uint64_t values = 0;
    r->tensor = name;
    if (!name[0])
        return bad(r, "found an empty name, expected at least one byte");
    if (!json_is_object(value))
        return bad(r, "is %s, expected an object", vact_json_kind(value));
    if (!read_type(r, t, &type, json_object_get(value, "dtype")) ||
        !read_shape(r, t, &values, json_object_get(value, "shape")))
        return false;
    if (values > INT64_MAX / type->bits)
        return bad(r, "found 2^63 bits or more, expected fewer");
    if (values * type->bits % 8 != 0)
        return bad(r, "found %" PRIu64 " values of %s, expected whole bytes", values, type->name);
    t->bytes = values * type->bits / 8;
    if (!read_offsets(r, t, json_object_get(value, "data_offsets")))
        return false;
    t->file = r->file->path;
    t->name = vact_arena_text(&r->set->arena, name, strlen(name));
    return t->name || no_memory(r);
}

/* ---- header ---- */

static bool is_metadata(const char *key)
{
    return strcmp(key, "__metadata__") == 0;
}

static bool read_metadata(struct reader *r, const json_t *metadata)
{
    vact_tensor_set *set = r->set;
    const char *key;
    json_t *value;
    if (!metadata || json_is_null(metadata))
        return true;
    if (!json_is_object(metadata))
        return bad(r, "__metadata__ is %s, expected an object", vact_json_kind(metadata));
    const size_t need = set->view.n_metadata + json_object_size(metadata);
    vact_safetensors_text *grown = vact_grown(set->metadata, &set->metadata_room, need, sizeof *grown);
    if (!grown && need > 0)
        return no_memory(r);
    set->metadata = grown;
    json_object_foreach((json_t *)(uintptr_t)metadata, key, value)
    {
        char shown[VACT_SAFETENSORS_SHOWN];
        vact_printable(shown, sizeof shown, key, strlen(key));
        if (!json_is_string(value))
            return bad(r, "__metadata__.%s is %s, expected a string", shown, vact_json_kind(value));
        const char *text = json_string_value(value);
        const size_t length = json_string_length(value);
        if (memchr(text, 0, length))
            return bad(r, "found a NUL byte in __metadata__.%s, expected none", shown);
        vact_safetensors_text *kept = &set->metadata[set->view.n_metadata];
        kept->key = vact_arena_text(&set->arena, key, strlen(key));
        kept->text = vact_arena_text(&set->arena, text, length);
        if (!kept->key || !kept->text)
            return no_memory(r);
        set->view.n_metadata++;
    }
    return true;
}

static bool read_tensors(struct reader *r, const json_t *root)
{
    vact_tensor_set *set = r->set;
    const char *name;
    json_t *value;
    const size_t need = set->view.n_tensors + json_object_size(root);
    vact_safetensor *grown = vact_grown(set->tensors, &set->tensors_room, need, sizeof *grown);
    if (!grown && need > 0)
        return no_memory(r);
    set->tensors = grown;
    json_object_foreach((json_t *)(uintptr_t)root, name, value)
    {
        if (is_metadata(name))
            continue;
        set->tensors[set->view.n_tensors] = (vact_safetensor){ 0 };
        if (!read_tensor(r, &set->tensors[set->view.n_tensors], name, value))
            return false;
        set->view.n_tensors++;
    }
    r->file->end = set->view.n_tensors;
    r->tensor = NULL;
    return true;
}

/* Its length, and that it begins as it must. */
static bool find_header(struct reader *r)
{
    static const char pointer[] = "version https://git-lfs.github.com/";
    const uint8_t *data = r->file->mapping.data;
    const uint64_t size = r->file->mapping.size;
    uint64_t length = 0;
    char shown[24];
    if (size >= sizeof pointer - 1 && memcmp(data, pointer, sizeof pointer - 1) == 0)
        return bad(r, "found a pointer of Git LFS, expected the file it stands for (git lfs pull)");
    if (size < LENGTH_BYTES)
        return bad(r, "found a file of %" PRIu64 " bytes, expected at least %d", size, LENGTH_BYTES);
    memcpy(&length, data, sizeof length);
    if (length > VACT_SAFETENSORS_JSON)
        return bad(r, "found a header of %" PRIu64 " bytes, expected at most %d", length, VACT_SAFETENSORS_JSON);
    if (length > size - LENGTH_BYTES)
        return bad(r,
                   "found a header of %" PRIu64 " bytes, expected at most %" PRIu64 " in a file of %" PRIu64 " bytes",
                   length, size - LENGTH_BYTES, size);
    r->header_bytes = LENGTH_BYTES + length;
    if (length == 0 || data[LENGTH_BYTES] != '{')
        return bad(r, "found a header that begins with \"%s\", expected \"{\"",
                   vact_printable(shown, sizeof shown, (const char *)data + LENGTH_BYTES, length > 0));
    return true;
}

static bool read_header(struct reader *r)
{
    char name[256];
    json_t *root = NULL;
    if (!find_header(r))
        return false;
    snprintf(name, sizeof name, "%s: header", r->file->path);
    r->status = vact_json_object(&root, name, (const char *)r->file->mapping.data + LENGTH_BYTES,
                                 r->header_bytes - LENGTH_BYTES, VACT_SAFETENSORS_VALUES, VACT_EFORMAT, r->err);
    if (!root)
        return false;
    const bool read = read_metadata(r, json_object_get(root, "__metadata__")) && read_tensors(r, root);
    json_decref(root);
    return read;
}

/* ---- data ---- */

/* Empty tensors come before the one that begins where they lie. */
static int compare_places(const void *a, const void *b)
{
    const vact_safetensor *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Data lie end to end in all of the file that follows the header. */
static bool place_tensors(struct reader *r)
{
    vact_safetensor *tensors = r->set->tensors;
    const vact_mapping *m = &r->file->mapping;
    const size_t first = r->file->first, n = r->file->end - first;
    char shown[VACT_SAFETENSORS_SHOWN];
    uint64_t at = 0;
    if (n > 0)
        qsort(tensors + first, n, sizeof *tensors, compare_places);
    for (size_t i = first; i < r->file->end; i++) {
        r->tensor = tensors[i].name;
        if (tensors[i].offset != at && i == first)
            return bad(r, "found the data offset %" PRIu64 " of the first data, expected 0", tensors[i].offset);
        if (tensors[i].offset != at)
            return bad(r, "found the data offset %" PRIu64 ", expected %" PRIu64 ", the end of tensor %s",
                       tensors[i].offset, at,
                       vact_printable(shown, sizeof shown, tensors[i - 1].name, strlen(tensors[i - 1].name)));
        at += tensors[i].bytes;
    }
    r->tensor = NULL;
    if (at != m->size - r->header_bytes)
        return bad(r, "found a file of %zu bytes, expected %" PRIu64 ", %" PRIu64 " of data behind the first %" PRIu64,
                   m->size, r->header_bytes + at, at, r->header_bytes);
    for (size_t i = first; i < r->file->end; i++)
        tensors[i].data = m->data + r->header_bytes + tensors[i].offset;
    return true;
}

/* ---- sets ---- */

vact_status vact_tensor_set_new(vact_tensor_set **out, const char *path, vact_error *err)
{
    *out = calloc(1, sizeof **out);
    if (*out)
        (*out)->view.path = vact_arena_text(&(*out)->arena, path, strlen(path));
    if (*out && (*out)->view.path)
        return VACT_OK;
    free(*out);
    *out = NULL;
    return vact_fail(err, VACT_ENOMEM, "%s: no memory to read it", path);
}

vact_status vact_tensor_set_add(vact_tensor_set *set, const char *path, vact_mapping mapping, bool mapped,
                                vact_error *err)
{
    const char *shown = vact_path_end(path);
    const char *kept = vact_arena_text(&set->arena, shown, strlen(shown));
    vact_tensor_file *files = vact_grown(set->files, &set->files_room, set->n_files + 1, sizeof *files);
    if (files)
        set->files = files;
    if (!files || !kept) {
        if (mapped)
            vact_mapping_close(&mapping);
        return vact_fail(err, VACT_ENOMEM, "%s: no memory to read it", shown);
    }
    files[set->n_files] = (vact_tensor_file){ mapping, mapped, kept, set->view.n_tensors, set->view.n_tensors };
    struct reader r = { .set = set, .file = &files[set->n_files++], .err = err };
    return read_header(&r) && place_tensors(&r) ? VACT_OK : r.status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const vact_safetensor *const *)a)->name, (*(const vact_safetensor *const *)b)->name);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

vact_status vact_tensor_set_finish(vact_tensor_set *set, vact_error *err)
{
    const size_t n = set->view.n_tensors;
    set->by_name = vact_arena_take(&set->arena, n, sizeof *set->by_name);
    if (!set->by_name)
        return vact_fail(err, VACT_ENOMEM, "%s: no memory for %zu tensors", set->view.path, n);
    for (size_t i = 0; i < n; i++)
        set->by_name[i] = &set->tensors[i];
    qsort(set->by_name, n, sizeof *set->by_name, compare_names);
    for (size_t i = 1; i < n; i++)
        if (compare_names(&set->by_name[i - 1], &set->by_name[i]) == 0) {
            char name[VACT_SAFETENSORS_SHOWN];
            const vact_safetensor *a = set->by_name[i - 1], *b = set->by_name[i];
            const bool in_order = a < b; /* a sort may swap equals */
            return vact_fail(err, VACT_EFORMAT, "%s: tensor %s: found in %.80s and %.80s, expected in one shard",
                             set->view.path, vact_printable(name, sizeof name, a->name, strlen(a->name)),
                             file_name(in_order ? a->file : b->file), file_name(in_order ? b->file : a->file));
        }
    set->view.tensors = set->tensors;
    set->view.by_name = set->by_name;
    set->view.metadata = set->metadata;
    return VACT_OK;
}

/* ---- open and close ---- */

/* A set of one file. */
static vact_status load(vact_safetensors **out, const char *path, vact_mapping mapping, bool mapped, vact_error *err)
{
    vact_tensor_set *set = NULL;
    vact_status status = vact_tensor_set_new(&set, vact_path_end(path), err);
    if (!set) {
        if (mapped)
            vact_mapping_close(&mapping);
        return status;
    }
    status = vact_tensor_set_add(set, path, mapping, mapped, err);
    if (status == VACT_OK)
        status = vact_tensor_set_finish(set, err);
    *out = &set->view;
    if (status != VACT_OK)
        vact_safetensors_close(out);
    return status;
}

vact_status vact_safetensors_parse(vact_safetensors **out, const char *name, const uint8_t *data, size_t size,
                                   vact_error *err)
{
    *out = NULL;
    return load(out, name, (vact_mapping){ .data = data, .size = size }, false, err);
}

vact_status vact_safetensors_open(vact_safetensors **out, const char *path, vact_error *err)
{
    vact_mapping mapping = { 0 };
    *out = NULL;
    const vact_status status = vact_mapping_open(&mapping, path, err);
    return status == VACT_OK ? load(out, path, mapping, true, err) : status;
}

void vact_safetensors_close(vact_safetensors **set)
{
    if (!set || !*set)
        return;
    vact_tensor_set *s = (vact_tensor_set *)*set;
    *set = NULL;
    for (size_t i = 0; i < s->n_files; i++)
        if (s->files[i].mapped)
            vact_mapping_close(&s->files[i].mapping);
    free(s->files);
    free(s->tensors);
    free(s->metadata);
    vact_arena_free(&s->arena);
    free(s);
}

/* ---- use ---- */

static int compare_name(const void *key, const void *element)
{
    return strcmp(key, (*(const vact_safetensor *const *)element)->name);
}

const vact_safetensor *vact_safetensors_find(const vact_safetensors *set, const char *name)
{
    const vact_safetensor *const *found =
        set->n_tensors > 0 ? bsearch(name, set->by_name, set->n_tensors, sizeof *set->by_name, compare_name) : NULL;
    return found ? *found : NULL;
}

const char *vact_safetensors_metadata(const vact_safetensors *set, const char *key)
{
    for (uint64_t i = 0; i < set->n_metadata; i++)
        if (strcmp(set->metadata[i].key, key) == 0)
            return set->metadata[i].text;
    return NULL;
}

void vact_safetensors_forget(const vact_safetensors *set, const uint8_t *data, uint64_t bytes)
{
    const vact_tensor_set *s = (const vact_tensor_set *)set;
    for (size_t i = 0; i < s->n_files; i++) {
        const vact_tensor_file *f = &s->files[i];
        if (f->mapped && data >= f->mapping.data && data < f->mapping.data + f->mapping.size)
            vact_mapping_forget(&f->mapping, data, bytes);
    }
}
