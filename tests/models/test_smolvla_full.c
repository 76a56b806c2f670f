/* SmolVLA at its published size, made-up weights, against what vla.cpp answered (tests/data/smolvla_full.json):
 * the f32 runs within 2e-3, the bf16 run, whose activations vla.cpp rounds, within 1e-2. */
#include "base/clock.h"
#include "models/golden.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FULL "test_smolvla_full.gguf"
enum { STATE = 8, MAX_VIEWS = 3 };

static json_t *golden;

static int set_up(void **state)
{
    (void)state;
    golden = load_json(TEST_DATA "/smolvla_full.json");
    golden_model("smolvla", "full", FULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(golden);
    unlink(FULL);
    return 0;
}

static float number(const json_t *object, const char *key)
{
    return (float)json_number_value(json_object_get(object, key));
}

/* pixel(view, y, x, c) = (x + 2y + 40c + 17 view + offset) mod 256 */
static uint8_t *make_view(int32_t size, int view, int offset)
{
    uint8_t *pixels = malloc(3 * (size_t)size * (size_t)size), *at = pixels;
    assert_non_null(pixels);
    for (int32_t y = 0; y < size; y++)
        for (int32_t x = 0; x < size; x++)
            for (int32_t c = 0; c < 3; c++)
                *at++ = (uint8_t)(x + 2 * y + 40 * c + 17 * view + offset);
    return pixels;
}

/* noise[i] = (0.001 ((i * 2654435761) mod 1000) - 0.5) * scale */
static float *make_noise(size_t n, float scale)
{
    float *noise = malloc(n * sizeof *noise);
    assert_non_null(noise);
    for (size_t i = 0; i < n; i++)
        noise[i] = (0.001f * (float)((uint64_t)i * 2654435761u % 1000) - 0.5f) * scale;
    return noise;
}

static double distance_of_case(vact_session *session, const vact_model_info *info, const json_t *one)
{
    vact_image images[MAX_VIEWS];
    int32_t tokens[64];
    float state[STATE];
    vact_error err = { 0 };
    const int32_t views = (int32_t)number(one, "n_images"), size = (int32_t)number(one, "image_size");
    assert_true(views <= MAX_VIEWS);
    for (int v = 0; v < views; v++)
        images[v] = (vact_image){ .data = make_view(size, v, (int)number(one, "pixel_offset")),
                                  .width = size,
                                  .height = size,
                                  .prepared = true };
    const size_t n = json_array_size(json_object_get(one, "tokens"));
    for (size_t i = 0; i < n; i++)
        tokens[i] = (int32_t)json_integer_value(json_array_get(json_object_get(one, "tokens"), i));
    for (int i = 0; i < STATE; i++)
        state[i] = number(one, "state_a") * (float)(i + 1) + number(one, "state_b");
    const size_t values = (size_t)(info->horizon * info->max_action_dim);
    float *noise = make_noise(values, number(one, "noise_scale")), *actions = malloc(values * sizeof *actions);
    assert_non_null(actions);
    vact_reply reply = { .actions = actions };
    const vact_request q = { .images = images,
                             .n_images = views,
                             .tokens = tokens,
                             .n_tokens = (int32_t)n,
                             .state = state,
                             .n_state = STATE,
                             .noise = noise };
    if (vact_predict(session, &q, &reply, &err) != VACT_OK)
        fail_msg("%s", err.text);
    const double d = golden_distance(info, actions, json_object_get(one, "actions"), (size_t)info->action_dim);
    for (int v = 0; v < views; v++)
        free((void *)(uintptr_t)images[v].data);
    free(noise);
    free(actions);
    return d;
}

static void test_every_case_agrees_and_memory_follows_the_plan(void **state)
{
    (void)state;
    size_t i;
    json_t *one;
    uint64_t planned = 0;
    vact_error err = { 0 };
    const vact_settings settings = { .max_views = 2 };
    vact_model *model = golden_open(FULL);
    const vact_model_info *info = vact_model_get_info(model);
    vact_session *session = golden_session(model, &settings);
    json_array_foreach(json_object_get(golden, "cases"), i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        const double bound = strstr(name, "bf16") ? 1e-2 : 2e-3;
        const double d = distance_of_case(session, info, one);
        printf("%s: %.2e from vla.cpp\n", name, d);
        assert_true(d <= bound);
    }
    assert_int_equal(vact_session_bytes(model, &settings, &planned, &err), VACT_OK);
    assert_true((double)vact_peak_resident_bytes() <= 1.15 * (double)info->file_bytes + (double)planned);
    vact_session_close(&session);
    vact_model_close(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_case_agrees_and_memory_follows_the_plan) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
