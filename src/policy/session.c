/* Opening a session plans its memory by running every stage on the cost device. */
#include "policy/session.h"

#include "base/error.h"
#include "ops/cost/cost.h"
#include "ops/cpu/cpu.h"
#include "ops/reference/reference.h"
#include "policy/flow.h"
#include <stdlib.h>

static vact_status open_device(vact_session *s, vact_error *err)
{
    const bool int8 = s->settings.activations == VACT_ACTIVATIONS_INT8;
    vact_kernels_init(&s->kernels, (vact_isa)vact_isa_from_name(s->settings.isa));
    return s->settings.reference ? vact_reference_open(&s->device, &s->kernels, err)
                                 : vact_cpu_open(&s->device, &s->kernels, s->settings.threads, int8, err);
}

/* What stays between requests: the architecture's tables and caches, then the policy's own buffers. */
static vact_status lay_out(vact_session *s, vact_device *device, vact_error *err)
{
    const vact_model_info *info = &s->model->info;
    const size_t chunk = (size_t)info->horizon * (size_t)info->max_action_dim;
    s->run = (vact_run){ .device = device, .arena = &s->arena, .err = err };
    s->memory = vact_host(&s->run, 1, s->model->arch->memory_bytes);
    s->proprioception = vact_host(&s->run, (size_t)info->max_state_dim, sizeof(float));
    s->noise = vact_host(&s->run, chunk, sizeof(float));
    s->chunk = vact_host(&s->run, chunk, sizeof(float));
    const int32_t steps = s->settings.denoise_steps;
    double *times = vact_host(&s->run, (size_t)steps, sizeof *times);
    if (s->run.status != VACT_OK)
        return s->run.status;
    for (int32_t i = 0; i < steps; i++)
        times[i] = vact_flow_time(i, steps);
    const vact_limits limits = { s->settings.max_views, info->max_tokens, steps, times };
    s->model->arch->prepare(&s->run, s->model->bound, s->memory, &limits);
    s->images = vact_tmp(&s->run, s->settings.max_views * info->view_tokens, info->embedding_width);
    s->x = vact_tmp(&s->run, info->horizon, info->max_action_dim);
    s->velocity = vact_tmp(&s->run, info->horizon, info->max_action_dim);
    return s->run.status;
}

typedef struct plan {
    size_t slab; /* floats */
    vact_scratch scratch;
    vact_cost cost;
    double int8_flops; /* of products that can be of integers */
} plan;

static vact_stage_cost since(const vact_cost_totals *now, vact_cost_totals *before)
{
    const vact_stage_cost cost = { now->flops - before->flops, now->weight_bytes - before->weight_bytes };
    *before = *now;
    return cost;
}

/* Counts a whole prediction for the session's device. The cost device reads no values, so the inputs are zeros. */
static vact_status make_plan(plan *out, const vact_session *session, int32_t views, int32_t tokens, vact_error *err)
{
    const vact_arch *arch = session->model->arch;
    const vact_model_info *info = &session->model->info;
    vact_session s = { .model = session->model, .settings = session->settings };
    vact_device *cost = NULL;
    vact_status status = vact_cost_open(&cost, session->device, err);
    if (status == VACT_OK)
        status = lay_out(&s, cost, err);
    if (status == VACT_OK) {
        vact_cost_totals before = *vact_cost_get(cost);
        vact_image images[VACT_MAX_VIEWS];
        for (int i = 0; i < VACT_MAX_VIEWS; i++)
            images[i] = (vact_image){ .data = NULL, .width = info->image_size, .height = info->image_size };
        const vact_buf embedded = vact_rows(s.images, 0, views * info->view_tokens);
        const int32_t *ids = vact_host(&s.run, (size_t)tokens, sizeof *ids);
        arch->vision(&s.run, s.model->bound, s.memory, images, views, embedded);
        out->cost.vision = since(vact_cost_get(cost), &before);
        arch->prefix(&s.run, s.model->bound, s.memory, &(vact_prefix_input){ embedded, ids, tokens, s.proprioception });
        out->cost.prefix = since(vact_cost_get(cost), &before);
        for (int32_t i = 0; i < s.settings.denoise_steps; i++)
            arch->step(&s.run, s.model->bound, s.memory, s.x, i, s.velocity);
        out->cost.denoise = since(vact_cost_get(cost), &before);
        out->slab = s.run.peak;
        const vact_cost_totals *all = vact_cost_get(cost);
        out->scratch = all->scratch;
        for (int type = 0; type < VACT_DTYPE_END; type++)
            out->int8_flops += session->kernels.gemm_int8[type] ? all->site_flops[type] : 0;
        status = s.run.status;
    }
    if (cost)
        cost->close(cost);
    vact_arena_free(&s.arena);
    return status;
}

/* Values of the prepared pixels of all views. */
static size_t pixel_values(const vact_session *s)
{
    const size_t size = (size_t)s->model->info.image_size;
    return (size_t)s->settings.max_views * size * size * 3;
}

static uint64_t plan_bytes(const plan *p, const vact_session *s)
{
    const size_t scratch = p->scratch.shared + p->scratch.per_thread * (size_t)s->settings.threads;
    return sizeof(float) * (p->slab + scratch + pixel_values(s));
}

