/* SmolVLA
 *
 *   images [v, 512, 512, 3] -> patches -> SigLIP x 12 -> shuffle 4x4 -> linear -> [v * 64, 960] --+
 *   tokens [l] -> embedding ---------------------------------------------------------------------+-> prefix [n, 960]
 *   state [32] -> linear -> [1, 960] ------------------------------------------------------------+
 *   prefix -> SmolLM2 x 16 -> keys and values of every layer; odd layers: passed through a linear map each
 *   noise [50, 32] -> steps x expert x 16 (even layers: prefix and own tokens, causal; odd: prefix only) -> velocity
 *
 * Easy to get wrong:
 * - image and language tokens are multiplied by sqrt(960), the state token is not;
 * - the state token closes the prefix: it sees all, no image or language token sees it;
 * - the rotary base is 10000 (SmolLM2's own is 100000) and the RMS epsilon 1e-5, neither is in the file;
 * - odd expert layers rotate q only, from position 0; the keys were rotated before their linear map;
 * - the last prefix layer gives keys and values only; its attention and MLP feed nothing. */
#include "blocks/decoder.h"
#include "blocks/rope.h"
#include "blocks/vit.h"
#include "models/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RMS_EPS   1e-5f
#define ROPE_BASE 10000.0

struct config {
    int32_t hidden, inter, q_heads, kv_heads, head_dim, layers, vocab;
    int32_t expert, expert_inter, chunk, steps, max_state, max_action, state, action, self_every, max_tokens;
    int32_t vit, vit_layers, vit_heads, vit_inter, image, patch, shuffle, image_tokens;
    double min_period, max_period, expert_width;
    float norm_eps, vit_eps;
    /* derived */
    int32_t q, kv, patches, fc_in, time_in;
};

struct smolvla {
    struct config c;
    vact_weight token_embd;
    const float *vlm_norm; /* in every file, never used */
    vact_decoder_layer *vlm, *aex;
    const float *aex_norm;
    vact_linear state_proj, action_in, time_in, time_out, action_out;
    vact_linear patch, fc;
    vact_weight pos;
    vact_vit_layer *vit;
    const float *post_weight, *post_bias;
    const float *state_mean, *state_std, *action_mean, *action_std;
};

/* ---- file: keys ---- */

/* clang-format off: a table is read as one */
#define K(name, field, lo, hi)                                                                                         \
    {                                                                                                                  \
        name, VACT_GGUF_U32, offsetof(struct config, field), true, 0, lo, hi                                           \
    }
#define K_OR(name, field, d, lo, hi)                                                                                   \
    {                                                                                                                  \
        name, VACT_GGUF_U32, offsetof(struct config, field), false, d, lo, hi                                          \
    }
static const vact_key keys[] = {
    K("hidden", hidden, 1, 65536),
    K("intermediate", inter, 1, 262144),
    K("n_q_heads", q_heads, 1, 1024),
    K("n_kv_heads", kv_heads, 1, 1024),
    K("head_dim", head_dim, 2, 1024),
    K("n_layers", layers, 1, 1024),
    K("vocab_size", vocab, 1, 4194304),
    K("expert_h", expert, 2, 65536),
    K("expert_inter", expert_inter, 1, 262144),
    K("chunk_size", chunk, 1, 1024),
    K("num_steps", steps, 1, 1000),
    K("max_state_dim", max_state, 1, 4096),
    K("max_action_dim", max_action, 1, 4096),
    K("real_state_dim", state, 1, 4096),
    K("real_action_dim", action, 1, 4096),
    K("self_attn_every_n_layers", self_every, 1, 1024),
    K("tokenizer_max_length", max_tokens, 1, 4096),
    { "min_period", VACT_GGUF_F64, offsetof(struct config, min_period), true, 0, 1e-9, 1e9 },
    { "max_period", VACT_GGUF_F64, offsetof(struct config, max_period), true, 0, 1e-9, 1e9 },
    { "expert_width_multiplier", VACT_GGUF_F64, offsetof(struct config, expert_width), false, 0, 0, 1e9 },
    { "norm_eps", VACT_GGUF_F32, offsetof(struct config, norm_eps), false, 1e-8, 0, 1 },
    K_OR("vit_hidden", vit, 768, 1, 65536),
    K_OR("vit_layers", vit_layers, 12, 1, 1024),
    K_OR("vit_heads", vit_heads, 12, 1, 1024),
    K_OR("vit_inter", vit_inter, 3072, 1, 262144),
    K_OR("image_size", image, 512, 1, 4096),
    K_OR("patch_size", patch, 16, 1, 512),
    K_OR("vit_pixel_shuffle", shuffle, 4, 1, 64),
    K_OR("n_img_tokens", image_tokens, 64, 1, 65536),
    { "vit_ln_eps", VACT_GGUF_F32, offsetof(struct config, vit_eps), false, 1e-6, 0, 1 },
    { 0 },
};
#undef K
#undef K_OR
/* clang-format on */

