/* A pre-norm vision transformer block: LayerNorm, biases, full attention within a view, tanh GELU. */
#ifndef VACT_BLOCKS_VIT_H
#define VACT_BLOCKS_VIT_H

#include "ops/ops.h"

typedef struct vact_vit_layer {
    const float *ln1_weight, *ln1_bias, *ln2_weight, *ln2_bias; /* [d] */
    vact_linear q, k, v, o;                                     /* [d, d] */
    vact_linear fc1, fc2;                                       /* [inter, d], [d, inter] */
} vact_vit_layer;

/* x [views * tokens, d], in place:
 *     x += o(attention(q, k, v of ln1(x)));   x += fc2(gelu(fc1(ln2(x)))) */
void vact_vit_block(vact_run *r, const vact_vit_layer *w, vact_buf x, int32_t views, int32_t heads, float eps);

#endif
