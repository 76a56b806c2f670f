/* Pieces of a Llama-style decoder layer: RMSNorm, no biases, grouped query attention, SwiGLU. */
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
/* The rows of a layer, k and v apart: `to` begins its tensors' names, `from` those of Hugging Face's LlamaDecoderLayer.
 * They take `in` values, where that isn't the layer's width. */
#define VACT_DECODER_ROWS(to, from, width, inner, heads)                                                               \
    VACT_DECODER_NORM(attn_norm, to "attn_norm", from "input_layernorm", width),                                       \
    VACT_DECODER_MATRIX(q, to "attn_q", from "self_attn.q_proj", heads, width, 2.5),                                   \
    VACT_DECODER_MATRIX(o, to "attn_o", from "self_attn.o_proj", width, heads, 1.5),                                   \
    VACT_DECODER_NORM(ffn_norm, to "ffn_norm", from "post_attention_layernorm", width),                                \
    VACT_DECODER_MATRIX(gate, to "ffn_gate", from "mlp.gate_proj", inner, width, 1.7),                                 \
    VACT_DECODER_MATRIX(up, to "ffn_up", from "mlp.up_proj", inner, width, 1.7),                                       \
    VACT_DECODER_MATRIX(down, to "ffn_down", from "mlp.down_proj", width, inner, 1.2)
#define VACT_DECODER_KV_ROWS(to, from, in, kv_heads)                                                                   \
    VACT_DECODER_MATRIX(k, to "attn_k", from "self_attn.k_proj", kv_heads, in, 2.5),                                   \
    VACT_DECODER_MATRIX(v, to "attn_v", from "self_attn.v_proj", kv_heads, in, 1.5)
#define VACT_DECODER_NORM(field, to, from, n)                                                                          \
    VACT_VECTOR(BF16, offsetof(vact_decoder_layer, field), to ".weight", n, 1, 0.1, from ".weight")
#define VACT_DECODER_MATRIX(field, to, from, out, in, gain)                                                            \
    VACT_MATRIX(BF16, offsetof(vact_decoder_layer, field.w), to ".weight", out, in, gain, from ".weight")
/* clang-format on */

/* x [n, d] += down(silu(gate(rms(x))) * up(rms(x))) */
void vact_swiglu(vact_run *r, const vact_decoder_layer *w, vact_buf x, float eps);

#endif
