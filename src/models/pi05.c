/* pi0.5
 *
 *   images, tokens -> prefix, as pi0's; the state is in the prompt, as text
 *   time -> MLP -> cond [1024] -> 2 x 18 + 1 linear maps -> scale, shift and gate of every norm of the expert
 *   noise [50, 32] -> linear -> steps x expert x 18 (prefix and own tokens) -> velocity
 *
 * Easy to get wrong:
 * - scale enters as 1 + scale, and there is no other weight; the gate multiplies what a branch adds;
 * - SiLU follows both layers of the time's MLP;
 * - image tokens are as projected: no division by sqrt(2048);
 * - nothing is masked at all.
 * All scales, shifts and gates depend on the step alone: `prepare` makes the table of them. */
#include "blocks/time.h"
#include "models/pi.h"
#include "models/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct config {
    vact_pi_config pi; /* first: shared tables hold for it */
    int32_t adarms, cond, norm_mode;
    int32_t thirds; /* derived: scale, shift and gate */
};

/* A map from the time to a norm's scale, shift and gate. */
struct layer {
    vact_decoder_layer decoder; /* its norms are unused */
    vact_linear attn_norm, ffn_norm;
};

struct pi05 {
    struct config c;
    vact_pi pi;
    struct layer *aex;
    vact_linear out_norm, time_in, time_out;
    const float *state_mean, *state_std, *state_q01, *state_q99;
    const float *action_mean, *action_std, *action_q01, *action_q99;
};

/* ---- file ---- */

/* clang-format off: a table is read as one */
static const vact_key keys[] = {
    VACT_PI_KEYS,
    { "use_adarms_expert", VACT_GGUF_BOOL, offsetof(struct config, adarms), false, 1, 1, 1, NULL, false, NULL },
    VACT_KEY_OR("adarms_cond_dim", offsetof(struct config, cond), 0, 0, 65536, NULL),
    { "norm_mode", VACT_GGUF_STRING, offsetof(struct config, norm_mode), false, 1, 0, 1, NULL, false,
      "quantiles|mean_std" },
    { 0 },
};
enum { QUANTILES };        /* of norm_mode */
enum { MOST_STATE = 128 }; /* values that a prompt holds */

#define D(field) VACT_PI_D(field)
#define THIRDS   VACT_DIM(struct config, thirds)
#define M(field) offsetof(struct pi05, field)
#define ADAPTIVE(at, name, source)                                                                                     \
    VACT_MATRIX(BF16, at + offsetof(vact_linear, w), name ".weight", THIRDS, D(expert), 1.0, source ".weight"),        \
        VACT_VECTOR(BF16, at + offsetof(vact_linear, bias), name ".bias", THIRDS, 0.3, 0.3, source ".bias")
#define STATISTIC(field, name, n, offset, source) VACT_VECTOR(F32, M(field), name, D(n), offset, 0.2, source)
static const vact_row model_rows[] = {
    VACT_PI_ROWS(M(pi), 0),
    ADAPTIVE(M(out_norm), "aex.output_norm", VACT_PI_EXPERT "norm.dense"),
    VACT_PI_LINEAR(M(time_in), "time_mlp_in", D(expert), D(expert), 1.7),
    VACT_PI_LINEAR(M(time_out), "time_mlp_out", D(expert), D(expert), 1.7),
    STATISTIC(state_mean, "state_mean", state, 0, "observation.state.mean"),
    STATISTIC(state_std, "state_std", state, 0.5, "observation.state.std"),
    STATISTIC(state_q01, "state_q01", state, -1, "observation.state.q01"),
    STATISTIC(state_q99, "state_q99", state, 1.2, "observation.state.q99"),
    STATISTIC(action_mean, "action_mean", action, 0, "action.mean"),
    STATISTIC(action_std, "action_std", action, 0.5, "action.std"),
    STATISTIC(action_q01, "action_q01", action, -1, "action.q01"),
    STATISTIC(action_q99, "action_q99", action, 1.2, "action.q99"),
    { 0 },
};
#define EXPERT_LAYER VACT_PI_EXPERT "layers.%d."
static const vact_row aex_rows[] = {
    VACT_PI_DECODER_ROWS("aex.blk.%d.", expert, expert_inter, VACT_PI_EXPERT),
    ADAPTIVE(offsetof(struct layer, attn_norm), "aex.blk.%d.attn_norm", EXPERT_LAYER "input_layernorm.dense"),
    ADAPTIVE(offsetof(struct layer, ffn_norm), "aex.blk.%d.ffn_norm", EXPERT_LAYER "post_attention_layernorm.dense"),
    { 0 },
};
/* clang-format on */
_Static_assert(offsetof(struct layer, decoder) == 0, "the decoder's rows hold for a layer");

