/* a directory -> its one safetensors file, or the shards that an index names
 *
 * The index is JSON as transformers and huggingface_hub write it: {"weight_map": {"TENSOR": "SHARD", ...}, ...}. Every
 * tensor of it must be in its shard. A shard's tensors that the map leaves out are there like the others: those
 * libraries load whole shards, too. */
#include "file/safetensors_parts.h"

#include "base/error.h"
#include "file/line.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- index ---- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static vact_status refuse_shard(const char *path, const char *tensor, const json_t *value, vact_error *err)
{
    char name[VACT_SAFETENSORS_SHOWN], shown[80];
    vact_printable(name, sizeof name, tensor, strlen(tensor));
    if (!json_is_string(value))
        return vact_fail(err, VACT_EFORMAT, "%s: weight_map.%s is %s, expected a string", path, name,
                         vact_json_kind(value));
    return vact_fail(err, VACT_EFORMAT,
                     "%s: weight_map.%s: found the shard \"%s\", expected a file name in ASCII without \"/\"", path,
                     name, vact_printable(shown, sizeof shown, json_string_value(value), json_string_length(value)));
}

static size_t sort_and_keep_one_of_each(const char **texts, size_t n)
{
    size_t kept = 0;
    qsort(texts, n, sizeof *texts, compare_texts);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || strcmp(texts[kept - 1], texts[i]) != 0)
            texts[kept++] = texts[i];
    return kept;
}

static vact_status list_shards(vact_shard_index *index, const char *path, vact_error *err)
{
    const char *tensor;
    json_t *value;
    index->weight_map = json_object_get(index->root, "weight_map");
    if (!json_is_object(index->weight_map))
        return vact_fail(err, VACT_EFORMAT, "%s: weight_map is %s, expected an object", path,
                         vact_json_kind(index->weight_map));
    const size_t n = json_object_size(index->weight_map);
    if (n == 0)
        return vact_fail(err, VACT_EFORMAT, "%s: weight_map is empty, expected a shard for each tensor", path);
    index->shards = malloc(n * sizeof *index->shards);
    if (!index->shards)
        return vact_fail(err, VACT_ENOMEM, "%s: no memory to read it", path);
    json_object_foreach((json_t *)(uintptr_t)index->weight_map, tensor, value)
    {
        if (!vact_json_file_name(value))
            return refuse_shard(path, tensor, value, err);
        index->shards[index->n_shards++] = json_string_value(value);
    }
    index->n_shards = sort_and_keep_one_of_each(index->shards, index->n_shards);
    return VACT_OK;
}

vact_status vact_shard_index_read(vact_shard_index *out, const char *path, const char *text, size_t length,
                                  vact_error *err)
{
    *out = (vact_shard_index){ 0 };
    if (length > VACT_SAFETENSORS_JSON)
        return vact_fail(err, VACT_EFORMAT, "%s: found %zu bytes, expected at most %d", path, length,
                         VACT_SAFETENSORS_JSON);
    vact_status status = vact_json_object(&out->root, path, text, length, VACT_SAFETENSORS_VALUES, VACT_EFORMAT, err);
    if (status == VACT_OK)
        status = list_shards(out, path, err);
    if (status != VACT_OK)
        vact_shard_index_free(out);
    return status;
}

void vact_shard_index_free(vact_shard_index *index)
{
    json_decref(index->root);
    free(index->shards);
    *index = (vact_shard_index){ 0 };
}

/* ---- shards ---- */

/* DIR/NAME SUFFIX, or NULL. */
static char *join(vact_arena *arena, const char *dir, const char *name, const char *suffix)
{
    const size_t n = strlen(dir), size = n + strlen(name) + strlen(suffix) + 2;
    char *path = vact_arena_take(arena, size, 1);
    if (path)
        snprintf(path, size, "%s%s%s%s", dir, n > 0 && dir[n - 1] == '/' ? "" : "/", name, suffix);
    return path;
}

