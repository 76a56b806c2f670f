#include "models/golden.h"

#include "models/registry.h"
#include "policy/document.h"
#include "tensor/synth.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char *golden_model(const char *arch, const char *size, const char *file)
{
    const vact_schema *schema = &vact_arch_find(arch, strlen(arch))->schema;
    const vact_preset *preset = schema->presets;
    while (strcmp(preset->name, size) != 0)
        preset++;
    vact_error err = { 0 };
    if (vact_synth_write(schema, preset, file, &(vact_synth_options){ 0 }, &err) != VACT_OK)
        fail_msg("%s", err.text);
    return file;
}

vact_model *golden_open(const char *path)
{
    vact_error err = { 0 };
    vact_model *model = NULL;
    if (vact_model_open(&model, path, NULL, &err) != VACT_OK)
        fail_msg("%s", err.text);
    return model;
}

vact_session *golden_session(const vact_model *model, const vact_settings *settings)
{
    vact_error err = { 0 };
    vact_session *session = NULL;
    if (vact_session_open(&session, model, settings, &err) != VACT_OK)
        fail_msg("%s", err.text);
    return session;
}

golden_answer golden_predict(vact_session *session, const vact_model *model, const json_t *request)
{
    vact_error err = { 0 };
    vact_document document;
    const vact_model_info *info = vact_model_get_info(model);
    char *text = json_dumps(request, JSON_REAL_PRECISION(17));
    golden_answer answer = { .actions = calloc((size_t)(info->horizon * info->action_dim), sizeof(float)) };
    answer.reply.actions = answer.actions;
    const vact_document_source source = { .name = "golden", .text = text, .length = strlen(text) };
    if (vact_document_parse(&document, info, &source, &err) != VACT_OK ||
        vact_predict(session, &document.request, &answer.reply, &err) != VACT_OK)
        fail_msg("%s", err.text);
    vact_document_free(&document);
    free(text);
    return answer;
}

double golden_distance(const vact_model_info *info, const float *actions, const json_t *want, size_t width)
{
    double worst = 0;
    assert_int_equal(json_array_size(want), (size_t)info->horizon * width);
    for (int32_t i = 0; i < info->horizon; i++)
        for (int32_t j = 0; j < info->action_dim; j++) {
            const double w = json_number_value(json_array_get(want, (size_t)i * width + (size_t)j));
            const double d = fabs((double)actions[i * info->action_dim + j] - w);
            worst = d > worst || !(d == d) ? d : worst;
        }
    return worst;
}

const json_t *golden_case(const json_t *golden, const char *name)
{
    size_t i;
    json_t *found;
    json_array_foreach(json_object_get(golden, "cases"), i, found)
    {
        if (strcmp(json_string_value(json_object_get(found, "name")), name) == 0)
            return found;
    }
    fail_msg("no case %s", name);
    return NULL;
}