/* A session without its memory. */
static vact_status start(vact_session *s, const vact_model *model, const vact_settings *settings, vact_error *err)
{
    s->model = model;
    const vact_status status = vact_settings_resolve(&s->settings, settings ? settings : &model->settings, err);
    if (status != VACT_OK)
        return status;
    if (s->settings.denoise_steps == 0)
        s->settings.denoise_steps = model->info.denoise_steps;
    return open_device(s, err);
}

static vact_status plan_memory(plan *p, const vact_session *s, vact_error *err)
{
    return make_plan(p, s, s->settings.max_views, s->model->info.max_tokens, err);
}

static void log_int8(const vact_session *s, const plan *p)
{
    const double flops = p->cost.vision.flops + p->cost.prefix.flops + p->cost.denoise.flops;
    if (p->int8_flops > 0)
        vact_settings_log(&s->settings, VACT_LOG_INFO, "session: int8 activations for %.0f%% of the operations",
                          100 * p->int8_flops / flops);
    else
        vact_settings_log(&s->settings, VACT_LOG_WARNING,
                          "int8 activations change nothing: %s has no Q8_0 or Q4_0 matrix that they apply to",
                          s->model->gguf->path);
}

vact_status vact_session_open(vact_session **out, const vact_model *model, const vact_settings *settings,
                              vact_error *err)
{
    vact_error_clear(err);
    if (!out || !model)
        return vact_fail(err, VACT_EARG, "vact_session_open: %s is NULL", out ? "model" : "out");
    *out = NULL;
    vact_session *s = calloc(1, sizeof *s);
    if (!s)
        return vact_fail(err, VACT_ENOMEM, "out of memory");
    plan p = { 0 };
    vact_status status = start(s, model, settings, err);
    if (status == VACT_OK)
        status = plan_memory(&p, s, err);
    if (status == VACT_OK)
        status = s->device->reserve(s->device, p.slab, p.scratch, err);
    if (status == VACT_OK)
        status = lay_out(s, s->device, err);
    if (status == VACT_OK && !(s->pixels = vact_arena_take(&s->arena, pixel_values(s), sizeof *s->pixels)))
        status = vact_fail(err, VACT_ENOMEM, "out of memory for %d camera views", s->settings.max_views);
    if (status == VACT_OK && model->tokenizer)
        status = vact_encoder_open(&s->encoder, model->tokenizer, sizeof s->prompt, err);
    if (status != VACT_OK) {
        vact_session_close(&s);
        return status;
    }
    if (s->settings.activations == VACT_ACTIVATIONS_INT8)
        log_int8(s, &p);
    vact_settings_log(&s->settings, VACT_LOG_INFO, "session: device %s, isa %s, %d threads, %d views, %.1f MB planned",
                      s->device->name, s->settings.isa, s->settings.threads, s->settings.max_views,
                      (double)plan_bytes(&p, s) / 1e6);
    *out = s;
    return VACT_OK;
}

void vact_session_close(vact_session **session)
{
    if (!session || !*session)
        return;
    vact_session *s = *session;
    if (s->device)
        s->device->close(s->device);
    vact_encoder_close(&s->encoder);
    vact_arena_free(&s->arena);
    free(s);
    *session = NULL;
}

vact_status vact_session_bytes(const vact_model *model, const vact_settings *settings, uint64_t *bytes, vact_error *err)
{
    vact_session s = { 0 };
    plan p = { 0 };
    vact_error_clear(err);
    if (!model || !bytes)
        return vact_fail(err, VACT_EARG, "vact_session_bytes: %s is NULL", model ? "bytes" : "model");
    vact_status status = start(&s, model, settings, err);
    if (status == VACT_OK)
        status = plan_memory(&p, &s, err);
    if (status == VACT_OK)
        *bytes = plan_bytes(&p, &s);
    if (s.device)
        s.device->close(s.device);
    return status;
}

vact_status vact_plan_cost(const vact_session *s, int32_t views, int32_t tokens, vact_cost *cost, vact_error *err)
{
    plan p = { 0 };
    const vact_status status = make_plan(&p, s, views, tokens, err);
    *cost = p.cost;
    return status;
}

vact_status vact_session_cost(const vact_model *model, const vact_settings *settings, int32_t views, int32_t tokens,
                              vact_cost *cost, vact_error *err)
{
    vact_session s = { 0 };
    vact_error_clear(err);
    if (!model || !cost)
        return vact_fail(err, VACT_EARG, "vact_session_cost: %s is NULL", model ? "cost" : "model");
    vact_status status = start(&s, model, settings, err);
    if (status == VACT_OK && (views < 1 || views > s.settings.max_views))
        status = vact_fail(err, VACT_EARG, "views is %d, expected 1 to %d", views, s.settings.max_views);
    if (status == VACT_OK && (tokens < 1 || tokens > model->info.max_tokens))
        status = vact_fail(err, VACT_EARG, "tokens is %d, expected 1 to %d", tokens, model->info.max_tokens);
    if (status == VACT_OK)
        status = vact_plan_cost(&s, views, tokens, cost, err);
    if (s.device)
        s.device->close(s.device);
    return status;
}

void vact_trace(vact_session *session, vact_trace_fn fn, void *user)
{
    if (session) {
        session->run.trace = fn;
        session->run.trace_user = user;
    }
}

void vact_progress(vact_session *session, vact_progress_fn fn, void *user)
{
    if (session) {
        session->run.progress = fn;
        session->run.progress_user = user;
    }
}
