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
#include "blocks/prompt.h"
#include "blocks/time.h"
#include "models/pi.h"
#include "models/registry.h"

#include <math.h>

struct config {
    vact_pi_config pi; /* first: shared tables hold for it */
    float image_scale; /* 0: 1 / sqrt(hidden) */
    int32_t time_in;   /* derived */
};

struct pi0 {
    struct config c;
    vact_pi pi;
    vact_decoder_layer *aex;
    const float *aex_norm;
    vact_linear state_proj, time_in, time_out;
    const float *state_mean, *state_std, *action_mean, *action_std;
};

/* ---- file ---- */

/* clang-format off: a table is read as one */
static const vact_key keys[] = {
    VACT_PI_KEYS,
    { "image_scale", VACT_GGUF_F32, offsetof(struct config, image_scale), false, 0, 0, 1e3, NULL, true, NULL },
    { 0 },
};

#define D(field) VACT_PI_D(field)
#define M(field) offsetof(struct pi0, field)
static const vact_row model_rows[] = {
    VACT_PI_ROWS(M(pi), D(hidden)),
    VACT_NORM_PLUS_1(BF16, M(aex_norm), "aex.output_norm.weight", D(expert), VACT_PI_EXPERT "norm.weight"),
    VACT_PI_LINEAR(M(state_proj), "state_proj", D(expert), D(max_state), 1.7),
    { "action_time_mlp_in.weight",
      VACT_ROW_FLOAT_MATRIX,
      M(time_in.w),
      { D(expert), VACT_DIM(struct config, time_in) },
      VACT_MADE_FAN(F32, 1.7),
      VACT_PI_POLICY "action_time_mlp_in.weight",
      false },
    VACT_VECTOR(F32, M(time_in.bias), "action_time_mlp_in.bias", D(expert), 0, 0.05,
                VACT_PI_POLICY "action_time_mlp_in.bias"),
    VACT_PI_LINEAR(M(time_out), "action_time_mlp_out", D(expert), D(expert), 1.7),
    VACT_VECTOR(F32, M(state_mean), "state_mean", D(state), 0, 0.2, "observation.state.mean"),
    VACT_VECTOR(F32, M(state_std), "state_std", D(state), 0.5, 0.2, "observation.state.std"),
    VACT_VECTOR(F32, M(action_mean), "action_mean", D(action), 0, 0.2, "action.mean"),
    VACT_VECTOR(F32, M(action_std), "action_std", D(action), 0.5, 0.2, "action.std"),
    { 0 },
};
static const vact_row aex_rows[] = {
    VACT_DECODER_NORM_ROWS(VACT_NORM_PLUS_1, "aex.blk.%d.", VACT_PI_EXPERT "layers.%d.", D(expert)),
    VACT_PI_DECODER_ROWS("aex.blk.%d.", expert, expert_inter, VACT_PI_EXPERT),
    { 0 },
};
/* clang-format on */

static const vact_table tables[] = {
    { model_rows, 0, 0, 0, NULL },
    { vact_pi_vlm_rows, D(layers), M(pi.vlm), sizeof(vact_decoder_layer), NULL },
    { aex_rows, D(layers), M(aex), sizeof(vact_decoder_layer), NULL },
    { vact_pi_vit_rows, D(vit_layers), M(pi.vit.layers), sizeof(vact_vit_layer), NULL },
    { 0 },
};

static const struct config tiny = { .pi = VACT_PI_TINY(12) }, full = { .pi = VACT_PI_FULL(48) };
static const vact_preset presets[] = { { "tiny", &tiny }, { "full", &full }, { 0 } };

static const char *derive(void *config, char *text, size_t size)
{
    struct config *c = config;
    c->time_in = 2 * c->pi.expert;
    return vact_pi_derive(&c->pi, "pi0", text, size);
}

static void describe(const void *model, vact_model_info *info, vact_policy_statistics *statistics)
{
    const struct pi0 *m = model;
    const vact_pi_config *c = &m->c.pi;
    vact_pi_describe(c, info);
    statistics->state = (vact_statistics){ m->state_mean, m->state_std, c->state, c->norm_eps, false };
    statistics->action = (vact_statistics){ m->action_mean, m->action_std, c->action, c->norm_eps, false };
}

/* ---- stages ---- */

struct memory {
    vact_pi_memory pi;
    vact_linear time_in_action; /* the columns of time_in that take the action embedding */
    vact_buf time;              /* [steps, expert]: those that take the time embedding, times it, plus bias */
};

