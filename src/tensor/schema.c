#include "tensor/schema.h"

#include "base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int32_t vact_dim_get(vact_dim dim, const void *config)
{
    if (dim >= 0)
        return dim;
    int32_t value;
    memcpy(&value, (const char *)config + ~dim, sizeof value);
    return value;
}

void vact_fault(vact_faults *faults, const char *format, ...)
{
    char line[sizeof faults->first];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (faults->count++ == 0)
        memcpy(faults->first, line, sizeof line);
    if (faults->report)
        faults->report(faults->user, line);
}

/* ---- keys ---- */

void vact_key_store(const vact_key *key, void *config, double value)
{
    void *field = (char *)config + key->at;
    switch (key->type) {
    case VACT_GGUF_F32:
        *(float *)field = (float)value;
        break;
    case VACT_GGUF_F64:
        *(double *)field = value;
        break;
    default:
        *(int32_t *)field = (int32_t)value;
        break;
    }
}

/* Place of a word in "a|b|c", or -1. */
static int find_word(const char *words, vact_gguf_text word)
{
    for (int place = 0;; place++) {
        const size_t length = strcspn(words, "|");
        if (length == word.length && memcmp(words, word.data, length) == 0)
            return place;
        if (!words[length])
            return -1;
        words += length + 1;
    }
}

static void read_word(const vact_key *key, const vact_gguf *gguf, const char *name, const vact_gguf_value *found,
                      void *config, vact_faults *faults)
{
    char shown[64];
    const int place = find_word(key->words, vact_gguf_get_text(found, 0));
    vact_gguf_format_value(found, shown, sizeof shown);
    if (place < 0)
        vact_fault(faults, "%s: key %s is %s, expected one of %s", gguf->path, name, shown, key->words);
    else
        vact_key_store(key, config, place);
}

static void read_key(const vact_schema *schema, const vact_key *key, const vact_gguf *gguf, void *config,
                     vact_faults *faults)
{
    char name[128];
    snprintf(name, sizeof name, "%s.%s", schema->arch, key->name);
    const vact_gguf_value *found = vact_gguf_find(gguf, name);
    if (!found) {
        if (key->required)
            vact_fault(faults, "%s: key %s is missing, expected a %s", gguf->path, name,
                       vact_gguf_type_name(key->type));
        vact_key_store(key, config, key->fallback);
        return;
    }
    if (found->type != key->type) {
        vact_fault(faults, "%s: key %s has type %s, expected %s", gguf->path, name, vact_gguf_type_name(found->type),
                   vact_gguf_type_name(key->type));
        return;
    }
    if (key->type == VACT_GGUF_STRING) {
        read_word(key, gguf, name, found, config, faults);
        return;
    }
    const bool whole = key->type == VACT_GGUF_U32 || key->type == VACT_GGUF_BOOL;
    const double value = whole ? (double)vact_gguf_get_uint(found, 0) : vact_gguf_get_float(found, 0);
    if (!(value >= key->min && value <= key->max)) {
        const int digits = key->type == VACT_GGUF_U32 ? 10 : 6;
        vact_fault(faults, "%s: key %s is %.*g, expected %.*g to %.*g", gguf->path, name, digits, value, digits,
                   key->min, digits, key->max);
        return;
    }
    vact_key_store(key, config, value);
}

/* Every file of an architecture says its name twice; the second is ARCH.architecture. */
static void check_name(const vact_schema *schema, const vact_gguf *gguf, vact_faults *faults)
{
    char name[128];
    snprintf(name, sizeof name, "%s.architecture", schema->arch);
    const vact_gguf_value *found = vact_gguf_find(gguf, name);
    if (!found) {
        vact_fault(faults, "%s: key %s is missing, expected the string \"%s\"", gguf->path, name, schema->arch);
    } else if (found->type != VACT_GGUF_STRING) {
        vact_fault(faults, "%s: key %s has type %s, expected string", gguf->path, name,
                   vact_gguf_type_name(found->type));
    } else {
        const vact_gguf_text text = vact_gguf_get_text(found, 0);
        if (text.length != strlen(schema->arch) || memcmp(text.data, schema->arch, text.length) != 0) {
            char shown[64];
            vact_gguf_format_value(found, shown, sizeof shown);
            vact_fault(faults, "%s: key %s is %s, expected \"%s\"", gguf->path, name, shown, schema->arch);
        }
    }
}

