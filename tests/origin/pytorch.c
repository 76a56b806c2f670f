#include "origin/pytorch.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 4096, MOST_STATE = 32, MOST_VIEWS = 2 };

typedef struct observation {
    vact_image images[MOST_VIEWS];
    vact_request request;
    int32_t tokens[PYTORCH_TOKENS];
    float state[MOST_STATE], noise[MOST_VALUES];
} observation;

const json_t *pytorch_case(const json_t *golden, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(golden, "cases"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0)
            return one;
    }
    return NULL;
}

/* ---- an observation ---- */

static size_t read_floats(float *out, size_t most, const json_t *list)
{
    const size_t n = json_array_size(list);
    assert(n >= 1 && n <= most);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)json_number_value(json_array_get(list, i));
    return n;
}

/* Pixels by the formula that the golden states. */
static uint8_t *make_frame(int32_t width, int32_t height, int32_t seed)
{
    uint8_t *pixels = malloc((size_t)width * (size_t)height * 3), *at = pixels;
    assert(pixels);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++)
            for (int32_t c = 0; c < 3; c++)
                *at++ = (uint8_t)(((x * (3 + c) + y * (5 + 2 * c) + 37 * seed) ^ (x * y >> 4)) & 255);
    return pixels;
}

static int32_t number(const json_t *object, const char *key)
{
    return (int32_t)json_integer_value(json_object_get(object, key));
}

static void observe(observation *o, const json_t *one)
{
    const json_t *frames = json_object_get(one, "frames"), *tokens = json_object_get(one, "tokens");
    *o = (observation){ .request = { .images = o->images, .n_images = (int32_t)json_array_size(frames) } };
    assert(o->request.n_images <= MOST_VIEWS && json_array_size(tokens) <= PYTORCH_TOKENS);
    for (int32_t i = 0; i < o->request.n_images; i++) {
        const json_t *frame = json_array_get(frames, (size_t)i);
        const int32_t width = number(frame, "width"), height = number(frame, "height");
        o->images[i] = (vact_image){ .data = make_frame(width, height, number(frame, "seed")),
                                     .width = width,
                                     .height = height,
                                     .camera = strrchr(json_string_value(json_object_get(frame, "camera")), '.') + 1 };
    }
    if (json_array_size(tokens) == PYTORCH_TOKENS) {
        o->request.tokens = o->tokens;
        o->request.n_tokens = PYTORCH_TOKENS;
        for (size_t i = 0; i < PYTORCH_TOKENS; i++)
            o->tokens[i] = (int32_t)json_integer_value(json_array_get(tokens, i));
    } else {
        o->request.text = json_string_value(json_object_get(one, "task"));
    }
    o->request.n_state = (int32_t)read_floats(o->state, MOST_STATE, json_object_get(one, "state"));
    o->request.state = o->state;
    read_floats(o->noise, MOST_VALUES, json_object_get(one, "noise"));
    o->request.noise = o->noise;
}

static void forget(observation *o)
{
    for (int32_t i = 0; i < o->request.n_images; i++)
        free((void *)(uintptr_t)o->images[i].data);
}

/* ---- stages ---- */

typedef struct stage {
    const char *name;
    const json_t *want; /* an object of every stride-th value, or a list of one for each view */
} stage;

typedef struct listener {
    stage stages[PYTORCH_STAGES];
    pytorch_errors *errors;
} listener;

static void add(pytorch_error *error, const json_t *values, size_t stride, const float *has, size_t n)
{
    double sum = 0;
    const size_t count = json_array_size(values);
    assert(count == (n + stride - 1) / stride);
    for (size_t i = 0; i < count; i++) {
        const double want = json_number_value(json_array_get(values, i)), d = fabs((double)has[i * stride] - want);
        error->worst = d > error->worst || !(d == d) ? d : error->worst;
        error->largest = fabs(want) > error->largest ? fabs(want) : error->largest;
        sum += d * d;
    }
    error->rms = fmax(error->rms, sqrt(sum / (double)count));
}

static void listen(void *user, const char *name, const float *values, int32_t rows, int32_t cols)
{
    listener *l = user;
    for (int i = 0; i < PYTORCH_STAGES; i++) {
        const json_t *want = l->stages[i].want;
        if (!want || strcmp(l->stages[i].name, name) != 0)
            continue;
        const size_t parts = json_is_array(want) ? json_array_size(want) : 1;
        const size_t each = (size_t)rows * (size_t)cols / parts;
        l->errors->stages[i].stage = l->stages[i].name;
        for (size_t p = 0; p < parts; p++) {
            const json_t *part = json_is_array(want) ? json_array_get(want, p) : want;
            add(&l->errors->stages[i], json_object_get(part, "values"),
                (size_t)json_integer_value(json_object_get(part, "stride")), values + p * each, each);
        }
    }
}

/* Keys and values of the first prefix layer and of the last. */
static void find_layers(listener *l, const json_t *one, char names[4][32])
{
    static const char *const halves[] = { "keys", "values" };
    for (int half = 0; half < 2; half++) {
        const char *layer;
        json_t *want;
        int i = half ? 3 : 1;
        json_object_foreach(json_object_get(one, halves[half]), layer, want)
        {
            char *name = names[i - 1];
            snprintf(name, 32, "prefix.%s.%c", layer, halves[half][0]);
            l->stages[i] = (stage){ name, want };
            i += i < (half ? 4 : 2);
        }
    }
}

vact_status pytorch_predict(vact_session *session, const json_t *one, pytorch_errors *errors, vact_error *err)
{
    static char names[4][32];
    observation o;
    float actions[MOST_VALUES];
    const json_t *steps = json_object_get(one, "x_after_step"), *want = json_object_get(one, "actions");
    listener l = { .errors = errors };
    *errors = (pytorch_errors){ 0 };
    if (number(one, "empty_cameras") == 0) {
        l.stages[0] = (stage){ "vision.out", json_object_get(one, "vision") };
        find_layers(&l, one, names);
        l.stages[5] = (stage){ "step.0.velocity", json_object_get(one, "velocity_0") };
        l.stages[6] = (stage){ "step.9.x", json_array_get(steps, json_array_size(steps) - 1) };
    }
    observe(&o, one);
    vact_reply reply = { .actions = actions };
    vact_trace(session, listen, &l);
    const vact_status status = vact_predict(session, &o.request, &reply, err);
    vact_trace(session, NULL, NULL);
    if (status == VACT_OK) {
        errors->stages[PYTORCH_STAGES - 1].stage = "actions";
        add(&errors->stages[PYTORCH_STAGES - 1], want, 1, actions, json_array_size(want));
    }
    forget(&o);
    return status;
}
