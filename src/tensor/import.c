#include "tensor/import.h"

#include "file/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 60 }; /* bytes of a value in a fault, whose text is short */
_Static_assert((int)VACT_MOST_DIMS == (int)VACT_SAFETENSOR_DIMS, "shapes are copied whole");

typedef struct importer {
    const vact_schema *schema;
    const vact_source *source;
    void *config;
    vact_faults *faults;
} importer;

const json_t *vact_source_at(const vact_source *source, const char *path)
{
    const json_t *at = source->config;
    while (at && *path) {
        char part[128];
        const size_t length = strcspn(path, "/");
        snprintf(part, sizeof part, "%.*s", (int)length, path);
        at = json_is_array(at) ? json_array_get(at, (size_t)strtoul(part, NULL, 10)) : json_object_get(at, part);
        path += length + (path[length] == '/');
    }
    return json_is_null(at) ? NULL : at;
}

/* ---- keys ---- */

static void check_range(const importer *m, const vact_key *key, const char *where, const char *name, double value)
{
    const int digits = key->type == VACT_GGUF_U32 ? 10 : 6;
    if (!(value >= key->min && value <= key->max))
        vact_fault(m->faults, "%s: %s%s is %.*g, expected %.*g to %.*g", m->source->path, where, name, digits, value,
                   digits, key->min, digits, key->max);
    else if (key->type == VACT_GGUF_U32 && value != (double)(int32_t)value)
        vact_fault(m->faults, "%s: %s%s is %g, expected a whole number", m->source->path, where, name, value);
}

/* From the configuration. */
static void read_key(const importer *m, const vact_key *key)
{
    const bool maybe = key->source[0] == '?';
    const char *path = key->source + maybe;
    char where[64];
    const json_t *said = vact_source_at(m->source, path);
    snprintf(where, sizeof where, "%s: ", m->source->config_name);
    if (!said) {
        if (key->required && !maybe)
            vact_fault(m->faults, "%s: %s%s is missing, expected a number", m->source->path, where, path);
        return;
    }
    if (!json_is_number(said)) {
        vact_fault(m->faults, "%s: %s%s is %s, expected a number", m->source->path, where, path, vact_json_kind(said));
        return;
    }
    const double value = json_number_value(said);
    if (maybe && value < 1)
        return;
    const int before = m->faults->count;
    check_range(m, key, where, path, value);
    if (m->faults->count == before)
        vact_key_store(key, m->config, value);
}

static char *as_text(const json_t *value)
{
    return json_dumps(value ? value : json_null(), JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);
}

static void check_expectation(const importer *m, const vact_expectation *e)
{
    const json_t *said = vact_source_at(m->source, e->path);
    const bool of_other = e->json[0] == '=';
    char *found = as_text(said);
    char *other = of_other ? as_text(vact_source_at(m->source, e->json + 1)) : NULL;
    const char *right = of_other ? other : e->json;
    if (said && found && right && strcmp(found, right) != 0)
        vact_fault(m->faults, "%s: %s: %s is %.*s, expected %.*s", m->source->path, m->source->config_name, e->path,
                   SHOWN, found, SHOWN, right);
    free(found);
    free(other);
}

/* Those that shapes told, before anything is computed from them. */
static void check_learned(const importer *m, const vact_key *key)
{
    char name[128];
    snprintf(name, sizeof name, "%s.%s", m->schema->arch, key->name);
    if (vact_key_value(key, m->config) != 0)
        check_range(m, key, "", name, vact_key_value(key, m->config));
}

/* Those that nothing has told so far, and those that were inferred. */
static void complete_key(const importer *m, const vact_key *key)
{
    char name[128];
    snprintf(name, sizeof name, "%s.%s", m->schema->arch, key->name);
    if (vact_key_value(key, m->config) == 0 && !key->required)
        vact_key_store(key, m->config, key->fallback);
    if (vact_key_value(key, m->config) == 0 && key->min > 0)
        vact_fault(m->faults, "%s: no tensor tells %s, expected those of a whole %s checkpoint", m->source->path, name,
                   m->schema->arch);
    else
        check_range(m, key, "", name, vact_key_value(key, m->config));
}

/* ---- shapes ---- */

static const vact_safetensor *find(const importer *m, const vact_row *row, int layer)
{
    char name[256];
    vact_row_name(name, sizeof name, row->source, layer);
    return m->source->tensor(m->source->user, name);
}

static int shape_of(const void *user, const vact_row *row, int layer, uint64_t dims[VACT_MOST_DIMS])
{
    const vact_safetensor *t = find(user, row, layer);
    if (t)
        memcpy(dims, t->dims, sizeof t->dims);
    return t ? (int)t->n_dims : -1;
}

static bool check_row(void *user, const char *name, const vact_row *row, const vact_table *table, int layer)
{
    (void)name, (void)table;
    const importer *m = user;
    int64_t dims[4], has[8];
    char source[256], want[96], found[192];
    const int n = vact_row_dims(row, m->config, dims);
    const vact_safetensor *t = find(m, row, layer);
    vact_row_name(source, sizeof source, row->source, layer);
    vact_dims_format(want, sizeof want, dims, n);
    if (!t) {
        if (row->optional)
            return true;
        vact_fault(m->faults, "%s: tensor %s is missing, expected %s", m->source->path, source, want);
        return true;
    }
    bool same = t->n_dims == (uint32_t)n;
    for (uint32_t i = 0; i < t->n_dims; i++) {
        has[i] = (int64_t)t->dims[i];
        same &= i < 4 && has[i] == dims[i];
    }
    if (!same) {
        vact_dims_format(found, sizeof found, has, (int)t->n_dims);
        vact_fault(m->faults, "%s: tensor %s is %s, expected %s", m->source->path, source, found, want);
    } else if (!vact_dtype_is_float(t->dtype)) {
        vact_fault(m->faults, "%s: tensor %s has type %s, expected one of: F32, F16, BF16", m->source->path, source,
                   t->type_name);
    }
    return true;
}

/* ---- the whole ---- */

void vact_schema_import(const vact_schema *schema, const vact_source *source, void *config, vact_faults *faults)
{
    importer m = { schema, source, config, faults };
    const int before = faults->count;
    for (const vact_expectation *e = schema->expectations; e->path; e++)
        check_expectation(&m, e);
    for (const vact_key *key = schema->keys; key->name; key++)
        if (key->source)
            read_key(&m, key);
    if (faults->count > before)
        return;
    vact_schema_learn(schema, config, shape_of, &m);
    for (const vact_key *key = schema->keys; key->name; key++)
        check_learned(&m, key);
    if (faults->count > before)
        return;
    schema->infer(config);
    for (const vact_key *key = schema->keys; key->name; key++)
        complete_key(&m, key);
    char text[256];
    const char *wrong = faults->count == before ? schema->derive(config, text, sizeof text) : NULL;
    if (wrong)
        vact_fault(faults, "%s: %s", source->path, wrong);
    if (faults->count == before)
        vact_schema_walk(schema, config, check_row, &m);
}
