#include "blocks/decoder.h"

void vact_gated_mlp(vact_run *r, const vact_decoder_layer *w, vact_buf x, vact_act act, float eps)
{
    const size_t mark = vact_mark(r);
    const vact_buf h = vact_tmp(r, x.rows, w->gate.w.rows);
    vact_site(r, .x = x, .norm = VACT_RMS_NORM(w->ffn_norm, eps), .out = { { h, &w->gate }, { .w = &w->up } },
              .act = act, .gated = true);
    vact_site(r, .x = h, .out = { { x, &w->down } }, .add = true);
    vact_release(r, mark);
}