static void prepare(vact_run *r, const void *model, void *memory, const vact_limits *limits)
{
    const struct pi0 *m = model;
    const vact_pi_config *c = &m->c.pi;
    struct memory *s = memory;
    const int32_t steps = limits->denoise_steps;
    float *emb = vact_host(r, (size_t)steps * (size_t)c->expert, sizeof *emb);
    if (!emb || !vact_pi_prepare(r, c, &s->pi, limits, 1))
        return;
    s->time_in_action = (vact_linear){ vact_weight_cols(m->time_in.w, 0, c->expert), NULL };
    const vact_linear time = { vact_weight_cols(m->time_in.w, c->expert, c->expert), m->time_in.bias };
    s->time = vact_tmp(r, steps, c->expert);
    const size_t mark = vact_mark(r);
    const vact_buf embedded = vact_tmp(r, steps, c->expert);
    for (int32_t i = 0; i < steps; i++)
        vact_time_embedding(emb + i * c->expert, c->expert, vact_pi_time(i, steps), c->min_period, c->max_period);
    vact_upload(r, embedded, emb);
    vact_site(r, .x = embedded, .out = { { s->time, &time } });
    vact_release(r, mark);
}

static void vision(vact_run *r, const void *model, void *memory, const vact_image *images, int32_t n, vact_buf out)
{
    (void)memory;
    const struct pi0 *m = model;
    const float scale = m->c.image_scale > 0 ? m->c.image_scale : 1 / sqrtf((float)m->c.pi.hidden);
    vact_pi_vision(r, &m->pi, &m->c.pi, images, n, scale, out);
}

/* Layer i of the expert on rows x; `apart`: action tokens. */
static void expert(vact_run *r, const struct pi0 *m, const struct memory *s, int32_t i, vact_buf x, bool apart)
{
    const vact_pi_config *c = &m->c.pi;
    vact_decoder_args a = vact_pi_decoder(c, &s->pi, i, x.rows);
    a.attn_norm = VACT_RMS_NORM(m->aex[i].attn_norm, c->rms_eps);
    a.ffn_norm = VACT_RMS_NORM(m->aex[i].ffn_norm, c->rms_eps);
    a.apart = apart;
    a.keys_only = !apart && i == c->layers - 1;
    vact_decoder_run(r, &m->aex[i], x, &a);
}

static void prefix(vact_run *r, const void *model, void *memory, const vact_prefix_input *input)
{
    const struct pi0 *m = model;
    const vact_pi_config *c = &m->c.pi;
    struct memory *s = memory;
    vact_pi_prefix(r, &m->pi, c, &s->pi, input);

    const size_t mark = vact_mark(r);
    const vact_buf state = vact_tmp(r, 1, c->expert), proprioception = vact_tmp(r, 1, c->max_state);
    vact_upload(r, proprioception, input->state);
    vact_site(r, .x = proprioception, .out = { { state, &m->state_proj } });
    vact_emit(r, state, "state.in");
    for (int32_t i = 0; i < c->layers; i++)
        expert(r, m, s, i, state, false);
    s->pi.prefix_rows++;
    vact_release(r, mark);
}

static void step(vact_run *r, const void *model, void *memory, vact_buf x, int32_t i, vact_buf velocity)
{
    const struct pi0 *m = model;
    const vact_pi_config *c = &m->c.pi;
    const struct memory *s = memory;
    const size_t mark = vact_mark(r);
    const vact_buf a = vact_tmp(r, c->chunk, c->expert), u = vact_tmp(r, c->chunk, c->expert);
    vact_site(r, .x = x, .out = { { a, &m->pi.action_in } });
    vact_site(r, .x = a, .out = { { u, &s->time_in_action } }, .bias_row = vact_rows(s->time, i, 1),
              .act = VACT_ACT_SILU);
    vact_site(r, .x = u, .out = { { a, &m->time_out } });
    vact_emit(r, a, "step.%d.in", i);
    for (int32_t l = 0; l < c->layers; l++) {
        expert(r, m, s, l, a, true);
        vact_emit(r, a, "step.%d.expert.%d.out", i, l);
    }
    vact_site(r, .x = a, .norm = VACT_RMS_NORM(m->aex_norm, c->rms_eps), .out = { { velocity, &m->pi.action_out } });
    vact_release(r, mark);
}

const vact_arch vact_arch_pi0 = {
    .schema = { "pi0", sizeof(struct config), sizeof(struct pi0), keys, tables, presets, NULL, NULL, derive },
    .memory_bytes = sizeof(struct memory),
    .describe = describe,
    .prompt = vact_prompt_line, /* the tokenizer puts the beginning before it */
    .fit = vact_fit_pad_left_top,
    .prepare = prepare,
    .vision = vision,
    .prefix = prefix,
    .step = step,
};
