/* Pieces of a Llama-style decoder layer: RMSNorm, no biases, grouped query attention, SwiGLU. */
#ifndef VACT_BLOCKS_DECODER_H
#define VACT_BLOCKS_DECODER_H

#include "ops/ops.h"

typedef struct vact_decoder_layer {
    const float *attn_norm, *ffn_norm; /* [d] */
    vact_linear q, k, v, o;            /* [heads * hd, d], [kv heads * hd, d] twice, [d, heads * hd] */
    vact_linear gate, up, down;        /* [inter, d] twice, [d, inter] */
} vact_decoder_layer;

/* x [n, d] += down(silu(gate(rms(x))) * up(rms(x))) */
void vact_swiglu(vact_run *r, const vact_decoder_layer *w, vact_buf x, float eps);

#endif