static int shape_of(const void *gguf, const vact_row *row, int layer, uint64_t dims[VACT_MOST_DIMS])
{
    char name[128];
    vact_row_name(name, sizeof name, row->name, layer);
    const vact_gguf_tensor *t = vact_gguf_find_tensor(gguf, name);
    for (uint32_t i = 0; t && i < t->n_dims; i++)
        dims[i] = t->ne[t->n_dims - 1 - i];
    return t ? (int)t->n_dims : -1;
}

void vact_schema_read(const vact_schema *schema, const vact_gguf *gguf, void *model, vact_faults *faults)
{
    const int before = faults->count;
    check_name(schema, gguf, faults);
    for (const vact_key *key = schema->keys; key->name; key++)
        read_key(schema, key, gguf, model, faults);
    if (faults->count > before)
        return;
    char text[256];
    vact_schema_learn(schema, model, shape_of, gguf);
    const char *wrong = schema->derive(model, text, sizeof text);
    if (wrong)
        vact_fault(faults, "%s: %s", gguf->path, wrong);
}

double vact_key_value(const vact_key *key, const void *config)
{
    const void *field = (const char *)config + key->at;
    if (key->type == VACT_GGUF_F32)
        return (double)*(const float *)field;
    return key->type == VACT_GGUF_F64 ? *(const double *)field : (double)*(const int32_t *)field;
}

static bool make_value(vact_gguf_value *v, vact_arena *arena, const char *name, const vact_key *key, double value)
{
    if (key->type != VACT_GGUF_STRING)
        return vact_gguf_make_number(v, arena, name, key->type, value);
    char word[64];
    const char *words = key->words;
    for (int place = (int)value; place > 0; place--)
        words += strcspn(words, "|") + 1;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(words, "|"), words);
    return vact_gguf_make_text(v, arena, name, word);
}

bool vact_schema_values(const vact_schema *schema, const void *config, vact_arena *arena, vact_gguf_value **values,
                        size_t *n)
{
    char name[128];
    size_t most = 2;
    for (const vact_key *key = schema->keys; key->name; key++)
        most++;
    vact_gguf_value *v = *values = vact_arena_take(arena, most, sizeof *v);
    snprintf(name, sizeof name, "%s.architecture", schema->arch);
    if (!v || !vact_gguf_make_text(v++, arena, "general.architecture", schema->arch) ||
        !vact_gguf_make_text(v++, arena, name, schema->arch))
        return false;
    for (const vact_key *key = schema->keys; key->name; key++) {
        if (key->own && vact_key_value(key, config) == key->fallback)
            continue;
        snprintf(name, sizeof name, "%s.%s", schema->arch, key->name);
        if (!make_value(v++, arena, name, key, vact_key_value(key, config)))
            return false;
    }
    *n = (size_t)(v - *values);
    return true;
}

/* ---- tensors ---- */

int vact_row_dims(const vact_row *row, const void *config, int64_t dims[4])
{
    int n = 0;
    while (n < 4 && row->dims[n]) {
        dims[n] = vact_dim_get(row->dims[n], config);
        n++;
    }
    return n;
}

static void learn(vact_dim dim, void *config, uint64_t size)
{
    enum { MOST = 1 << 30 }; /* what a schema's `infer` makes of some, a square of a root at most, fits int32_t */
    if (dim < 0 && vact_dim_get(dim, config) == 0 && size <= MOST) {
        const int32_t value = (int32_t)size;
        memcpy((char *)config + ~dim, &value, sizeof value);
    }
}

