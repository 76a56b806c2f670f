#include "models/pi.h"

#include "blocks/rope.h"
#include <math.h>
#include <stdio.h>

/* clang-format off: a table is read as one */
const vact_row vact_pi_vlm_rows[] = {
    VACT_DECODER_NORM_ROWS(VACT_NORM_PLUS_1, "vlm.blk.%d.", VACT_PI_TEXT "layers.%d.", VACT_PI_D(hidden)),
    VACT_PI_DECODER_ROWS("vlm.blk.%d.", hidden, inter, VACT_PI_TEXT),
    { 0 },
};
const vact_row vact_pi_vit_rows[] = { VACT_VIT_ROWS(VACT_PI_VIT, VACT_PI_D(vit), VACT_PI_D(vit_inter), 1.7), { 0 } };
/* clang-format on */

const char *vact_pi_derive(vact_pi_config *c, const char *arch, char *text, size_t size)
{
    const int32_t grid = c->image / c->patch;
    c->q = c->q_heads * c->head_dim;
    c->kv = c->kv_heads * c->head_dim;
#define REFUSE(...) (snprintf(text, size, __VA_ARGS__), text)
    if (c->head_dim % 2)
        return REFUSE("%s.head_dim is %d, expected an even number", arch, c->head_dim);
    if (c->expert % 2)
        return REFUSE("%s.expert_h is %d, expected an even number", arch, c->expert);
    if (c->q_heads % c->kv_heads)
        return REFUSE("%s.n_q_heads is %d, expected a multiple of n_kv_heads %d", arch, c->q_heads, c->kv_heads);
    if (c->vit % c->vit_heads)
        return REFUSE("%s.vit_hidden is %d, expected a multiple of vit_heads %d", arch, c->vit, c->vit_heads);
    if (c->state > c->max_state)
        return REFUSE("%s.real_state_dim is %d, expected at most max_state_dim %d", arch, c->state, c->max_state);
    if (c->action > c->max_action)
        return REFUSE("%s.real_action_dim is %d, expected at most max_action_dim %d", arch, c->action, c->max_action);
    if (c->image % c->patch)
        return REFUSE("%s.image_size is %d, expected a multiple of patch_size %d", arch, c->image, c->patch);
    if (c->image_tokens != grid * grid)
        return REFUSE("%s.n_img_tokens is %d, expected %d from image_size and patch_size", arch, c->image_tokens,
                      grid * grid);
#undef REFUSE
    return NULL;
}

void vact_pi_describe(const vact_pi_config *c, vact_model_info *info)
{
    info->image_size = c->image;
    info->view_tokens = c->image_tokens;
    info->embedding_width = c->hidden;
    info->vocab_size = c->vocab;
    info->max_tokens = c->max_tokens;
    info->state_dim = c->state;
    info->max_state_dim = c->max_state;
    info->horizon = c->chunk;
    info->action_dim = c->action;
    info->max_action_dim = c->max_action;
    info->denoise_steps = c->steps;
}

/* ---- stages ---- */

bool vact_pi_prepare(vact_run *r, const vact_pi_config *c, vact_pi_memory *s, const vact_limits *limits, int32_t more)
{
    const int32_t keys = limits->views * c->image_tokens + limits->tokens + more;
    s->rope = vact_rope_make(r, keys + c->chunk, c->head_dim, c->rope_base);
    s->keys = vact_host(r, (size_t)c->layers, sizeof *s->keys);
    for (int32_t i = 0; s->keys && i < c->layers; i++)
        s->keys[i] = vact_tmp_kv(r, 1, keys, c->kv_heads, c->head_dim);
    return s->keys != NULL;
}

double vact_pi_time(int32_t i, int32_t steps)
{
    const float dt = (float)(-1.0 / steps), passed = (float)i * dt;
    return (double)(1 + passed);
}

void vact_pi_vision(vact_run *r, const vact_pi *w, const vact_pi_config *c, const vact_image *images, int32_t n,
                    float scale, vact_buf out)
{
    const size_t start = vact_mark(r);
    const vact_buf x = vact_tmp(r, n * c->image_tokens, c->vit);
    vact_vit_run(r, &w->vit, x, images, n, &(vact_vit_config){ c->vit_layers, c->vit_heads, c->patch, c->vit_eps });
    vact_site(r, .x = x, .out = { { out, &w->proj } });
    if (scale != 1)
        vact_copy(r, out, out, scale);
    vact_emit(r, out, "vision.out");
    vact_release(r, start);
}

vact_decoder_args vact_pi_decoder(const vact_pi_config *c, const vact_pi_memory *s, int32_t layer, int32_t rows)
{
    return (vact_decoder_args){ .heads = c->q_heads,
                                .head_dim = c->head_dim,
                                .act = VACT_ACT_GELU_TANH,
                                .rope = vact_rope_rows(s->rope, s->prefix_rows, rows),
                                .cache = s->keys[layer],
                                .cached = s->prefix_rows };
}

void vact_pi_prefix(vact_run *r, const vact_pi *w, const vact_pi_config *c, vact_pi_memory *s,
                    const vact_prefix_input *input)
{
    const int32_t images = input->images.rows, tokens = input->n_tokens;
    const size_t mark = vact_mark(r);
    const vact_buf x = vact_tmp(r, images + tokens, c->hidden);
    vact_copy(r, vact_rows(x, 0, images), input->images, 1);
    vact_embed(r, vact_rows(x, images, tokens), &w->token_embd, input->tokens, sqrtf((float)c->hidden));
    vact_emit(r, x, "prefix.in");
    s->prefix_rows = 0;
    for (int32_t i = 0; i < c->layers; i++) {
        char name[32];
        vact_decoder_args a = vact_pi_decoder(c, s, i, x.rows);
        snprintf(name, sizeof name, "prefix.%d", i);
        a.name = name;
        a.attn_norm = VACT_RMS_NORM(w->vlm[i].attn_norm, c->rms_eps);
        a.ffn_norm = VACT_RMS_NORM(w->vlm[i].ffn_norm, c->rms_eps);
        a.keys_only = i == c->layers - 1;
        vact_decoder_run(r, &w->vlm[i], x, &a);
        if (!a.keys_only)
            vact_emit(r, x, "prefix.%d.out", i);
    }
    s->prefix_rows = x.rows;
    vact_release(r, mark);
}
