#include "policy/document.h"

#include "base/error.h"
#include "base/nearest.h"
#include "file/base64.h"
#include "file/json.h"
#include <stdio.h>
#include <string.h>

enum {
    MOST_VALUES = 1 << 22,            /* pictures are strings; the longest array is the noise */
    MOST_PIXELS = 2 * VACT_MAX_PIXELS /* of all decoded pictures: small files can make large ones */
};

typedef struct reader {
    const char *name;   /* of the document */
    const char *folder; /* where relative paths start; NULL: no file is read */
    const vact_model_info *info;
    vact_document *out;
    vact_error *err;
} reader;

static vact_status no_memory(const reader *r)
{
    return vact_fail(r->err, VACT_ENOMEM, "%s: out of memory", r->name);
}

static vact_status wrong_kind(const reader *r, const char *field, const char *want, const json_t *value)
{
    return vact_fail(r->err, VACT_EINPUT, "%s: field %s is %s, expected %s", r->name, field, vact_json_kind(value),
                     want);
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
                             vact_json_kind(value));
        values[i] = (float)json_number_value(value);
    }
    *out = values;
    return VACT_OK;
}

static vact_status read_base64(const reader *r, const json_t *value, const char *field, const void **out, size_t *size)
{
    if (!json_is_string(value))
        return wrong_kind(r, field, "a base64 string", value);
    const size_t length = json_string_length(value);
    uint8_t *bytes = vact_arena_take(&r->out->arena, vact_base64_room(length) + 1, 1);
    if (!bytes)
        return no_memory(r);
    size_t at;
    if (!vact_base64_decode(bytes, size, json_string_value(value), length, &at))
        return vact_fail(r->err, VACT_EINPUT, "%s: field %s is not base64 at character %zu", r->name, field, at);
    *out = bytes;
    return VACT_OK;
}

static vact_status expect_bytes(const reader *r, const char *field, size_t size, size_t want)
{
    if (size == want)
        return VACT_OK;
    return vact_fail(r->err, VACT_EINPUT, "%s: field %s holds %zu bytes, expected %zu", r->name, field, size, want);
}

static vact_status read_int(const reader *r, const json_t *value, const char *field, int64_t lo, int64_t hi,
                            int32_t *out)
{
    if (!json_is_integer(value))
        return wrong_kind(r, field, "an integer", value);
    const json_int_t v = json_integer_value(value);
    if (v < lo || v > hi)
        return vact_fail(r->err, VACT_EINPUT, "%s: field %s is %lld, expected %lld to %lld", r->name, field,
                         (long long)v, (long long)lo, (long long)hi);
    *out = (int32_t)v;
    return VACT_OK;
}

/* ---- fields ---- */

/* The path as seen from the document's folder; NULL: out of memory. */
static const char *beside(const reader *r, const char *path)
{
    const size_t size = strlen(r->folder) + 1 + strlen(path) + 1;
    char *whole = vact_arena_take(&r->out->arena, size, 1);
    if (whole)
        snprintf(whole, size, "%s%s%s", *path == '/' ? "" : r->folder, *path == '/' || !*r->folder ? "" : "/", path);
    return whole;
}

enum { FIELD = 96 }; /* room for a field's whole name */

static const char *field_name(char field[FIELD], size_t image, const char *end)
{
    snprintf(field, FIELD, "images[%zu]%s", image, end);
    return field;
}

/* Optional; a copy of the arena's in *out. */
static vact_status read_string(const reader *r, const json_t *value, const char *field, const char **out)
{
    if (!value)
        return VACT_OK;
    if (!json_is_string(value))
        return wrong_kind(r, field, "a string", value);
    const size_t length = json_string_length(value);
    if (memchr(json_string_value(value), 0, length))
        return vact_fail(r->err, VACT_EINPUT, "%s: field %s has a NUL in it", r->name, field);
    *out = vact_arena_text(&r->out->arena, json_string_value(value), length);
    return *out ? VACT_OK : no_memory(r);
}

