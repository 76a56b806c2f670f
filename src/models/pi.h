/* What pi0 and pi0.5 share: sizes and keys, and PaliGemma, which makes the prefix: SigLIP, a projection, Gemma. */
#ifndef VACT_MODELS_PI_H
#define VACT_MODELS_PI_H

#include "blocks/decoder.h"
#include "blocks/vit.h"
#include "models/arch.h"

typedef struct vact_pi_config {
    int32_t paligemma, expert_variant, hidden, inter, q_heads, kv_heads, head_dim, layers, vocab;
    int32_t expert, expert_inter, chunk, action_steps, steps, max_state, max_action, state, action, max_tokens;
    int32_t vit, vit_layers, vit_heads, vit_inter, image, patch, image_tokens;
    double min_period, max_period, rope_base;
    float rms_eps, norm_eps, vit_eps;
    /* derived */
    int32_t q, kv;
} vact_pi_config;

typedef struct vact_pi {
    vact_weight token_embd;
    const float *vlm_norm; /* in published files, never used */
    vact_decoder_layer *vlm;
    vact_vit vit;
    vact_linear proj;
    vact_linear action_in, action_out;
} vact_pi;

/* What a session remembers. */
typedef struct vact_pi_memory {
    vact_rope_table rope;
    vact_kv *keys;       /* [layers]: what the expert's layers see of the prefix */
    int32_t prefix_rows; /* keys in use */
} vact_pi_memory;

/* clang-format off */
#define VACT_PI_F(field) offsetof(vact_pi_config, field)
#define VACT_PI_D(field) VACT_DIM(vact_pi_config, field)
#define VACT_PI_VARIANTS "gemma_2b|gemma_300m"
/* A config that begins with a vact_pi_config. */
#define VACT_PI_KEYS                                                                                                   \
    { "paligemma_variant", VACT_GGUF_STRING, VACT_PI_F(paligemma), false, 0, 0, 1, "paligemma_variant", false,         \
      VACT_PI_VARIANTS },                                                                                              \
    { "action_expert_variant", VACT_GGUF_STRING, VACT_PI_F(expert_variant), false, 1, 0, 1,                            \
      "action_expert_variant", false,                                                                                  \
      VACT_PI_VARIANTS },                                                                                              \
    VACT_KEY("hidden", VACT_PI_F(hidden), 1, 65536, NULL),                                                             \
    VACT_KEY("intermediate", VACT_PI_F(inter), 1, 262144, NULL),                                                       \
    VACT_KEY("n_q_heads", VACT_PI_F(q_heads), 1, 1024, NULL),                                                          \
    VACT_KEY("n_kv_heads", VACT_PI_F(kv_heads), 1, 1024, NULL),                                                        \
    VACT_KEY("head_dim", VACT_PI_F(head_dim), 2, 1024, NULL),                                                          \
    VACT_KEY("n_layers", VACT_PI_F(layers), 1, 1024, NULL),                                                            \
    VACT_KEY_OR("vocab_size", VACT_PI_F(vocab), 0, 0, 4194304, NULL),                                                  \
    VACT_KEY("expert_h", VACT_PI_F(expert), 2, 65536, NULL),                                                           \
    VACT_KEY("expert_inter", VACT_PI_F(expert_inter), 1, 262144, NULL),                                                \
    VACT_KEY("chunk_size", VACT_PI_F(chunk), 1, 1024, "chunk_size"),                                                   \
    VACT_KEY_OR("n_action_steps", VACT_PI_F(action_steps), 0, 0, 1024, "n_action_steps"),                              \
    VACT_KEY("num_steps", VACT_PI_F(steps), 1, 1000, "num_inference_steps"),                                           \
    VACT_KEY("max_state_dim", VACT_PI_F(max_state), 1, 4096, "max_state_dim"),                                         \
    VACT_KEY("max_action_dim", VACT_PI_F(max_action), 1, 4096, "max_action_dim"),                                      \
    VACT_KEY("real_state_dim", VACT_PI_F(state), 1, 4096, "input_features/observation.state/shape/0"),                 \
    VACT_KEY("real_action_dim", VACT_PI_F(action), 1, 4096, "output_features/action/shape/0"),                         \
    VACT_KEY("tokenizer_max_length", VACT_PI_F(max_tokens), 1, 4096, "tokenizer_max_length"),                          \
    { "min_period", VACT_GGUF_F64, VACT_PI_F(min_period), true, 0, 1e-9, 1e9, "min_period", false, NULL },             \
    { "max_period", VACT_GGUF_F64, VACT_PI_F(max_period), true, 0, 1e-9, 1e9, "max_period", false, NULL },             \
    { "rope_theta", VACT_GGUF_F64, VACT_PI_F(rope_base), false, 10000, 1, 1e9, NULL, false, NULL },                    \
    { "rms_norm_eps", VACT_GGUF_F32, VACT_PI_F(rms_eps), false, 1e-6, 0, 1, NULL, false, NULL },                       \
    { "norm_eps", VACT_GGUF_F32, VACT_PI_F(norm_eps), false, 1e-8, 0, 1, "processors/eps", false, NULL },              \
    VACT_KEY_OR("vit_hidden", VACT_PI_F(vit), 1152, 1, 65536, NULL),                                                   \
    VACT_KEY_OR("vit_layers", VACT_PI_F(vit_layers), 27, 1, 1024, NULL),                                               \
    VACT_KEY_OR("vit_heads", VACT_PI_F(vit_heads), 16, 1, 1024, NULL),                                                 \
    VACT_KEY_OR("image_size", VACT_PI_F(image), 224, 1, 4096, "image_resolution/0"),                                   \
    VACT_KEY_OR("patch_size", VACT_PI_F(patch), 14, 1, 512, NULL),                                                     \
    VACT_KEY_OR("n_img_tokens", VACT_PI_F(image_tokens), 256, 1, 65536, NULL),                                         \
    { "vit_ln_eps", VACT_GGUF_F32, VACT_PI_F(vit_eps), false, 1e-6, 0, 1, NULL, false, NULL }

