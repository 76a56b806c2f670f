/* What an architecture gives: a schema, and stages over the shared ops. The solver, noise, units and limits are
 * the policy's. A stage works for any device and never touches a value itself. */
#ifndef VACT_MODELS_ARCH_H
#define VACT_MODELS_ARCH_H

#include "blocks/prompt.h"
#include "image/image.h"
#include "ops/ops.h"
#include "tensor/schema.h"

/* real = normalised * (std + eps) + mean, both ways; or, of a range, real = (normalised + 1) / 2 * (high - low) + low with
 * its ends in `mean` and `std`. */
typedef struct vact_statistics {
    const float *mean, *std; /* [n] */
    int32_t n;
    float eps;
    bool range;
} vact_statistics;

typedef struct vact_policy_statistics {
    vact_statistics state, action;
} vact_policy_statistics;

enum { VACT_MAX_TEMPLATE = 1024 };

/* What a session is opened for: the most that its requests bring, and the flow's time at every denoise step. */
typedef struct vact_limits {
    int32_t views, tokens, denoise_steps;
    const double *times; /* [denoise_steps], for the call; 1 is noise */
} vact_limits;

/* What the prefix is made of. */
typedef struct vact_prefix_input {
    vact_buf images;       /* [views * view_tokens, embedding_width] from `vision`; 0 rows: none */
    const int32_t *tokens; /* [n_tokens] */
    int32_t n_tokens;
    const float *state; /* [max_state_dim], normalised, zero beyond state_dim */
} vact_prefix_input;

typedef struct vact_arch {
    vact_schema schema;
    size_t memory_bytes; /* of what a session remembers between stages: buffers, host tables; starts zeroed */
    void (*describe)(const void *model, vact_model_info *info, vact_policy_statistics *statistics);

    /* What the tokenizer gets, written to out [size] with a closing NUL; returns its length, at most VACT_MAX_TEMPLATE more
     * than the text's. */
    int (*prompt)(char *out, size_t size, const vact_prompt *prompt);
    vact_fit_fn fit; /* camera picture -> prepared pixels */

    /* Once per session: tables, caches. Takes buffers that stay, and host memory by vact_host. */
    void (*prepare)(vact_run *r, const void *model, void *memory, const vact_limits *limits);
    /* images [n] -> out [n * view_tokens, embedding_width]. A view's rows don't depend on the others. */
    void (*vision)(vact_run *r, const void *model, void *memory, const vact_image *images, int32_t n, vact_buf out);
    void (*prefix)(vact_run *r, const void *model, void *memory, const vact_prefix_input *input);
    /* velocity [horizon, max_action_dim] at denoise step i of the chunk x. */
    void (*step)(vact_run *r, const void *model, void *memory, vact_buf x, int32_t i, vact_buf velocity);
} vact_arch;

#endif