/* {"width", "height", "format", "data"}: an array of pixels. */
static vact_status read_pixels(const reader *r, const json_t *object, size_t i, vact_image *image)
{
    char field[FIELD];
    vact_status status =
        read_int(r, json_object_get(object, "width"), field_name(field, i, ".width"), 1, VACT_MAX_SIDE, &image->width);
    if (status == VACT_OK)
        status = read_int(r, json_object_get(object, "height"), field_name(field, i, ".height"), 1, VACT_MAX_SIDE,
                          &image->height);
    if (status != VACT_OK)
        return status;
    const json_t *format_value = json_object_get(object, "format");
    const char *format = json_string_value(format_value);
    if (!format || (strcmp(format, "rgb_u8") != 0 && strcmp(format, "rgb_f32") != 0))
        return vact_fail(r->err, VACT_EINPUT, "%s: field images[%zu].format is %.32s, expected rgb_u8 or rgb_f32",
                         r->name, i, format ? format : vact_json_kind(format_value));
    image->format = strcmp(format, "rgb_u8") == 0 ? VACT_RGB_U8 : VACT_RGB_F32;
    const size_t values = 3 * (size_t)image->width * (size_t)image->height;
    const size_t bytes = image->format == VACT_RGB_U8 ? values : values * sizeof(float);
    size_t size = 0;
    status = read_base64(r, json_object_get(object, "data"), field_name(field, i, ".data"), &image->data, &size);
    return status == VACT_OK ? expect_bytes(r, field, size, bytes) : status;
}

static vact_status load_picture(const reader *r, const json_t *value, size_t i, vact_image *image)
{
    char field[FIELD];
    const char *path = NULL;
    const vact_status status = read_string(r, value, field_name(field, i, ".path"), &path);
    if (status != VACT_OK)
        return status;
    if (!r->folder)
        return vact_fail(r->err, VACT_EINPUT, "%s: field %s: files are not read for this request, expected data",
                         r->name, field);
    path = beside(r, path);
    return path ? vact_image_load(image, path, r->err) : no_memory(r);
}

static vact_status decode_picture(const reader *r, const json_t *value, size_t i, vact_image *image)
{
    char field[FIELD], name[512];
    const void *bytes = NULL;
    size_t size = 0;
    const vact_status status = read_base64(r, value, field_name(field, i, ".data"), &bytes, &size);
    snprintf(name, sizeof name, "%s: field %s", r->name, field);
    return status == VACT_OK ? vact_image_decode(image, name, bytes, size, r->err) : status;
}

/* {"path"} or {"data"}: a JPEG or PNG file, there or here. The decoded picture is the document's to free. */
static vact_status read_picture(const reader *r, const json_t *object, size_t i, vact_image *image)
{
    const json_t *path = json_object_get(object, "path");
    const vact_status status =
        path ? load_picture(r, path, i, image) : decode_picture(r, json_object_get(object, "data"), i, image);
    if (status != VACT_OK)
        return status;
    int64_t pixels = 0;
    r->out->decoded[i] = *image;
    for (size_t j = 0; j <= i; j++)
        pixels += (int64_t)r->out->decoded[j].width * r->out->decoded[j].height;
    if (pixels > MOST_PIXELS)
        return vact_fail(r->err, VACT_EINPUT,
                         "%s: field images[%zu] makes %lld pixels of the pictures together, expected at most %d",
                         r->name, i, (long long)pixels, MOST_PIXELS);
    return VACT_OK;
}

