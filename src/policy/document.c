#include "policy/document.h"

#include "base/error.h"
#include "base/nearest.h"
#include "file/base64.h"
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *name; /* of the document */
    const vact_model_info *info;
    vact_document *out;
    vact_error *err;
} reader;

static vact_status no_memory(const reader *r)
{
    return vact_fail(r->err, VACT_ENOMEM, "%s: out of memory", r->name);
}

/* What a value is, for a message. */
static const char *kind(const json_t *value)
{
    static const char *const names[] = { "an object", "an array", "a string", "an integer",
                                         "a number",  "true",     "false",    "null" };
    return names[json_typeof(value)];
}

static vact_status wrong_kind(const reader *r, const char *field, const char *want, const json_t *value)
{
    return vact_fail(r->err, VACT_EINPUT, "%s: field %s is %s, expected %s", r->name, field, kind(value), want);
}

/* Every key of the object is one of `known`. */
static vact_status check_fields(const reader *r, const json_t *object, const char *where, const char *const *known)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        bool found = false;
        for (int i = 0; known[i] && !found; i++)
            found = strcmp(key, known[i]) == 0;
        if (found)
            continue;
        const char *near = vact_nearest(key, known);
        if (near)
            return vact_fail(r->err, VACT_EINPUT, "%s: unknown field %s%.64s, did you mean %s?", r->name, where, key,
                             near);
        char list[256] = "";
        for (int i = 0; known[i]; i++)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", known[i]);
        return vact_fail(r->err, VACT_EINPUT, "%s: unknown field %s%.64s, expected one of %s", r->name, where, key,
                         list);
    }
    return VACT_OK;
}

static vact_status read_floats(const reader *r, const json_t *array, const char *field, const float **out, size_t *n)
{
    if (!json_is_array(array))
        return wrong_kind(r, field, "an array of numbers", array);
    *n = json_array_size(array);
    float *values = vact_arena_take(&r->out->arena, *n, sizeof *values);
    if (!values)
        return no_memory(r);
    for (size_t i = 0; i < *n; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_number(value))
            return vact_fail(r->err, VACT_EINPUT, "%s: field %s[%zu] is %s, expected a number", r->name, field, i,
                             kind(value));
        values[i] = (float)json_number_value(value);
    }
    *out = values;
    return VACT_OK;
}

static vact_status read_data(const reader *r, const json_t *value, const char *field, size_t want, const void **out)
{
    if (!value)
        return vact_fail(r->err, VACT_EINPUT, "%s: field %s is missing, expected base64 of %zu bytes", r->name, field,
                         want);
    if (!json_is_string(value))
        return wrong_kind(r, field, "a base64 string", value);
    const size_t length = json_string_length(value);
    uint8_t *bytes = vact_arena_take(&r->out->arena, vact_base64_room(length) + 1, 1);
    if (!bytes)
        return no_memory(r);
    size_t size, at;
    if (!vact_base64_decode(bytes, &size, json_string_value(value), length, &at))
        return vact_fail(r->err, VACT_EINPUT, "%s: field %s is not base64 at character %zu", r->name, field, at);
    if (size != want)
        return vact_fail(r->err, VACT_EINPUT, "%s: field %s holds %zu bytes, expected %zu", r->name, field, size, want);
    *out = bytes;
    return VACT_OK;
}

static vact_status read_int(const reader *r, const json_t *value, const char *field, int64_t lo, int64_t hi,
                            int32_t *out)
{
    if (!value)
        return vact_fail(r->err, VACT_EINPUT, "%s: field %s is missing, expected an integer", r->name, field);
    if (!json_is_integer(value))
        return wrong_kind(r, field, "an integer", value);
    const json_int_t v = json_integer_value(value);
    if (v != lo && lo == hi)
        return vact_fail(r->err, VACT_EINPUT, "%s: field %s is %lld, expected %lld", r->name, field, (long long)v,
                         (long long)lo);
    if (v < lo || v > hi)
        return vact_fail(r->err, VACT_EINPUT, "%s: field %s is %lld, expected %lld to %lld", r->name, field,
                         (long long)v, (long long)lo, (long long)hi);
    *out = (int32_t)v;
    return VACT_OK;
}

/* ---- fields ---- */

/* What a picture may say beside its pixels: that they are prepared, and a camera's name once files have some. */
static vact_status check_picture(const reader *r, const json_t *object, const char *at)
{
    const json_t *prepared = json_object_get(object, "prepared"), *name = json_object_get(object, "name");
    if (prepared && !json_is_true(prepared))
        return vact_fail(r->err, VACT_EINPUT, "%s: field %sprepared is %s, expected true: these are prepared pixels",
                         r->name, at, kind(prepared));
    if (name)
        return vact_fail(r->err, VACT_EINPUT, "%s: field %sname is %.32s, but this policy's file names no cameras",
                         r->name, at, json_is_string(name) ? json_string_value(name) : kind(name));
    return VACT_OK;
}

