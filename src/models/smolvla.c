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
#include "blocks/prompt.h"
#include "blocks/rope.h"
#include "blocks/time.h"
#include "blocks/vit.h"
#include "models/registry.h"

#include <math.h>
#include <stdio.h>

#define RMS_EPS   1e-5f
#define ROPE_BASE 10000.0

struct config {
    int32_t hidden, inter, q_heads, kv_heads, head_dim, layers, vocab;
    int32_t expert, expert_inter, chunk, steps, max_state, max_action, state, action, self_every, max_tokens, time_f32;
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
    vact_vit vit;
    vact_linear fc;
    const float *state_mean, *state_std, *action_mean, *action_std;
};

/* ---- file: keys ---- */

/* clang-format off: a table is read as one */
#define F(field) offsetof(struct config, field)
static const vact_key keys[] = {
    VACT_KEY("hidden", F(hidden), 1, 65536, NULL),
    VACT_KEY("intermediate", F(inter), 1, 262144, NULL),
    VACT_KEY("n_q_heads", F(q_heads), 1, 1024, NULL),
    VACT_KEY("n_kv_heads", F(kv_heads), 1, 1024, NULL),
    VACT_KEY("head_dim", F(head_dim), 2, 1024, NULL),
    VACT_KEY("n_layers", F(layers), 1, 1024, "?num_vlm_layers"),
    VACT_KEY("vocab_size", F(vocab), 1, 4194304, NULL),
    VACT_KEY("expert_h", F(expert), 2, 65536, NULL),
    VACT_KEY("expert_inter", F(expert_inter), 1, 262144, NULL),
    VACT_KEY("chunk_size", F(chunk), 1, 1024, "chunk_size"),
    VACT_KEY("num_steps", F(steps), 1, 1000, "num_steps"),
    VACT_KEY("max_state_dim", F(max_state), 1, 4096, "max_state_dim"),
    VACT_KEY("max_action_dim", F(max_action), 1, 4096, "max_action_dim"),
    VACT_KEY("real_state_dim", F(state), 1, 4096, "input_features/observation.state/shape/0"),
    VACT_KEY("real_action_dim", F(action), 1, 4096, "output_features/action/shape/0"),
    VACT_KEY("self_attn_every_n_layers", F(self_every), 1, 1024, "self_attn_every_n_layers"),
    VACT_KEY("tokenizer_max_length", F(max_tokens), 1, 4096, "tokenizer_max_length"),
    { "min_period", VACT_GGUF_F64, F(min_period), true, 0, 1e-9, 1e9, "min_period", false, NULL },
    { "max_period", VACT_GGUF_F64, F(max_period), true, 0, 1e-9, 1e9, "max_period", false, NULL },
    { "expert_width_multiplier", VACT_GGUF_F64, F(expert_width), false, 0, 0, 1e9, "expert_width_multiplier", false,
      NULL },
    { "norm_eps", VACT_GGUF_F32, F(norm_eps), false, 1e-8, 0, 1, "processors/eps", false, NULL },
    VACT_KEY_OR("vit_hidden", F(vit), 768, 1, 65536, NULL),
    VACT_KEY_OR("vit_layers", F(vit_layers), 12, 1, 1024, NULL),
    VACT_KEY_OR("vit_heads", F(vit_heads), 12, 1, 1024, NULL),
    VACT_KEY_OR("vit_inter", F(vit_inter), 3072, 1, 262144, NULL),
    VACT_KEY_OR("image_size", F(image), 512, 1, 4096, "resize_imgs_with_padding/0"),
    VACT_KEY_OR("patch_size", F(patch), 16, 1, 512, NULL),
    VACT_KEY_OR("vit_pixel_shuffle", F(shuffle), 4, 1, 64, NULL),
    VACT_KEY_OR("n_img_tokens", F(image_tokens), 64, 1, 65536, NULL),
    { "vit_ln_eps", VACT_GGUF_F32, F(vit_eps), false, 1e-6, 0, 1, NULL, false, NULL },
    { "time_f32", VACT_GGUF_U32, F(time_f32), false, 0, 0, 1, NULL, true, NULL },
    { 0 },
};
#undef F
/* clang-format on */

static const vact_expectation expectations[] = {
    { "attention_mode", "\"cross_attn\"" },
    { "add_image_special_tokens", "false" },
    { "adapt_to_pi_aloha", "false" },
    { "use_delta_joint_actions_aloha", "false" },
    { "resize_imgs_with_padding/1", "=resize_imgs_with_padding/0" },
    { 0 },
};

/* LeRobot's checkpoints don't say how wide a head is; it is 64 in every SmolVLM and SmolVLM2 of up to 500 M.
 * Shapes of tensors without values say anything up to INT32_MAX; what comes of them is checked after this. */
static void infer(void *config)
{
    struct config *c = config;
    c->head_dim = 64;
    c->time_f32 = 1;
    c->q_heads = c->q / c->head_dim;
    c->kv_heads = c->kv / c->head_dim;
    c->vit_heads = c->vit / c->head_dim;
    if (c->image == 0)
        c->image = c->patch * (int32_t)lround(sqrt((double)c->patches));
    if (c->vit > 0)
        c->shuffle = (int32_t)lround(sqrt((double)c->fc_in / (double)c->vit));
    if (c->shuffle > 0)
        c->image_tokens = c->patches / (c->shuffle * c->shuffle);
}

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
#define POLICY "model."
#define VLM POLICY "vlm_with_expert.vlm.model."
#define VIT VLM "vision_model."
#define TEXT VLM "text_model."
#define EXPERT POLICY "vlm_with_expert.lm_expert."
#define N16(at, name, n, source) VACT_VECTOR(BF16, at, name ".weight", D(n), 1, 0.1, source ".weight")
#define B(at, name, n, source) VACT_VECTOR(F32, at, name ".bias", D(n), 0, 0.05, source ".bias")