static const char *derive(void *config, char *text, size_t size)
{
    struct config *c = config;
    const int32_t grid = c->image / c->patch;
    c->q = c->q_heads * c->head_dim;
    c->kv = c->kv_heads * c->head_dim;
    c->patches = grid * grid;
    c->fc_in = c->vit * c->shuffle * c->shuffle;
    c->time_in = 2 * c->expert;
#define REFUSE(...) (snprintf(text, size, __VA_ARGS__), text)
    if (c->head_dim % 2)
        return REFUSE("smolvla.head_dim is %d, expected an even number", c->head_dim);
    if (c->expert % 2)
        return REFUSE("smolvla.expert_h is %d, expected an even number", c->expert);
    if (c->q_heads % c->kv_heads)
        return REFUSE("smolvla.n_q_heads is %d, expected a multiple of n_kv_heads %d", c->q_heads, c->kv_heads);
    if (c->vit % c->vit_heads)
        return REFUSE("smolvla.vit_hidden is %d, expected a multiple of vit_heads %d", c->vit, c->vit_heads);
    if (c->state > c->max_state)
        return REFUSE("smolvla.real_state_dim is %d, expected at most max_state_dim %d", c->state, c->max_state);
    if (c->action > c->max_action)
        return REFUSE("smolvla.real_action_dim is %d, expected at most max_action_dim %d", c->action, c->max_action);
    if (c->image % c->patch)
        return REFUSE("smolvla.image_size is %d, expected a multiple of patch_size %d", c->image, c->patch);
    if (grid % c->shuffle)
        return REFUSE("smolvla.vit_pixel_shuffle is %d, expected a divisor of the %d patches in a row", c->shuffle,
                      grid);
    if (c->image_tokens != c->patches / (c->shuffle * c->shuffle))
        return REFUSE("smolvla.n_img_tokens is %d, expected %d from image_size, patch_size and vit_pixel_shuffle",
                      c->image_tokens, c->patches / (c->shuffle * c->shuffle));
#undef REFUSE
    return NULL;
}

/* ---- file: tensors ---- */

/* clang-format off */
#define D(field) VACT_DIM(struct config, field)
/* Made-up weights: matrices by fan-in, norms around 1, small biases. */
#define FAN(type, gain)    { VACT_DTYPE_##type, gain, 0, true, 0 }
#define AROUND(type, o, s) { VACT_DTYPE_##type, s, o, false, 0 }
#define W(at, name, out, in, gain) { name ".weight", VACT_ROW_MATRIX, at, { D(out), D(in) }, FAN(BF16, gain) }
#define W32(at, name, out, in, gain) { name ".weight", VACT_ROW_MATRIX, at, { D(out), D(in) }, FAN(F32, gain) }
#define B(at, name, n) { name ".bias", VACT_ROW_VECTOR, at, { D(n) }, AROUND(F32, 0, 0.05) }
#define N16(at, name, n) { name ".weight", VACT_ROW_VECTOR, at, { D(n) }, AROUND(BF16, 1, 0.1) }
#define N32(at, name, n) { name ".weight", VACT_ROW_VECTOR, at, { D(n) }, AROUND(F32, 1, 0.1) }

