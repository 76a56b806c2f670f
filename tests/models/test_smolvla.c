#include "models/policy.h"

static const policy_trace traces[] = {
    { "vit_embed", "vision.embed", 0 },
    { "vit_blk0", "vision.0.out", 0 },
    { "vit_blk1", "vision.1.out", 0 },
    { "vit_post_ln", "vision.norm", 0 },
    { "img_emb_unscaled", "vision.out", 0 },
    { "prefix_embs", "prefix.in", 0 },
    { "k0", "prefix.0.k", 0 },
    { "v0", "prefix.0.v", 0 },
    { "prefix_h0", "prefix.0.out", 0 },
    { "k1", "prefix.1.k", 0 },
    { "v1", "prefix.1.v", 0 },
    { "prefix_h2", "prefix.2.out", 0 },
    { "k3", "prefix.3.k", 0 },
    { "v3", "prefix.3.v", 0 },
    { "xk1", "prefix.1.cross_k", 0 },
    { "xv1", "prefix.1.cross_v", 0 },
    { "xk3", "prefix.3.cross_k", 0 },
    { "s0_suffix_embs", "step.0.in", 0 },
    { "s0_expert_h0", "step.0.expert.0.out", 0 },
    { "s0_expert_h1", "step.0.expert.1.out", 0 },
    { "s0_expert_h3", "step.0.expert.3.out", 0 },
    { "v_t0", "step.0.velocity", 0 },
    { "x_t1", "step.0.x", 0 },
    { "v_t9", "step.9.velocity", 0 },
    { "x_t10", "step.9.x", 0 },
    { 0 },
};

const policy policy_under_test = { "smolvla", 14, NULL, traces, 0 };
