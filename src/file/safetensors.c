#include "file/safetensors.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/mapping.h"
#include "file/json.h"
#include "file/line.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the length of the header is read as the file holds it");

enum {
    LENGTH_BYTES = 8,
    MOST_HEADER_BYTES = 100000000,
    MOST_HEADER_VALUES = 1 << 24,
    MOST_SHARDS = 1000,
    SHOWN_NAME = 100 /* of a name in an error: its text is short */
};

struct safetensors_file {
    vact_safetensors view; /* first: callers hold its address */
    vact_arena arena;
    vact_safetensor *tensors; /* grown */
    size_t room;
    vact_mapping *mappings; /* grown; of the caller's bytes: none */
    size_t n_mappings, mappings_room;
};

/* One file being read. */
typedef struct reader {
    struct safetensors_file *file;
    const char *path;    /* as messages show it */
    const uint8_t *data; /* behind the header */
    uint64_t size;       /* of it */
    uint64_t first;      /* the file's first tensor among all */
    const char *name;    /* of the tensor that is being read, or NULL */
    vact_status status;
    vact_error *err;
} reader;

/* ---- errors ---- */

/* "PATH: tensor NAME: what is wrong"; returns false. */
__attribute__((format(printf, 2, 3))) static bool bad(reader *r, const char *format, ...)
{
    char subject[SHOWN_NAME + 16] = "", name[SHOWN_NAME], text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (r->name)
        snprintf(subject, sizeof subject, "tensor %s: ", vact_printable(name, sizeof name, r->name, strlen(r->name)));
    r->status = vact_fail(r->err, VACT_EFORMAT, "%s: %s%s", r->path, subject, text);
    return false;
}

static bool no_memory(reader *r)
{
    r->status = vact_fail(r->err, VACT_ENOMEM, "%s: no memory to read it", r->path);
    return false;
}

/* ---- one tensor ---- */

static const struct {
    const char *name;
    uint32_t dtype, bits;
} types[] = {
    { "F32", VACT_DTYPE_F32, 32 },    { "F16", VACT_DTYPE_F16, 16 },    { "BF16", VACT_DTYPE_BF16, 16 },
    { "F64", VACT_DTYPE_END, 64 },    { "I64", VACT_DTYPE_END, 64 },    { "U64", VACT_DTYPE_END, 64 },
    { "C64", VACT_DTYPE_END, 64 },    { "I32", VACT_DTYPE_END, 32 },    { "U32", VACT_DTYPE_END, 32 },
    { "I16", VACT_DTYPE_END, 16 },    { "U16", VACT_DTYPE_END, 16 },    { "I8", VACT_DTYPE_END, 8 },
    { "U8", VACT_DTYPE_END, 8 },      { "BOOL", VACT_DTYPE_END, 8 },    { "F8_E5M2", VACT_DTYPE_END, 8 },
    { "F8_E4M3", VACT_DTYPE_END, 8 }, { "F8_E8M0", VACT_DTYPE_END, 8 }, { "F6_E2M3", VACT_DTYPE_END, 6 },
    { "F6_E3M2", VACT_DTYPE_END, 6 }, { "F4", VACT_DTYPE_END, 4 },
};

/* Place in `types`, or -1. */
static int find_type(const char *name)
{
    for (int i = 0; name && i < (int)(sizeof types / sizeof *types); i++)
        if (strcmp(types[i].name, name) == 0)
            return i;
    return -1;
}

static bool read_shape(reader *r, vact_safetensor *t, uint64_t bits, const json_t *shape)
{
    if (!json_is_array(shape) || json_array_size(shape) > VACT_SAFETENSORS_DIMS)
        return bad(r, "the shape is %s, expected a list of at most %d numbers",
                   json_is_array(shape) ? "longer" : vact_json_kind(shape), VACT_SAFETENSORS_DIMS);
    t->n_dims = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < t->n_dims; i++) {
        const json_t *dim = json_array_get(shape, i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return bad(r, "dimension %u is no whole number from 0 on", i);
        t->dims[i] = (uint64_t)json_integer_value(dim);
        if (__builtin_mul_overflow(bits, t->dims[i], &bits))
            return bad(r, "has more values than any file could hold");
    }
    if (bits % 8)
        return bad(r, "has %" PRIu64 " bits, expected whole bytes", bits);
    t->bytes = bits / 8;
    return true;
}

