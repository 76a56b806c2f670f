/* Safetensors files, one or a checkpoint's shards: bytes -> checked views.
 *
 * A file is mapped and all of it is checked that its header says: the header's length, its JSON, types, shapes, and
 * that the tensors' data lie end to end from the header to the file's last byte. Views live until close.
 * Format: huggingface/safetensors, README.md and safetensors/src/tensor.rs. */
#ifndef VACT_FILE_SAFETENSORS_H
#define VACT_FILE_SAFETENSORS_H

#include "file/dtype.h"
#include "vact.h"

enum { VACT_SAFETENSOR_DIMS = 8 };

typedef struct vact_safetensor {
    const char *name;      /* NUL-terminated, at least one byte */
    const char *type_name; /* as in the file: "F32", "I64" */
    uint32_t dtype;        /* VACT_DTYPE_F32, _F16, _BF16; UINT32_MAX, which vact_dtype_get doesn't know: another */
    uint32_t n_dims;       /* 0: a scalar */
    uint64_t dims[VACT_SAFETENSOR_DIMS]; /* slowest first, as in the file; 1 beyond n_dims; 0 where it holds nothing */
    uint64_t bytes;                      /* of data: the dimensions' product, which fits int64_t, times the type's */
    uint64_t offset;                     /* of data, from the end of the file's header */
    const uint8_t *data; /* at any address: writers pad the header to 8 bytes, but nothing says that they must */
    const char *file;    /* which it is in, as messages show it */
} vact_safetensor;

typedef struct vact_safetensors_text {
    const char *key, *text; /* NUL-terminated */
} vact_safetensors_text;

typedef struct vact_safetensors {
    const char *path; /* as messages show it: of the file, or of the index that names the shards */
    uint64_t n_tensors, n_metadata;
    const vact_safetensor *tensors;        /* in the order of their data; shards in the order of their names */
    const vact_safetensor *const *by_name; /* the same, sorted by name */
    const vact_safetensors_text *metadata; /* "__metadata__", those of shards one after another */
} vact_safetensors;

/* EIO, EFORMAT or ENOMEM, and NULL in *out; the text names the file and the tensor, what was found and what is right,
 * with anything unprintable in a name escaped. */
vact_status vact_safetensors_open(vact_safetensors **out, const char *path, vact_error *err);

/* DIR/STEM.safetensors; if there is none, the shards that DIR/STEM.safetensors.index.json names. */
vact_status vact_safetensors_open_dir(vact_safetensors **out, const char *dir, const char *stem, vact_error *err);

/* A file's bytes, which the caller keeps (for tests and fuzzing); `name` stands for the path. */
vact_status vact_safetensors_parse(vact_safetensors **out, const char *name, const uint8_t *data, size_t size,
                                   vact_error *err);
void vact_safetensors_close(vact_safetensors **set); /* accepts NULL and a pointer to NULL */

/* NULL when there is none. O(log n). */
const vact_safetensor *vact_safetensors_find(const vact_safetensors *set, const char *name);
/* The text of a key of "__metadata__", of the first file that has it; NULL when none has. */
const char *vact_safetensors_metadata(const vact_safetensors *set, const char *key);

/* These bytes of a tensor's data were read and are not needed soon: their memory goes back to the system, and a later
 * read fetches them from the file again. For who reads a large checkpoint in little memory. */
void vact_safetensors_forget(const vact_safetensors *set, const uint8_t *data, uint64_t bytes);

#endif
