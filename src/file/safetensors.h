/* Safetensors files, alone or as the shards of a checkpoint: bytes -> checked views.
 *
 *   u64 length of the header | JSON {"name": {"dtype", "shape", "data_offsets"}, ..., "__metadata__"} | data
 *
 * The header may be 100 MB. Tensors cover the data without holes or overlaps. Data has the alignment that the file gives
 * it: by custom that of its type, by no rule. Views live until close.
 * Format: huggingface/safetensors, README and safetensors/src/tensor.rs. */
#ifndef VACT_FILE_SAFETENSORS_H
#define VACT_FILE_SAFETENSORS_H

#include "file/dtype.h"
#include "vact.h"

enum { VACT_SAFETENSORS_DIMS = 8 };

typedef struct vact_safetensor {
    const char *name;      /* NUL-terminated */
    const char *type_name; /* as the file says: "F32", "I64" */
    uint32_t dtype;        /* F32, F16, BF16; VACT_DTYPE_END: another type */
    uint32_t n_dims;
    uint64_t dims[VACT_SAFETENSORS_DIMS]; /* slowest first */
    uint64_t bytes;
    const uint8_t *data;
} vact_safetensor;

typedef struct vact_safetensors {
    const char *path;               /* as messages show it */
    uint64_t n;                     /* tensors of all files */
    const vact_safetensor *tensors; /* sorted by name */
} vact_safetensors;

/* EIO, EFORMAT or ENOMEM, and NULL in *out; the text names the file, the tensor, what was found and what is right. */
vact_status vact_safetensors_open(vact_safetensors **out, const char *path, vact_error *err);

/* DIR/STEM.safetensors or, where that isn't there, the shards that DIR/STEM.safetensors.index.json lists. EFORMAT, also:
 * a shard lacks a tensor that the index promises, or two hold the same. */
vact_status vact_safetensors_open_dir(vact_safetensors **out, const char *dir, const char *stem, vact_error *err);

/* The same over bytes that the caller keeps (for tests and fuzzing); `name` stands for the path. */
vact_status vact_safetensors_parse(vact_safetensors **out, const char *name, const uint8_t *data, size_t size,
                                   vact_error *err);

void vact_safetensors_close(vact_safetensors **safetensors); /* accepts NULL and a pointer to NULL */

/* NULL when there is none. O(log n). */
const vact_safetensor *vact_safetensors_find(const vact_safetensors *safetensors, const char *name);

/* See vact_mapping_forget. */
void vact_safetensors_forget(const vact_safetensors *safetensors, const void *data, size_t size);

#endif