static vact_status read_image(const reader *r, const json_t *object, size_t i, vact_image *image)
{
    static const char *const known[] = { "width", "height", "format", "data", "prepared", "name", NULL };
    char at[64], field[96];
    snprintf(at, sizeof at, "images[%zu].", i);
    if (!json_is_object(object)) {
        snprintf(field, sizeof field, "images[%zu]", i);
        return wrong_kind(r, field, "an object", object);
    }
    vact_status status = check_fields(r, object, at, known);
    if (status == VACT_OK)
        status = check_picture(r, object, at);
    const int32_t size = r->info->image_size;
    snprintf(field, sizeof field, "%swidth", at);
    if (status == VACT_OK)
        status = read_int(r, json_object_get(object, "width"), field, size, size, &image->width);
    snprintf(field, sizeof field, "%sheight", at);
    if (status == VACT_OK)
        status = read_int(r, json_object_get(object, "height"), field, size, size, &image->height);
    if (status != VACT_OK)
        return status;
    const json_t *format_value = json_object_get(object, "format");
    const char *format = json_string_value(format_value);
    if (!format || (strcmp(format, "rgb_u8") != 0 && strcmp(format, "rgb_f32") != 0))
        return vact_fail(r->err, VACT_EINPUT, "%s: field %sformat is %.32s, expected rgb_u8 or rgb_f32", r->name, at,
                         format         ? format
                         : format_value ? kind(format_value)
                                        : "missing");
    image->format = strcmp(format, "rgb_u8") == 0 ? VACT_RGB_U8 : VACT_RGB_F32;
    snprintf(field, sizeof field, "%sdata", at);
    const size_t values = 3 * (size_t)size * (size_t)size;
    return read_data(r, json_object_get(object, "data"), field,
                     image->format == VACT_RGB_U8 ? values : values * sizeof(float), &image->data);
}

static vact_status read_images(const reader *r, const json_t *array)
{
    if (!json_is_array(array))
        return wrong_kind(r, "images", "an array", array);
    const size_t n = json_array_size(array);
    if (n > VACT_MAX_VIEWS)
        return vact_fail(r->err, VACT_EINPUT, "%s: field images has %zu views, expected at most %d", r->name, n,
                         VACT_MAX_VIEWS);
    vact_image *images = vact_arena_take(&r->out->arena, n, sizeof *images);
    if (!images)
        return no_memory(r);
    vact_status status = VACT_OK;
    for (size_t i = 0; i < n && status == VACT_OK; i++)
        status = read_image(r, json_array_get(array, i), i, &images[i]);
    r->out->request.images = images;
    r->out->request.n_images = (int32_t)n;
    return status;
}

static vact_status read_embeddings(const reader *r, const json_t *object)
{
    static const char *const known[] = { "views", "data", NULL };
    if (!json_is_object(object))
        return wrong_kind(r, "image_embeddings", "an object", object);
    vact_request *q = &r->out->request;
    vact_status status = check_fields(r, object, "image_embeddings.", known);
    if (status == VACT_OK)
        status = read_int(r, json_object_get(object, "views"), "image_embeddings.views", 1, VACT_MAX_VIEWS,
                          &q->n_embedded_views);
    if (status != VACT_OK)
        return status;
    const size_t values = (size_t)q->n_embedded_views * (size_t)r->info->view_tokens * (size_t)r->info->embedding_width;
    const void *data = NULL;
    status = read_data(r, json_object_get(object, "data"), "image_embeddings.data", values * sizeof(float), &data);
    q->image_embeddings = data;
    return status;
}

static vact_status read_tokens(const reader *r, const json_t *array)
{
    if (!json_is_array(array))
        return wrong_kind(r, "tokens", "an array of token ids", array);
    const size_t n = json_array_size(array);
    if (n > (size_t)r->info->max_tokens)
        return vact_fail(r->err, VACT_EINPUT, "%s: field tokens has %zu token ids, expected 1 to %d", r->name, n,
                         r->info->max_tokens);
    int32_t *tokens = vact_arena_take(&r->out->arena, n, sizeof *tokens);
    if (!tokens)
        return no_memory(r);
    vact_status status = VACT_OK;
    for (size_t i = 0; i < n && status == VACT_OK; i++) {
        char field[64];
        snprintf(field, sizeof field, "tokens[%zu]", i);
        status = read_int(r, json_array_get(array, i), field, 0, r->info->vocab_size - 1, &tokens[i]);
    }
    r->out->request.tokens = tokens;
    r->out->request.n_tokens = (int32_t)n;
    return status;
}

static vact_status read_state(const reader *r, const json_t *array)
{
    size_t n = 0;
    const vact_status status = read_floats(r, array, "state", &r->out->request.state, &n);
    r->out->request.n_state = n < INT32_MAX ? (int32_t)n : INT32_MAX;
    return status;
}

static vact_status read_noise(const reader *r, const json_t *array)
{
    size_t n = 0;
    const size_t want = (size_t)r->info->horizon * (size_t)r->info->max_action_dim;
    const vact_status status = read_floats(r, array, "noise", &r->out->request.noise, &n);
    if (status == VACT_OK && n != want)
        return vact_fail(r->err, VACT_EINPUT, "%s: field noise has %zu values, expected %zu (%d rows of %d)", r->name,
                         n, want, r->info->horizon, r->info->max_action_dim);
    return status;
}

