#include "origin/lerobot_parts.h"

#include "base/error.h"
#include "image/image.h"
#include "models/registry.h"
#include "origin/names.h"
#include "tensor/import.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OWN_KEYS = 4 /* at most, beside the architecture's */
};

static vact_status no_memory(const lerobot *l, vact_error *err)
{
    return vact_fail(err, VACT_ENOMEM, "%s: out of memory", l->view.path);
}

/* ---- files ---- */

const char *vact_lerobot_path(lerobot *l, const char *file, vact_error *err)
{
    const size_t size = strlen(l->dir) + strlen(file) + 2;
    char *path = vact_arena_take(&l->arena, 1, size);
    if (path)
        snprintf(path, size, "%s/%s", l->dir, file);
    else
        no_memory(l, err);
    return path;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* NULL in *out if it isn't there. */
static vact_status read_json(lerobot *l, const char *file, json_t **out, vact_error *err)
{
    const char *path = vact_lerobot_path(l, file, err);
    if (!path)
        return VACT_ENOMEM;
    return exists(path) ? vact_json_read(out, path, err) : VACT_OK;
}

const json_t *vact_lerobot_step(const json_t *processor, const char *registry_name)
{
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(processor, "steps"), i, step)
    {
        const char *name = json_string_value(json_object_get(step, "registry_name"));
        if (name && strcmp(name, registry_name) == 0)
            return step;
    }
    return NULL;
}

static vact_status read_files(lerobot *l, const vact_arch **arch, vact_error *err)
{
    vact_status status = read_json(l, "config.json", &l->config, err);
    if (status == VACT_OK && !l->config)
        return vact_fail(err, VACT_EFORMAT,
                         "%s: has no config.json, expected a directory that LeRobot saved or a GGUF "
                         "file",
                         l->view.path);
    if (status != VACT_OK)
        return status;
    const json_t *type = json_object_get(l->config, "type");
    *arch = json_is_string(type) ? vact_arch_find(json_string_value(type), json_string_length(type)) : NULL;
    char known[256], shown[80];
    vact_arch_list(known, sizeof known, true);
    if (!*arch || !(*arch)->schema.infer)
        return vact_fail(err, VACT_EMODEL, "%s: config.json: the policy's type is %s, expected one of: %s",
                         l->view.path, vact_json_show(shown, sizeof shown, type), known);
    status = read_json(l, "policy_preprocessor.json", &l->pre, err);
    if (status == VACT_OK)
        status = read_json(l, "policy_postprocessor.json", &l->post, err);
    if (status == VACT_OK)
        status = vact_safetensors_open_dir(&l->weights, l->dir, "model", err);
    const char *tokenizer = status == VACT_OK ? vact_lerobot_path(l, "tokenizer.json", err) : NULL;
    if (status == VACT_OK && !tokenizer)
        return VACT_ENOMEM;
    if (status == VACT_OK && exists(tokenizer))
        l->view.tokenizer = tokenizer;
    return status;
}

/* ---- keys ---- */

/* What the robot calls the camera `feature`. */
static const char *camera_name(const lerobot *l, const char *feature)
{
    static const char images[] = "observation.images.", observation[] = "observation.";
    const char *from;
    json_t *to;
    const json_t *step = vact_lerobot_step(l->pre, "rename_observations_processor");
    json_object_foreach(json_object_get(json_object_get(step, "config"), "rename_map"), from, to)
    {
        if (json_is_string(to) && strcmp(json_string_value(to), feature) == 0) {
            feature = from;
            break;
        }
    }
    if (strncmp(feature, images, strlen(images)) == 0)
        return feature + strlen(images);
    return feature + (strncmp(feature, observation, strlen(observation)) == 0 ? strlen(observation) : 0);
}

