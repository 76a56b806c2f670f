/* LeRobot's SmolVLA in PyTorch, float32 on a CPU (tools/reference/run_smolvla.py), against the same directory here, and
 * the files that it converts to: observation in, action chunk out, and the stages in between. */
#include "convert/convert.h"
#include "folder.h"
#include "load_json.h"
#include "policy/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTORY TEST_DATA "/lerobot_smolvla"
#define TOLERANCE 2e-5

static vact_model *model;
static json_t *golden;

static int open_all(void **state)
{
    (void)state;
    vact_error err = { 0 };
    if (folder_make("made.gguf") != 0)
        return -1;
    golden = load_json(TEST_DATA "/lerobot_smolvla.json");
    if (vact_model_open(&model, DIRECTORY, NULL, &err) != VACT_OK)
        fail_msg("%s", err.text);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    vact_model_close(&model);
    json_decref(golden);
    return 0;
}

/* ---- an observation ---- */

enum { MOST_VALUES = 4096, MOST_TOKENS = 48 };

typedef struct observation {
    vact_image images[2];
    vact_request request;
    int32_t tokens[MOST_TOKENS];
    float state[6], noise[MOST_VALUES];
} observation;

static size_t read_floats(float *out, const json_t *list)
{
    const size_t n = json_array_size(list);
    assert_in_range(n, 1, MOST_VALUES);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)json_number_value(json_array_get(list, i));
    return n;
}

/* Pixels by the formula that the golden states. */
static uint8_t *make_frame(int32_t width, int32_t height, int32_t seed)
{
    uint8_t *pixels = malloc((size_t)width * (size_t)height * 3), *at = pixels;
    assert_non_null(pixels);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++)
            for (int32_t c = 0; c < 3; c++)
                *at++ = (uint8_t)(((x * (3 + c) + y * (5 + 2 * c) + 37 * seed) ^ (x * y >> 4)) & 255);
    return pixels;
}

static void observe(observation *o, const json_t *g)
{
    const json_t *frames = json_object_get(g, "frames");
    *o = (observation){ .request = { .images = o->images, .n_images = (int32_t)json_array_size(frames) } };
    for (int32_t i = 0; i < o->request.n_images; i++) {
        const json_t *frame = json_array_get(frames, (size_t)i);
        const int32_t width = (int32_t)json_integer_value(json_object_get(frame, "width"));
        const int32_t height = (int32_t)json_integer_value(json_object_get(frame, "height"));
        const int32_t seed = (int32_t)json_integer_value(json_object_get(frame, "seed"));
        o->images[i] = (vact_image){ .data = make_frame(width, height, seed),
                                     .width = width,
                                     .height = height,
                                     .camera = strrchr(json_string_value(json_object_get(frame, "camera")), '.') + 1 };
    }
    /* A longer instruction is refused here, and cut by LeRobot. */
    if (json_array_size(json_object_get(g, "tokens")) == MOST_TOKENS) {
        o->request.tokens = o->tokens;
        o->request.n_tokens = MOST_TOKENS;
        for (size_t i = 0; i < MOST_TOKENS; i++)
            o->tokens[i] = (int32_t)json_integer_value(json_array_get(json_object_get(g, "tokens"), i));
    } else {
        o->request.text = json_string_value(json_object_get(g, "task"));
    }
    o->request.n_state = (int32_t)read_floats(o->state, json_object_get(g, "state"));
    o->request.state = o->state;
    read_floats(o->noise, json_object_get(g, "noise"));
    o->request.noise = o->noise;
}

static void forget(observation *o)
{
    for (int32_t i = 0; i < o->request.n_images; i++)
        free((void *)(uintptr_t)o->images[i].data);
}

/* ---- stages ---- */

typedef struct listener {
    const json_t *g;
    int compared;
} listener;

/* A golden has every stride-th value, and how large they are is what an error is measured by. */
static void compare(const char *name, const json_t *want, const float *values, int32_t n)
{
    const json_t *list = json_object_get(want, "values");
    const size_t stride = (size_t)json_integer_value(json_object_get(want, "stride"));
    double worst = 0, largest = 0;
    assert_int_equal(json_array_size(list), ((size_t)n + stride - 1) / stride);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const double w = json_number_value(json_array_get(list, i)), d = fabs((double)values[i * stride] - w);
        worst = d > worst || !(d == d) ? d : worst;
        largest = fabs(w) > largest ? fabs(w) : largest;
    }
    if (!(worst <= TOLERANCE * (1 + largest)))
        fail_msg("%s is %g off, of values up to %g", name, worst, largest);
}

static void listen(void *user, const char *name, const float *values, int32_t rows, int32_t cols)
{
    static const struct {
        const char *name, *golden, *layer;
    } stages[] = {
        { "prefix.0.k", "keys", "0" },
        { "prefix.0.v", "values", "0" },
        { "prefix.3.k", "keys", "3" },
        { "prefix.3.v", "values", "3" },
    };
    listener *l = user;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (strcmp(name, stages[i].name) == 0) {
            compare(name, json_object_get(json_object_get(l->g, stages[i].golden), stages[i].layer), values,
                    rows * cols);
            l->compared++;
        }
    if (strcmp(name, "vision.out") == 0) {
        const json_t *views = json_object_get(l->g, "vision");
        const int32_t each = rows / (int32_t)json_array_size(views);
        for (int32_t i = 0; i * each < rows; i++)
            compare(name, json_array_get(views, (size_t)i), values + i * each * cols, each * cols);
        l->compared++;
    }
}

