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
    void *memory;                  /* the architecture's */
    vact_buf images;               /* [max_views * view_tokens, embedding_width] */
    vact_buf x, velocity;          /* [horizon, max_action_dim] */
    float *proprioception, *noise; /* host: [max_state_dim], [horizon, max_action_dim] */
};

/* Camera views of a request, as pictures or embedded. */
static inline int32_t vact_request_views(const vact_request *request)
{
    return request->image_embeddings ? request->n_embedded_views : request->n_images;
}

/* Counts one prediction of an open session. Allocates. */
vact_status vact_plan_cost(const vact_session *session, int32_t views, int32_t tokens, vact_cost *cost,
                           vact_error *err);

#endif
