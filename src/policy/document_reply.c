/* Reply documents: written for a prediction, read back for its actions. */
#include "base/error.h"
#include "file/json.h"
#include "policy/document.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 1 << 25 }; /* traces are long */

static vact_status read_actions(const char *name, const json_t *array, vact_arena *arena, const float **actions,
                                int32_t *rows, int32_t *cols, vact_error *err)
{
    const size_t n = json_array_size(array), width = json_array_size(json_array_get(array, 0));
    if (n == 0 || width == 0 || n > INT32_MAX || width > INT32_MAX)
        return vact_fail(err, VACT_EINPUT, "%s: field actions is missing or empty, expected an array of rows", name);
    /* Before memory is taken: one long row among many short ones would ask for more than the text is worth. */
    for (size_t i = 0; i < n; i++)
        if (json_array_size(json_array_get(array, i)) != width)
            return vact_fail(err, VACT_EINPUT, "%s: field actions[%zu] has %zu values, expected %zu", name, i,
                             json_array_size(json_array_get(array, i)), width);
    float *values = vact_arena_take(arena, n * width, sizeof *values);
    if (!values)
        return vact_fail(err, VACT_ENOMEM, "%s: out of memory", name);
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(array, i);
        for (size_t j = 0; j < width; j++) {
            const json_t *value = json_array_get(row, j);
            if (!json_is_number(value))
                return vact_fail(err, VACT_EINPUT, "%s: field actions[%zu][%zu] is %s, expected a number", name, i, j,
                                 vact_json_kind(value));
            values[i * width + j] = (float)json_number_value(value);
        }
    }
    *actions = values;
    *rows = (int32_t)n;
    *cols = (int32_t)width;
    return VACT_OK;
}

vact_status vact_document_actions(const char *name, const char *text, size_t length, vact_arena *arena,
                                  const float **actions, int32_t *rows, int32_t *cols, vact_error *err)
{
    vact_error_clear(err);
    name = vact_path_end(name);
    json_t *root;
    vact_status status = vact_json_object(&root, name, text, length, MOST_VALUES, VACT_EINPUT, err);
    if (status != VACT_OK)
        return status;
    status = read_actions(name, json_object_get(root, "actions"), arena, actions, rows, cols, err);
    json_decref(root);
    return status;
}

/* ---- writing ---- */

/* NULL when memory is out. JSON has no NaN: a traced one is null, so that rows keep their length. */
static json_t *matrix(const float *values, int32_t rows, int32_t cols)
{
    json_t *out = json_array();
    bool ok = out != NULL;
    for (int32_t i = 0; i < rows && ok; i++) {
        json_t *row = json_array();
        for (int32_t j = 0; j < cols && ok; j++) {
            const double value = (double)values[i * cols + j];
            ok = json_array_append_new(row, isfinite(value) ? json_real(value) : json_null()) == 0;
        }
        ok = json_array_append_new(out, row) == 0 && ok;
    }
    if (ok)
        return out;
    json_decref(out);
    return NULL;
}

static json_t *devices_of(const vact_request *request, const vact_reply *reply)
{
    json_t *devices = json_array();
    for (int32_t i = 0; i < request->n_images; i++)
        if (json_array_append_new(devices, json_string(reply->device)) != 0) {
            json_decref(devices);
            return NULL;
        }
    return devices;
}

static json_t *traces_of(const vact_traced *traces, size_t n)
{
    json_t *traced = json_object();
    for (size_t i = 0; i < n; i++)
        if (json_object_set_new(traced, traces[i].name, matrix(traces[i].values, traces[i].rows, traces[i].cols))) {
            json_decref(traced);
            return NULL;
        }
    return traced;
}

vact_status vact_document_write(FILE *out, const vact_model_info *info, const vact_request *request,
                                const vact_reply *reply, const vact_traced *traces, size_t n_traces, vact_error *err)
{
    const vact_timing *t = &reply->timing;
    vact_error_clear(err);
    json_t *timing = json_pack("{s:f, s:f, s:f, s:f}", "total", t->total, "vision", t->vision, "prefix", t->prefix,
                               "denoise", t->denoise);
    json_t *root = json_object();
    bool ok = json_object_set_new(root, "actions", matrix(reply->actions, info->horizon, info->action_dim)) == 0;
    ok = json_object_set_new(root, "timing_ms", timing) == 0 && ok;
    if (!request->noise)
        ok = json_object_set_new(root, "seed", json_integer((json_int_t)reply->seed)) == 0 && ok;
    ok = json_object_set_new(root, "devices", devices_of(request, reply)) == 0 && ok;
    if (n_traces)
        ok = json_object_set_new(root, "traces", traces_of(traces, n_traces)) == 0 && ok;
    /* Straight to the stream: a text in memory would lose keys when it cannot grow. */
    ok = ok && json_dumpf(root, out, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0;
    json_decref(root);
    if (!ok && !ferror(out))
        return vact_fail(err, VACT_ENOMEM, "out of memory for the reply");
    const bool written = ok && fputc('\n', out) != EOF && fflush(out) == 0 && !ferror(out);
    return written ? VACT_OK : vact_fail(err, VACT_EIO, "cannot write the reply: %s", strerror(errno));
}
