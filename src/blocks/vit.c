#include "blocks/vit.h"

#include <math.h>

void vact_vit_block(vact_run *r, const vact_vit_layer *w, vact_buf x, int32_t views, int32_t heads, float eps)
{
    const int32_t tokens = x.rows / views, hd = x.cols / heads;
    const size_t start = vact_mark(r);
    const vact_buf q = vact_tmp(r, x.rows, x.cols);
    const vact_kv kv = vact_tmp_kv(r, views, tokens, heads, hd);
    const size_t mark = vact_mark(r);
    const vact_buf k = vact_tmp(r, x.rows, x.cols), v = vact_tmp(r, x.rows, x.cols);

    vact_site(r, .x = x, .norm = VACT_LAYER_NORM(w->ln1_weight, w->ln1_bias, eps),
              .out = { { q, &w->q }, { k, &w->k }, { v, &w->v } });
    vact_kv_write(r, kv, 0, k, v);
    vact_release(r, mark);
    vact_attention(r, .y = q, .q = q, .heads = heads, .scale = 1.0f / sqrtf((float)hd), .segments = { { kv, tokens } });
    vact_site(r, .x = q, .out = { { x, &w->o } }, .add = true);
    vact_release(r, start);

    const vact_buf h = vact_tmp(r, x.rows, w->fc1.w.rows);
    vact_site(r, .x = x, .norm = VACT_LAYER_NORM(w->ln2_weight, w->ln2_bias, eps), .out = { { h, &w->fc1 } },
              .act = VACT_ACT_GELU_TANH);
    vact_site(r, .x = h, .out = { { x, &w->fc2 } }, .add = true);
    vact_release(r, start);
}