#define M(field) offsetof(struct smolvla, field)
#define LINEAR(field, name, out, in, gain)                                                                             \
    W32(M(field.w), name, out, in, gain), B(M(field.bias), name, out)
static const vact_row model_rows[] = {
    W(M(token_embd), "token_embd", vocab, hidden, 1.7),
    N16(M(vlm_norm), "vlm.output_norm", hidden),
    N16(M(aex_norm), "aex.output_norm", expert),
    LINEAR(state_proj, "state_proj", hidden, max_state, 1.7),
    LINEAR(action_in, "action_in_proj", expert, max_action, 1.7),
    { "action_time_mlp_in.weight", VACT_ROW_FLOAT_MATRIX, M(time_in.w), { D(expert), D(time_in) }, FAN(F32, 1.7) },
    B(M(time_in.bias), "action_time_mlp_in", expert),
    LINEAR(time_out, "action_time_mlp_out", expert, expert, 1.7),
    LINEAR(action_out, "action_out_proj", max_action, expert, 1.0),
    { "vit.patch_embd.weight", VACT_ROW_MATRIX, M(patch.w), { D(vit), 3, D(patch), D(patch) }, FAN(F32, 2.0) },
    B(M(patch.bias), "vit.patch_embd", vit),
    { "vit.pos_embd", VACT_ROW_MATRIX, M(pos), { D(patches), D(vit) }, AROUND(F32, 0, 0.5) },
    N32(M(post_weight), "vit.post_ln", vit),
    B(M(post_bias), "vit.post_ln", vit),
    { "mm.fc.weight", VACT_ROW_MATRIX, M(fc.w), { D(hidden), D(fc_in) }, { VACT_DTYPE_BF16, 2.0, 0, true, D(hidden) } },
    { "state_mean", VACT_ROW_VECTOR, M(state_mean), { D(state) }, AROUND(F32, 0, 0.2) },
    { "state_std", VACT_ROW_VECTOR, M(state_std), { D(state) }, AROUND(F32, 0.5, 0.2) },
    { "action_mean", VACT_ROW_VECTOR, M(action_mean), { D(action) }, AROUND(F32, 0, 0.2) },
    { "action_std", VACT_ROW_VECTOR, M(action_std), { D(action) }, AROUND(F32, 0.5, 0.2) },
    { 0 },
};
#undef LINEAR
#undef M

/* Rows of either decoder but for k and v, whose input differs. */
#define L(field) offsetof(vact_decoder_layer, field)
#define DECODER(p, width, inner)                                                                                       \
    N16(L(attn_norm), p "attn_norm", width), W(L(q.w), p "attn_q", q, width, 2.5),                                     \
        W(L(o.w), p "attn_o", width, q, 1.5), N16(L(ffn_norm), p "ffn_norm", width),                                   \
        W(L(gate.w), p "ffn_gate", inner, width, 1.7), W(L(up.w), p "ffn_up", inner, width, 1.7),                      \
        W(L(down.w), p "ffn_down", width, inner, 1.2)
#define KEYS_VALUES(p, in) W(L(k.w), p "attn_k", kv, in, 2.5), W(L(v.w), p "attn_v", kv, in, 1.5)
static const vact_row vlm_rows[] = { DECODER("vlm.blk.%d.", hidden, inter), KEYS_VALUES("vlm.blk.%d.", hidden), { 0 } };
static const vact_row aex_rows[] = { DECODER("aex.blk.%d.", expert, expert_inter), { 0 } };
static const vact_row aex_self_rows[] = { KEYS_VALUES("aex.blk.%d.", expert), { 0 } };
static const vact_row aex_cross_rows[] = { KEYS_VALUES("aex.blk.%d.", kv), { 0 } };
#undef L

#define L(field) offsetof(vact_vit_layer, field)
#define LINEAR(field, name, out, in, gain)                                                                             \
    W(L(field.w), "vit.blk.%d." name, out, in, gain), B(L(field.bias), "vit.blk.%d." name, out)
