/* observation -> stages -> un-normalised action chunk. */
#include "base/clock.h"
#include "base/error.h"
#include "policy/flow.h"
#include "policy/noise.h"
#include "policy/session.h"
#include <math.h>
#include <string.h>

/* ---- what a request may be ---- */

/* Beyond it float32 sums of squares overflow. Nothing real is near: normalised values are around 1. */
#define LARGEST 1e9f

static vact_status check_numbers(const char *name, const float *values, size_t n, vact_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return vact_fail(err, VACT_EINPUT, "%s[%zu] is %g, expected a finite number", name, i, (double)values[i]);
        else if (fabsf(values[i]) > LARGEST)
            return vact_fail(err, VACT_EINPUT, "%s[%zu] is %g, expected %g to %g", name, i, (double)values[i],
                             (double)-LARGEST, (double)LARGEST);
    return VACT_OK;
}

static vact_status check_image(const vact_model_info *info, const vact_image *image, int32_t i, vact_error *err)
{
    const int32_t size = info->image_size;
    if (!image->data)
        return vact_fail(err, VACT_EINPUT, "image %d has no data", i);
    if (image->width != size || image->height != size)
        return vact_fail(err, VACT_EINPUT, "image %d is %dx%d, expected %dx%d", i, image->width, image->height, size,
                         size);
    if (image->format != VACT_RGB_U8 && image->format != VACT_RGB_F32)
        return vact_fail(err, VACT_EINPUT, "image %d has pixel format %d, expected rgb_u8 or rgb_f32", i,
                         (int)image->format);
    const float *values = image->data;
    for (size_t j = 0; image->format == VACT_RGB_F32 && j < 3 * (size_t)size * (size_t)size; j++)
        if (!(values[j] >= 0 && values[j] <= 1))
            return vact_fail(err, VACT_EINPUT, "image %d has %g at row %zu, column %zu, expected 0 to 1", i,
                             (double)values[j], j / 3 / (size_t)size, j / 3 % (size_t)size);
    return VACT_OK;
}

static vact_status check_views(const vact_session *s, const vact_request *q, vact_error *err)
{
    const vact_model_info *info = &s->model->info;
    const int32_t n = vact_request_views(q);
    if (q->image_embeddings && q->n_images)
        return vact_fail(err, VACT_EINPUT, "images and image_embeddings are both given, expected one of them");
    if (n < 1 || n > s->settings.max_views)
        return vact_fail(err, VACT_EINPUT, "the request has %d camera views, expected 1 to %d", n,
                         s->settings.max_views);
    if (!q->image_embeddings && !q->images)
        return vact_fail(err, VACT_EINPUT, "the request has %d camera views, but images is NULL", n);
    if (q->image_embeddings)
        return check_numbers("image_embeddings", q->image_embeddings,
                             (size_t)n * (size_t)info->view_tokens * (size_t)info->embedding_width, err);
    vact_status status = VACT_OK;
    for (int32_t i = 0; i < n && status == VACT_OK; i++)
        status = check_image(info, &q->images[i], i, err);
    return status;
}

static vact_status check_state(const vact_model_info *info, const vact_request *q, vact_error *err)
{
    if (!q->state)
        return VACT_OK;
    if (q->n_state < info->state_dim || q->n_state > info->max_state_dim)
        return vact_fail(err, VACT_EINPUT, "state has %d values, expected %d", q->n_state, info->state_dim);
    for (int32_t i = info->state_dim; i < q->n_state; i++)
        if (q->state[i] != 0)
            return vact_fail(err, VACT_EINPUT, "state[%d] is %g, expected 0 beyond the policy's %d values", i,
                             (double)q->state[i], info->state_dim);
    return check_numbers("state", q->state, (size_t)q->n_state, err);
}

static vact_status check_units(const char *name, vact_units units, vact_error *err)
{
    if (units == VACT_UNITS_REAL || units == VACT_UNITS_MODEL)
        return VACT_OK;
    return vact_fail(err, VACT_EINPUT, "%s is %d, expected VACT_UNITS_REAL or VACT_UNITS_MODEL", name, (int)units);
}