static vact_status put_cameras(lerobot *l, vact_gguf_value *value, vact_error *err)
{
    const char *names[VACT_MAX_VIEWS + 1], *feature;
    size_t n = 0;
    json_t *about;
    json_object_foreach(json_object_get(l->config, "input_features"), feature, about)
    {
        const char *type = json_string_value(json_object_get(about, "type"));
        if (type && strcmp(type, "VISUAL") == 0 && !strstr(feature, "empty_camera") && n <= VACT_MAX_VIEWS)
            names[n++] = camera_name(l, feature);
    }
    if (n < 1 || n > VACT_MAX_VIEWS)
        return vact_fail(err, VACT_EFORMAT,
                         "%s: config.json: input_features has %s cameras (type VISUAL), expected 1 to %d", l->view.path,
                         n ? "too many" : "no", VACT_MAX_VIEWS);
    return vact_gguf_make_texts(value, &l->arena, "vact.cameras", names, n) ? VACT_OK : no_memory(l, err);
}

/* The names of a feature's n values, if config.json has them. */
static vact_status put_names(lerobot *l, vact_gguf_value *values, const char *list, const char *feature, uint64_t n,
                             const char *key, vact_error *err)
{
    char where[320];
    const json_t *about = json_object_get(json_object_get(l->config, list), feature);
    vact_gguf_value *to = &values[l->view.n_values];
    snprintf(where, sizeof where, "%s: config.json: %s/%s/names", l->view.path, list, feature);
    const vact_status status =
        vact_feature_names(to, &l->arena, key, json_object_get(about, "names"), (size_t)n, where, err);
    l->view.n_values += to->count > 0;
    return status;
}

static vact_status put_values(lerobot *l, const vact_arch *arch, const void *config, vact_error *err)
{
    vact_gguf_value *own;
    size_t n;
    if (!vact_schema_values(&arch->schema, config, &l->arena, &own, &n))
        return no_memory(l, err);
    vact_gguf_value *values = vact_arena_take(&l->arena, n + OWN_KEYS, sizeof *values);
    if (!values)
        return no_memory(l, err);
    memcpy(values, own, n * sizeof *values);
    l->view.values = values;
    l->view.n_values = n + 2;
    vact_status status = put_cameras(l, &values[n], err);
    if (status == VACT_OK &&
        !vact_gguf_make_text(&values[n + 1], &l->arena, "vact.image_fit", vact_fit_name(arch->fit)))
        status = no_memory(l, err);
    if (status == VACT_OK)
        status = put_names(l, values, "input_features", "observation.state", l->statistics[0].dims[0],
                           "vact.state_names", err);
    if (status == VACT_OK)
        status = put_names(l, values, "output_features", "action", l->statistics[2].dims[0], "vact.action_names", err);
    return status;
}

/* ---- tensors ---- */

static const vact_safetensor *find_tensor(const void *user, const char *name)
{
    const lerobot *l = user;
    for (int i = 0; i < LEROBOT_STATISTICS; i++)
        if (strcmp(l->statistics[i].name, name) == 0)
            return &l->statistics[i];
    return vact_safetensors_find(l->weights, name);
}

typedef struct placing {
    lerobot *l;
    vact_gguf_tensor *tensors; /* NULL: counting */
    bool out_of_memory;
} placing;

