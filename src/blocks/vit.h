/* SigLIP's vision tower: patches, positions, pre-norm blocks with LayerNorm, biases, full attention within a view and tanh
 * GELU, a last norm. */
#ifndef VACT_BLOCKS_VIT_H
#define VACT_BLOCKS_VIT_H

#include "ops/ops.h"
#include "tensor/schema.h"

typedef struct vact_vit_layer {
    const float *ln1_weight, *ln1_bias, *ln2_weight, *ln2_bias; /* [d] */
    vact_linear q, k, v, o;                                     /* [d, d] */
    vact_linear fc1, fc2;                                       /* [inter, d], [d, inter] */
} vact_vit_layer;

typedef struct vact_vit {
    vact_linear patch; /* [d, 3 * patch^2] */
    vact_weight pos;   /* [patches, d] */
    vact_vit_layer *layers;
    const float *post_weight, *post_bias; /* [d] */
} vact_vit;

typedef struct vact_vit_config {
    int32_t layers, heads, patch;
    float eps;
} vact_vit_config;

/* clang-format off */
/* The rows of a layer, and those of the rest of the tower, a vact_vit at `at`: `from` begins the names of Hugging Face's
 * SiglipVisionTransformer. `gain` is what v and o are made up with. */
#define VACT_VIT_ROWS(from, width, inner, gain)                                                                        \
    VACT_VIT_NORM(ln1, "ln1", from "encoder.layers.%d.layer_norm1", width),                                            \
    VACT_VIT_NORM(ln2, "ln2", from "encoder.layers.%d.layer_norm2", width),                                            \
    VACT_VIT_LINEAR(q, "attn_q", from "encoder.layers.%d.self_attn.q_proj", width, width, 2.5),                        \
    VACT_VIT_LINEAR(k, "attn_k", from "encoder.layers.%d.self_attn.k_proj", width, width, 2.5),                        \
    VACT_VIT_LINEAR(v, "attn_v", from "encoder.layers.%d.self_attn.v_proj", width, width, gain),                       \
    VACT_VIT_LINEAR(o, "attn_o", from "encoder.layers.%d.self_attn.out_proj", width, width, gain),                     \
    VACT_VIT_LINEAR(fc1, "fc1", from "encoder.layers.%d.mlp.fc1", inner, width, 1.7),                                  \
    VACT_VIT_LINEAR(fc2, "fc2", from "encoder.layers.%d.mlp.fc2", width, inner, 1.2)
#define VACT_VIT_BIAS(at, to, from, n) VACT_VECTOR(F32, at, to ".bias", n, 0, 0.05, from ".bias")
#define VACT_VIT_NORM(field, to, from, n)                                                                              \
    VACT_NORM(F32, offsetof(vact_vit_layer, field##_weight), "vit.blk.%d." to ".weight", n, from ".weight"),           \
    VACT_VIT_BIAS(offsetof(vact_vit_layer, field##_bias), "vit.blk.%d." to, from, n)
#define VACT_VIT_LINEAR(field, to, from, out, in, gain)                                                                \
    VACT_MATRIX(BF16, offsetof(vact_vit_layer, field.w), "vit.blk.%d." to ".weight", out, in, gain, from ".weight"),   \
    VACT_VIT_BIAS(offsetof(vact_vit_layer, field.bias), "vit.blk.%d." to, from, out)
#define VACT_VIT_TOWER_ROWS(at, from, width, patch_size, patches)                                                      \
    { "vit.patch_embd.weight", VACT_ROW_MATRIX, at + offsetof(vact_vit, patch.w), { width, 3, patch_size, patch_size },\
      VACT_MADE_FAN(F32, 2.0), from "embeddings.patch_embedding.weight", false },                                      \
    VACT_VIT_BIAS(at + offsetof(vact_vit, patch.bias), "vit.patch_embd", from "embeddings.patch_embedding", width),    \
    { "vit.pos_embd", VACT_ROW_MATRIX, at + offsetof(vact_vit, pos), { patches, width }, VACT_MADE(F32, 0, 0.5),       \
      from "embeddings.position_embedding.weight", false },                                                            \
    VACT_NORM(F32, at + offsetof(vact_vit, post_weight), "vit.post_ln.weight", width, from "post_layernorm.weight"),   \
    VACT_VIT_BIAS(at + offsetof(vact_vit, post_bias), "vit.post_ln", from "post_layernorm", width)
/* clang-format on */

/* images [n] -> x [n * patches, d]. Emits vision.embed, vision.I.out of every layer, vision.norm. */
void vact_vit_run(vact_run *r, const vact_vit *w, vact_buf x, const vact_image *images, int32_t n,
                  const vact_vit_config *c);

#endif
