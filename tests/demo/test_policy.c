/* The demo's checkpoint against the program that trained it: action chunks of four scenes and the ids of their sentences.
 * tools/demo/demo_train.py made demo_policy.json, in float32. */
#include "demo/table.h"
#include "load_json.h"
#include "text/tokenizer.h"
#include "vact.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HORIZON = 8, MAX_ACTION = 4, MOST_TOKENS = 16, SCENES = 4 };

static json_t *scenes;
static vact_model *model;

/* ---- a scene ---- */

typedef struct scene {
    const json_t *golden;
    const char *text;
    uint8_t picture[3 * DEMO_SIDE * DEMO_SIDE];
    float state[DEMO_STATE], noise[HORIZON * MAX_ACTION];
    int32_t tokens[MOST_TOKENS], n_tokens;
} scene;

/* The numbers of an array; how many there are. */
static size_t get_floats(const json_t *array, float *out, size_t room)
{
    const size_t n = json_array_size(array);
    assert_in_range(n, 1, room);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)json_number_value(json_array_get(array, i));
    return n;
}

static scene get_scene(size_t i)
{
    scene s = { .golden = json_array_get(scenes, i) };
    const json_t *tokens = json_object_get(s.golden, "tokens");
    demo_table t;
    demo_table_reset(&t, (uint64_t)json_integer_value(json_object_get(s.golden, "seed")));
    demo_table_render(&t, DEMO_SIDE, s.picture);
    demo_table_state(&t, s.state);
    s.text = json_string_value(json_object_get(s.golden, "text"));
    assert_non_null(s.text);
    assert_int_equal(get_floats(json_object_get(s.golden, "noise"), s.noise, HORIZON * MAX_ACTION),
                     HORIZON * MAX_ACTION);
    s.n_tokens = (int32_t)json_array_size(tokens);
    assert_in_range(s.n_tokens, 1, MOST_TOKENS);
    for (int32_t k = 0; k < s.n_tokens; k++)
        s.tokens[k] = (int32_t)json_integer_value(json_array_get(tokens, (size_t)k));
    return s;
}

static void predict(vact_session *session, const scene *s, bool by_text, const char *camera,
                    float actions[HORIZON * DEMO_ACTION])
{
    const vact_image image = { .data = s->picture, .width = DEMO_SIDE, .height = DEMO_SIDE, .camera = camera };
    const vact_request request = {
        .images = &image,
        .n_images = 1,
        .text = by_text ? s->text : NULL,
        .tokens = by_text ? NULL : s->tokens,
        .n_tokens = by_text ? 0 : s->n_tokens,
        .state = s->state,
        .n_state = DEMO_STATE,
        .noise = s->noise,
    };
    vact_reply reply = { .actions = actions };
    vact_error err = { 0 };
    if (vact_predict(session, &request, &reply, &err) != VACT_OK)
        fail_msg("%s", err.text);
}

static double distance(const json_t *rows, const float actions[HORIZON * DEMO_ACTION])
{
    double worst = 0;
    assert_int_equal(json_array_size(rows), HORIZON);
    for (size_t i = 0; i < HORIZON; i++) {
        float want[DEMO_ACTION];
        assert_int_equal(get_floats(json_array_get(rows, i), want, DEMO_ACTION), DEMO_ACTION);
        for (size_t j = 0; j < DEMO_ACTION; j++) {
            const double d = fabs((double)(actions[i * DEMO_ACTION + j] - want[j]));
            worst = d <= worst ? worst : d; /* a NaN stays */
        }
    }
    return worst;
}

/* ---- tests ---- */

static void test_the_file_says_what_it_takes(void **state)
{
    (void)state;
    const vact_model_info *info = vact_model_get_info(model);
    assert_string_equal(info->arch, "smolvla");
    assert_int_equal(info->image_size, DEMO_SIDE);
    assert_int_equal(info->state_dim, DEMO_STATE);
    assert_int_equal(info->action_dim, DEMO_ACTION);
    assert_int_equal(info->horizon, HORIZON);
    assert_int_equal(info->max_action_dim, MAX_ACTION);
    assert_int_equal(info->parameters, 1273840);
    assert_true(info->reads_text);
    assert_int_equal(info->n_cameras, 1);
    assert_string_equal(info->cameras[0], "table");
}

static void check_actions(const vact_settings *settings, size_t n_scenes)
{
    vact_session *session = NULL;
    assert_int_equal(vact_session_open(&session, model, settings, NULL), VACT_OK);
    for (size_t i = 0; i < n_scenes; i++) {
        const scene s = get_scene(i);
        float told[HORIZON * DEMO_ACTION], by_ids[HORIZON * DEMO_ACTION];
        predict(session, &s, true, NULL, told);
        predict(session, &s, false, "table", by_ids);
        const double d = distance(json_object_get(s.golden, "actions"), told);
        if (!(d < 1e-5))
            fail_msg("scene %zu: the actions are %g away", i, d);
        assert_memory_equal(told, by_ids, sizeof told);
    }
    vact_session_close(&session);
}

static void test_actions_are_those_of_the_original(void **state)
{
    (void)state;
    const vact_settings reference = { .reference = true };
    check_actions(NULL, SCENES);
    check_actions(&reference, 1);
}

/* A policy that is told another sentence does something else: the goldens could not be met by chance. */
static void test_the_sentence_matters(void **state)
{
    (void)state;
    vact_session *session = NULL;
    assert_int_equal(vact_session_open(&session, model, NULL, NULL), VACT_OK);
    scene s = get_scene(0);
    float actions[HORIZON * DEMO_ACTION];
    s.text = "take the yellow block to the left side"; /* there is one */
    predict(session, &s, true, NULL, actions);
    assert_true(distance(json_object_get(s.golden, "actions"), actions) > 0.01);
    vact_session_close(&session);
}

/* With the line feed that the policy's template adds. */
static void test_sentences_have_the_ids_of_the_original(void **state)
{
    (void)state;
    vact_tokenizer *tokenizer = NULL;
    vact_encoder *encoder = NULL;
    vact_error err = { 0 };
    if (vact_tokenizer_open(&tokenizer, TABLETOP, &err) != VACT_OK ||
        vact_encoder_open(&encoder, tokenizer, DEMO_TEXT, &err) != VACT_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < SCENES; i++) {
        const scene s = get_scene(i);
        char line[DEMO_TEXT + 1];
        const int32_t *ids = NULL;
        size_t n = 0;
        snprintf(line, sizeof line, "%s\n", s.text);
        assert_int_equal(vact_encode(encoder, line, strlen(line), true, &ids, &n, &err), VACT_OK);
        assert_int_equal(n, s.n_tokens);
        assert_memory_equal(ids, s.tokens, n * sizeof *ids);
    }
    vact_encoder_close(&encoder);
    vact_tokenizer_close(&tokenizer);
}

static int open_all(void **state)
{
    (void)state;
    vact_error err = { 0 };
    scenes = load_json(TEST_DATA "/demo_policy.json");
    assert_int_equal(json_array_size(scenes), SCENES);
    if (vact_model_open(&model, TABLETOP, NULL, &err) != VACT_OK)
        fail_msg("%s", err.text);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    vact_model_close(&model);
    json_decref(scenes);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_file_says_what_it_takes),
        cmocka_unit_test(test_actions_are_those_of_the_original),
        cmocka_unit_test(test_the_sentence_matters),
        cmocka_unit_test(test_sentences_have_the_ids_of_the_original),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
