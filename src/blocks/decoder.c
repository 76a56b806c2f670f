#include "blocks/decoder.h"

#include <math.h>

void vact_gated_mlp(vact_run *r, const vact_decoder_layer *w, vact_buf x, vact_norm norm, vact_act act,
                    vact_buf multiplier)
{
    const size_t mark = vact_mark(r);
    const vact_buf h = vact_tmp(r, x.rows, w->gate.w.rows);
    vact_site(r, .x = x, .norm = norm, .out = { { h, &w->gate }, { .w = &w->up } }, .act = act, .gated = true);
    vact_site(r, .x = h, .out = { { x, &w->down } }, .gate_row = multiplier, .add = true);
    vact_release(r, mark);
}

void vact_decoder_run(vact_run *r, const vact_decoder_layer *w, vact_buf x, const vact_decoder_args *a)
{
    const int32_t kv_heads = w->k.w.rows / a->head_dim;
    const size_t mark = vact_mark(r);
    const vact_buf q = vact_tmp(r, x.rows, w->q.w.rows);
    const vact_buf k = vact_tmp(r, x.rows, w->k.w.rows), v = vact_tmp(r, x.rows, w->v.w.rows);
    if (a->keys_only)
        vact_site(r, .x = x, .norm = a->attn_norm, .out = { { k, &w->k }, { v, &w->v } });
    else
        vact_site(r, .x = x, .norm = a->attn_norm, .out = { { q, &w->q }, { k, &w->k }, { v, &w->v } });
    vact_rope(r, k, a->rope);
    const vact_kv kv = a->apart ? vact_tmp_kv(r, 1, x.rows, kv_heads, a->head_dim) : a->cache;
    vact_kv_write(r, kv, a->apart ? 0 : a->cached, k, v);
    if (a->name) {
        vact_emit(r, k, "%s.k", a->name);
        vact_emit(r, v, "%s.v", a->name);
    }
    if (!a->keys_only) {
        vact_rope(r, q, a->rope);
        vact_attention(
            r, .y = q, .q = q, .heads = a->heads, .scale = 1.0f / sqrtf((float)a->head_dim),
            .segments = { { a->cache, a->cached + (a->apart ? 0 : x.rows) }, { kv, a->apart ? x.rows : 0 } });
        vact_site(r, .x = q, .out = { { x, &w->o } }, .gate_row = a->attn_multiplier, .add = true);
        vact_gated_mlp(r, w, x, a->ffn_norm, a->act, a->ffn_multiplier);
    }
    vact_release(r, mark);
}