static const vact_row vit_rows[] = {
    N32(L(ln1_weight), "vit.blk.%d.ln1", vit),
    B(L(ln1_bias), "vit.blk.%d.ln1", vit),
    N32(L(ln2_weight), "vit.blk.%d.ln2", vit),
    B(L(ln2_bias), "vit.blk.%d.ln2", vit),
    LINEAR(q, "attn_q", vit, vit, 2.5),
    LINEAR(k, "attn_k", vit, vit, 2.5),
    LINEAR(v, "attn_v", vit, vit, 1.5),
    LINEAR(o, "attn_o", vit, vit, 1.5),
    LINEAR(fc1, "fc1", vit_inter, vit, 1.7),
    LINEAR(fc2, "fc2", vit, vit_inter, 1.2),
    { 0 },
};
#undef L
/* clang-format on */

static bool is_self(const void *config, int layer)
{
    return layer % ((const struct config *)config)->self_every == 0;
}

static bool is_cross(const void *config, int layer)
{
    return !is_self(config, layer);
}

static const vact_table tables[] = {
    { model_rows, 0, 0, 0, NULL },
    { vlm_rows, D(layers), offsetof(struct smolvla, vlm), sizeof(vact_decoder_layer), NULL },
    { aex_rows, D(layers), offsetof(struct smolvla, aex), sizeof(vact_decoder_layer), NULL },
    { aex_self_rows, D(layers), offsetof(struct smolvla, aex), sizeof(vact_decoder_layer), is_self },
    { aex_cross_rows, D(layers), offsetof(struct smolvla, aex), sizeof(vact_decoder_layer), is_cross },
    { vit_rows, D(vit_layers), offsetof(struct smolvla, vit), sizeof(vact_vit_layer), NULL },
    { 0 },
};

/* clang-format off */
/* The vocabulary is that of the published files at every size: vla.cpp's reader takes no other. */
static const struct config tiny = {
    .hidden = 16, .inter = 40, .q_heads = 6, .kv_heads = 2, .head_dim = 16, .layers = 4, .vocab = 49280,
    .expert = 24, .expert_inter = 48, .chunk = 5, .steps = 10, .max_state = 8, .max_action = 8, .state = 5,
    .action = 6, .self_every = 2, .max_tokens = 12, .vit = 32, .vit_layers = 2, .vit_heads = 2, .vit_inter = 48,
    .image = 32, .patch = 8, .shuffle = 2, .image_tokens = 4, .min_period = 0.004, .max_period = 4.0,
    .expert_width = 1.5, .norm_eps = 1e-8f, .vit_eps = 1e-6f,
};
static const struct config full = {
    .hidden = 960, .inter = 2560, .q_heads = 15, .kv_heads = 5, .head_dim = 64, .layers = 16, .vocab = 49280,
    .expert = 720, .expert_inter = 2048, .chunk = 50, .steps = 10, .max_state = 32, .max_action = 32, .state = 8,
    .action = 7, .self_every = 2, .max_tokens = 48, .vit = 768, .vit_layers = 12, .vit_heads = 12, .vit_inter = 3072,
    .image = 512, .patch = 16, .shuffle = 4, .image_tokens = 64, .min_period = 0.004, .max_period = 4.0,
    .expert_width = 0.75, .norm_eps = 1e-8f, .vit_eps = 1e-6f,
};
/* clang-format on */
static const vact_preset presets[] = { { "tiny", &tiny }, { "full", &full }, { 0 } };

static void describe(const void *model, vact_model_info *info, vact_policy_statistics *statistics)
{
    const struct smolvla *m = model;
    const struct config *c = &m->c;
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
    statistics->state = (vact_statistics){ m->state_mean, m->state_std, c->state, c->norm_eps };
    statistics->action = (vact_statistics){ m->action_mean, m->action_std, c->action, c->norm_eps };
}

/* ---- observation ---- */