static vact_status read_image(const reader *r, const json_t *object, size_t i, vact_image *image)
{
    static const char *const known[] = { "path", "data", "width", "height", "format", "prepared", "name", NULL };
    char at[FIELD];
    if (!json_is_object(object))
        return wrong_kind(r, field_name(at, i, ""), "an object", object);
    vact_status status = check_fields(r, object, field_name(at, i, "."), known);
    if (status != VACT_OK)
        return status;
    const bool pixels =
        json_object_get(object, "width") || json_object_get(object, "height") || json_object_get(object, "format");
    const json_t *prepared = json_object_get(object, "prepared"), *path = json_object_get(object, "path");
    if (path && (pixels || json_object_get(object, "data")))
        return vact_fail(r->err, VACT_EINPUT, "%s: field images[%zu] has a path and pixels, expected one of them",
                         r->name, i);
    if (prepared && !json_is_boolean(prepared))
        return wrong_kind(r, field_name(at, i, ".prepared"), "true or false", prepared);
    const char *camera = NULL;
    status = read_string(r, json_object_get(object, "name"), field_name(at, i, ".name"), &camera);
    if (status == VACT_OK)
        status = pixels ? read_pixels(r, object, i, image) : read_picture(r, object, i, image);
    image->prepared = prepared ? json_is_true(prepared) : pixels;
    image->camera = camera;
    return status;
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
    r->out->decoded = vact_arena_take(&r->out->arena, n, sizeof *images);
    if (!images || !r->out->decoded)
        return no_memory(r);
    r->out->n_decoded = (int32_t)n;
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
    size_t size = 0;
    status = read_base64(r, json_object_get(object, "data"), "image_embeddings.data", &data, &size);
    q->image_embeddings = data;
    return status == VACT_OK ? expect_bytes(r, "image_embeddings.data", size, values * sizeof(float)) : status;
}

static vact_status read_text(const reader *r, const json_t *value)
{
    return read_string(r, value, "text", &r->out->request.text);
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
    if (!json_is_integer(value))
        return wrong_kind(r, "seed", "an integer from 0 to 2^63-1", value);
    if (json_integer_value(value) < 0)
        return vact_fail(r->err, VACT_EINPUT, "%s: field seed is %lld, expected 0 to 2^63-1", r->name,
                         (long long)json_integer_value(value));
    r->out->request.seed = (uint64_t)json_integer_value(value);
    r->out->request.has_seed = true;
    return VACT_OK;
}

static vact_status read_units(const reader *r, const json_t *value, const char *field, vact_units *out)
{
    const char *text = json_string_value(value);
    if (!text || (strcmp(text, "real") != 0 && strcmp(text, "model") != 0))
        return vact_fail(r->err, VACT_EINPUT, "%s: field %s is %.32s, expected \"real\" or \"model\"", r->name, field,
                         text ? text : vact_json_kind(value));
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
    vact_status status = VACT_OK;
    for (size_t i = 0; i < n && status == VACT_OK; i++) {
        char field[FIELD];
        snprintf(field, sizeof field, "trace[%zu]", i);
        status = read_string(r, json_array_get(array, i), field, &patterns[i]);
    }
    r->out->trace = patterns;
    return status;
}

/* ---- the document ---- */

static const struct field {
    const char *name;
    vact_status (*read)(const reader *r, const json_t *value);
} fields[] = {
    { "images", read_images },
    { "image_embeddings", read_embeddings },
    { "text", read_text },
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

vact_status vact_document_parse(vact_document *out, const vact_model_info *info, const vact_document_source *source,
                                vact_error *err)
{
    *out = (vact_document){ 0 };
    vact_error_clear(err);
    const char *name = vact_path_end(source->name);
    json_t *root;
    vact_status status = vact_json_object(&root, name, source->text, source->length, MOST_VALUES, VACT_EINPUT, err);
    if (status != VACT_OK)
        return status;
    const reader r = { name, source->folder, info, out, err };
    status = read_fields(&r, root);
    json_decref(root);
    if (status != VACT_OK)
        vact_document_free(out);
    return status;
}

void vact_document_forget_images(vact_document *document)
{
    for (int32_t i = 0; i < document->n_decoded; i++)
        vact_image_free(&document->decoded[i]);
    document->n_decoded = 0;
    document->decoded = NULL;
    document->request.images = NULL;
    document->request.n_images = 0;
    document->request.image_embeddings = NULL;
    document->request.n_embedded_views = 0;
}

void vact_document_free(vact_document *document)
{
    vact_document_forget_images(document);
    vact_arena_free(&document->arena);
    *document = (vact_document){ 0 };
}