static const vact_table tables[] = {
    { model_rows, 0, 0, 0, NULL },
    { vact_pi_vlm_rows, D(layers), M(pi.vlm), sizeof(vact_decoder_layer), NULL },
    { aex_rows, D(layers), M(aex), sizeof(struct layer), NULL },
    { vact_pi_vit_rows, D(vit_layers), M(pi.vit.layers), sizeof(vact_vit_layer), NULL },
    { 0 },
};

static const struct config tiny = { .pi = VACT_PI_TINY(24), .adarms = 1, .cond = 24 };
static const struct config full = { .pi = VACT_PI_FULL(200), .adarms = 1, .cond = 1024 };
static const vact_preset presets[] = { { "tiny", &tiny }, { "full", &full }, { 0 } };

static const char *derive(void *config, char *text, size_t size)
{
    struct config *c = config;
    c->thirds = 3 * c->pi.expert;
    if (c->pi.state > MOST_STATE) {
        snprintf(text, size, "pi05.real_state_dim is %d, expected at most %d, what a prompt holds", c->pi.state,
                 MOST_STATE);
        return text;
    }
    return vact_pi_derive(&c->pi, "pi05", text, size);
}

static void describe(const void *model, vact_model_info *info, vact_policy_statistics *statistics)
{
    const struct pi05 *m = model;
    const vact_pi_config *c = &m->c.pi;
    vact_pi_describe(c, info);
    statistics->state = (vact_statistics){ m->state_mean, m->state_std, c->state, c->norm_eps, false };
    statistics->action = (vact_statistics){ m->action_mean, m->action_std, c->action, c->norm_eps, false };
    if (m->c.norm_mode == QUANTILES) {
        statistics->state = (vact_statistics){ m->state_q01, m->state_q99, c->state, 0, true };
        statistics->action = (vact_statistics){ m->action_q01, m->action_q99, c->action, 0, true };
    }
}

/* ---- observation ---- */

enum { BINS = 256 };

/* The place of a normalised value among BINS equal parts of -1..1; -1 below them. */
static int bin(float x)
{
    const double place = floor(((double)x + 1) * (BINS / 2));
    return place < 0 ? -1 : place > BINS - 1 ? BINS - 1 : (int)place;
}

/* "Task: pick up the bowl, State: 127 3 -1 255;\nAction: ". Of the text, blanks at the ends go, and underscores and line
 * feeds become blanks. */
static int prompt(char *out, size_t size, const vact_prompt *p)
{
    const char *from = p->text + strspn(p->text, " \t\r\n\f\v");
    size_t length = strlen(from);
    while (length > 0 && strchr(" \t\r\n\f\v", from[length - 1]))
        length--;
    int n = snprintf(out, size, "Task: ");
    for (size_t i = 0; i < length && (size_t)n + 1 < size; i++)
        out[n++] = (char)(from[i] == '_' || from[i] == '\n' ? ' ' : from[i]);
    n += snprintf(out + n, size - (size_t)n, ", State:");
    for (int32_t i = 0; i < p->n_state; i++)
        n += snprintf(out + n, size - (size_t)n, " %d", bin(p->state[i]));
    return n + snprintf(out + n, size - (size_t)n, ";\nAction: ");
}

/* ---- stages ---- */

/* Of every step: [steps, 3 expert], 1 + scale, shift, gate. */
struct modulation {
    vact_buf attn, ffn;
};

struct memory {
    vact_pi_memory pi;
    struct modulation *layers;
    vact_buf out;
};

/* The 1 of 1 + scale goes into the bias. */
static vact_buf modulate(vact_run *r, const vact_pi_config *c, const vact_linear *map, vact_buf cond)
{
    const vact_buf y = vact_tmp(r, cond.rows, 3 * c->expert);
    float *bias = vact_host(r, (size_t)y.cols, sizeof *bias);
    if (!bias)
        return y;
    for (int32_t i = 0; i < y.cols; i++)
        bias[i] = map->bias[i] + (i < c->expert ? 1.0f : 0.0f);
    vact_site(r, .x = cond, .out = { { y, &(vact_linear){ map->w, bias } } });
    return y;
}