static bool read_place(reader *r, vact_safetensor *t, const json_t *offsets)
{
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return bad(r, "data_offsets is no list of two whole numbers");
    const json_int_t from = json_integer_value(begin), to = json_integer_value(end);
    if (from < 0 || to < from || (uint64_t)to > r->size)
        return bad(r, "data_offsets is %lld to %lld, expected a part of the %" PRIu64 " bytes behind the header",
                   (long long)from, (long long)to, r->size);
    if ((uint64_t)(to - from) != t->bytes)
        return bad(r, "has %lld bytes, expected %" PRIu64 " of its type and shape", (long long)(to - from), t->bytes);
    t->data = r->data + from;
    return true;
}

static bool read_tensor(reader *r, const char *name, const json_t *about)
{
    struct safetensors_file *file = r->file;
    vact_safetensor *grown = vact_grown(file->tensors, &file->room, (size_t)file->view.n + 1, sizeof *grown);
    if (!grown)
        return no_memory(r);
    file->tensors = grown;
    r->name = name;
    vact_safetensor *t = &file->tensors[file->view.n];
    *t = (vact_safetensor){ .name = vact_arena_text(&file->arena, name, strlen(name)) };
    const int type = find_type(json_string_value(json_object_get(about, "dtype")));
    if (!t->name)
        return no_memory(r);
    if (type < 0)
        return bad(r, "its dtype is none that is known, as F32, F16, BF16");
    t->type_name = types[type].name;
    t->dtype = types[type].dtype;
    if (!read_shape(r, t, types[type].bits, json_object_get(about, "shape")) ||
        !read_place(r, t, json_object_get(about, "data_offsets")))
        return false;
    file->view.n++;
    return true;
}

/* ---- one file ---- */

static int compare_data(const void *a, const void *b)
{
    const vact_safetensor *x = a, *y = b;
    if (x->data != y->data)
        return x->data < y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Tensors follow one another from the first byte to the last. */
static bool check_places(reader *r)
{
    const struct safetensors_file *file = r->file;
    const uint64_t n = file->view.n - r->first;
    const uint8_t *at = r->data;
    vact_safetensor *own = file->tensors ? file->tensors + r->first : NULL;
    if (n)
        qsort(own, (size_t)n, sizeof *own, compare_data);
    for (uint64_t i = 0; i < n; i++) {
        r->name = own[i].name;
        if (own[i].data != at)
            return bad(r, "starts at byte %lld behind the header, expected %lld, the end of the one before",
                       (long long)(own[i].data - r->data), (long long)(at - r->data));
        at += own[i].bytes;
    }
    r->name = NULL;
    if ((uint64_t)(at - r->data) != r->size)
        return bad(r, "found %" PRIu64 " bytes behind the header, expected %lld, the end of the last tensor", r->size,
                   (long long)(at - r->data));
    return true;
}

static bool read_header(reader *r, const char *header, uint64_t length)
{
    json_t *root = NULL, *about;
    const char *name;
    bool good = true;
    r->status = vact_json_object(&root, r->path, header, (size_t)length, MOST_HEADER_VALUES, VACT_EFORMAT, r->err);
    if (r->status != VACT_OK)
        return false;
    json_object_foreach(root, name, about)
    {
        good = strcmp(name, "__metadata__") == 0 || read_tensor(r, name, about);
        if (!good)
            break;
    }
    json_decref(root); /* r->name is part of it */
    r->name = NULL;
    return good && check_places(r);
}

static vact_status read_bytes(struct safetensors_file *file, const char *path, const uint8_t *data, uint64_t size,
                              vact_error *err)
{
    uint64_t length = 0;
    reader r = { .file = file, .path = path, .first = file->view.n, .err = err };
    if (size >= LENGTH_BYTES)
        memcpy(&length, data, sizeof length);
    if (size < LENGTH_BYTES)
        bad(&r, "found a file of %" PRIu64 " bytes, expected at least %d", size, LENGTH_BYTES);
    else if (length > MOST_HEADER_BYTES)
        bad(&r, "the header has %" PRIu64 " bytes, expected at most %d: is it a safetensors file?", length,
            MOST_HEADER_BYTES);
    else if (length > size - LENGTH_BYTES)
        bad(&r, "found a file of %" PRIu64 " bytes, expected at least %" PRIu64 ", the end of the header", size,
            length + LENGTH_BYTES);
    else {
        r.data = data + LENGTH_BYTES + length;
        r.size = size - LENGTH_BYTES - length;
        read_header(&r, (const char *)data + LENGTH_BYTES, length);
    }
    return r.status;
}

static vact_status read_path(struct safetensors_file *file, const char *path, vact_error *err)
{
    vact_mapping *grown =
        vact_grown(file->mappings, &file->mappings_room, file->n_mappings + 1, sizeof *file->mappings);
    if (!grown)
        return vact_fail(err, VACT_ENOMEM, "%s: no memory to read it", vact_path_end(path));
    file->mappings = grown;
    vact_mapping *mapping = &file->mappings[file->n_mappings];
    const vact_status status = vact_mapping_open(mapping, path, err);
    if (status != VACT_OK)
        return status;
    file->n_mappings++;
    return read_bytes(file, vact_path_end(path), mapping->data, mapping->size, err);
}

/* ---- shards ---- */

static char *join(vact_arena *arena, const char *dir, const char *file, const char *end)
{
    const size_t size = strlen(dir) + strlen(file) + strlen(end) + 2;
    char *path = vact_arena_take(arena, 1, size);
    if (path)
        snprintf(path, size, "%s/%s%s", dir, file, end);
    return path;
}

/* Names come from a file that anyone may have made: none may lead out of the directory. */
static bool is_plain(const char *name)
{
    return name && name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) < 256;
}

