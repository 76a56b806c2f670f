/* request -> checked, prepared pixels in the order of the cameras, token ids, normalised state. */
#include "base/error.h"
#include "file/line.h"
#include "policy/session.h"
#include "policy/units.h"
#include "text/utf8.h"
#include <math.h>
#include <string.h>

/* ---- numbers ---- */

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

/* ---- images ---- */

static vact_status check_image(const vact_model_info *info, const vact_image *image, int32_t i, vact_error *err)
{
    const int32_t size = info->image_size, w = image->width, h = image->height;
    if (!image->data)
        return vact_fail(err, VACT_EINPUT, "image %d has no data", i);
    if (image->prepared && (w != size || h != size))
        return vact_fail(err, VACT_EINPUT, "image %d is %dx%d, expected %dx%d: its pixels are said to be prepared", i,
                         w, h, size, size);
    if (w < 1 || h < 1 || w > VACT_MAX_SIDE || h > VACT_MAX_SIDE || (int64_t)w * h > VACT_MAX_PIXELS)
        return vact_fail(err, VACT_EINPUT, "image %d is %dx%d, expected sides of 1 to %d and at most %d pixels", i, w,
                         h, VACT_MAX_SIDE, VACT_MAX_PIXELS);
    if (image->format != VACT_RGB_U8 && image->format != VACT_RGB_F32)
        return vact_fail(err, VACT_EINPUT, "image %d has pixel format %d, expected rgb_u8 or rgb_f32", i,
                         (int)image->format);
    const float *values = image->data;
    for (size_t j = 0; image->format == VACT_RGB_F32 && j < 3 * (size_t)w * (size_t)h; j++)
        if (!(values[j] >= 0 && values[j] <= 1))
            return vact_fail(err, VACT_EINPUT, "image %d has %g at row %zu, column %zu, expected 0 to 1", i,
                             (double)values[j], j / 3 / (size_t)w, j / 3 % (size_t)w);
    return VACT_OK;
}

/* Where the image's camera stands among the file's. */
static vact_status find_camera(const vact_model_info *info, const char *camera, int32_t i, int32_t *place,
                               vact_error *err)
{
    if (info->n_cameras == 0)
        return vact_fail(err, VACT_EINPUT, "image %d is of camera \"%.64s\", but the policy's file names no cameras", i,
                         camera);
    for (int32_t c = 0; c < info->n_cameras; c++)
        if (strcmp(camera, info->cameras[c]) == 0) {
            *place = c;
            return VACT_OK;
        }
    char known[256];
    vact_line line;
    vact_line_begin(&line, known, sizeof known);
    for (int32_t c = 0; c < info->n_cameras; c++) {
        vact_line_put(&line, c ? ", " : "");
        vact_line_put(&line, info->cameras[c]);
    }
    return vact_fail(err, VACT_EINPUT, "image %d is of camera \"%.64s\", expected one of: %s", i, camera, known);
}

/* order[view] = index of the image that is view `view`: named images by the file's order of cameras, the others in the
 * places that are left, without gaps. */
static vact_status order_views(const vact_model_info *info, const vact_request *q, int32_t *order, vact_error *err)
{
    int32_t at[VACT_MAX_VIEWS]; /* image of each place, -1: none */
    const int32_t places = info->n_cameras ? info->n_cameras : q->n_images;
    if (q->n_images > places)
        return vact_fail(err, VACT_EINPUT,
                         "the request has %d camera views, expected at most the %d that the file names", q->n_images,
                         places);
    memset(at, -1, sizeof at);
    for (int32_t i = 0; i < q->n_images; i++) {
        int32_t place = 0;
        if (!q->images[i].camera)
            continue;
        const vact_status status = find_camera(info, q->images[i].camera, i, &place, err);
        if (status != VACT_OK)
            return status;
        if (at[place] >= 0)
            return vact_fail(err, VACT_EINPUT, "images %d and %d are both of camera \"%s\"", at[place], i,
                             info->cameras[place]);
        at[place] = i;
    }
    for (int32_t i = 0, free = 0; i < q->n_images; i++)
        if (!q->images[i].camera) {
            while (at[free] >= 0)
                free++;
            at[free] = i;
        }
    for (int32_t place = 0, view = 0; place < places; place++)
        if (at[place] >= 0)
            order[view++] = at[place];
    return VACT_OK;
}

/* Camera pictures get the policy's preprocessing; prepared pixels are passed on. */
static void prepare_views(vact_session *s, const vact_request *q, const int32_t *order)
{
    const int32_t size = s->model->info.image_size;
    for (int32_t view = 0; view < q->n_images; view++) {
        const vact_image *image = &q->images[order[view]];
        s->views[view] = *image;
        if (image->prepared)
            continue;
        float *pixels = s->pixels + 3 * (size_t)size * (size_t)size * (size_t)view;
        s->model->arch->fit(pixels, size, image);
        s->views[view] =
            (vact_image){ .data = pixels, .width = size, .height = size, .format = VACT_RGB_F32, .prepared = true };
    }
}