static vact_status read_seed(const reader *r, const json_t *value)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return vact_fail(r->err, VACT_EINPUT, "%s: field seed is not an integer from 0 to 2^63-1", r->name);
    r->out->request.seed = (uint64_t)json_integer_value(value);
    r->out->request.has_seed = true;
    return VACT_OK;
}

static vact_status read_units(const reader *r, const json_t *value, const char *field, vact_units *out)
{
    const char *text = json_string_value(value);
    if (!text || (strcmp(text, "real") != 0 && strcmp(text, "model") != 0))
        return vact_fail(r->err, VACT_EINPUT, "%s: field %s is %.32s, expected \"real\" or \"model\"", r->name, field,
                         text ? text : kind(value));
    *out = strcmp(text, "real") == 0 ? VACT_UNITS_REAL : VACT_UNITS_MODEL;
    return VACT_OK;
}

static vact_status read_state_units(const reader *r, const json_t *value)
{
    return read_units(r, value, "state_units", &r->out->request.state_units);
}

static vact_status read_action_units(const reader *r, const json_t *value)
{
    return read_units(r, value, "action_units", &r->out->request.action_units);
}

static vact_status read_trace(const reader *r, const json_t *array)
{
    if (!json_is_array(array))
        return wrong_kind(r, "trace", "an array of name patterns", array);
    const size_t n = json_array_size(array);
    const char **patterns = vact_arena_take(&r->out->arena, n + 1, sizeof *patterns);
    if (!patterns)
        return no_memory(r);
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_string(value))
            return wrong_kind(r, "trace", "an array of name patterns", value);
        patterns[i] = vact_arena_text(&r->out->arena, json_string_value(value), json_string_length(value));
        if (!patterns[i])
            return no_memory(r);
    }
    r->out->trace = patterns;
    return VACT_OK;
}

/* ---- the document ---- */

static const struct field {
    const char *name;
    vact_status (*read)(const reader *r, const json_t *value);
} fields[] = {
    { "images", read_images },
    { "image_embeddings", read_embeddings },
    { "tokens", read_tokens },
    { "state", read_state },
    { "state_units", read_state_units },
    { "action_units", read_action_units },
    { "noise", read_noise },
    { "seed", read_seed },
    { "trace", read_trace },
};
enum { FIELDS = sizeof fields / sizeof *fields };

static vact_status read_fields(const reader *r, const json_t *root)
{
    const char *known[FIELDS + 1] = { NULL };
    for (int i = 0; i < FIELDS; i++)
        known[i] = fields[i].name;
    vact_status status = check_fields(r, root, "", known);
    for (int i = 0; i < FIELDS && status == VACT_OK; i++) {
        const json_t *value = json_object_get(root, fields[i].name);
        if (value)
            status = fields[i].read(r, value);
    }
    if (status == VACT_OK && r->out->request.noise && r->out->request.has_seed)
        return vact_fail(r->err, VACT_EINPUT, "%s: fields noise and seed are both given, expected one of them",
                         r->name);
    return status;
}

/* The text as a JSON object, or NULL. */
static json_t *load_object(const char *name, const char *text, size_t length, vact_error *err)
{
    json_error_t where;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
    if (!root) {
        vact_fail(err, VACT_EINPUT, "%s: not JSON at line %d, column %d: %s", name, where.line, where.column,
                  where.text);
    } else if (!json_is_object(root)) {
        vact_fail(err, VACT_EINPUT, "%s: the document is %s, expected an object", name, kind(root));
        json_decref(root);
        root = NULL;
    }
    return root;
}

vact_status vact_document_parse(vact_document *out, const vact_model_info *info, const char *name, const char *text,
                                size_t length, vact_error *err)
{
    *out = (vact_document){ 0 };
    vact_error_clear(err);
    name = vact_path_end(name);
    json_t *root = load_object(name, text, length, err);
    if (!root)
        return VACT_EINPUT;
    const reader r = { name, info, out, err };
    const vact_status status = read_fields(&r, root);
    json_decref(root);
    if (status != VACT_OK)
        vact_document_free(out);
    return status;
}

void vact_document_free(vact_document *document)
{
    vact_arena_free(&document->arena);
    *document = (vact_document){ 0 };
}

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
                                 kind(value));
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
    json_t *root = load_object(name, text, length, err);
    if (!root)
        return VACT_EINPUT;
    const vact_status status = read_actions(name, json_object_get(root, "actions"), arena, actions, rows, cols, err);
    json_decref(root);
    return status;
}

/* ---- replies ---- */

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
    char *text = ok ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    if (!text)
        return vact_fail(err, VACT_ENOMEM, "out of memory for the reply");
    const bool written = fputs(text, out) != EOF && fputc('\n', out) != EOF && fflush(out) == 0;
    free(text);
    return written ? VACT_OK : vact_fail(err, VACT_EIO, "cannot write the reply: %s", strerror(errno));
}
