/* statistics of LeRobot's processors, or of the weights' file -> the mean and std of state and actions */
#include "base/error.h"
#include "file/dtype.h"
#include "kernels/kernels.h"
#include "origin/lerobot_parts.h"
#include <math.h>
#include <string.h>

#define STANDARD_EPS 1e-8 /* of LeRobot's normalizers */

/* A way to normalise: x = norm * scale + shift, from two statistics. */
typedef struct mode {
    const char *name, *low, *high; /* of MEAN_STD: mean and std */
} mode;

static const mode modes[] = {
    { "MEAN_STD", "mean", "std" },  { "MIN_MAX", "min", "max" }, { "QUANTILES", "q01", "q99" },
    { "QUANTILE10", "q10", "q90" }, { "IDENTITY", NULL, NULL },
};

/* State or actions. */
typedef struct feature {
    const char *key, *type; /* "observation.state", "STATE" */
    const char *buffer;     /* as old checkpoints name it */
    const char *owners[2];  /* their modules that hold it */
    const json_t *step;     /* the normalizer's configuration, or NULL */
    const char *file;       /* its statistics, or NULL */
    int64_t size;
    double eps;
} feature;

/* ---- which ---- */

static vact_status find_mode(const lerobot *l, const feature *f, const mode **out, vact_error *err)
{
    const char *where = f->step ? "norm_map" : "normalization_mapping",
               *of = f->step ? "the normalizer" : "config.json";
    const json_t *map = json_object_get(f->step ? f->step : l->config, where);
    const json_t *value = json_object_get(map, f->type);
    const char *name = json_string_value(value);
    char shown[80];
    if (!name)
        return vact_fail(err, VACT_EFORMAT, "%s: %s: %s/%s is %s, expected how it is normalised, as in \"MEAN_STD\"",
                         l->view.path, of, where, f->type, vact_json_kind(value));
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i].name, name) == 0) {
            *out = &modes[i];
            return VACT_OK;
        }
    return vact_fail(err, VACT_EFORMAT,
                     "%s: %s: %s/%s is %s, expected one of: MEAN_STD, MIN_MAX, QUANTILES, QUANTILE10, IDENTITY",
                     l->view.path, of, where, f->type, vact_json_show(shown, sizeof shown, value));
}

/* ---- where ---- */

/* Old checkpoints: MODULE.buffer_observation_state.mean; those trained on several robots: MODULE.ROBOT_buffer_...mean,
 * of which only one may be there. */
static const vact_safetensor *find_buffer(const lerobot *l, const feature *f, const char *statistic, int *found)
{
    const vact_safetensor *hit = NULL;
    char name[200], end[100];
    snprintf(end, sizeof end, "buffer_%s.%s", f->buffer, statistic);
    for (int owner = 0; owner < 2 && !hit; owner++) {
        snprintf(name, sizeof name, "%s.%s", f->owners[owner], end);
        hit = vact_safetensors_find(l->weights, name);
    }
    *found = hit != NULL;
    if (hit)
        return hit;
    for (uint64_t i = 0; i < l->weights->n_tensors; i++) {
        const vact_safetensor *t = &l->weights->tensors[i];
        const size_t length = strlen(t->name), owner = strlen(f->owners[0]);
        if (length > strlen(end) + owner && strncmp(t->name, f->owners[0], owner) == 0 && t->name[owner] == '.' &&
            strcmp(t->name + length - strlen(end), end) == 0 && t->name[length - strlen(end) - 1] == '_') {
            hit = t;
            *found += 1;
        }
    }
    return hit;
}

static vact_status none_found(const lerobot *l, const feature *f, const char *statistic, vact_error *err)
{
    if (f->step)
        return vact_fail(err, VACT_EFORMAT, "%s: %s has no statistic %s.%s, which its normalizer asks for",
                         l->view.path, f->file ? f->file : "the processor's step", f->key, statistic);
    return vact_fail(err, VACT_EFORMAT,
                     "%s: has no statistic %s of %s, expected policy_preprocessor.json and policy_postprocessor.json "
                     "with a normalizer, or tensor %s.buffer_%s.%s",
                     l->view.path, statistic, f->key, f->owners[0], f->buffer, statistic);
}