static void learn_table(const vact_table *table, void *config, vact_shape_fn shape, const void *user)
{
    enum { MOST_LAYERS = 1024 };
    uint64_t dims[VACT_MOST_DIMS];
    int layers = 0, layer = 0;
    if (table->count && vact_dim_get(table->count, config) == 0) {
        while (layers < MOST_LAYERS && shape(user, table->rows, layers, dims) >= 0)
            layers++;
        learn(table->count, config, (uint64_t)layers);
    }
    layers = table->count ? vact_dim_get(table->count, config) : 1;
    while (table->applies && layer < layers && !table->applies(config, layer))
        layer++;
    for (const vact_row *row = table->rows; row->name; row++) {
        const int n = shape(user, row, layer, dims);
        for (int i = 0; i < n && i < 4; i++)
            learn(row->dims[i], config, dims[i]);
    }
}

void vact_schema_learn(const vact_schema *schema, void *config, vact_shape_fn shape, const void *user)
{
    for (const vact_table *table = schema->tables; table->rows; table++)
        learn_table(table, config, shape, user);
}

void vact_row_name(char *out, size_t size, const char *pattern, int layer)
{
    const char *mark = strstr(pattern, "%d");
    if (mark)
        snprintf(out, size, "%.*s%d%s", (int)(mark - pattern), pattern, layer, mark + 2);
    else
        snprintf(out, size, "%s", pattern);
}

void vact_schema_walk(const vact_schema *schema, const void *config, vact_schema_fn fn, void *user)
{
    for (const vact_table *table = schema->tables; table->rows; table++) {
        const int layers = table->count ? vact_dim_get(table->count, config) : 1;
        for (int layer = 0; layer < layers; layer++) {
            if (table->applies && !table->applies(config, layer))
                continue;
            for (const vact_row *row = table->rows; row->name; row++) {
                char name[128];
                vact_row_name(name, sizeof name, row->name, layer);
                if (!fn(user, name, row, table, layer))
                    return;
            }
        }
    }
}

void vact_dims_format(char *out, size_t size, const int64_t *dims, int n)
{
    size_t used = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, i ? ", %lld" : "%lld", (long long)dims[i]);
    if (used < size)
        snprintf(out + used, size - used, "]");
}

typedef struct binding {
    const vact_gguf *gguf;
    char *model;
    const vact_decode_fn *decode;
    vact_arena *arena;
    vact_faults *faults;
    bool out_of_memory;
} binding;

/* Where the row's field is; the array of layers is made on the first visit. */
static char *row_field(binding *b, const vact_row *row, const vact_table *table, int layer)
{
    if (!table->count)
        return b->model + row->at;
    char **layers = (char **)(void *)(b->model + table->at);
    if (!*layers)
        *layers = vact_arena_take(b->arena, (size_t)vact_dim_get(table->count, b->model), table->layer_bytes);
    return *layers ? *layers + (size_t)layer * table->layer_bytes + row->at : NULL;
}

/* Names of the types that a row may have, "f32, f16, bf16". */
static void list_types(const binding *b, bool any_type, char *out, size_t size)
{
    size_t used = 0;
    for (uint32_t id = 0; id < VACT_DTYPE_END && used < size; id++)
        if (any_type ? b->decode[id] != NULL : vact_dtype_is_float(id))
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", vact_dtype_get(id)->name);
}

