#include "models/policy.h"

enum { WIDTH = 24 }; /* of the expert: vla.cpp's chunk begins with the state token, whose rows are apart here */

static const policy_trace traces[] = {
    { "vit_embed", "vision.embed", 0 },
    { "vit_blk0", "vision.0.out", 0 },
    { "vit_blk1", "vision.1.out", 0 },
    { "img_emb_div_sqrt_hidden", "vision.out", 0 },
    { "prefix_embs", "prefix.in", 0 },
    { "k0", "prefix.0.k", 0 },
    { "v0", "prefix.0.v", 0 },
    { "prefix_h0", "prefix.0.out", 0 },
    { "prefix_h1", "prefix.1.out", 0 },
    { "k2", "prefix.2.k", 0 },
    { "v2", "prefix.2.v", 0 },
    { "s0_suffix_embs", "step.0.in", WIDTH },
    { "s0_expert_h0", "step.0.expert.0.out", WIDTH },
    { "s0_expert_h2", "step.0.expert.2.out", WIDTH },
    { "v_t0", "step.0.velocity", 0 },
    { "x_t1", "step.0.x", 0 },
    { "v_t9", "step.9.velocity", 0 },
    { "x_t10", "step.9.x", 0 },
    { 0 },
};

/* tokens_over_capacity has 16 tokens where the file says 12 at most; vla.cpp doesn't look. */
const policy policy_under_test = { "pi0", 14, "tokens_over_capacity", traces, 2 };
