/* A pre-norm vision transformer block: LayerNorm, biases, full attention within a view, tanh GELU. */
#ifndef VACT_BLOCKS_VIT_H
#define VACT_BLOCKS_VIT_H

#include "ops/ops.h"
#include "tensor/schema.h"

typedef struct vact_vit_layer {
    const float *ln1_weight, *ln1_bias, *ln2_weight, *ln2_bias; /* [d] */
    vact_linear q, k, v, o;                                     /* [d, d] */
    vact_linear fc1, fc2;                                       /* [inter, d], [d, inter] */
} vact_vit_layer;

/* clang-format off */
/* The rows of a layer: `to` begins its tensors' names, `from` those of Hugging Face's SiglipEncoderLayer. */
#define VACT_VIT_ROWS(to, from, width, inner)                                                                          \
    VACT_VIT_NORM(ln1, to "ln1", from "layer_norm1", width),                                                           \
    VACT_VIT_NORM(ln2, to "ln2", from "layer_norm2", width),                                                           \
    VACT_VIT_LINEAR(q, to "attn_q", from "self_attn.q_proj", width, width, 2.5),                                       \
    VACT_VIT_LINEAR(k, to "attn_k", from "self_attn.k_proj", width, width, 2.5),                                       \
    VACT_VIT_LINEAR(v, to "attn_v", from "self_attn.v_proj", width, width, 1.5),                                       \
    VACT_VIT_LINEAR(o, to "attn_o", from "self_attn.out_proj", width, width, 1.5),                                     \
    VACT_VIT_LINEAR(fc1, to "fc1", from "mlp.fc1", inner, width, 1.7),                                                 \
    VACT_VIT_LINEAR(fc2, to "fc2", from "mlp.fc2", width, inner, 1.2)
#define VACT_VIT_BIAS(field, to, from, n)                                                                              \
    VACT_VECTOR(F32, offsetof(vact_vit_layer, field), to ".bias", n, 0, 0.05, from ".bias")
#define VACT_VIT_NORM(field, to, from, n)                                                                              \
    VACT_VECTOR(F32, offsetof(vact_vit_layer, field##_weight), to ".weight", n, 1, 0.1, from ".weight"),               \
    VACT_VIT_BIAS(field##_bias, to, from, n)
#define VACT_VIT_LINEAR(field, to, from, out, in, gain)                                                                \
    VACT_MATRIX(BF16, offsetof(vact_vit_layer, field.w), to ".weight", out, in, gain, from ".weight"),                 \
    VACT_VIT_BIAS(field.bias, to, from, out)
/* clang-format on */

/* x [views * tokens, d], in place:
 *     x += o(attention(q, k, v of ln1(x)));   x += fc2(gelu(fc1(ln2(x)))) */
void vact_vit_block(vact_run *r, const vact_vit_layer *w, vact_buf x, int32_t views, int32_t heads, float eps);

#endif