static double predict(const vact_model *m, const json_t *g, vact_trace_fn trace, void *user)
{
    vact_error err = { 0 };
    vact_session *session = NULL;
    observation o;
    float actions[MOST_VALUES];
    double worst = 0;
    const json_t *want = json_object_get(g, "actions");
    observe(&o, g);
    vact_reply reply = { .actions = actions };
    if (vact_session_open(&session, m, NULL, &err) != VACT_OK)
        fail_msg("%s", err.text);
    vact_trace(session, trace, user);
    if (vact_predict(session, &o.request, &reply, &err) != VACT_OK)
        fail_msg("%s: %s", json_string_value(json_object_get(g, "name")), err.text);
    for (size_t i = 0; i < json_array_size(want); i++) {
        const double d = fabs((double)actions[i] - json_number_value(json_array_get(want, i)));
        worst = d > worst || !(d == d) ? d : worst;
    }
    vact_session_close(&session);
    forget(&o);
    return worst;
}

static void test_actions_and_stages_are_those_of_pytorch(void **state)
{
    (void)state;
    size_t i;
    json_t *g;
    json_array_foreach(json_object_get(golden, "cases"), i, g)
    {
        if (strcmp(json_string_value(json_object_get(g, "rounded")), "nothing") != 0)
            continue;
        const char *name = json_string_value(json_object_get(g, "name"));
        listener l = { g, 0 };
        /* A camera that is not there has a place among LeRobot's keys, which nothing sees. */
        const bool stages = json_integer_value(json_object_get(g, "empty_cameras")) == 0;
        const double worst = predict(model, g, stages ? listen : NULL, &l);
        if (!(worst <= TOLERANCE))
            fail_msg("%s: actions are %g off", name, worst);
        assert_int_equal(l.compared, stages ? 5 : 0);
    }
}

/* ---- converted ---- */

static const json_t *find_case(const char *name)
{
    size_t i;
    json_t *g;
    json_array_foreach(json_object_get(golden, "cases"), i, g)
    {
        if (strcmp(json_string_value(json_object_get(g, "name")), name) == 0)
            return g;
    }
    fail_msg("no case %s", name);
    return NULL;
}

/* Largest error of a case's actions after a conversion. */
static double predict_converted(vact_dtype type, const char *name)
{
    vact_error err = { 0 };
    vact_model *made = NULL;
    vact_converted report;
    if (vact_convert(DIRECTORY, path, &(vact_conversion){ .type = type }, &report, &err) != VACT_OK ||
        vact_model_open(&made, path, NULL, &err) != VACT_OK)
        fail_msg("%s", err.text);
    assert_true(report.tokenizer);
    const double worst = predict(made, find_case(name), NULL, NULL);
    vact_model_close(&made);
    assert_int_equal(unlink(path), 0);
    return worst;
}

static void test_converted_files_act_alike(void **state)
{
    (void)state;
    static const struct {
        vact_dtype type;
        const char *golden;
        double most;
    } cases[] = {
        { VACT_DTYPE_END, "padded", TOLERANCE },
        { VACT_DTYPE_F32, "padded", TOLERANCE },
        { VACT_DTYPE_BF16, "base_bf16_matrices", TOLERANCE }, /* which PyTorch rounded alike */
        { VACT_DTYPE_BF16, "base", 2e-3 },
        { VACT_DTYPE_Q8_0, "base", 5e-3 },
        { VACT_DTYPE_Q4_0, "base", 5e-2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double worst = predict_converted(cases[i].type, cases[i].golden);
        if (!(worst <= cases[i].most))
            fail_msg("case %zu, %s: actions are %g off", i, cases[i].golden, worst);
    }
}

/* ---- instructions ---- */

/* What LeRobot reads of 240 instructions; it cuts those that are longer than the policy takes. */
static void test_instructions_become_the_same_tokens(void **state)
{
    (void)state;
    json_t *instructions = json_load_file(TEST_DATA "/lerobot_instructions.json", 0, NULL), *one;
    vact_error err = { 0 };
    vact_encoder *encoder = NULL;
    size_t i, longer = 0;
    assert_in_range(json_array_size(instructions), 200, 1000);
    assert_int_equal(vact_encoder_open(&encoder, model->tokenizer, 4096, &err), VACT_OK);
    json_array_foreach(instructions, i, one)
    {
        char prompt[8192];
        const json_t *want = json_object_get(one, "ids");
        const char *text = json_string_value(json_object_get(one, "text"));
        const int32_t *ids = NULL;
        size_t n = 0;
        assert_true(strlen(text) + VACT_MAX_TEMPLATE < sizeof prompt);
        const int length = model->arch->prompt(prompt, sizeof prompt, text);
        assert_int_equal(vact_encode(encoder, prompt, (size_t)length, true, &ids, &n, &err), VACT_OK);
        longer += n > MOST_TOKENS;
        if (json_array_size(want) != (n > MOST_TOKENS ? MOST_TOKENS : n))
            fail_msg("\"%s\": found %zu tokens, expected %zu", text, n, json_array_size(want));
        for (size_t j = 0; j < json_array_size(want); j++)
            if (ids[j] != json_integer_value(json_array_get(want, j)))
                fail_msg("\"%s\": token %zu is %d", text, j, ids[j]);
    }
    assert_in_range(longer, 1, 100);
    vact_encoder_close(&encoder);
    json_decref(instructions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_actions_and_stages_are_those_of_pytorch),
        cmocka_unit_test(test_converted_files_act_alike),
        cmocka_unit_test(test_instructions_become_the_same_tokens),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
