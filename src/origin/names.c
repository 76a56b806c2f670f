#include "origin/names.h"

#include "base/error.h"
#include <stdio.h>
#include <string.h>

enum { LONGEST_NAME = 64 };

typedef struct gathering {
    const char *where;
    const char **texts; /* [n], NULL where none has been found */
    size_t n, found;
    vact_error *err;
} gathering;

static vact_status add(gathering *g, const char *text, size_t length, size_t at)
{
    if (length < 1 || length > LONGEST_NAME || strlen(text) < length) /* the parser has seen that it is UTF-8 */
        return vact_fail(g->err, VACT_EFORMAT, "%s: name %zu is no name, expected 1 to %d bytes of UTF-8", g->where, at,
                         LONGEST_NAME);
    if (at < g->n && g->texts[at])
        return vact_fail(g->err, VACT_EFORMAT, "%s: has two names for value %zu, expected one", g->where, at);
    if (at < g->n)
        g->texts[at] = text;
    g->found++;
    return VACT_OK;
}

static vact_status add_list(gathering *g, const json_t *list)
{
    vact_status status = VACT_OK;
    for (size_t i = 0; i < json_array_size(list) && status == VACT_OK; i++) {
        const json_t *name = json_array_get(list, i);
        status = json_is_string(name) ? add(g, json_string_value(name), json_string_length(name), g->found)
                                      : vact_fail(g->err, VACT_EFORMAT, "%s: name %zu is %s, expected a string",
                                                  g->where, g->found, vact_json_kind(name));
    }
    return status;
}

/* A member of the object: a list, or a name's place. */
static vact_status add_member(gathering *g, const char *key, const json_t *value)
{
    if (json_is_array(value))
        return add_list(g, value);
    if (!json_is_integer(value))
        return vact_fail(g->err, VACT_EFORMAT, "%s: %s is %s, expected a list of names or a place", g->where, key,
                         vact_json_kind(value));
    const json_int_t at = json_integer_value(value);
    if (at < 0 || (uint64_t)at >= g->n)
        return vact_fail(g->err, VACT_EFORMAT, "%s: %s has place %" JSON_INTEGER_FORMAT ", expected 0 to %zu", g->where,
                         key, at, g->n - 1);
    return add(g, key, strlen(key), (size_t)at);
}

vact_status vact_feature_names(vact_gguf_value *out, vact_arena *arena, const char *key, const json_t *names, size_t n,
                               const char *where, vact_error *err)
{
    gathering g = { where, vact_arena_take(arena, n, sizeof *g.texts), n, 0, err };
    const char *member;
    json_t *value;
    *out = (vact_gguf_value){ 0 };
    if (!names || json_is_null(names))
        return VACT_OK;
    if (!g.texts)
        return vact_fail(err, VACT_ENOMEM, "%s: out of memory", where);
    if (!json_is_array(names) && !json_is_object(names))
        return vact_fail(err, VACT_EFORMAT, "%s: is %s, expected a list of names", where, vact_json_kind(names));
    vact_status status = add_list(&g, names);
    json_object_foreach((json_t *)(uintptr_t)names, member, value)
    {
        if (status == VACT_OK)
            status = add_member(&g, member, value);
    }
    if (status == VACT_OK && g.found != n)
        status = vact_fail(err, VACT_EFORMAT, "%s: has %zu names, expected %zu, one for each of the policy's values",
                           where, g.found, n);
    if (status == VACT_OK && !vact_gguf_make_texts(out, arena, key, g.texts, n))
        status = vact_fail(err, VACT_ENOMEM, "%s: out of memory", where);
    return status;
}

vact_status vact_dataset_names(vact_gguf_value out[2], size_t *n, vact_arena *arena, const char *path, size_t state,
                               size_t actions, vact_error *err)
{
    const struct {
        const char *feature, *key;
        size_t size;
    } wanted[] = { { "observation.state", "vact.state_names", state }, { "action", "vact.action_names", actions } };
    json_t *info = NULL;
    *n = 0;
    vact_status status = vact_json_read(&info, path, err);
    for (size_t i = 0; i < 2 && status == VACT_OK; i++) {
        char where[300];
        const json_t *feature = json_object_get(json_object_get(info, "features"), wanted[i].feature);
        snprintf(where, sizeof where, "%s: features/%s/names", vact_path_end(path), wanted[i].feature);
        status = vact_feature_names(&out[*n], arena, wanted[i].key, json_object_get(feature, "names"), wanted[i].size,
                                    where, err);
        *n += status == VACT_OK && out[*n].count > 0;
    }
    if (status == VACT_OK && *n == 0)
        status = vact_fail(err, VACT_EFORMAT,
                           "%s: names no values, expected the meta/info.json of a data set with "
                           "features/observation.state/names or features/action/names",
                           vact_path_end(path));
    json_decref(info);
    return status;
}