/* Every shard of the index, once, in the index's order. */
static vact_status read_shards(struct safetensors_file *file, const char *dir, const char *shown, const json_t *map,
                               vact_error *err)
{
    const char *read[MOST_SHARDS], *tensor;
    size_t n = 0;
    json_t *shard;
    vact_status status = VACT_OK;
    json_object_foreach((json_t *)(uintptr_t)map, tensor, shard)
    {
        const char *name = json_string_value(shard);
        size_t i = 0;
        if (!is_plain(name))
            return vact_fail(err, VACT_EFORMAT,
                             "%s: a tensor's shard is no plain file name, as in "
                             "\"model-00001-of-00002.safetensors\"",
                             shown);
        while (i < n && strcmp(read[i], name) != 0)
            i++;
        if (i < n)
            continue;
        if (n == MOST_SHARDS)
            return vact_fail(err, VACT_EFORMAT, "%s: names more than %d shards", shown, MOST_SHARDS);
        read[n++] = name;
        const char *path = join(&file->arena, dir, name, "");
        status = path ? read_path(file, path, err) : vact_fail(err, VACT_ENOMEM, "%s: no memory to read it", shown);
        if (status != VACT_OK)
            return status;
    }
    return n ? VACT_OK : vact_fail(err, VACT_EFORMAT, "%s: weight_map names no shard", shown);
}

static vact_status read_index(struct safetensors_file *file, const char *dir, const char *path, json_t **root,
                              vact_error *err)
{
    vact_mapping mapping = { 0 };
    const char *shown = vact_path_end(path);
    vact_status status = vact_mapping_open(&mapping, path, err);
    if (status == VACT_OK)
        status = vact_json_object(root, shown, (const char *)mapping.data, mapping.size, MOST_HEADER_VALUES,
                                  VACT_EFORMAT, err);
    vact_mapping_close(&mapping);
    const json_t *map = status == VACT_OK ? json_object_get(*root, "weight_map") : NULL;
    if (status == VACT_OK && !json_is_object(map))
        return vact_fail(err, VACT_EFORMAT, "%s: weight_map is %s, expected an object", shown, vact_json_kind(map));
    return status == VACT_OK ? read_shards(file, dir, shown, map, err) : status;
}

/* Tensors that no index names are no harm: whoever saved the shards knew better. */
static vact_status check_index(const struct safetensors_file *file, const char *path, const json_t *root,
                               vact_error *err)
{
    const char *name;
    char shown[SHOWN_NAME];
    json_t *shard;
    json_object_foreach(json_object_get(root, "weight_map"), name, shard)
    {
        if (!vact_safetensors_find(&file->view, name))
            return vact_fail(err, VACT_EFORMAT, "%s: tensor %s is missing from %s", vact_path_end(path),
                             vact_printable(shown, sizeof shown, name, strlen(name)), json_string_value(shard));
    }
    return VACT_OK;
}