/* A statistic as `values` [f->size]. `state` is the normalizer's file, or NULL. */
static vact_status read_values(const lerobot *l, const feature *f, const vact_safetensors *state, const char *statistic,
                               float *values, vact_error *err)
{
    char name[128];
    int found = 0;
    vact_kernels kernels;
    snprintf(name, sizeof name, "%s.%s", f->key, statistic);
    const vact_safetensor *t = state     ? vact_safetensors_find(state, name)
                               : f->step ? NULL
                                         : find_buffer(l, f, statistic, &found);
    if (!t)
        return none_found(l, f, statistic, err);
    if (found > 1)
        return vact_fail(err, VACT_EFORMAT, "%s: %d tensors end in buffer_%s.%s, as in %s, expected one", l->view.path,
                         found, f->buffer, statistic, t->name);
    if (t->n_dims != 1 || t->dims[0] != (uint64_t)f->size)
        return vact_fail(err, VACT_EFORMAT,
                         "%s: statistic %s has %llu dimensions and starts with %llu, expected [%lld]", l->view.path,
                         t->name, (unsigned long long)t->n_dims, (unsigned long long)(t->n_dims ? t->dims[0] : 0),
                         (long long)f->size);
    vact_kernels_init(&kernels, VACT_ISA_SCALAR);
    if (!vact_dtype_is_float(t->dtype))
        return vact_fail(err, VACT_EFORMAT, "%s: statistic %s has type %s, expected F32, F16 or BF16", l->view.path,
                         t->name, t->type_name);
    kernels.decode[t->dtype](values, t->data, (size_t)f->size);
    for (int64_t i = 0; i < f->size; i++)
        if (!isfinite(values[i]))
            return vact_fail(err, VACT_EFORMAT, "%s: statistic %s has %g as value %lld, expected a finite number",
                             l->view.path, t->name, (double)values[i], (long long)i);
    return VACT_OK;
}

/* ---- the pair ---- */

/* low and high become mean and std, in place. */
static vact_status combine(const lerobot *l, const feature *f, const mode *m, float *low, float *high, vact_error *err)
{
    const bool plain = strcmp(m->name, "MEAN_STD") == 0;
    for (int64_t i = 0; i < f->size; i++) {
        const double a = (double)low[i], b = (double)high[i];
        if (plain ? !(b > 0) : !(b > a))
            return vact_fail(err, VACT_EFORMAT, "%s: the %s of %s value %lld is %g, expected more than %s%g",
                             l->view.path, m->high, f->key, (long long)i, b, plain ? "" : "the other end, ",
                             plain ? 0.0 : a);
        if (!plain) {
            low[i] = (float)((b + a) / 2);
            high[i] = (float)((b - a) / 2 - f->eps);
        }
    }
    return VACT_OK;
}

static void put(lerobot *l, int at, const char *name, float *values, int64_t size)
{
    l->statistics[at] = (vact_safetensor){ .name = name,
                                           .dtype = VACT_DTYPE_F32,
                                           .type_name = "F32",
                                           .n_dims = 1,
                                           .dims = { (uint64_t)size },
                                           .bytes = (uint64_t)size * sizeof *values,
                                           .data = (const uint8_t *)values };
}

static vact_status read_feature(lerobot *l, const feature *f, int at, const char *const names[2], vact_error *err)
{
    const mode *m = NULL;
    vact_safetensors *state = NULL;
    float *low = vact_arena_take(&l->arena, (size_t)f->size, sizeof *low);
    float *high = vact_arena_take(&l->arena, (size_t)f->size, sizeof *high);
    if (!low || !high)
        return vact_fail(err, VACT_ENOMEM, "%s: out of memory", l->view.path);
    vact_status status = find_mode(l, f, &m, err);
    if (status == VACT_OK && !m->low) {
        for (int64_t i = 0; i < f->size; i++)
            high[i] = (float)(1 - f->eps);
    } else if (status == VACT_OK) {
        const char *path = f->file ? vact_lerobot_path(l, f->file, err) : NULL;
        if (f->file)
            status = path ? vact_safetensors_open(&state, path, err) : VACT_ENOMEM;
        if (status == VACT_OK)
            status = read_values(l, f, state, m->low, low, err);
        if (status == VACT_OK)
            status = read_values(l, f, state, m->high, high, err);
        if (status == VACT_OK)
            status = combine(l, f, m, low, high, err);
    }
    vact_safetensors_close(&state);
    put(l, at, names[0], low, f->size);
    put(l, at + 1, names[1], high, f->size);
    return status;
}

