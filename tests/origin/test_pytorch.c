/* LeRobot's SmolVLA in PyTorch, float32 on a CPU (tools/reference/run_smolvla.py), against the same directory here, and
 * the files that it converts to: observation in, action chunk out, and the stages in between. */
#include "convert/convert.h"
#include "convert/rewrite.h"
#include "folder.h"
#include "load_json.h"
#include "origin/pytorch.h"
#include "policy/model.h"

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

static pytorch_errors predict(const vact_model *m, const json_t *one)
{
    vact_error err = { 0 };
    vact_session *session = NULL;
    pytorch_errors errors = { 0 };
    if (vact_session_open(&session, m, NULL, &err) != VACT_OK ||
        pytorch_predict(session, one, &errors, &err) != VACT_OK)
        fail_msg("%s: %s", json_string_value(json_object_get(one, "name")), err.text);
    vact_session_close(&session);
    return errors;
}

/* Stages by what is in them, actions in the robot's own units. */
static void test_actions_and_stages_are_those_of_pytorch(void **state)
{
    (void)state;
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(golden, "cases"), i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        if (strcmp(json_string_value(json_object_get(one, "rounded")), "nothing") != 0)
            continue;
        const pytorch_errors errors = predict(model, one);
        for (int s = 0; s < PYTORCH_STAGES; s++) {
            const pytorch_error *e = &errors.stages[s];
            const bool last = s == PYTORCH_STAGES - 1;
            if (!e->stage && json_integer_value(json_object_get(one, "empty_cameras")) == 0)
                fail_msg("%s: stage %d was not compared", name, s);
            if (e->stage && !(e->worst <= TOLERANCE * (last ? 1 : 1 + e->largest)))
                fail_msg("%s: %s is %g off, of values up to %g", name, e->stage, e->worst, e->largest);
        }
        assert_string_equal(errors.stages[PYTORCH_STAGES - 1].stage, "actions");
    }
}

/* ---- converted ---- */

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
    const pytorch_errors errors = predict(made, pytorch_case(golden, name));
    vact_model_close(&made);
    assert_int_equal(unlink(path), 0);
    return errors.stages[PYTORCH_STAGES - 1].worst;
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

/* LeRobot rounds denoise times to float32, vla.cpp doesn't: the file says which, and without the key it is vla.cpp's. */
static void test_times_are_rounded_as_the_file_says(void **state)
{
    (void)state;
    vact_error err = { 0 };
    vact_gguf *whole = NULL;
    vact_model *peers = NULL;
    vact_converted report;
    char other[80];
    snprintf(other, sizeof other, "%s/other.gguf", folder);
    if (vact_convert(DIRECTORY, path, &(vact_conversion){ .type = VACT_DTYPE_END }, &report, &err) != VACT_OK ||
        vact_gguf_open(&whole, path, &err) != VACT_OK)
        fail_msg("%s", err.text);
    assert_int_equal(vact_gguf_get_uint(vact_gguf_find(whole, "smolvla.time_f32"), 0), 1);
    const vact_rewrite without = { .in = whole, .dropped = "smolvla.time_f32" };
    if (vact_rewrite_to(&without, other, &err) != VACT_OK || vact_model_open(&peers, other, NULL, &err) != VACT_OK)
        fail_msg("%s", err.text);
    const json_t *one = pytorch_case(golden, "base");
    const double rounded = predict(model, one).stages[PYTORCH_STAGES - 1].worst;
    const double exact = predict(peers, one).stages[PYTORCH_STAGES - 1].worst;
    if (!(rounded < 1e-6 && exact > 2 * rounded))
        fail_msg("actions are %g off with rounded times and %g without", rounded, exact);
    vact_model_close(&peers);
    vact_gguf_close(&whole);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(unlink(path), 0);
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
        const int length = model->arch->prompt(prompt, sizeof prompt, &(vact_prompt){ .text = text });
        assert_int_equal(vact_encode(encoder, prompt, (size_t)length, true, &ids, &n, &err), VACT_OK);
        longer += n > PYTORCH_TOKENS;
        if (json_array_size(want) != (n > PYTORCH_TOKENS ? PYTORCH_TOKENS : n))
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
        cmocka_unit_test(test_times_are_rounded_as_the_file_says),
        cmocka_unit_test(test_instructions_become_the_same_tokens),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