/* The tokenizer adds nothing to it: SmolVLA reads no beginning and no end token. */
static int prompt(char *out, size_t size, const char *text)
{
    const size_t length = strlen(text);
    return snprintf(out, size, "%s%s", text, length && text[length - 1] == '\n' ? "" : "\n");
}

/* ---- stages ---- */

struct memory {
    vact_rope_table rope;
    vact_linear time_in_action; /* the columns of time_in that take the action embedding */
    vact_buf time;              /* [steps, expert]: those that take the time embedding, times it, plus bias */
    vact_kv *keys;              /* [layers]: what expert layer i sees of the prefix */
    vact_span *prefix_sees;     /* [prefix rows] */
    vact_span *chunk_sees;      /* [chunk] */
    int32_t prefix_rows;
};

/* emb = [sin(2 pi t / period_i), cos(...)], periods from min to max in geometric steps. */
static void time_embedding(const struct config *c, double t, float *emb)
{
    const int32_t half = c->expert / 2;
    for (int32_t i = 0; i < half; i++) {
        const double exponent = half > 1 ? (double)i / (half - 1) : 0;
        const double angle =
            6.283185307179586476925 * t / (c->min_period * pow(c->max_period / c->min_period, exponent));
        emb[i] = (float)sin(angle);
        emb[half + i] = (float)cos(angle);
    }
}

static void prepare(vact_run *r, const void *model, void *memory, const vact_limits *limits)
{
    const struct smolvla *m = model;
    const struct config *c = &m->c;
    struct memory *s = memory;
    const int32_t prefix = limits->views * c->image_tokens + limits->tokens + 1, steps = limits->denoise_steps;

    s->rope = vact_rope_make(r, prefix + c->chunk, c->head_dim, ROPE_BASE);
    s->prefix_sees = vact_host(r, (size_t)prefix, sizeof *s->prefix_sees);
    s->chunk_sees = vact_host(r, (size_t)c->chunk, sizeof *s->chunk_sees);
    s->keys = vact_host(r, (size_t)c->layers, sizeof *s->keys);
    float *emb = vact_host(r, (size_t)steps * (size_t)c->expert, sizeof *emb);
    if (!s->prefix_sees || !s->chunk_sees || !s->keys || !emb)
        return;
    for (int32_t i = 0; i < c->layers; i++)
        s->keys[i] = vact_tmp_kv(r, 1, prefix, c->kv_heads, c->head_dim);

    s->time_in_action = (vact_linear){ vact_weight_cols(m->time_in.w, 0, c->expert), NULL };
    const vact_linear time = { vact_weight_cols(m->time_in.w, c->expert, c->expert), m->time_in.bias };
    s->time = vact_tmp(r, steps, c->expert);
    const size_t mark = vact_mark(r);
    const vact_buf embedded = vact_tmp(r, steps, c->expert);
    for (int32_t i = 0; i < steps; i++)
        time_embedding(c, limits->times[i], emb + i * c->expert);
    vact_upload(r, embedded, emb);
    vact_site(r, .x = embedded, .out = { { s->time, &time } });
    vact_release(r, mark);
}

static void vision(vact_run *r, const void *model, void *memory, const vact_image *images, int32_t n, vact_buf out)
{
    (void)memory;
    const struct smolvla *m = model;
    const struct config *c = &m->c;
    const size_t start = vact_mark(r);
    const vact_buf x = vact_tmp(r, n * c->patches, c->vit);
    const size_t mark = vact_mark(r);
    const vact_buf patches = vact_tmp(r, x.rows, 3 * c->patch * c->patch);
    for (int32_t i = 0; i < n; i++)
        vact_patchify(r, vact_rows(patches, i * c->patches, c->patches), &images[i], c->patch);
    vact_site(r, .x = patches, .out = { { x, &m->patch } });
    vact_add_table(r, x, &m->pos);
    vact_emit(r, x, "vision.embed");
    vact_release(r, mark);

    for (int32_t i = 0; i < c->vit_layers; i++) {
        vact_vit_block(r, &m->vit[i], x, n, c->vit_heads, c->vit_eps);
        vact_emit(r, x, "vision.%d.out", i);
    }
    vact_norm_rows(r, x, x, VACT_LAYER_NORM(m->post_weight, m->post_bias, c->vit_eps));
    vact_emit(r, x, "vision.norm");
    const vact_buf shuffled = vact_tmp(r, out.rows, c->fc_in);
    vact_pixel_shuffle(r, shuffled, x, c->image / c->patch, c->shuffle);
    vact_site(r, .x = shuffled, .out = { { out, &m->fc } });
    vact_emit(r, out, "vision.out");
    vact_release(r, start);
}

