/* observation (observation.c) -> stages -> un-normalised action chunk. */
#include "base/clock.h"
#include "base/error.h"
#include "policy/flow.h"
#include "policy/noise.h"
#include "policy/session.h"
#include "policy/units.h"
#include <math.h>

/* ---- units ---- */

/* Value i of a row of x, in the units that the request asks for. */
static float action_value(const vact_session *s, const vact_request *q, const float *x, int32_t i)
{
    return q->action_units == VACT_UNITS_MODEL ? x[i] : vact_to_real(&s->model->statistics.action, i, x[i]);
}

/* Nothing is handed out unless all of it is a number. */
static vact_status hand_out(vact_session *s, const vact_request *q, float *actions, vact_error *err)
{
    float *x = s->chunk;
    s->device->read(s->device, s->x, x);
    const vact_model_info *info = &s->model->info;
    for (int32_t row = 0; row < info->horizon; row++)
        for (int32_t i = 0; i < info->action_dim; i++) {
            const float v = action_value(s, q, x + row * info->max_action_dim, i);
            if (!isfinite(v))
                return vact_fail(err, VACT_EMODEL, "action %d has %g in column %d: the model's weights are broken", row,
                                 (double)v, i);
        }
    for (int32_t row = 0; row < info->horizon; row++)
        for (int32_t i = 0; i < info->action_dim; i++)
            actions[row * info->action_dim + i] = action_value(s, q, x + row * info->max_action_dim, i);
    return VACT_OK;
}

/* ---- stages ---- */

static void encode_views(vact_session *s, const vact_request *q, vact_buf views)
{
    if (q->image_embeddings)
        vact_upload(&s->run, views, q->image_embeddings);
    else
        s->model->arch->vision(&s->run, s->model->bound, s->memory, s->views, q->n_images, views);
}

/* x from noise to the chunk. */
static void denoise(vact_session *s, const float *noise)
{
    const int32_t steps = s->settings.denoise_steps;
    vact_upload(&s->run, s->x, noise);
    for (int32_t i = 0; i < steps; i++) {
        s->model->arch->step(&s->run, s->model->bound, s->memory, s->x, i, s->velocity);
        vact_emit(&s->run, s->velocity, "step.%d.velocity", i);
        vact_axpy(&s->run, s->x, vact_flow_dt(steps), s->velocity);
        vact_emit(&s->run, s->x, "step.%d.x", i);
    }
}

static vact_status expect_progress(vact_session *s, const vact_request *q, vact_error *err)
{
    if (!s->run.progress)
        return VACT_OK;
    vact_cost cost;
    const vact_status status = vact_plan_cost(s, vact_request_views(q), s->n_tokens, &cost, err);
    s->run.flops = 0;
    s->run.all_flops = cost.prefix.flops + cost.denoise.flops + (q->image_embeddings ? 0 : cost.vision.flops);
    return status;
}

vact_status vact_predict(vact_session *s, const vact_request *q, vact_reply *reply, vact_error *err)
{
    vact_error_clear(err);
    if (!s || !q || !reply || !reply->actions)
        return vact_fail(err, VACT_EARG, "vact_predict: session, request, reply or its actions is NULL");
    vact_error unheard = { 0 };
    err = err ? err : &unheard;
    const vact_model_info *info = &s->model->info;
    const double start = vact_clock_ms();
    vact_status status = vact_observe(s, q, err);
    if (status == VACT_OK)
        status = expect_progress(s, q, err);
    if (status != VACT_OK)
        return status;

    const double vision_start = vact_clock_ms();
    s->run.status = VACT_OK;
    s->run.err = err;
    const size_t mark = vact_mark(&s->run);
    const vact_buf embedded = vact_rows(s->images, 0, vact_request_views(q) * info->view_tokens);
    encode_views(s, q, embedded);
    const double vision_end = vact_clock_ms();
    s->model->arch->prefix(&s->run, s->model->bound, s->memory,
                           &(vact_prefix_input){ embedded, s->tokens, s->n_tokens, s->proprioception });
    const double prefix_end = vact_clock_ms();
    const uint64_t seed = q->noise ? 0 : q->has_seed ? q->seed : vact_noise_seed();
    if (!q->noise)
        vact_noise_normal(s->noise, (size_t)info->horizon * (size_t)info->max_action_dim, seed);
    denoise(s, q->noise ? q->noise : s->noise);
    vact_release(&s->run, mark);
    status = s->run.status;
    if (status == VACT_OK)
        status = hand_out(s, q, reply->actions, err);
    const double end = vact_clock_ms();
    reply->seed = seed;
    reply->device = s->device->name;
    reply->timing = (vact_timing){ end - start, vision_end - vision_start, prefix_end - vision_end, end - prefix_end };
    return status;
}
