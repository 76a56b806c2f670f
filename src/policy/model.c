#include "policy/model.h"

#include "base/clock.h"
#include "base/error.h"
#include "models/registry.h"
#include "origin/origin.h"
#include "policy/units.h"
#include "text/utf8.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void vact_settings_default(vact_settings *settings)
{
    *settings = (vact_settings){ 0 };
}

vact_status vact_settings_resolve(vact_settings *out, const vact_settings *settings, vact_error *err)
{
    vact_settings_default(out);
    if (settings)
        *out = *settings;
    if (out->threads < 0 || out->threads > 1024)
        return vact_fail(err, VACT_EARG, "threads is %d, expected 0 to 1024", out->threads);
    if (out->denoise_steps < 0 || out->denoise_steps > 1000)
        return vact_fail(err, VACT_EARG, "denoise steps is %d, expected 0 to 1000", out->denoise_steps);
    if (out->max_views < 0 || out->max_views > VACT_MAX_VIEWS)
        return vact_fail(err, VACT_EARG, "max views is %d, expected 0 to %d", out->max_views, VACT_MAX_VIEWS);
    if (out->activations != VACT_ACTIVATIONS_F32 && out->activations != VACT_ACTIVATIONS_INT8)
        return vact_fail(err, VACT_EARG, "activations is %d, expected 0 (f32) or 1 (int8)", (int)out->activations);
    if (out->activations == VACT_ACTIVATIONS_INT8 && out->reference)
        return vact_fail(err, VACT_EARG,
                         "activations is int8, expected f32: the reference computes in double precision");
    const int isa = out->isa ? vact_isa_from_name(out->isa) : (int)vact_cpu_isa();
    if (isa < 0)
        return vact_fail(err, VACT_EARG, "isa is \"%s\", expected one of: %s", out->isa, VACT_ISA_NAMES);
    if (!vact_cpu_has((vact_isa)isa))
        return vact_fail(err, VACT_EARG, "isa is \"%s\", which this processor lacks; the highest it has is \"%s\"",
                         out->isa, vact_isa_name(vact_cpu_isa()));
    out->isa = vact_isa_name((vact_isa)isa);
    if (out->max_views == 0)
        out->max_views = VACT_DEFAULT_VIEWS;
    if (out->threads == 0)
        out->threads = vact_cpu_count();
    return VACT_OK;
}

void vact_settings_log(const vact_settings *settings, vact_log_level level, const char *format, ...)
{
    if (!settings->log)
        return;
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    settings->log(settings->log_user, level, line);
}

/* The first fault, and how many more there are. */
static vact_status refuse(const vact_faults *faults, vact_error *err)
{
    if (faults->count == 1)
        return vact_fail(err, VACT_EFORMAT, "%s", faults->first);
    return vact_fail(err, VACT_EFORMAT, "%s (and %d more; vact inspect lists them)", faults->first, faults->count - 1);
}

static vact_status check_statistics(const vact_model *model, const char *name, const vact_statistics *s,
                                    vact_error *err)
{
    const char *low = s->range ? "low end" : "mean", *high = s->range ? "high end" : "std";
    for (int32_t i = 0; i < s->n; i++) {
        if (!isfinite(s->mean[i]))
            return vact_fail(err, VACT_EFORMAT, "%s: the %s of %s value %d is %g, expected a finite number",
                             model->gguf->path, low, name, i, (double)s->mean[i]);
        if (!isfinite(s->std[i]) || !(vact_units_scale(s, i) > 0))
            return vact_fail(err, VACT_EFORMAT, "%s: the %s of %s value %d is %g, expected %s", model->gguf->path, high,
                             name, i, (double)s->std[i], s->range ? "more than the low end" : "a positive number");
    }
    return VACT_OK;
}

static vact_status bind(vact_model *model, vact_error *err)
{
    const vact_schema *schema = &model->arch->schema;
    model->bound = vact_arena_take(&model->arena, 1, schema->model_bytes);
    if (!model->bound)
        return vact_fail(err, VACT_ENOMEM, "%s: out of memory", model->gguf->path);
    vact_faults faults = { 0 };
    vact_schema_read(schema, model->gguf, model->bound, &faults);
    if (faults.count)
        return refuse(&faults, err);
    vact_kernels kernels;
    vact_kernels_init(&kernels, (vact_isa)vact_isa_from_name(model->settings.isa));
    vact_status status =
        vact_schema_bind(schema, model->gguf, model->bound, kernels.decode, &model->arena, &faults, err);
    if (status != VACT_OK)
        return status;
    if (faults.count)
        return refuse(&faults, err);
    model->info.arch = schema->arch;
    model->info.parameters = vact_schema_parameters(schema, model->bound);
    model->info.file_bytes = model->gguf->size;
    model->arch->describe(model->bound, &model->info, &model->statistics);
    status = check_statistics(model, "state", &model->statistics.state, err);
    return status != VACT_OK ? status : check_statistics(model, "action", &model->statistics.action, err);
}

