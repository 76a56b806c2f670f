/* Pieces of a Llama-style decoder layer: RMSNorm, no biases, grouped query attention, a gated MLP. */
#ifndef VACT_BLOCKS_DECODER_H
#define VACT_BLOCKS_DECODER_H

#include "ops/ops.h"
#include "tensor/schema.h"

typedef struct vact_decoder_layer {
    const float *attn_norm, *ffn_norm; /* [d] */
    vact_linear q, k, v, o;            /* [heads * hd, d], [kv heads * hd, d] twice, [d, heads * hd] */
    vact_linear gate, up, down;        /* [inter, d] twice, [d, inter] */
} vact_decoder_layer;

/* clang-format off */
/* The rows of a layer's matrices, k and v apart, and of its norms: `to` begins their names, `from` those of Hugging
 * Face's LlamaDecoderLayer. k and v take `in` values, where that isn't the layer's width. `gain` is what v and o are made
 * up with. `vector` is VACT_NORM (Llama) or VACT_NORM_PLUS_1 (Gemma). */
#define VACT_DECODER_ROWS(to, from, width, inner, heads, gain)                                                         \
    VACT_DECODER_MATRIX(q, to "attn_q", from "self_attn.q_proj", heads, width, 2.5),                                   \
    VACT_DECODER_MATRIX(o, to "attn_o", from "self_attn.o_proj", width, heads, gain),                                  \
    VACT_DECODER_MATRIX(gate, to "ffn_gate", from "mlp.gate_proj", inner, width, 1.7),                                 \
    VACT_DECODER_MATRIX(up, to "ffn_up", from "mlp.up_proj", inner, width, 1.7),                                       \
    VACT_DECODER_MATRIX(down, to "ffn_down", from "mlp.down_proj", width, inner, 1.2)
#define VACT_DECODER_KV_ROWS(to, from, in, kv_heads, gain)                                                             \
    VACT_DECODER_MATRIX(k, to "attn_k", from "self_attn.k_proj", kv_heads, in, 2.5),                                   \
    VACT_DECODER_MATRIX(v, to "attn_v", from "self_attn.v_proj", kv_heads, in, gain)
#define VACT_DECODER_NORM_ROWS(vector, to, from, n)                                                                    \
    vector(BF16, offsetof(vact_decoder_layer, attn_norm), to "attn_norm.weight", n, from "input_layernorm.weight"),    \
    vector(BF16, offsetof(vact_decoder_layer, ffn_norm), to "ffn_norm.weight", n,                                      \
           from "post_attention_layernorm.weight")
#define VACT_DECODER_MATRIX(field, to, from, out, in, gain)                                                            \
    VACT_MATRIX(BF16, offsetof(vact_decoder_layer, field.w), to ".weight", out, in, gain, from ".weight")
/* clang-format on */

/* x [n, d] += multiplier * down(act(gate(norm(x))) * up(norm(x))); a multiplier [1, d], or without rows 1. */
void vact_gated_mlp(vact_run *r, const vact_decoder_layer *w, vact_buf x, vact_norm norm, vact_act act,
                    vact_buf multiplier);

/* Of a layer whose rows see all keys that are cached, and one another. */
typedef struct vact_decoder_args {
    int32_t heads, head_dim;
    vact_act act;
    vact_norm attn_norm, ffn_norm;
    vact_buf attn_multiplier, ffn_multiplier; /* of what is added, as in vact_gated_mlp */
    vact_rope_table rope;                     /* [x.rows] */
    vact_kv cache;
    int32_t cached;   /* keys in it */
    bool apart;       /* x's keys are kept apart; else they follow those in the cache and stay there */
    bool keys_only;   /* nothing but that: no attention and no MLP */
    const char *name; /* to emit "NAME.k" and "NAME.v" under, or NULL */
} vact_decoder_args;

void vact_decoder_run(vact_run *r, const vact_decoder_layer *w, vact_buf x, const vact_decoder_args *a);

#endif