/* Keys and values of prefix layer i, in the form that expert layer i sees them; and for the layer's own attention. */
static void prefix_attention(vact_run *r, const struct smolvla *m, const struct memory *s, int32_t i, vact_buf x)
{
    const struct config *c = &m->c;
    const vact_decoder_layer *w = &m->vlm[i];
    const bool last = i == c->layers - 1, cross = is_cross(c, i);
    const vact_norm norm = VACT_RMS_NORM(w->attn_norm, RMS_EPS);
    const size_t mark = vact_mark(r);
    const vact_buf q = vact_tmp(r, x.rows, c->q), k = vact_tmp(r, x.rows, c->kv), v = vact_tmp(r, x.rows, c->kv);
    const vact_rope_table rope = vact_rope_rows(s->rope, 0, x.rows);

    if (last)
        vact_site(r, .x = x, .norm = norm, .out = { { k, &w->k }, { v, &w->v } });
    else
        vact_site(r, .x = x, .norm = norm, .out = { { q, &w->q }, { k, &w->k }, { v, &w->v } });
    vact_rope(r, k, rope);
    vact_emit(r, k, "prefix.%d.k", i);
    vact_emit(r, v, "prefix.%d.v", i);
    vact_kv own = s->keys[i];
    if (cross) {
        const vact_buf xk = vact_tmp(r, x.rows, c->kv), xv = vact_tmp(r, x.rows, c->kv);
        vact_site(r, .x = k, .out = { { xk, &m->aex[i].k } });
        vact_site(r, .x = v, .out = { { xv, &m->aex[i].v } });
        vact_emit(r, xk, "prefix.%d.cross_k", i);
        vact_emit(r, xv, "prefix.%d.cross_v", i);
        vact_kv_write(r, s->keys[i], 0, xk, xv);
        own = vact_tmp_kv(r, 1, x.rows, c->kv_heads, c->head_dim);
    }
    if (!cross || !last)
        vact_kv_write(r, own, 0, k, v);
    if (!last) {
        vact_rope(r, q, rope);
        vact_attention(r, .y = q, .q = q, .heads = c->q_heads, .scale = 1.0f / sqrtf((float)c->head_dim),
                       .segments = { { own, x.rows } }, .spans = s->prefix_sees);
        vact_site(r, .x = q, .out = { { x, &w->o } }, .add = true);
    }
    vact_release(r, mark);
}

static void prefix(vact_run *r, const void *model, void *memory, const vact_prefix_input *input)
{
    const struct smolvla *m = model;
    const struct config *c = &m->c;
    struct memory *s = memory;
    const float scale = sqrtf((float)c->hidden);
    const int32_t images = input->images.rows, tokens = input->n_tokens, rows = images + tokens + 1;
    s->prefix_rows = rows;
    for (int32_t i = 0; i < rows; i++)
        s->prefix_sees[i] = (vact_span){ 0, i < rows - 1 ? rows - 1 : rows };
    for (int32_t i = 0; i < c->chunk; i++)
        s->chunk_sees[i] = (vact_span){ 0, rows + i + 1 };

    const size_t mark = vact_mark(r);
    const vact_buf x = vact_tmp(r, rows, c->hidden), proprioception = vact_tmp(r, 1, c->max_state);
    vact_copy(r, vact_rows(x, 0, images), input->images, scale);
    vact_embed(r, vact_rows(x, images, tokens), &m->token_embd, input->tokens, scale);
    vact_upload(r, proprioception, input->state);
    vact_site(r, .x = proprioception, .out = { { vact_rows(x, rows - 1, 1), &m->state_proj } });
    vact_emit(r, x, "prefix.in");
    for (int32_t i = 0; i < c->layers; i++) {
        prefix_attention(r, m, s, i, x);
        if (i == c->layers - 1)
            break;
        vact_swiglu(r, &m->vlm[i], x, RMS_EPS);
        vact_emit(r, x, "prefix.%d.out", i);
    }
    vact_release(r, mark);
}

