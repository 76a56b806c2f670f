/* A whole policy whose matrices are of types that are read only. Its rows have 256 values, so that any type of blocks
 * can have them; the blocks hold random codes. */
#include "models/golden.h"
#include "models/registry.h"
#include "models/rewrite.h"
#include "quants.h"
#include "tensor/synth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WIDE "test_block_types_wide.gguf"
#define EDIT "test_block_types_edit.gguf"

enum { WIDTH = 256, CHUNK = 5, ACTIONS = 6, SIDE = 32, LAYERS = 2, VIT_LAYERS = 1 };

/* The embedding, positions, connector and four projections; 7 a layer in both decoders, 6 a layer in the tower. The time
 * projection and the patches stay: their rows aren't whole blocks of any type. */
enum { MATRICES = 7 + 2 * LAYERS * 7 + VIT_LAYERS * 6 };

/* The tiny checkpoint with wider rows. */
static int set_up(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        int32_t value;
    } sizes[] = {
        { "hidden", WIDTH },        { "intermediate", WIDTH },  { "n_q_heads", 4 },           { "n_kv_heads", 4 },
        { "head_dim", WIDTH / 4 },  { "n_layers", LAYERS },     { "vocab_size", 300 },        { "expert_h", WIDTH },
        { "expert_inter", WIDTH },  { "vit_hidden", WIDTH },    { "vit_layers", VIT_LAYERS }, { "vit_heads", 4 },
        { "vit_inter", 2 * WIDTH }, { "max_state_dim", WIDTH }, { "max_action_dim", WIDTH },
    };
    const vact_schema *schema = &vact_arch_smolvla.schema;
    vact_error err = { 0 };
    char *config = malloc(schema->config_bytes);
    if (!config)
        return -1;
    memcpy(config, schema->presets[0].config, schema->config_bytes);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const vact_key *key = schema->keys;
        while (strcmp(key->name, sizes[i].key) != 0)
            key++;
        memcpy(config + key->at, &sizes[i].value, sizeof sizes[i].value);
    }
    const vact_preset wide = { "wide", config };
    if (vact_synth_write(schema, &wide, WIDE, &(vact_synth_options){ 0 }, &err) != VACT_OK)
        fail_msg("%s", err.text);
    free(config);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(WIDE);
    unlink(EDIT);
    return 0;
}

static uint32_t wanted;

static uint32_t to_wanted(const vact_gguf_tensor *t)
{
    const bool whole = t->n_dims == 2 && t->ne[0] % WIDTH == 0 && strcmp(t->name, "action_time_mlp_in.weight") != 0;
    return whole ? wanted : t->dtype;
}

static void predict(float actions[CHUNK * ACTIONS], const vact_settings *settings)
{
    static unsigned char pixels[SIDE * SIDE * 3];
    static float noise[CHUNK * WIDTH];
    for (int i = 0; i < SIDE * SIDE * 3; i++)
        pixels[i] = (unsigned char)(i * 37 ^ i >> 5);
    for (int i = 0; i < CHUNK * WIDTH; i++)
        noise[i] = i % WIDTH < ACTIONS ? (float)(i * 7 % 11 - 5) / 4 : 0;
    const vact_image image = { .data = pixels, .width = SIDE, .height = SIDE, .format = VACT_RGB_U8, .prepared = true };
    const vact_request request = { .images = &image,
                                   .n_images = 1,
                                   .tokens = (int32_t[]){ 3, 299, 17 },
                                   .n_tokens = 3,
                                   .state = (float[]){ 0.5f, -1, 0.25f, 0, 1 },
                                   .n_state = 5,
                                   .noise = noise };
    vact_error err = { 0 };
    vact_model *model = golden_open(EDIT);
    vact_session *session = golden_session(model, settings);
    vact_reply reply = { .actions = actions };
    assert_int_equal(vact_model_get_info(model)->action_dim, ACTIONS);
    if (vact_predict(session, &request, &reply, &err) != VACT_OK)
        fail_msg("%s", err.text);
    vact_session_close(&session);
    vact_model_close(&model);
}

/* The reference decodes with the scalar kernels and does the rest in its own way, in double precision. */
static void test_a_policy_of_any_type_of_blocks_equals_the_reference(void **state)
{
    (void)state;
    const vact_settings cpu = { .threads = 2, .denoise_steps = 2 }, scalar = { .denoise_steps = 2, .isa = "scalar" };
    const vact_settings reference = { .denoise_steps = 2, .reference = true };
    float before[CHUNK * ACTIONS] = { 0 };
    for (int i = 0; i < QUANT_TYPES; i++) {
        const char *name = vact_dtype_get(quant_types[i].type)->name;
        float stored[CHUNK * ACTIONS], decoded[CHUNK * ACTIONS], want[CHUNK * ACTIONS], slow[CHUNK * ACTIONS];
        wanted = quant_types[i].type;
        if (vact_dtype_encoder(wanted))
            continue; /* test_smolvla_files */
        assert_int_equal(rewrite_gguf(WIDE, EDIT, NULL, to_wanted, false), MATRICES);
        predict(stored, &cpu);
        predict(slow, &scalar);
        predict(want, &reference);
        rewrite_gguf(WIDE, EDIT, NULL, to_wanted, true);
        predict(decoded, &cpu);
        assert_memory_equal(stored, decoded, sizeof stored);
        assert_memory_not_equal(stored, before, sizeof stored); /* other codes, another policy */
        memcpy(before, stored, sizeof before);
        double worst = 0;
        for (int at = 0; at < CHUNK * ACTIONS; at++) {
            worst = fmax(worst, fabs((double)stored[at] - (double)want[at]));
            worst = fmax(worst, fabs((double)slow[at] - (double)want[at]));
        }
        if (!(worst < 1e-5)) /* 1e-6 is seen */
            fail_msg("%s: an action is off by %g", name, worst);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_policy_of_any_type_of_blocks_equals_the_reference),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