/* The named tensor if its shape and type are right, else NULL and a fault. */
static const vact_gguf_tensor *checked_tensor(binding *b, const char *name, const vact_row *row, const int64_t *dims,
                                              int n)
{
    char want[96];
    vact_dims_format(want, sizeof want, dims, n);
    const vact_gguf_tensor *t = vact_gguf_find_tensor(b->gguf, name);
    if (!t) {
        if (!row->optional)
            vact_fault(b->faults, "%s: tensor %s is missing, expected %s", b->gguf->path, name, want);
        return NULL;
    }
    bool same = true;
    for (int i = 0; i < 4; i++)
        same &= t->ne[i] == (i < n ? (uint64_t)dims[n - 1 - i] : 1);
    if (!same) {
        int64_t has[4];
        for (uint32_t i = 0; i < t->n_dims; i++)
            has[i] = (int64_t)t->ne[t->n_dims - 1 - i];
        char found[96];
        vact_dims_format(found, sizeof found, has, (int)t->n_dims);
        vact_fault(b->faults, "%s: tensor %s is %s, expected %s", b->gguf->path, name, found, want);
        return NULL;
    }
    const bool any_type = row->kind == VACT_ROW_MATRIX;
    if (any_type ? !b->decode[t->dtype] : !vact_dtype_is_float(t->dtype)) {
        char types[96];
        list_types(b, any_type, types, sizeof types);
        vact_fault(b->faults, "%s: tensor %s has type %s, expected one of: %s", b->gguf->path, name,
                   vact_dtype_get(t->dtype)->name, types);
        return NULL;
    }
    return t;
}

static bool bind_row(void *user, const char *name, const vact_row *row, const vact_table *table, int layer)
{
    binding *b = user;
    int64_t dims[4];
    const int n = vact_row_dims(row, b->model, dims);
    char *field = row_field(b, row, table, layer);
    if (!field) {
        b->out_of_memory = true;
        return false;
    }
    const vact_gguf_tensor *t = checked_tensor(b, name, row, dims, n);
    if (!t)
        return true;
    int64_t cols = 1;
    for (int i = 1; i < n; i++)
        cols *= dims[i];
    if (row->kind != VACT_ROW_VECTOR && row->kind != VACT_ROW_VECTOR_PLUS_1) {
        *(vact_weight *)(void *)field = (vact_weight){ t->data, t->dtype, (int32_t)dims[0], (int32_t)cols,
                                                       vact_dtype_bytes(t->dtype, (uint64_t)cols) };
        return true;
    }
    const float *vector = (const float *)(const void *)t->data;
    if (t->dtype != VACT_DTYPE_F32 || row->kind == VACT_ROW_VECTOR_PLUS_1) {
        float *copy = vact_arena_take(b->arena, (size_t)dims[0], sizeof *copy);
        if (!copy) {
            b->out_of_memory = true;
            return false;
        }
        b->decode[t->dtype](copy, t->data, (size_t)dims[0]);
        for (int64_t i = 0; row->kind == VACT_ROW_VECTOR_PLUS_1 && i < dims[0]; i++)
            copy[i] += 1;
        vector = copy;
    }
    *(const float **)(void *)field = vector;
    return true;
}

vact_status vact_schema_bind(const vact_schema *schema, const vact_gguf *gguf, void *model,
                             const vact_decode_fn *decode, vact_arena *arena, vact_faults *faults, vact_error *err)
{
    binding b = { gguf, model, decode, arena, faults, false };
    vact_schema_walk(schema, model, bind_row, &b);
    if (b.out_of_memory)
        return vact_fail(err, VACT_ENOMEM, "%s: out of memory while binding tensors", gguf->path);
    return VACT_OK;
}

typedef struct parameter_sum {
    const void *config;
    int64_t total;
} parameter_sum;

static bool add_parameters(void *user, const char *name, const vact_row *row, const vact_table *table, int layer)
{
    (void)name, (void)table, (void)layer;
    parameter_sum *sum = user;
    int64_t dims[4], values = 1;
    const int n = vact_row_dims(row, sum->config, dims);
    for (int i = 0; i < n; i++)
        values *= dims[i];
    sum->total += values;
    return true;
}

int64_t vact_schema_parameters(const vact_schema *schema, const void *config)
{
    parameter_sum sum = { config, 0 };
    vact_schema_walk(schema, config, add_parameters, &sum);
    return sum.total;
}