#define M(field) offsetof(struct smolvla, field)
#define LINEAR(field, name, out, in, gain)                                                                             \
    VACT_MATRIX(F32, M(field.w), name ".weight", D(out), D(in), gain, POLICY name ".weight"),                          \
    B(M(field.bias), name, out, POLICY name)
static const vact_row model_rows[] = {
    VACT_MATRIX(BF16, M(token_embd), "token_embd.weight", D(vocab), D(hidden), 1.7, TEXT "embed_tokens.weight"),
    N16(M(vlm_norm), "vlm.output_norm", hidden, TEXT "norm"),
    N16(M(aex_norm), "aex.output_norm", expert, EXPERT "norm"),
    LINEAR(state_proj, "state_proj", hidden, max_state, 1.7),
    LINEAR(action_in, "action_in_proj", expert, max_action, 1.7),
    { "action_time_mlp_in.weight", VACT_ROW_FLOAT_MATRIX, M(time_in.w), { D(expert), D(time_in) },
      VACT_MADE_FAN(F32, 1.7), POLICY "action_time_mlp_in.weight", false },
    B(M(time_in.bias), "action_time_mlp_in", expert, POLICY "action_time_mlp_in"),
    LINEAR(time_out, "action_time_mlp_out", expert, expert, 1.7),
    LINEAR(action_out, "action_out_proj", max_action, expert, 1.0),
    VACT_VIT_TOWER_ROWS(M(vit), VIT, D(vit), D(patch), D(patches)),
    { "mm.fc.weight", VACT_ROW_MATRIX, M(fc.w), { D(hidden), D(fc_in) }, { VACT_DTYPE_BF16, 2.0, 0, true, D(hidden), 0 },
      VLM "connector.modality_projection.proj.weight", false },
    VACT_VECTOR(F32, M(state_mean), "state_mean", D(state), 0, 0.2, "observation.state.mean"),
    VACT_VECTOR(F32, M(state_std), "state_std", D(state), 0.5, 0.2, "observation.state.std"),
    VACT_VECTOR(F32, M(action_mean), "action_mean", D(action), 0, 0.2, "action.mean"),
    VACT_VECTOR(F32, M(action_std), "action_std", D(action), 0.5, 0.2, "action.std"),
    { 0 },
};
#undef LINEAR
#undef M

/* Both decoders' k and v stand apart: their input differs. */
#define DECODER(p, width, inner, from)                                                                                 \
    VACT_DECODER_NORM_ROWS(VACT_NORM, p, from, D(width)), VACT_DECODER_ROWS(p, from, D(width), D(inner), D(q), 1.5)
#define KEYS_VALUES(p, in, from) VACT_DECODER_KV_ROWS(p, from, D(in), D(kv), 1.5)
#define TEXT_LAYER TEXT "layers.%d."
#define EXPERT_LAYER EXPERT "layers.%d."
static const vact_row vlm_rows[] = { DECODER("vlm.blk.%d.", hidden, inter, TEXT_LAYER),
                                     KEYS_VALUES("vlm.blk.%d.", hidden, TEXT_LAYER), { 0 } };
static const vact_row aex_rows[] = { DECODER("aex.blk.%d.", expert, expert_inter, EXPERT_LAYER), { 0 } };
static const vact_row aex_self_rows[] = { KEYS_VALUES("aex.blk.%d.", expert, EXPERT_LAYER), { 0 } };
static const vact_row aex_cross_rows[] = { KEYS_VALUES("aex.blk.%d.", kv, EXPERT_LAYER), { 0 } };
static const vact_row vit_rows[] = { VACT_VIT_ROWS(VIT, D(vit), D(vit_inter), 1.5), { 0 } };
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
    { vit_rows, D(vit_layers), offsetof(struct smolvla, vit.layers), sizeof(vact_vit_layer), NULL },
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
    statistics->state = (vact_statistics){ m->state_mean, m->state_std, c->state, c->norm_eps, false };
    statistics->action = (vact_statistics){ m->action_mean, m->action_std, c->action, c->norm_eps, false };
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
        vact_time_embedding(emb + i * c->expert, c->expert,
                            c->time_f32 ? (double)(float)(1 + i * (-1.0 / steps)) : limits->times[i], c->min_period,
                            c->max_period);
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
    vact_vit_run(r, &m->vit, x, images, n, &(vact_vit_config){ c->vit_layers, c->vit_heads, c->patch, c->vit_eps });
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
        vact_gated_mlp(r, &m->vlm[i], x, VACT_RMS_NORM(m->vlm[i].ffn_norm, RMS_EPS), VACT_ACT_SILU, (vact_buf){ 0 });
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
        vact_gated_mlp(r, &m->aex[layer], a, VACT_RMS_NORM(m->aex[layer].ffn_norm, RMS_EPS), VACT_ACT_SILU,
                       (vact_buf){ 0 });
        vact_emit(r, a, "step.%d.expert.%d.out", i, layer);
    }
    vact_site(r, .x = a, .norm = VACT_RMS_NORM(m->aex_norm, RMS_EPS), .out = { { velocity, &m->action_out } });
    vact_release(r, mark);
}

const vact_arch vact_arch_smolvla = {
    .schema = { "smolvla", sizeof(struct config), sizeof(struct smolvla), keys, tables, presets, expectations, infer,
                derive },
    .memory_bytes = sizeof(struct memory),
    .describe = describe,
    .prompt = vact_prompt_line, /* the tokenizer adds nothing to it: SmolVLA reads no beginning and no end token */
    .fit = vact_fit_pad_left_top,
    .prepare = prepare,
    .vision = vision,
    .prefix = prefix,
    .step = step,
};
