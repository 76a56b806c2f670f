/* For the readers of safetensors: files are added to a set, one by one. */
#ifndef VACT_FILE_SAFETENSORS_PARTS_H
#define VACT_FILE_SAFETENSORS_PARTS_H

#include "base/arena.h"
#include "base/mapping.h"
#include "file/json.h"
#include "file/safetensors.h"

enum {
    VACT_SAFETENSORS_JSON = 100 * 1000 * 1000, /* bytes of a header at most, as the reference has it, or of an index */
    VACT_SAFETENSORS_VALUES = 1 << 20,         /* of such JSON, which bounds the memory it takes */
    VACT_SAFETENSORS_SHOWN = 100               /* bytes of a name in an error: its text is short */
};

typedef struct vact_tensor_file {
    vact_mapping mapping;
    bool mapped;       /* else the bytes are the caller's */
    const char *path;  /* as messages show it */
    size_t first, end; /* of the set's tensors, those that are in it */
} vact_tensor_file;

typedef struct vact_tensor_set {
    vact_safetensors view; /* first: callers hold its address */
    vact_arena arena;      /* names and texts */
    vact_tensor_file *files;
    vact_safetensor *tensors;
    vact_safetensors_text *metadata;
    const vact_safetensor **by_name;
    size_t n_files, files_room, tensors_room, metadata_room;
} vact_tensor_set;

/* `path` as messages show it. A set is the caller's to close, as a view, whatever fails from here on. */
vact_status vact_tensor_set_new(vact_tensor_set **out, const char *path, vact_error *err);
/* Takes the mapping over if `mapped`, on failure too. */
vact_status vact_tensor_set_add(vact_tensor_set *set, const char *path, vact_mapping mapping, bool mapped,
                                vact_error *err);
/* After the last file: no name is there twice, and tensors are found by name. */
vact_status vact_tensor_set_finish(vact_tensor_set *set, vact_error *err);

/* ---- the index of a checkpoint in shards ---- */

typedef struct vact_shard_index {
    json_t *root;
    const json_t *weight_map; /* name of a tensor -> file name of its shard, which holds no '/' */
    const char **shards;      /* each once, sorted */
    size_t n_shards;
} vact_shard_index;

/* EFORMAT or ENOMEM, and nothing to free. */
vact_status vact_shard_index_read(vact_shard_index *out, const char *path, const char *text, size_t length,
                                  vact_error *err);
void vact_shard_index_free(vact_shard_index *index);

#endif
