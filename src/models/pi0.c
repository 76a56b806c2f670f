/* pi0
 *
 *   images [v, 224, 224, 3] -> patches -> SigLIP x 27 -> linear -> scale -> [v * 256, 2048] --+
 *   tokens [l] -> embedding * sqrt(2048) -----------------------------------------------------+-> prefix [n, 2048]
 *   prefix -> Gemma x 18 -> keys and values of every layer
 *   state [32] -> linear -> [1, 1024] -> expert x 18 over the prefix -> one more key and value of every layer
 *   noise [50, 32] -> steps x expert x 18 (prefix, state and own tokens) -> velocity
 *
 * Easy to get wrong:
 * - norms are stored less 1; the gate is a tanh GELU, not SiLU;
 * - nothing is masked but one row: the state token sees the prefix and itself, not the action tokens. So it depends on
 *   neither noise nor time, and its keys and values belong to the prefix;
 * - the expert's attention is wider than its hidden state: 8 heads of 256 over 1024;
 * - vla.cpp's files have image tokens divided by sqrt(2048), the original has not: key image_scale says which;
 * - denoise times are counted in float32, product and sum rounded;
 * - the last prefix layer gives keys and values only, and so does the state token's. */
#include "blocks/decoder.h"
#include "blocks/prompt.h"
#include "blocks/rope.h"
#include "blocks/time.h"
#include "blocks/vit.h"
#include "models/registry.h"

#include <math.h>
#include <stdio.h>

struct config {
    int32_t paligemma, expert_variant, hidden, inter, q_heads, kv_heads, head_dim, layers, vocab;
    int32_t expert, expert_inter, chunk, action_steps, steps, max_state, max_action, state, action, max_tokens;
    int32_t vit, vit_layers, vit_heads, vit_inter, image, patch, image_tokens;
    double min_period, max_period, rope_base;
    float rms_eps, norm_eps, vit_eps, image_scale;
    /* derived */
    int32_t q, kv, time_in;
};

struct pi0 {
    struct config c;
    vact_weight token_embd;
    const float *vlm_norm; /* in published files, never used */
    vact_decoder_layer *vlm, *aex;
    const float *aex_norm;
    vact_linear state_proj, action_in, time_in, time_out, action_out;
    vact_vit vit;
    vact_linear proj;
    const float *state_mean, *state_std, *action_mean, *action_std;
};

/* ---- file: keys ---- */

/* clang-format off: a table is read as one */
#define F(field) offsetof(struct config, field)
#define VARIANTS "gemma_2b|gemma_300m"
static const vact_key keys[] = {
    { "paligemma_variant", VACT_GGUF_STRING, F(paligemma), false, 0, 0, 1, "paligemma_variant", false, VARIANTS },
    { "action_expert_variant", VACT_GGUF_STRING, F(expert_variant), false, 1, 0, 1, "action_expert_variant", false,
      VARIANTS },
    VACT_KEY("hidden", F(hidden), 1, 65536, NULL),
    VACT_KEY("intermediate", F(inter), 1, 262144, NULL),
    VACT_KEY("n_q_heads", F(q_heads), 1, 1024, NULL),
    VACT_KEY("n_kv_heads", F(kv_heads), 1, 1024, NULL),
    VACT_KEY("head_dim", F(head_dim), 2, 1024, NULL),
    VACT_KEY("n_layers", F(layers), 1, 1024, NULL),
    VACT_KEY_OR("vocab_size", F(vocab), 0, 0, 4194304, NULL),
    VACT_KEY("expert_h", F(expert), 2, 65536, NULL),
    VACT_KEY("expert_inter", F(expert_inter), 1, 262144, NULL),
    VACT_KEY("chunk_size", F(chunk), 1, 1024, "chunk_size"),
    VACT_KEY_OR("n_action_steps", F(action_steps), 0, 0, 1024, "n_action_steps"),
    VACT_KEY("num_steps", F(steps), 1, 1000, "num_inference_steps"),
    VACT_KEY("max_state_dim", F(max_state), 1, 4096, "max_state_dim"),
    VACT_KEY("max_action_dim", F(max_action), 1, 4096, "max_action_dim"),
    VACT_KEY("real_state_dim", F(state), 1, 4096, "input_features/observation.state/shape/0"),
    VACT_KEY("real_action_dim", F(action), 1, 4096, "output_features/action/shape/0"),
    VACT_KEY("tokenizer_max_length", F(max_tokens), 1, 4096, "tokenizer_max_length"),
    { "min_period", VACT_GGUF_F64, F(min_period), true, 0, 1e-9, 1e9, "min_period", false, NULL },
    { "max_period", VACT_GGUF_F64, F(max_period), true, 0, 1e-9, 1e9, "max_period", false, NULL },
    { "rope_theta", VACT_GGUF_F64, F(rope_base), false, 10000, 1, 1e9, NULL, false, NULL },
    { "rms_norm_eps", VACT_GGUF_F32, F(rms_eps), false, 1e-6, 0, 1, NULL, false, NULL },
    { "norm_eps", VACT_GGUF_F32, F(norm_eps), false, 1e-8, 0, 1, "processors/eps", false, NULL },
    VACT_KEY_OR("vit_hidden", F(vit), 1152, 1, 65536, NULL),
    VACT_KEY_OR("vit_layers", F(vit_layers), 27, 1, 1024, NULL),
    VACT_KEY_OR("vit_heads", F(vit_heads), 16, 1, 1024, NULL),
    VACT_KEY_OR("image_size", F(image), 224, 1, 4096, "image_resolution/0"),
    VACT_KEY_OR("patch_size", F(patch), 14, 1, 512, NULL),
    VACT_KEY_OR("n_img_tokens", F(image_tokens), 256, 1, 65536, NULL),
    { "vit_ln_eps", VACT_GGUF_F32, F(vit_eps), false, 1e-6, 0, 1, NULL, false, NULL },
    { "image_scale", VACT_GGUF_F32, F(image_scale), false, 0, 0, 1e3, NULL, true, NULL },
    { 0 },
};
#undef F
/* clang-format on */