/* Key vact.cameras, an array of strings: the cameras in the order of the views. */
static vact_status read_cameras(vact_model *model, vact_error *err)
{
    const char *file = model->gguf->path;
    const vact_gguf_value *found = NULL;
    if (!vact_gguf_find(model->gguf, "vact.cameras"))
        return VACT_OK;
    const vact_status status =
        vact_gguf_need(model->gguf, "vact.cameras", VACT_GGUF_ARRAY, VACT_GGUF_STRING, &found, err);
    if (status != VACT_OK)
        return status;
    if (found->count < 1 || found->count > VACT_MAX_VIEWS)
        return vact_fail(err, VACT_EFORMAT, "%s: key vact.cameras has %llu names, expected 1 to %d", file,
                         (unsigned long long)found->count, VACT_MAX_VIEWS);
    const char **cameras = vact_arena_take(&model->arena, (size_t)found->count, sizeof *cameras);
    vact_gguf_texts names = vact_gguf_texts_begin(found);
    vact_gguf_text name;
    for (int32_t i = 0; cameras && vact_gguf_texts_next(&names, &name); i++) {
        if (name.length < 1 || name.length > 64 || memchr(name.data, 0, (size_t)name.length) ||
            vact_utf8_valid(name.data, (size_t)name.length) < name.length)
            return vact_fail(err, VACT_EFORMAT, "%s: key vact.cameras[%d] is no name, expected 1 to 64 bytes of UTF-8",
                             file, i);
        cameras[i] = vact_arena_text(&model->arena, name.data, (size_t)name.length);
        if (!cameras[i])
            return vact_fail(err, VACT_ENOMEM, "%s: out of memory", file);
        for (int32_t j = 0; j < i; j++)
            if (strcmp(cameras[i], cameras[j]) == 0)
                return vact_fail(err, VACT_EFORMAT, "%s: key vact.cameras names \"%s\" twice", file, cameras[i]);
    }
    model->info.n_cameras = (int32_t)found->count;
    model->info.cameras = cameras;
    return cameras ? VACT_OK : vact_fail(err, VACT_ENOMEM, "%s: out of memory", file);
}

/* Key vact.image_fit, a string: the rule that pictures were made to fit by. */
static vact_status check_fit(const vact_model *model, vact_error *err)
{
    const vact_gguf_value *found = NULL;
    const char *own = vact_fit_name(model->arch->fit);
    if (!vact_gguf_find(model->gguf, "vact.image_fit"))
        return VACT_OK;
    const vact_status status =
        vact_gguf_need(model->gguf, "vact.image_fit", VACT_GGUF_STRING, VACT_GGUF_STRING, &found, err);
    if (status != VACT_OK)
        return status;
    const vact_gguf_text name = vact_gguf_get_text(found, 0);
    if (name.length == strlen(own) && memcmp(name.data, own, (size_t)name.length) == 0)
        return VACT_OK;
    char shown[64];
    vact_gguf_format_value(found, shown, sizeof shown);
    return vact_fail(err, VACT_EMODEL, "%s: key vact.image_fit is %s, expected \"%s\"", model->gguf->path, shown, own);
}

/* The settings' tokenizer, else the checkpoint's own, else none. */
static vact_status read_tokenizer(vact_model *model, const char *path, vact_error *err)
{
    vact_status status = VACT_OK;
    path = path ? path : model->gguf->tokenizer;
    if (path)
        status = vact_tokenizer_open(&model->tokenizer, path, err);
    else if (vact_tokenizer_in_gguf(model->gguf))
        status = vact_tokenizer_from_gguf(&model->tokenizer, model->gguf, err);
    if (status != VACT_OK || !model->tokenizer)
        return status;
    const int32_t ids = vact_tokenizer_size(model->tokenizer);
    if (ids > model->info.vocab_size)
        return vact_fail(err, VACT_EFORMAT, "%s: the tokenizer has ids up to %d, expected at most %d, the model's",
                         path ? vact_path_end(path) : model->gguf->path, ids - 1, model->info.vocab_size - 1);
    model->info.reads_text = true;
    return VACT_OK;
}

vact_status vact_model_open(vact_model **out, const char *path, const vact_settings *settings, vact_error *err)
{
    vact_error_clear(err);
    if (!out || !path)
        return vact_fail(err, VACT_EARG, "vact_model_open: %s is NULL", out ? "path" : "out");
    *out = NULL;
    const double start = vact_clock_ms();
    vact_model *model = calloc(1, sizeof *model);
    if (!model)
        return vact_fail(err, VACT_ENOMEM, "out of memory");
    vact_status status = vact_settings_resolve(&model->settings, settings, err);
    if (status == VACT_OK)
        status = vact_checkpoint_open(&model->gguf, path, err);
    if (status == VACT_OK)
        status = vact_arch_detect(&model->arch, model->gguf, err);
    if (status == VACT_OK)
        status = bind(model, err);
    if (status == VACT_OK)
        status = read_cameras(model, err);
    if (status == VACT_OK)
        status = check_fit(model, err);
    if (status == VACT_OK)
        status = read_tokenizer(model, model->settings.tokenizer, err);
    model->settings.tokenizer = NULL; /* the caller's string */
    if (status != VACT_OK) {
        vact_model_close(&model);
        return status;
    }
    vact_settings_log(&model->settings, VACT_LOG_INFO, "%s: %s, %.1f million parameters, %.1f MB, loaded in %.0f ms",
                      path, model->info.arch, (double)model->info.parameters / 1e6, (double)model->gguf->size / 1e6,
                      vact_clock_ms() - start);
    *out = model;
    return VACT_OK;
}

void vact_model_close(vact_model **model)
{
    if (!model || !*model)
        return;
    vact_tokenizer_close(&(*model)->tokenizer);
    vact_arena_free(&(*model)->arena);
    vact_gguf_close(&(*model)->gguf);
    free(*model);
    *model = NULL;
}

const vact_model_info *vact_model_get_info(const vact_model *model)
{
    return model ? &model->info : NULL;
}