static bool place(void *user, const char *name, const vact_row *row, const vact_table *table, int layer)
{
    (void)table;
    placing *p = user;
    vact_gguf *view = &p->l->view;
    char source[256];
    vact_row_name(source, sizeof source, row->source, layer);
    const vact_safetensor *t = find_tensor(p->l, source);
    if (!t) /* it may be missing */
        return true;
    vact_gguf_tensor *to = p->tensors ? &p->tensors[view->n_tensors] : NULL;
    view->n_tensors++;
    if (!to)
        return true;
    *to = (vact_gguf_tensor){ .name = vact_arena_text(&p->l->arena, name, strlen(name)),
                              .dtype = t->dtype,
                              .n_dims = t->n_dims,
                              .ne = { 1, 1, 1, 1 },
                              .bytes = t->bytes,
                              .data = t->data };
    for (uint32_t i = 0; i < t->n_dims; i++)
        to->ne[i] = t->dims[t->n_dims - 1 - i];
    /* Safetensors files align their tensors by custom, not by rule. */
    if ((uintptr_t)t->data % sizeof(float) != 0) {
        uint8_t *copy = vact_arena_take(&p->l->arena, 1, (size_t)t->bytes);
        if (copy)
            memcpy(copy, t->data, (size_t)t->bytes);
        to->data = copy;
    }
    view->size += t->bytes;
    p->out_of_memory = !to->name || !to->data;
    return !p->out_of_memory;
}

static vact_status put_tensors(lerobot *l, const vact_arch *arch, const void *config, vact_error *err)
{
    placing p = { .l = l };
    vact_schema_walk(&arch->schema, config, place, &p);
    p.tensors = vact_arena_take(&l->arena, (size_t)l->view.n_tensors, sizeof *p.tensors);
    l->view.n_tensors = 0;
    if (!p.tensors)
        return no_memory(l, err);
    vact_schema_walk(&arch->schema, config, place, &p);
    l->view.tensors = p.tensors;
    return p.out_of_memory ? no_memory(l, err) : VACT_OK;
}

/* ---- the whole ---- */

static void forget(const vact_gguf *gguf, const void *data, size_t size)
{
    vact_safetensors_forget(((const lerobot *)gguf)->weights, data, size);
}

static void close_lerobot(vact_gguf *gguf)
{
    lerobot *l = (lerobot *)gguf;
    vact_safetensors_close(&l->weights);
    json_decref(l->config);
    json_decref(l->pre);
    json_decref(l->post);
    vact_arena_free(&l->arena);
    free(l);
}

static vact_status assemble(lerobot *l, const vact_arch *arch, vact_error *err)
{
    vact_faults faults = { 0 };
    const char *twice = NULL;
    const vact_source source = { l->view.path, l->config, "config.json", find_tensor, l };
    void *config = vact_arena_take(&l->arena, 1, arch->schema.config_bytes);
    if (!config)
        return no_memory(l, err);
    vact_schema_import(&arch->schema, &source, config, &faults);
    if (faults.count > 1)
        return vact_fail(err, VACT_EFORMAT, "%s (and %d more)", faults.first, faults.count - 1);
    if (faults.count)
        return vact_fail(err, VACT_EFORMAT, "%s", faults.first);
    vact_status status = put_values(l, arch, config, err);
    if (status == VACT_OK)
        status = put_tensors(l, arch, config, err);
    if (status == VACT_OK &&
        (!vact_gguf_index_values(&l->view, &l->arena, &twice) || !vact_gguf_index_tensors(&l->view, &l->arena, &twice)))
        status = no_memory(l, err);
    return status;
}

vact_status vact_lerobot_open(vact_gguf **out, const char *dir, vact_error *err)
{
    const vact_arch *arch = NULL;
    *out = NULL;
    lerobot *l = calloc(1, sizeof *l);
    if (!l)
        return vact_fail(err, VACT_ENOMEM, "%s: out of memory", vact_path_end(dir));
    l->dir = dir;
    l->view = (vact_gguf){ .alignment = 32, .forget = forget, .close = close_lerobot };
    l->view.path = vact_arena_text(&l->arena, vact_path_end(dir), strlen(vact_path_end(dir)));
    vact_status status = l->view.path ? read_files(l, &arch, err) : vact_fail(err, VACT_ENOMEM, "out of memory");
    if (status == VACT_OK)
        status = vact_lerobot_statistics(l, err);
    if (status == VACT_OK)
        status = assemble(l, arch, err);
    if (status == VACT_OK)
        *out = &l->view;
    else
        close_lerobot(&l->view);
    return status;
}