static const vact_expectation expectations[] = {
    { "image_resolution/1", "=image_resolution/0" },
    { "adapt_to_pi_aloha", "false" },
    { "use_delta_joint_actions_aloha", "false" },
    { 0 },
};

/* PaliGemma's heads are 256 wide, SigLIP's 72. */
static void infer(void *config)
{
    struct config *c = config;
    c->head_dim = 256;
    c->q_heads = c->q / c->head_dim;
    c->kv_heads = c->kv / c->head_dim;
    c->vit_heads = c->vit / 72;
    c->image_scale = 1;
    if (c->image == 0)
        c->image = c->patch * (int32_t)lround(sqrt((double)c->image_tokens));
}

static const char *derive(void *config, char *text, size_t size)
{
    struct config *c = config;
    const int32_t grid = c->image / c->patch;
    c->q = c->q_heads * c->head_dim;
    c->kv = c->kv_heads * c->head_dim;
    c->time_in = 2 * c->expert;
#define REFUSE(...) (snprintf(text, size, __VA_ARGS__), text)
    if (c->head_dim % 2)
        return REFUSE("pi0.head_dim is %d, expected an even number", c->head_dim);
    if (c->expert % 2)
        return REFUSE("pi0.expert_h is %d, expected an even number", c->expert);
    if (c->q_heads % c->kv_heads)
        return REFUSE("pi0.n_q_heads is %d, expected a multiple of n_kv_heads %d", c->q_heads, c->kv_heads);
    if (c->vit % c->vit_heads)
        return REFUSE("pi0.vit_hidden is %d, expected a multiple of vit_heads %d", c->vit, c->vit_heads);
    if (c->state > c->max_state)
        return REFUSE("pi0.real_state_dim is %d, expected at most max_state_dim %d", c->state, c->max_state);
    if (c->action > c->max_action)
        return REFUSE("pi0.real_action_dim is %d, expected at most max_action_dim %d", c->action, c->max_action);
    if (c->image % c->patch)
        return REFUSE("pi0.image_size is %d, expected a multiple of patch_size %d", c->image, c->patch);
    if (c->image_tokens != grid * grid)
        return REFUSE("pi0.n_img_tokens is %d, expected %d from image_size and patch_size", c->image_tokens,
                      grid * grid);
#undef REFUSE
    return NULL;
}

/* ---- file: tensors ---- */

/* clang-format off */
#define D(field) VACT_DIM(struct config, field)
#define POLICY "model."
#define PALIGEMMA POLICY "paligemma_with_expert.paligemma.model."
#define VIT PALIGEMMA "vision_tower.vision_model."
#define TEXT PALIGEMMA "language_model."
#define EXPERT POLICY "paligemma_with_expert.gemma_expert.model."
#define M(field) offsetof(struct pi0, field)
#define BIAS(field, name, n, source) VACT_VECTOR(F32, M(field.bias), name ".bias", D(n), 0, 0.05, source ".bias")
#define LINEAR(field, name, out, in, gain)                                                                             \
    VACT_MATRIX(F32, M(field.w), name ".weight", D(out), D(in), gain, POLICY name ".weight"),                          \
    BIAS(field, name, out, POLICY name)