static void expert_attention(vact_run *r, const struct smolvla *m, const struct memory *s, int32_t i, vact_buf x)
{
    const struct config *c = &m->c;
    const vact_decoder_layer *w = &m->aex[i];
    const vact_norm norm = VACT_RMS_NORM(w->attn_norm, RMS_EPS);
    const float scale = 1.0f / sqrtf((float)c->head_dim);
    const size_t mark = vact_mark(r);
    const vact_buf q = vact_tmp(r, x.rows, c->q);
    if (is_self(c, i)) {
        const vact_rope_table rope = vact_rope_rows(s->rope, s->prefix_rows, x.rows);
        const vact_buf k = vact_tmp(r, x.rows, c->kv), v = vact_tmp(r, x.rows, c->kv);
        const vact_kv own = vact_tmp_kv(r, 1, x.rows, c->kv_heads, c->head_dim);
        vact_site(r, .x = x, .norm = norm, .out = { { q, &w->q }, { k, &w->k }, { v, &w->v } });
        vact_rope(r, q, rope);
        vact_rope(r, k, rope);
        vact_kv_write(r, own, 0, k, v);
        vact_attention(r, .y = q, .q = q, .heads = c->q_heads, .scale = scale,
                       .segments = { { s->keys[i], s->prefix_rows }, { own, x.rows } }, .spans = s->chunk_sees);
    } else {
        vact_site(r, .x = x, .norm = norm, .out = { { q, &w->q } });
        vact_rope(r, q, vact_rope_rows(s->rope, 0, x.rows));
        vact_attention(r, .y = q, .q = q, .heads = c->q_heads, .scale = scale,
                       .segments = { { s->keys[i], s->prefix_rows } });
    }
    vact_site(r, .x = q, .out = { { x, &w->o } }, .add = true);
    vact_release(r, mark);
}

static void step(vact_run *r, const void *model, void *memory, vact_buf x, int32_t i, vact_buf velocity)
{
    const struct smolvla *m = model;
    const struct config *c = &m->c;
    const struct memory *s = memory;
    const size_t mark = vact_mark(r);
    const vact_buf a = vact_tmp(r, c->chunk, c->expert), u = vact_tmp(r, c->chunk, c->expert);
    vact_site(r, .x = x, .out = { { a, &m->action_in } });
    vact_site(r, .x = a, .out = { { u, &s->time_in_action } }, .bias_row = vact_rows(s->time, i, 1),
              .act = VACT_ACT_SILU);
    vact_site(r, .x = u, .out = { { a, &m->time_out } });
    vact_emit(r, a, "step.%d.in", i);
    for (int32_t layer = 0; layer < c->layers; layer++) {
        expert_attention(r, m, s, layer, a);
        vact_swiglu(r, &m->aex[layer], a, RMS_EPS);
        vact_emit(r, a, "step.%d.expert.%d.out", i, layer);
    }
    vact_site(r, .x = a, .norm = VACT_RMS_NORM(m->aex_norm, RMS_EPS), .out = { { velocity, &m->action_out } });
    vact_release(r, mark);
}

const vact_arch vact_arch_smolvla = {
    .schema = { "smolvla", sizeof(struct config), sizeof(struct smolvla), keys, tables, presets, derive },
    .memory_bytes = sizeof(struct memory),
    .describe = describe,
    .prompt = prompt,
    .fit = vact_fit_pad_left_top,
    .prepare = prepare,
    .vision = vision,
    .prefix = prefix,
    .step = step,
};