/* The original's names. */
#define VACT_PI_POLICY "model."
#define VACT_PI_PALIGEMMA VACT_PI_POLICY "paligemma_with_expert.paligemma.model."
#define VACT_PI_VIT VACT_PI_PALIGEMMA "vision_tower.vision_model."
#define VACT_PI_TEXT VACT_PI_PALIGEMMA "language_model."
#define VACT_PI_EXPERT VACT_PI_POLICY "paligemma_with_expert.gemma_expert.model."

/* The rows of a vact_pi at `at`; `proj_times` is what the projection is made up with beside its fan-in. */
#define VACT_PI_ROWS(at, proj_times)                                                                                   \
    VACT_MATRIX(BF16, at + offsetof(vact_pi, token_embd), "token_embd.weight", VACT_PI_D(vocab),                       \
        VACT_PI_D(hidden), 1.7,                                                                                        \
                VACT_PI_TEXT "embed_tokens.weight"),                                                                   \
    { "vlm.output_norm.weight", VACT_ROW_VECTOR, at + offsetof(vact_pi, vlm_norm), { VACT_PI_D(hidden) },              \
      VACT_MADE(BF16, 0, 0.1), VACT_PI_TEXT "norm.weight", true },                                                     \
    VACT_VIT_TOWER_ROWS(at + offsetof(vact_pi, vit), VACT_PI_VIT, VACT_PI_D(vit), VACT_PI_D(patch),                    \
                        VACT_PI_D(image_tokens)),                                                                      \
    { "mm.proj.weight", VACT_ROW_MATRIX, at + offsetof(vact_pi, proj.w), { VACT_PI_D(hidden), VACT_PI_D(vit) },        \
      { VACT_DTYPE_BF16, 1.7, 0, true, 0, proj_times },                                                                \
        VACT_PI_PALIGEMMA "multi_modal_projector.linear.weight", false },                                              \
    { "mm.proj.bias", VACT_ROW_VECTOR, at + offsetof(vact_pi, proj.bias), { VACT_PI_D(hidden) }, VACT_MADE(F32,        \
      0, 0.05),                                                                                                        \
      VACT_PI_PALIGEMMA "multi_modal_projector.linear.bias", true },                                                   \
    VACT_PI_LINEAR(at + offsetof(vact_pi, action_in), "action_in_proj", VACT_PI_D(expert),                             \
        VACT_PI_D(max_action), 1.7),                                                                                   \
    VACT_PI_LINEAR(at + offsetof(vact_pi, action_out), "action_out_proj", VACT_PI_D(max_action), VACT_PI_D(expert), 1.0)