static const vact_row model_rows[] = {
    VACT_MATRIX(BF16, M(token_embd), "token_embd.weight", D(vocab), D(hidden), 1.7, TEXT "embed_tokens.weight"),
    { "vlm.output_norm.weight", VACT_ROW_VECTOR, M(vlm_norm), { D(hidden) }, VACT_MADE(BF16, 0, 0.1),
      TEXT "norm.weight", true },
    VACT_NORM_PLUS_1(BF16, M(aex_norm), "aex.output_norm.weight", D(expert), EXPERT "norm.weight"),
    LINEAR(state_proj, "state_proj", expert, max_state, 1.7),
    LINEAR(action_in, "action_in_proj", expert, max_action, 1.7),
    { "action_time_mlp_in.weight", VACT_ROW_FLOAT_MATRIX, M(time_in.w), { D(expert), D(time_in) },
      VACT_MADE_FAN(F32, 1.7), POLICY "action_time_mlp_in.weight", false },
    BIAS(time_in, "action_time_mlp_in", expert, POLICY "action_time_mlp_in"),
    LINEAR(time_out, "action_time_mlp_out", expert, expert, 1.7),
    LINEAR(action_out, "action_out_proj", max_action, expert, 1.0),
    VACT_VIT_TOWER_ROWS(M(vit), VIT, D(vit), D(patch), D(image_tokens)),
    { "mm.proj.weight", VACT_ROW_MATRIX, M(proj.w), { D(hidden), D(vit) },
      { VACT_DTYPE_BF16, 1.7, 0, true, 0, D(hidden) }, PALIGEMMA "multi_modal_projector.linear.weight", false },
    { "mm.proj.bias", VACT_ROW_VECTOR, M(proj.bias), { D(hidden) }, VACT_MADE(F32, 0, 0.05),
      PALIGEMMA "multi_modal_projector.linear.bias", true },
    VACT_VECTOR(F32, M(state_mean), "state_mean", D(state), 0, 0.2, "observation.state.mean"),
    VACT_VECTOR(F32, M(state_std), "state_std", D(state), 0.5, 0.2, "observation.state.std"),
    VACT_VECTOR(F32, M(action_mean), "action_mean", D(action), 0, 0.2, "action.mean"),
    VACT_VECTOR(F32, M(action_std), "action_std", D(action), 0.5, 0.2, "action.std"),
    { 0 },
};
#undef LINEAR
#undef BIAS
#undef M

#define DECODER(p, width, inner, from)                                                                                 \
    VACT_DECODER_NORM_ROWS(VACT_NORM_PLUS_1, p, from "layers.%d.", D(width)),                                          \
    VACT_DECODER_ROWS(p, from "layers.%d.", D(width), D(inner), D(q), 1.7),                                            \
    VACT_DECODER_KV_ROWS(p, from "layers.%d.", D(width), D(kv), 1.7)
static const vact_row vlm_rows[] = { DECODER("vlm.blk.%d.", hidden, inter, TEXT), { 0 } };
static const vact_row aex_rows[] = { DECODER("aex.blk.%d.", expert, expert_inter, EXPERT), { 0 } };
static const vact_row vit_rows[] = { VACT_VIT_ROWS(VIT, D(vit), D(vit_inter), 1.7), { 0 } };
/* clang-format on */

static const vact_table tables[] = {
    { model_rows, 0, 0, 0, NULL },
    { vlm_rows, D(layers), offsetof(struct pi0, vlm), sizeof(vact_decoder_layer), NULL },
    { aex_rows, D(layers), offsetof(struct pi0, aex), sizeof(vact_decoder_layer), NULL },
    { vit_rows, D(vit_layers), offsetof(struct pi0, vit.layers), sizeof(vact_vit_layer), NULL },
    { 0 },
};