/* ---- open and close ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const vact_safetensor *)a)->name, ((const vact_safetensor *)b)->name);
}

static struct safetensors_file *make(const char *path, vact_error *err)
{
    struct safetensors_file *file = calloc(1, sizeof *file);
    const char *shown = vact_path_end(path);
    if (file)
        file->view.path = vact_arena_text(&file->arena, shown, strlen(shown));
    if (!file || !file->view.path) {
        free(file);
        vact_fail(err, VACT_ENOMEM, "%s: no memory to read it", shown);
        return NULL;
    }
    return file;
}

static vact_status sort(struct safetensors_file *file, vact_error *err)
{
    char shown[SHOWN_NAME];
    file->view.tensors = file->tensors;
    if (file->view.n)
        qsort(file->tensors, (size_t)file->view.n, sizeof *file->tensors, compare_names);
    for (uint64_t i = 1; i < file->view.n; i++)
        if (compare_names(&file->tensors[i - 1], &file->tensors[i]) == 0)
            return vact_fail(err, VACT_EFORMAT, "%s: tensor %s is there twice, expected once", file->view.path,
                             vact_printable(shown, sizeof shown, file->tensors[i].name, strlen(file->tensors[i].name)));
    return VACT_OK;
}

static vact_status hand_out(vact_safetensors **out, struct safetensors_file *file, vact_status status)
{
    vact_safetensors *view = &file->view;
    if (status == VACT_OK)
        *out = view;
    else
        vact_safetensors_close(&view);
    return status;
}

vact_status vact_safetensors_parse(vact_safetensors **out, const char *name, const uint8_t *data, size_t size,
                                   vact_error *err)
{
    *out = NULL;
    struct safetensors_file *file = make(name, err);
    if (!file)
        return VACT_ENOMEM;
    vact_status status = read_bytes(file, file->view.path, data, size, err);
    if (status == VACT_OK)
        status = sort(file, err);
    return hand_out(out, file, status);
}

vact_status vact_safetensors_open(vact_safetensors **out, const char *path, vact_error *err)
{
    *out = NULL;
    struct safetensors_file *file = make(path, err);
    if (!file)
        return VACT_ENOMEM;
    vact_status status = read_path(file, path, err);
    if (status == VACT_OK)
        status = sort(file, err);
    return hand_out(out, file, status);
}

vact_status vact_safetensors_open_dir(vact_safetensors **out, const char *dir, const char *stem, vact_error *err)
{
    json_t *root = NULL;
    *out = NULL;
    struct safetensors_file *file = make(dir, err);
    if (!file)
        return VACT_ENOMEM;
    const char *one = join(&file->arena, dir, stem, ".safetensors");
    const char *index = join(&file->arena, dir, stem, ".safetensors.index.json");
    vact_status status = VACT_OK;
    if (!one || !index)
        status = vact_fail(err, VACT_ENOMEM, "%s: no memory to read it", file->view.path);
    else if (access(one, F_OK) != 0 && access(index, F_OK) == 0)
        status = read_index(file, dir, index, &root, err);
    else
        status = read_path(file, one, err);
    if (status == VACT_OK)
        status = sort(file, err);
    if (status == VACT_OK && root)
        status = check_index(file, index, root, err);
    json_decref(root);
    return hand_out(out, file, status);
}

void vact_safetensors_close(vact_safetensors **safetensors)
{
    if (!safetensors || !*safetensors)
        return;
    struct safetensors_file *file = (struct safetensors_file *)*safetensors;
    *safetensors = NULL;
    for (size_t i = 0; i < file->n_mappings; i++)
        vact_mapping_close(&file->mappings[i]);
    free(file->mappings);
    free(file->tensors);
    vact_arena_free(&file->arena);
    free(file);
}

/* ---- look-up ---- */

static int compare_to_name(const void *name, const void *tensor)
{
    return strcmp(name, ((const vact_safetensor *)tensor)->name);
}

const vact_safetensor *vact_safetensors_find(const vact_safetensors *safetensors, const char *name)
{
    if (safetensors->n == 0)
        return NULL;
    return bsearch(name, safetensors->tensors, (size_t)safetensors->n, sizeof *safetensors->tensors, compare_to_name);
}

void vact_safetensors_forget(const vact_safetensors *safetensors, const void *data, size_t size)
{
    const struct safetensors_file *file = (const struct safetensors_file *)safetensors;
    for (size_t i = 0; i < file->n_mappings; i++)
        vact_mapping_forget(&file->mappings[i], data, size);
}