#define VACT_PI_LINEAR(at, name, out, in, gain)                                                                        \
    VACT_MATRIX(F32, at + offsetof(vact_linear, w), name ".weight", out, in, gain, VACT_PI_POLICY name ".weight"),     \
    VACT_VECTOR(F32, at + offsetof(vact_linear, bias), name ".bias", out, 0, 0.05, VACT_PI_POLICY name ".bias")
/* Matrices of a layer of either decoder. */
#define VACT_PI_DECODER_ROWS(p, width, inner, from)                                                                    \
    VACT_DECODER_ROWS(p, from "layers.%d.", VACT_PI_D(width), VACT_PI_D(inner), VACT_PI_D(q), 1.7),                    \
    VACT_DECODER_KV_ROWS(p, from "layers.%d.", VACT_PI_D(width), VACT_PI_D(kv), 1.7)
/* Sizes, by how many tokens a prompt may have. */
#define VACT_PI_TINY(tokens)                                                                                           \
    {                                                                                                                  \
        .paligemma = 0, .expert_variant = 1, .hidden = 32, .inter = 64, .q_heads = 4, .kv_heads = 1, .head_dim = 16,   \
        .layers = 3, .vocab = 512, .expert = 24, .expert_inter = 48, .chunk = 5, .action_steps = 5, .steps = 10,       \
        .max_state = 8, .max_action = 8, .state = 5, .action = 6, .max_tokens = tokens, .vit = 48, .vit_layers = 2,    \
        .vit_heads = 3, .vit_inter = 64, .image = 32, .patch = 2, .image_tokens = 256, .min_period = 0.004,            \
        .max_period = 4.0, .rope_base = 10000, .rms_eps = 1e-6f, .norm_eps = 1e-8f, .vit_eps = 1e-6f,                  \
    }
#define VACT_PI_FULL(tokens)                                                                                           \
    {                                                                                                                  \
        .paligemma = 0, .expert_variant = 1, .hidden = 2048, .inter = 16384, .q_heads = 8, .kv_heads = 1,              \
        .head_dim = 256,                                                                                               \
        .layers = 18, .vocab = 257152, .expert = 1024, .expert_inter = 4096, .chunk = 50, .action_steps = 50,          \
        .steps = 10,                                                                                                   \
        .max_state = 32, .max_action = 32, .state = 8, .action = 7, .max_tokens = tokens, .vit = 1152,                 \
        .vit_layers = 27,                                                                                              \
        .vit_heads = 16, .vit_inter = 4304, .image = 224, .patch = 14, .image_tokens = 256, .min_period = 0.004,       \
        .max_period = 4.0, .rope_base = 10000, .rms_eps = 1e-6f, .norm_eps = 1e-8f, .vit_eps = 1e-6f,                  \
    }
/* clang-format on */

/* Layers of the language model and of the tower. */
extern const vact_row vact_pi_vlm_rows[], vact_pi_vit_rows[];

/* As a schema's. */
const char *vact_pi_derive(vact_pi_config *c, const char *arch, char *text, size_t size);
void vact_pi_describe(const vact_pi_config *c, vact_model_info *info);

/* Tables and caches; `more` keys are kept in the caches beside the prefix's. False after a failure. */
bool vact_pi_prepare(vact_run *r, const vact_pi_config *c, vact_pi_memory *s, const vact_limits *limits, int32_t more);

/* The time of denoise step i as both count it: in float32, product and sum rounded. */
double vact_pi_time(int32_t i, int32_t steps);

/* out [n * image_tokens, hidden] = scale * the projected views. */
void vact_pi_vision(vact_run *r, const vact_pi *w, const vact_pi_config *c, const vact_image *images, int32_t n,
                    float scale, vact_buf out);

/* Images and tokens through the language model into the caches. */
void vact_pi_prefix(vact_run *r, const vact_pi *w, const vact_pi_config *c, vact_pi_memory *s,
                    const vact_prefix_input *input);

/* What a layer of either decoder is run with: on rows x behind the keys that are cached. Norms are to be set. */
vact_decoder_args vact_pi_decoder(const vact_pi_config *c, const vact_pi_memory *s, int32_t layer, int32_t rows);

#endif