static vact_status observe_images(vact_session *s, const vact_request *q, vact_error *err)
{
    const vact_model_info *info = &s->model->info;
    const int32_t n = vact_request_views(q);
    int32_t order[VACT_MAX_VIEWS];
    if (q->image_embeddings && q->n_images)
        return vact_fail(err, VACT_EINPUT, "images and image_embeddings are both given, expected one of them");
    if (n < 1 || n > s->settings.max_views)
        return vact_fail(err, VACT_EINPUT, "the request has %d camera views, expected 1 to %d", n,
                         s->settings.max_views);
    if (q->image_embeddings)
        return check_numbers("image_embeddings", q->image_embeddings,
                             (size_t)n * (size_t)info->view_tokens * (size_t)info->embedding_width, err);
    if (!q->images)
        return vact_fail(err, VACT_EINPUT, "the request has %d camera views, but images is NULL", n);
    vact_status status = VACT_OK;
    for (int32_t i = 0; i < n && status == VACT_OK; i++)
        status = check_image(info, &q->images[i], i, err);
    if (status == VACT_OK)
        status = order_views(info, q, order, err);
    if (status == VACT_OK)
        prepare_views(s, q, order);
    return status;
}

/* ---- the instruction ---- */

static vact_status encode_text(vact_session *s, const char *text, vact_error *err)
{
    const vact_model_info *info = &s->model->info;
    const size_t length = strnlen(text, VACT_MAX_TEXT + 1);
    if (!s->encoder)
        return vact_fail(err, VACT_EINPUT,
                         "the request has text, but this policy came without a tokenizer: expected tokens, or a "
                         "tokenizer in the file or the settings");
    if (length > VACT_MAX_TEXT)
        return vact_fail(err, VACT_EINPUT, "text is longer than %d bytes", VACT_MAX_TEXT);
    const size_t valid = vact_utf8_valid(text, length);
    if (valid < length)
        return vact_fail(err, VACT_EINPUT, "text is not UTF-8 at byte %zu", valid);
    const vact_prompt prompt = { text, s->proprioception, info->state_dim };
    const int n = s->model->arch->prompt(s->prompt, sizeof s->prompt, &prompt);
    size_t found;
    const vact_status status = vact_encode(s->encoder, s->prompt, (size_t)n, true, &s->tokens, &found, err);
    if (status == VACT_OK && found > (size_t)info->max_tokens)
        return vact_fail(err, VACT_EINPUT, "text is %zu tokens long in the policy's template, expected at most %d",
                         found, info->max_tokens);
    s->n_tokens = (int32_t)found;
    return status;
}

static vact_status observe_instruction(vact_session *s, const vact_request *q, vact_error *err)
{
    const vact_model_info *info = &s->model->info;
    s->tokens = q->tokens;
    s->n_tokens = q->n_tokens;
    if (q->text && q->n_tokens)
        return vact_fail(err, VACT_EINPUT, "text and tokens are both given, expected one of them");
    const vact_status status = q->text ? encode_text(s, q->text, err) : VACT_OK;
    if (status != VACT_OK)
        return status;
    if (s->n_tokens < 1 || s->n_tokens > info->max_tokens)
        return vact_fail(err, VACT_EINPUT, "the request has %d tokens, expected 1 to %d", s->n_tokens,
                         info->max_tokens);
    if (!s->tokens)
        return vact_fail(err, VACT_EINPUT, "the request has %d tokens, but tokens is NULL", s->n_tokens);
    for (int32_t i = 0; i < s->n_tokens; i++)
        if (s->tokens[i] < 0 || s->tokens[i] >= info->vocab_size)
            return vact_fail(err, VACT_EINPUT, "tokens[%d] is %d, expected 0 to %d", i, s->tokens[i],
                             info->vocab_size - 1);
    return VACT_OK;
}

/* ---- the state ---- */

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

static vact_status observe_state(vact_session *s, const vact_request *q, vact_error *err)
{
    const vact_statistics *t = &s->model->statistics.state;
    const vact_status status = check_state(&s->model->info, q, err);
    if (status != VACT_OK)
        return status;
    memset(s->proprioception, 0, (size_t)s->model->info.max_state_dim * sizeof(float));
    for (int32_t i = 0; i < t->n; i++) {
        const float raw = q->state ? q->state[i] : 0;
        s->proprioception[i] = q->state_units == VACT_UNITS_MODEL ? raw : vact_to_model(t, i, raw);
        if (!(fabsf(s->proprioception[i]) <= LARGEST))
            return vact_fail(err, VACT_EINPUT, "state[%d] is %g, by the file's statistics %g, expected %g to %g", i,
                             (double)raw, (double)s->proprioception[i], (double)-LARGEST, (double)LARGEST);
    }
    return VACT_OK;
}

/* ---- the whole ---- */

static vact_status check_units(const char *name, vact_units units, vact_error *err)
{
    if (units == VACT_UNITS_REAL || units == VACT_UNITS_MODEL)
        return VACT_OK;
    return vact_fail(err, VACT_EINPUT, "%s is %d, expected VACT_UNITS_REAL or VACT_UNITS_MODEL", name, (int)units);
}

vact_status vact_observe(vact_session *s, const vact_request *q, vact_error *err)
{
    const vact_model_info *info = &s->model->info;
    vact_status status = check_units("state_units", q->state_units, err);
    if (status == VACT_OK)
        status = check_units("action_units", q->action_units, err);
    if (status == VACT_OK)
        status = observe_state(s, q, err);
    if (status == VACT_OK)
        status = observe_instruction(s, q, err); /* a prompt may hold the state */
    if (status == VACT_OK && q->noise)
        status = check_numbers("noise", q->noise, (size_t)info->horizon * (size_t)info->max_action_dim, err);
    if (status == VACT_OK)
        status = observe_images(s, q, err);
    return status;
}
