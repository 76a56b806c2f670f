/* Weights as stages see them: matrices in the file's own type and layout, vectors as float32. */
#ifndef VACT_TENSOR_WEIGHTS_H
#define VACT_TENSOR_WEIGHTS_H

#include "file/dtype.h"
#include <stddef.h>

/* A matrix [rows, cols], row = output channel, or a view of one. Borrowed from the mapped file. */
typedef struct vact_weight {
    const uint8_t *data; /* first block of row 0 */
    uint32_t dtype;
    int32_t rows, cols;
    uint64_t row_bytes; /* from one row to the next */
} vact_weight;

/* y = x W^T + bias; bias is [rows] or NULL. */
typedef struct vact_linear {
    vact_weight w;
    const float *bias;
} vact_linear;

/* Columns first .. first+count-1; both are multiples of the type's block. */
vact_weight vact_weight_cols(vact_weight weight, int32_t first, int32_t count);

/* Data of one row. */
static inline const uint8_t *vact_weight_row(const vact_weight *weight, int32_t row)
{
    return weight->data + (uint64_t)row * weight->row_bytes;
}

#endif