static void prepare(vact_run *r, const void *model, void *memory, const vact_limits *limits)
{
    const struct pi05 *m = model;
    const vact_pi_config *c = &m->c.pi;
    struct memory *s = memory;
    const int32_t steps = limits->denoise_steps;
    float *emb = vact_host(r, (size_t)steps * (size_t)c->expert, sizeof *emb);
    s->layers = vact_host(r, (size_t)c->layers, sizeof *s->layers);
    if (!emb || !s->layers || !vact_pi_prepare(r, c, &s->pi, limits, 0))
        return;
    const vact_buf embedded = vact_tmp(r, steps, c->expert), hidden = vact_tmp(r, steps, c->expert);
    const vact_buf cond = vact_tmp(r, steps, c->expert);
    for (int32_t i = 0; i < steps; i++)
        vact_time_embedding(emb + i * c->expert, c->expert, vact_pi_time(i, steps), c->min_period, c->max_period);
    vact_upload(r, embedded, emb);
    vact_site(r, .x = embedded, .out = { { hidden, &m->time_in } }, .act = VACT_ACT_SILU);
    vact_site(r, .x = hidden, .out = { { cond, &m->time_out } }, .act = VACT_ACT_SILU);
    for (int32_t i = 0; i < c->layers; i++)
        s->layers[i] = (struct modulation){ modulate(r, c, &m->aex[i].attn_norm, cond),
                                            modulate(r, c, &m->aex[i].ffn_norm, cond) };
    s->out = modulate(r, c, &m->out_norm, cond);
}

static void vision(vact_run *r, const void *model, void *memory, const vact_image *images, int32_t n, vact_buf out)
{
    (void)memory;
    const struct pi05 *m = model;
    vact_pi_vision(r, &m->pi, &m->c.pi, images, n, 1, out);
}

static void prefix(vact_run *r, const void *model, void *memory, const vact_prefix_input *input)
{
    const struct pi05 *m = model;
    vact_pi_prefix(r, &m->pi, &m->c.pi, &((struct memory *)memory)->pi, input);
}

/* A third of a step's modulation. */
static vact_buf third(vact_buf modulation, int32_t step, int32_t which)
{
    const int32_t width = modulation.cols / 3;
    return vact_cols(vact_rows(modulation, step, 1), which * width, width);
}

static vact_norm norm(const vact_pi_config *c, vact_buf modulation, int32_t step)
{
    return VACT_ADA_RMS_NORM(third(modulation, step, 0), third(modulation, step, 1), c->rms_eps);
}

static void step(vact_run *r, const void *model, void *memory, vact_buf x, int32_t i, vact_buf velocity)
{
    const struct pi05 *m = model;
    const vact_pi_config *c = &m->c.pi;
    const struct memory *s = memory;
    const size_t mark = vact_mark(r);
    const vact_buf h = vact_tmp(r, c->chunk, c->expert);
    vact_site(r, .x = x, .out = { { h, &m->pi.action_in } });
    vact_emit(r, h, "step.%d.in", i);
    for (int32_t l = 0; l < c->layers; l++) {
        const struct modulation *table = &s->layers[l];
        vact_decoder_args a = vact_pi_decoder(c, &s->pi, l, h.rows);
        a.attn_norm = norm(c, table->attn, i);
        a.ffn_norm = norm(c, table->ffn, i);
        a.attn_multiplier = third(table->attn, i, 2);
        a.ffn_multiplier = third(table->ffn, i, 2);
        a.apart = true;
        vact_decoder_run(r, &m->aex[l].decoder, h, &a);
        vact_emit(r, h, "step.%d.expert.%d.out", i, l);
    }
    vact_site(r, .x = h, .norm = norm(c, s->out, i), .out = { { velocity, &m->pi.action_out } });
    vact_release(r, mark);
}

const vact_arch vact_arch_pi05 = {
    .schema = { "pi05", sizeof(struct config), sizeof(struct pi05), keys, tables, presets, NULL, NULL, derive },
    .memory_bytes = sizeof(struct memory),
    .describe = describe,
    .prompt = prompt,
    .fit = vact_fit_pad_left_top,
    .prepare = prepare,
    .vision = vision,
    .prefix = prefix,
    .step = step,
};