static vact_status find_size(const lerobot *l, const char *list, feature *f, vact_error *err)
{
    const json_t *shape = json_object_get(json_object_get(json_object_get(l->config, list), f->key), "shape");
    f->size = json_integer_value(json_array_get(shape, 0));
    if (json_array_size(shape) == 1 && f->size >= 1 && f->size <= 4096)
        return VACT_OK;
    return vact_fail(err, VACT_EFORMAT, "%s: config.json: %s/%s/shape is no list of one number from 1 to 4096",
                     l->view.path, list, f->key);
}

/* The step that normalises the feature, if there is one. */
static vact_status find_step(const lerobot *l, const char *file, const json_t *processor, const char *name, feature *f,
                             vact_error *err)
{
    char shown[80];
    const json_t *step = vact_lerobot_step(processor, name);
    const json_t *state = json_object_get(step, "state_file"), *eps;
    if (!step)
        return VACT_OK;
    f->step = json_object_get(step, "config");
    if (!json_is_object(f->step))
        return vact_fail(err, VACT_EFORMAT, "%s: %s: config of %s is %s, expected an object", l->view.path, file, name,
                         vact_json_kind(f->step));
    f->file = vact_json_file_name(state);
    if (state && !json_is_null(state) && !f->file)
        return vact_fail(err, VACT_EFORMAT,
                         "%s: %s: state_file of %s is %s, expected a file name in ASCII without \"/\"", l->view.path,
                         file, name, vact_json_show(shown, sizeof shown, state));
    eps = json_object_get(f->step, "eps");
    if (!eps)
        return VACT_OK;
    f->eps = json_number_value(eps);
    if (!json_is_number(eps) || !(f->eps >= 0 && f->eps <= 1))
        return vact_fail(err, VACT_EFORMAT, "%s: %s: eps of %s is no number from 0 to 1", l->view.path, file, name);
    return VACT_OK;
}

/* Policies here scale pictures themselves, by no statistics. */
static vact_status refuse_normalised_pictures(const lerobot *l, const feature *state, vact_error *err)
{
    char shown[80];
    const json_t *map =
        state->step ? json_object_get(state->step, "norm_map") : json_object_get(l->config, "normalization_mapping");
    const json_t *by = json_object_get(map, "VISUAL");
    if (!by || (json_is_string(by) && strcmp(json_string_value(by), "IDENTITY") == 0))
        return VACT_OK;
    return vact_fail(err, VACT_EFORMAT, "%s: VISUAL is normalised by %s, expected \"IDENTITY\"", l->view.path,
                     vact_json_show(shown, sizeof shown, by));
}

vact_status vact_lerobot_statistics(lerobot *l, vact_error *err)
{
    static const char *const state_names[] = { "observation.state.mean", "observation.state.std" };
    static const char *const action_names[] = { "action.mean", "action.std" };
    feature state = { .key = "observation.state",
                      .type = "STATE",
                      .buffer = "observation_state",
                      .owners = { "normalize_inputs", "normalize_inputs" },
                      .eps = STANDARD_EPS };
    feature action = { .key = "action",
                       .type = "ACTION",
                       .buffer = "action",
                       .owners = { "unnormalize_outputs", "normalize_targets" },
                       .eps = STANDARD_EPS };
    vact_status status = find_step(l, "policy_preprocessor.json", l->pre, "normalizer_processor", &state, err);
    if (status == VACT_OK)
        status = find_step(l, "policy_postprocessor.json", l->post, "unnormalizer_processor", &action, err);
    if (status == VACT_OK)
        status = refuse_normalised_pictures(l, &state, err);
    action.eps = state.eps; /* the one that a file has room for, and that is added when they are used */
    if (status == VACT_OK && json_object_set_new(l->config, "processors", json_pack("{s:f}", "eps", state.eps)) != 0)
        status = vact_fail(err, VACT_ENOMEM, "%s: out of memory", l->view.path);
    if (status == VACT_OK)
        status = find_size(l, "input_features", &state, err);
    if (status == VACT_OK)
        status = find_size(l, "output_features", &action, err);
    if (status != VACT_OK)
        return status;
    status = read_feature(l, &state, 0, state_names, err);
    return status == VACT_OK ? read_feature(l, &action, 2, action_names, err) : status;
}
