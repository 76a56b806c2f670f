/* Tensor types of GGUF files. Every type that ggml has numbered is known by name and block size, so a
 * file that holds one can be listed and refused by name; which ones compute is the kernels' business.
 * Ids and sizes: ggml-org/ggml, include/ggml.h and src/ggml-common.h. */
#ifndef VACT_FILE_DTYPE_H
#define VACT_FILE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum vact_dtype {
    VACT_DTYPE_F32 = 0,
    VACT_DTYPE_F16 = 1,
    VACT_DTYPE_Q4_0 = 2,
    VACT_DTYPE_Q4_1 = 3,
    VACT_DTYPE_Q5_0 = 6,
    VACT_DTYPE_Q5_1 = 7,
    VACT_DTYPE_Q8_0 = 8,
    VACT_DTYPE_Q2_K = 10,
    VACT_DTYPE_Q3_K = 11,
    VACT_DTYPE_Q4_K = 12,
    VACT_DTYPE_Q5_K = 13,
    VACT_DTYPE_Q6_K = 14,
    VACT_DTYPE_BF16 = 30,
    VACT_DTYPE_END = 64 /* ids are below this */
} vact_dtype;

typedef struct vact_dtype_info {
    const char *name; /* "bf16"; NULL: no such id */
    uint32_t block;   /* values in a block; rows are whole blocks */
    uint32_t block_bytes;
} vact_dtype_info;

/* NULL for an unknown id. */
const vact_dtype_info *vact_dtype_get(uint32_t id);

/* Id of a name as printed by vact_dtype_get, or -1. */
int vact_dtype_from_name(const char *name);

/* f32, f16 or bf16. */
bool vact_dtype_is_float(uint32_t id);

/* Bytes of n values of a known type, n a multiple of the block. */
uint64_t vact_dtype_bytes(uint32_t id, uint64_t n);

/* Bytes of a tensor of 1..4 dimensions, fastest first, that a file or a user came up with. False, and the
 * reason in `why`: an unknown type, a dimension of 0, rows that are not whole blocks, values or bytes that
 * don't fit int64_t. */
bool vact_dtype_shape_bytes(uint32_t id, uint32_t n_dims, const uint64_t *ne, uint64_t *bytes, char *why,
                            size_t why_size);

/* dst = src[n] as the file stores it, to the bit what ggml's reference encoders make of it; n is a multiple of the
 * type's block. Values that the type can't hold become infinite, in types of blocks undefined codes become 0. */
typedef void (*vact_encode_fn)(void *dst, const float *src, size_t n);

/* NULL: a type that is read only, or none. */
vact_encode_fn vact_dtype_encoder(uint32_t id);

#endif