static vact_status check_request(const vact_session *s, const vact_request *q, vact_error *err)
{
    const vact_model_info *info = &s->model->info;
    vact_status status = check_views(s, q, err);
    if (status != VACT_OK)
        return status;
    if (q->n_tokens < 1 || q->n_tokens > info->max_tokens)
        return vact_fail(err, VACT_EINPUT, "the request has %d tokens, expected 1 to %d", q->n_tokens,
                         info->max_tokens);
    if (!q->tokens)
        return vact_fail(err, VACT_EINPUT, "the request has %d tokens, but tokens is NULL", q->n_tokens);
    for (int32_t i = 0; i < q->n_tokens; i++)
        if (q->tokens[i] < 0 || q->tokens[i] >= info->vocab_size)
            return vact_fail(err, VACT_EINPUT, "tokens[%d] is %d, expected 0 to %d", i, q->tokens[i],
                             info->vocab_size - 1);
    status = check_state(info, q, err);
    if (status == VACT_OK)
        status = check_units("state_units", q->state_units, err);
    if (status == VACT_OK)
        status = check_units("action_units", q->action_units, err);
    if (status == VACT_OK && q->noise)
        status = check_numbers("noise", q->noise, (size_t)info->horizon * (size_t)info->max_action_dim, err);
    return status;
}

/* ---- units ---- */

static float to_model(const vact_statistics *t, int32_t i, float x)
{
    return (float)(((double)x - (double)t->mean[i]) / ((double)t->std[i] + (double)t->eps));
}

static float to_real(const vact_statistics *t, int32_t i, float x)
{
    return (float)((double)x * ((double)t->std[i] + (double)t->eps) + (double)t->mean[i]);
}

static vact_status normalise_state(const vact_session *s, const vact_request *q, vact_error *err)
{
    const vact_statistics *t = &s->model->statistics.state;
    memset(s->proprioception, 0, (size_t)s->model->info.max_state_dim * sizeof(float));
    for (int32_t i = 0; i < t->n; i++) {
        const float raw = q->state ? q->state[i] : 0;
        s->proprioception[i] = q->state_units == VACT_UNITS_MODEL ? raw : to_model(t, i, raw);
        if (!(fabsf(s->proprioception[i]) <= LARGEST))
            return vact_fail(err, VACT_EINPUT, "state[%d] is %g, by the file's statistics %g, expected %g to %g", i,
                             (double)raw, (double)s->proprioception[i], (double)-LARGEST, (double)LARGEST);
    }
    return VACT_OK;
}

/* Value i of a row of x, in the units that the request asks for. */
static float action_value(const vact_session *s, const vact_request *q, const float *x, int32_t i)
{
    return q->action_units == VACT_UNITS_MODEL ? x[i] : to_real(&s->model->statistics.action, i, x[i]);
}

/* Nothing is handed out unless all of it is a number. */
static vact_status hand_out(const vact_session *s, const vact_request *q, const float *x, float *actions,
                            vact_error *err)
{
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
        s->model->arch->vision(&s->run, s->model->bound, s->memory, q->images, q->n_images, views);
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

static vact_status expect_progress(vact_session *s, const vact_request *q, int32_t views, vact_error *err)
{
    if (!s->run.progress)
        return VACT_OK;
    vact_cost cost;
    const vact_status status = vact_plan_cost(s, views, q->n_tokens, &cost, err);
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
    const int32_t views = vact_request_views(q);
    const double start = vact_clock_ms();
    vact_status status = check_request(s, q, err);
    if (status == VACT_OK)
        status = normalise_state(s, q, err);
    if (status == VACT_OK)
        status = expect_progress(s, q, views, err);
    if (status != VACT_OK)
        return status;

    const double vision_start = vact_clock_ms();
    s->run.status = VACT_OK;
    s->run.err = err;
    const size_t mark = vact_mark(&s->run);
    const vact_buf embedded = vact_rows(s->images, 0, views * info->view_tokens);
    encode_views(s, q, embedded);
    const double vision_end = vact_clock_ms();
    s->model->arch->prefix(&s->run, s->model->bound, s->memory,
                           &(vact_prefix_input){ embedded, q->tokens, q->n_tokens, s->proprioception });
    const double prefix_end = vact_clock_ms();
    const uint64_t seed = q->noise ? 0 : q->has_seed ? q->seed : vact_noise_seed();
    if (!q->noise)
        vact_noise_normal(s->noise, (size_t)info->horizon * (size_t)info->max_action_dim, seed);
    denoise(s, q->noise ? q->noise : s->noise);
    vact_release(&s->run, mark);
    status = s->run.status;
    if (status == VACT_OK)
        status = hand_out(s, q, s->device->read(s->device, s->x), reply->actions, err);
    const double end = vact_clock_ms();
    reply->seed = seed;
    reply->device = s->device->name;
    reply->timing = (vact_timing){ end - start, vision_end - vision_start, prefix_end - vision_end, end - prefix_end };
    return status;
}
