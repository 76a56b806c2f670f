/* One robot's predictions, as the policy's files share them. */
#ifndef VACT_POLICY_SESSION_H
#define VACT_POLICY_SESSION_H

#include "policy/model.h"

struct vact_session {
    const vact_model *model;
    vact_settings settings; /* resolved; denoise_steps is the number to run */
    vact_kernels kernels;
    vact_device *device;
    vact_run run;
    vact_arena arena;
    void *memory;          /* the architecture's */
    vact_encoder *encoder; /* NULL: the policy came without a tokenizer */
    char prompt[VACT_MAX_TEXT + VACT_MAX_TEMPLATE];
    /* Of the present request, by vact_observe: prepared pixels in the order of the cameras, token ids. */
    vact_image views[VACT_MAX_VIEWS];
    const int32_t *tokens; /* [n_tokens] */
    int32_t n_tokens;
    float *pixels;        /* host: [max_views, image_size, image_size, 3] of those made from camera pictures */
    vact_buf images;      /* [max_views * view_tokens, embedding_width] */
    vact_buf x, velocity; /* [horizon, max_action_dim] */
    float *proprioception, *noise, *chunk; /* host: [max_state_dim], [horizon, max_action_dim] twice */
};

/* Camera views of a request, as pictures or embedded. */
static inline int32_t vact_request_views(const vact_request *request)
{
    return request->image_embeddings ? request->n_embedded_views : request->n_images;
}

/* Checks a request and prepares it: fills the session's views, tokens and proprioception. */
vact_status vact_observe(vact_session *session, const vact_request *request, vact_error *err);

/* Counts one prediction of an open session. Allocates. */
vact_status vact_plan_cost(const vact_session *session, int32_t views, int32_t tokens, vact_cost *cost,
                           vact_error *err);

#endif
