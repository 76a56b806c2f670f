#include "blocks/vit.h"

#include <math.h>

/* x [views * tokens, d], in place:
 *     x += o(attention(q, k, v of ln1(x)));   x += fc2(gelu(fc1(ln2(x)))) */
static void run_block(vact_run *r, const vact_vit_layer *w, vact_buf x, int32_t views, int32_t heads, float eps)
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

void vact_vit_run(vact_run *r, const vact_vit *w, vact_buf x, const vact_image *images, int32_t n,
                  const vact_vit_config *c)
{
    const int32_t patches = x.rows / n;
    const size_t mark = vact_mark(r);
    const vact_buf cut = vact_tmp(r, x.rows, 3 * c->patch * c->patch);
    for (int32_t i = 0; i < n; i++)
        vact_patchify(r, vact_rows(cut, i * patches, patches), &images[i], c->patch);
    vact_site(r, .x = cut, .out = { { x, &w->patch } });
    vact_add_table(r, x, &w->pos);
    vact_emit(r, x, "vision.embed");
    vact_release(r, mark);

    for (int32_t i = 0; i < c->layers; i++) {
        run_block(r, &w->layers[i], x, n, c->heads, c->eps);
        vact_emit(r, x, "vision.%d.out", i);
    }
    vact_norm_rows(r, x, x, VACT_LAYER_NORM(w->post_weight, w->post_bias, c->eps));
    vact_emit(r, x, "vision.norm");
}