/* clang-format off */
static const struct config tiny = {
    .paligemma = 0, .expert_variant = 1, .hidden = 32, .inter = 64, .q_heads = 4, .kv_heads = 1, .head_dim = 16,
    .layers = 3, .vocab = 512, .expert = 24, .expert_inter = 48, .chunk = 5, .action_steps = 5, .steps = 10,
    .max_state = 8, .max_action = 8, .state = 5, .action = 6, .max_tokens = 12, .vit = 48, .vit_layers = 2,
    .vit_heads = 3, .vit_inter = 64, .image = 32, .patch = 2, .image_tokens = 256, .min_period = 0.004,
    .max_period = 4.0, .rope_base = 10000, .rms_eps = 1e-6f, .norm_eps = 1e-8f, .vit_eps = 1e-6f,
};
static const struct config full = {
    .paligemma = 0, .expert_variant = 1, .hidden = 2048, .inter = 16384, .q_heads = 8, .kv_heads = 1, .head_dim = 256,
    .layers = 18, .vocab = 257152, .expert = 1024, .expert_inter = 4096, .chunk = 50, .action_steps = 50, .steps = 10,
    .max_state = 32, .max_action = 32, .state = 8, .action = 7, .max_tokens = 48, .vit = 1152, .vit_layers = 27,
    .vit_heads = 16, .vit_inter = 4304, .image = 224, .patch = 14, .image_tokens = 256, .min_period = 0.004,
    .max_period = 4.0, .rope_base = 10000, .rms_eps = 1e-6f, .norm_eps = 1e-8f, .vit_eps = 1e-6f,
};
/* clang-format on */
static const vact_preset presets[] = { { "tiny", &tiny }, { "full", &full }, { 0 } };