/* All that are missing are counted before any is opened. */
static vact_status add_shards(vact_tensor_set *set, const vact_shard_index *index, const char *dir, vact_error *err)
{
    const char *missing = NULL;
    char **paths = vact_arena_take(&set->arena, index->n_shards, sizeof *paths);
    size_t found = 0;
    for (size_t i = 0; i < index->n_shards; i++) {
        if (!paths || !(paths[i] = join(&set->arena, dir, index->shards[i], "")))
            return vact_fail(err, VACT_ENOMEM, "%s: no memory for %zu shards", set->view.path, index->n_shards);
        const bool there = access(paths[i], F_OK) == 0;
        missing = there || missing ? missing : index->shards[i];
        found += there;
    }
    if (missing)
        return vact_fail(err, VACT_EIO, "%s: found %zu of %zu shards, %.80s is missing", set->view.path, found,
                         index->n_shards, missing);
    for (size_t i = 0; i < index->n_shards; i++) {
        vact_mapping mapping = { 0 };
        vact_status status = vact_mapping_open(&mapping, paths[i], err);
        if (status == VACT_OK)
            status = vact_tensor_set_add(set, paths[i], mapping, true, err);
        if (status != VACT_OK)
            return status;
    }
    return vact_tensor_set_finish(set, err);
}

static vact_status check_promises(const vact_tensor_set *set, const vact_shard_index *index, vact_error *err)
{
    const char *tensor;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)index->weight_map, tensor, value)
    {
        const char *shard = json_string_value(value);
        const char *const *at = bsearch(&shard, index->shards, index->n_shards, sizeof *at, compare_texts);
        const vact_tensor_file *file = &set->files[at - index->shards];
        const vact_safetensor *t = vact_safetensors_find(&set->view, tensor);
        const size_t number = t ? (size_t)(t - set->tensors) : SIZE_MAX;
        if (number < file->first || number >= file->end) {
            char name[VACT_SAFETENSORS_SHOWN];
            return vact_fail(err, VACT_EFORMAT, "%s: tensor %s: not found in the shard %.80s, expected there",
                             set->view.path, vact_printable(name, sizeof name, tensor, strlen(tensor)), shard);
        }
    }
    return VACT_OK;
}

static vact_status open_shards(vact_safetensors **out, const char *dir, const char *path, vact_error *err)
{
    const char *shown = vact_path_end(path);
    vact_tensor_set *set = NULL;
    vact_shard_index index = { 0 };
    vact_mapping mapping = { 0 };
    vact_status status = vact_mapping_open(&mapping, path, err);
    if (status == VACT_OK)
        status = vact_shard_index_read(&index, shown, (const char *)mapping.data, mapping.size, err);
    vact_mapping_close(&mapping);
    if (status == VACT_OK)
        status = vact_tensor_set_new(&set, shown, err);
    if (status == VACT_OK)
        status = add_shards(set, &index, dir, err);
    if (status == VACT_OK)
        status = check_promises(set, &index, err);
    vact_shard_index_free(&index);
    *out = set ? &set->view : NULL;
    if (status != VACT_OK)
        vact_safetensors_close(out);
    return status;
}

vact_status vact_safetensors_open_dir(vact_safetensors **out, const char *dir, const char *stem, vact_error *err)
{
    vact_arena arena = { 0 };
    const char *shown = vact_path_end(dir);
    vact_status status;
    *out = NULL;
    const char *one = join(&arena, dir, stem, ".safetensors");
    const char *index = join(&arena, dir, stem, ".safetensors.index.json");
    if (!one || !index)
        status = vact_fail(err, VACT_ENOMEM, "%s: no memory to read it", shown);
    else if (access(one, F_OK) == 0)
        status = vact_safetensors_open(out, one, err);
    else if (access(index, F_OK) == 0)
        status = open_shards(out, dir, index, err);
    else if (errno != ENOENT || access(dir, F_OK) != 0)
        status = vact_fail(err, VACT_EIO, "%s: %s", shown, strerror(errno));
    else
        status = vact_fail(err, VACT_EIO, "%s: found neither %s.safetensors nor %s.safetensors.index.json", shown, stem,
                           stem);
    vact_arena_free(&arena);
    return status;
}