static void describe(const void *model, vact_model_info *info, vact_policy_statistics *statistics)
{
    const struct pi0 *m = model;
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

/* ---- stages ---- */

struct memory {
    vact_rope_table rope;
    vact_linear time_in_action; /* the columns of time_in that take the action embedding */
    vact_buf time;              /* [steps, expert]: those that take the time embedding, times it, plus bias */
    vact_kv *keys;              /* [layers]: of the prefix, the state token last */
    int32_t prefix_rows;        /* without it */
};

static void prepare(vact_run *r, const void *model, void *memory, const vact_limits *limits)
{
    const struct pi0 *m = model;
    const struct config *c = &m->c;
    struct memory *s = memory;
    const int32_t prefix = limits->views * c->image_tokens + limits->tokens + 1, steps = limits->denoise_steps;
    const float dt = (float)(-1.0 / steps);

    s->rope = vact_rope_make(r, prefix + c->chunk, c->head_dim, c->rope_base);
    s->keys = vact_host(r, (size_t)c->layers, sizeof *s->keys);
    float *emb = vact_host(r, (size_t)steps * (size_t)c->expert, sizeof *emb);
    if (!s->keys || !emb)
        return;
    for (int32_t i = 0; i < c->layers; i++)
        s->keys[i] = vact_tmp_kv(r, 1, prefix, c->kv_heads, c->head_dim);

    s->time_in_action = (vact_linear){ vact_weight_cols(m->time_in.w, 0, c->expert), NULL };
    const vact_linear time = { vact_weight_cols(m->time_in.w, c->expert, c->expert), m->time_in.bias };
    s->time = vact_tmp(r, steps, c->expert);
    const size_t mark = vact_mark(r);
    const vact_buf embedded = vact_tmp(r, steps, c->expert);
    for (int32_t i = 0; i < steps; i++)
        vact_time_embedding(emb + i * c->expert, c->expert, (double)(1 + (float)i * dt), c->min_period, c->max_period);
    vact_upload(r, embedded, emb);
    vact_site(r, .x = embedded, .out = { { s->time, &time } });
    vact_release(r, mark);
}

static void vision(vact_run *r, const void *model, void *memory, const vact_image *images, int32_t n, vact_buf out)
{
    (void)memory;
    const struct pi0 *m = model;
    const struct config *c = &m->c;
    const size_t start = vact_mark(r);
    const vact_buf x = vact_tmp(r, n * c->image_tokens, c->vit);
    vact_vit_run(r, &m->vit, x, images, n, &(vact_vit_config){ c->vit_layers, c->vit_heads, c->patch, c->vit_eps });
    vact_site(r, .x = x, .out = { { out, &m->proj } });
    vact_copy(r, out, out, c->image_scale > 0 ? c->image_scale : 1 / sqrtf((float)c->hidden));
    vact_emit(r, out, "vision.out");
    vact_release(r, start);
}

/* A layer of either decoder on rows x at positions first .. : they see `seen` keys of the prefix's cache, and with `own`
 * themselves; without, their keys go to the cache at `first`. With only_keys that is all that happens. */
static void layer(vact_run *r, const struct config *c, const vact_decoder_layer *w, const struct memory *s, int32_t i,
                  vact_buf x, int32_t first, bool own, bool only_keys, const char *name)
{
    const vact_norm norm = VACT_RMS_NORM(w->attn_norm, c->rms_eps);
    const vact_rope_table rope = vact_rope_rows(s->rope, first, x.rows);
    const size_t mark = vact_mark(r);
    const vact_buf q = vact_tmp(r, x.rows, c->q), k = vact_tmp(r, x.rows, c->kv), v = vact_tmp(r, x.rows, c->kv);
    if (only_keys)
        vact_site(r, .x = x, .norm = norm, .out = { { k, &w->k }, { v, &w->v } });
    else
        vact_site(r, .x = x, .norm = norm, .out = { { q, &w->q }, { k, &w->k }, { v, &w->v } });
    vact_rope(r, k, rope);
    const vact_kv kv = own ? vact_tmp_kv(r, 1, x.rows, c->kv_heads, c->head_dim) : s->keys[i];
    vact_kv_write(r, kv, own ? 0 : first, k, v);
    if (name) {
        vact_emit(r, k, "%s.%d.k", name, i);
        vact_emit(r, v, "%s.%d.v", name, i);
    }
    if (!only_keys) {
        const int32_t seen = first + (own ? 0 : x.rows);
        vact_rope(r, q, rope);
        vact_attention(r, .y = q, .q = q, .heads = c->q_heads, .scale = 1.0f / sqrtf((float)c->head_dim),
                       .segments = { { s->keys[i], seen }, { kv, own ? x.rows : 0 } });
        vact_site(r, .x = q, .out = { { x, &w->o } }, .add = true);
        vact_gated_mlp(r, w, x, VACT_ACT_GELU_TANH, c->rms_eps);
    }
    vact_release(r, mark);
}

static void prefix(vact_run *r, const void *model, void *memory, const vact_prefix_input *input)
{
    const struct pi0 *m = model;
    const struct config *c = &m->c;
    struct memory *s = memory;
    const int32_t images = input->images.rows, tokens = input->n_tokens, rows = images + tokens;
    s->prefix_rows = rows;
    const size_t mark = vact_mark(r);
    const vact_buf x = vact_tmp(r, rows, c->hidden), proprioception = vact_tmp(r, 1, c->max_state);
    const vact_buf state = vact_tmp(r, 1, c->expert);
    vact_copy(r, vact_rows(x, 0, images), input->images, 1);
    vact_embed(r, vact_rows(x, images, tokens), &m->token_embd, input->tokens, sqrtf((float)c->hidden));
    vact_emit(r, x, "prefix.in");
    for (int32_t i = 0; i < c->layers; i++) {
        layer(r, c, &m->vlm[i], s, i, x, 0, false, i == c->layers - 1, "prefix");
        if (i < c->layers - 1)
            vact_emit(r, x, "prefix.%d.out", i);
    }
    vact_upload(r, proprioception, input->state);
    vact_site(r, .x = proprioception, .out = { { state, &m->state_proj } });
    vact_emit(r, state, "state.in");
    for (int32_t i = 0; i < c->layers; i++) {
        layer(r, c, &m->aex[i], s, i, state, rows, false, i == c->layers - 1, NULL);
        if (i < c->layers - 1)
            vact_emit(r, state, "state.%d.out", i);
    }
    vact_release(r, mark);
}

static void step(vact_run *r, const void *model, void *memory, vact_buf x, int32_t i, vact_buf velocity)
{
    const struct pi0 *m = model;
    const struct config *c = &m->c;
    const struct memory *s = memory;
    const size_t mark = vact_mark(r);
    const vact_buf a = vact_tmp(r, c->chunk, c->expert), u = vact_tmp(r, c->chunk, c->expert);
    vact_site(r, .x = x, .out = { { a, &m->action_in } });
    vact_site(r, .x = a, .out = { { u, &s->time_in_action } }, .bias_row = vact_rows(s->time, i, 1),
              .act = VACT_ACT_SILU);
    vact_site(r, .x = u, .out = { { a, &m->time_out } });
    vact_emit(r, a, "step.%d.in", i);
    for (int32_t l = 0; l < c->layers; l++) {
        layer(r, c, &m->aex[l], s, l, a, s->prefix_rows + 1, true, false, NULL);
        vact_emit(r, a, "step.%d.expert.%d.out", i, l);
    }
    vact_site(r, .x = a, .norm = VACT_RMS_NORM(m->aex_norm, c->rms_eps), .out = { { velocity, &m->action_out } });
    vact_release(r, mark);
}

const vact_arch vact_arch_pi0 = {
    .schema = { "pi0", sizeof(struct config), sizeof(struct pi0), keys, tables, presets, expectations, infer, derive },
    .memory_bytes = sizeof(struct memory),
    .describe = describe,
    .prompt = vact_prompt_line, /* the tokenizer puts the beginning before it */
    .fit = vact_fit_pad_left_top,
    .prepare = prepare,
    .vision = vision,
    .prefix = prefix,
    .step = step,
};
