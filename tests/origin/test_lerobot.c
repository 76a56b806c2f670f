/* A directory that LeRobot 0.4.4 saved (tools/reference/make_smolvla.py), and what goes wrong when parts of it are
 * missing or other than they were. */
#include "load_json.h"
#include "origin/directory.h"
#include "origin/origin.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the view ---- */

static vact_gguf *open_checkpoint(void)
{
    vact_error err = { 0 };
    vact_gguf *gguf = NULL;
    char dir[512];
    snprintf(dir, sizeof dir, "%s", directory_file("."));
    dir[strlen(dir) - 2] = 0;
    if (vact_checkpoint_open(&gguf, dir, &err) != VACT_OK)
        fail_msg("%s", err.text);
    return gguf;
}

/* The message, without the directory in front. */
static void check_refused(vact_status code, const char *want)
{
    vact_error err = { 0 };
    vact_gguf *gguf = NULL;
    char dir[512];
    snprintf(dir, sizeof dir, "%s", directory_file("."));
    dir[strlen(dir) - 2] = 0;
    const vact_status status = vact_checkpoint_open(&gguf, dir, &err);
    if (!strstr(err.text, want) || status != code)
        fail_msg("found %d, \"%s\", expected %d, \"%s\"", status, err.text, code, want);
    assert_true(strncmp(err.text, "/tmp/vact-test-", 15) == 0);
    assert_null(gguf);
}

static uint64_t number(const vact_gguf *gguf, const char *key)
{
    const vact_gguf_value *value = vact_gguf_find(gguf, key);
    assert_non_null(value);
    assert_int_equal(value->type, VACT_GGUF_U32);
    return vact_gguf_get_uint(value, 0);
}

static void check_text(const vact_gguf *gguf, const char *key, uint64_t i, const char *want)
{
    const vact_gguf_value *value = vact_gguf_find(gguf, key);
    assert_non_null(value);
    assert_true(i < value->count);
    const vact_gguf_text text = vact_gguf_get_text(value, i);
    assert_int_equal(text.length, strlen(want));
    assert_memory_equal(text.data, want, text.length);
}

static void test_keys_are_those_of_the_configuration_and_the_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        uint64_t value;
    } want[] = {
        { "smolvla.hidden", 32 },
        { "smolvla.intermediate", 64 },
        { "smolvla.n_q_heads", 3 },
        { "smolvla.n_kv_heads", 1 },
        { "smolvla.head_dim", 64 },
        { "smolvla.n_layers", 4 },
        { "smolvla.vocab_size", 512 },
        { "smolvla.expert_h", 24 },
        { "smolvla.expert_inter", 256 },
        { "smolvla.chunk_size", 8 },
        { "smolvla.num_steps", 10 },
        { "smolvla.max_state_dim", 32 },
        { "smolvla.max_action_dim", 32 },
        { "smolvla.real_state_dim", 6 },
        { "smolvla.real_action_dim", 6 },
        { "smolvla.self_attn_every_n_layers", 2 },
        { "smolvla.tokenizer_max_length", 48 },
        { "smolvla.vit_hidden", 128 },
        { "smolvla.vit_heads", 2 },
        { "smolvla.vit_inter", 64 },
        { "smolvla.image_size", 64 },
        { "smolvla.patch_size", 8 },
        { "smolvla.vit_pixel_shuffle", 2 },
        { "smolvla.n_img_tokens", 16 },
    };
    directory_make();
    vact_gguf *gguf = open_checkpoint();
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_int_equal(number(gguf, want[i].key), want[i].value);
    check_text(gguf, "general.architecture", 0, "smolvla");
    check_text(gguf, "smolvla.architecture", 0, "smolvla");
    check_text(gguf, "vact.image_fit", 0, "pad_left_top");
    assert_true(vact_gguf_get_float(vact_gguf_find(gguf, "smolvla.min_period"), 0) == 0.004);
    assert_true(vact_gguf_get_float(vact_gguf_find(gguf, "smolvla.max_period"), 0) == 4.0);
    assert_true(vact_gguf_get_float(vact_gguf_find(gguf, "smolvla.norm_eps"), 0) == (double)1e-8f);
    assert_non_null(gguf->tokenizer);
    vact_gguf_close(&gguf);
}

static void check_tensor(const vact_gguf *gguf, const char *name, const vact_safetensors *from, const char *source)
{
    const vact_gguf_tensor *t = vact_gguf_find_tensor(gguf, name);
    const vact_safetensor *s = vact_safetensors_find(from, source);
    assert_true(t && s);
    assert_int_equal(t->dtype, s->dtype);
    assert_int_equal(t->bytes, s->bytes);
    assert_memory_equal(t->data, s->data, s->bytes);
    assert_int_equal(t->n_dims, s->n_dims);
    for (uint32_t i = 0; i < s->n_dims; i++)
        assert_int_equal(t->ne[i], s->dims[s->n_dims - 1 - i]);
}

static void test_tensors_are_the_files_own(void **state)
{
    (void)state;
#define VLM "model.vlm_with_expert.vlm.model."
    vact_error err = { 0 };
    vact_safetensors *weights = NULL, *statistics = NULL;
    directory_make();
    vact_gguf *gguf = open_checkpoint();
    assert_int_equal(vact_safetensors_open(&weights, directory_file("model.safetensors"), &err), VACT_OK);
    assert_int_equal(vact_safetensors_open(&statistics, directory_file(DIRECTORY_STATE), &err), VACT_OK);
    check_tensor(gguf, "token_embd.weight", weights, VLM "text_model.embed_tokens.weight");
    check_tensor(gguf, "vlm.blk.3.ffn_down.weight", weights, VLM "text_model.layers.3.mlp.down_proj.weight");
    check_tensor(gguf, "aex.blk.1.attn_k.weight", weights,
                 "model.vlm_with_expert.lm_expert.layers.1.self_attn.k_proj.weight");
    check_tensor(gguf, "vit.patch_embd.weight", weights, VLM "vision_model.embeddings.patch_embedding.weight");
    check_tensor(gguf, "vit.blk.1.attn_o.bias", weights, VLM "vision_model.encoder.layers.1.self_attn.out_proj.bias");
    check_tensor(gguf, "mm.fc.weight", weights, VLM "connector.modality_projection.proj.weight");
    check_tensor(gguf, "action_time_mlp_in.weight", weights, "model.action_time_mlp_in.weight");
    check_tensor(gguf, "state_mean", statistics, "observation.state.mean");
    check_tensor(gguf, "state_std", statistics, "observation.state.std");
    check_tensor(gguf, "action_mean", statistics, "action.mean");
    check_tensor(gguf, "action_std", statistics, "action.std");
    /* All of the checkpoint is used but the head of the language model. */
    assert_int_equal(gguf->n_tensors, weights->n_tensors - 1 + 4);
    vact_safetensors_close(&statistics);
    vact_safetensors_close(&weights);
    vact_gguf_close(&gguf);
}

/* ---- cameras and names ---- */

static void test_cameras_come_in_the_order_of_the_configuration(void **state)
{
    (void)state;
    directory_make();
    vact_gguf *gguf = open_checkpoint();
    assert_int_equal(vact_gguf_find(gguf, "vact.cameras")->count, 2);
    check_text(gguf, "vact.cameras", 0, "wrist");
    check_text(gguf, "vact.cameras", 1, "front");
    vact_gguf_close(&gguf);
}

static void test_cameras_have_the_robots_names(void **state)
{
    (void)state;
    directory_make();
    directory_edit("policy_preprocessor.json", "\"rename_map\": {}",
                   "\"rename_map\": {\"observation.images.top\": \"observation.images.wrist\"}");
    directory_edit("config.json", "observation.images.front", "observation.images.empty_camera_0");
    vact_gguf *gguf = open_checkpoint();
    assert_int_equal(vact_gguf_find(gguf, "vact.cameras")->count, 1);
    check_text(gguf, "vact.cameras", 0, "top");
    vact_gguf_close(&gguf);
}

static void test_names_of_state_and_action_values_are_kept(void **state)
{
    (void)state;
    directory_make();
    directory_edit("config.json", "\"type\": \"STATE\",",
                   "\"type\": \"STATE\", \"names\": [\"pan\", \"lift\", \"elbow\", \"flex\", \"roll\", \"grip\"],");
    vact_gguf *gguf = open_checkpoint();
    assert_int_equal(vact_gguf_find(gguf, "vact.state_names")->count, 6);
    check_text(gguf, "vact.state_names", 2, "elbow");
    assert_null(vact_gguf_find(gguf, "vact.action_names"));
    vact_gguf_close(&gguf);
    directory_edit("config.json", "\"roll\", ", "");
    check_refused(VACT_EFORMAT,
                  "config.json: input_features/observation.state/names: has 5 names, expected 6, one for each of the "
                  "policy's values");
}

/* ---- statistics ---- */

/* Value `i` of a tensor of a file. */
static double value_of(const char *file, const char *name, int i)
{
    vact_error err = { 0 };
    vact_safetensors *s = NULL;
    assert_int_equal(vact_safetensors_open(&s, directory_file(file), &err), VACT_OK);
    const vact_safetensor *t = vact_safetensors_find(s, name);
    assert_non_null(t);
    float value;
    memcpy(&value, t->data + (size_t)i * sizeof value, sizeof value);
    vact_safetensors_close(&s);
    return (double)value;
}

static double view_value(const vact_gguf *gguf, const char *name, int i)
{
    const vact_gguf_tensor *t = vact_gguf_find_tensor(gguf, name);
    assert_non_null(t);
    float value;
    memcpy(&value, t->data + (size_t)i * sizeof value, sizeof value);
    return (double)value;
}

/* Three values with the statistics of a golden, in the files of both processors. */
enum { GOLDEN_VALUES = 4, USED = 3 };
static const int used[USED] = { 0, 1, 3 }; /* value 2 has a range of no width, which is refused here */

static void save_statistics(const json_t *statistics)
{
    static const char *const features[] = { "observation.state", "action" };
    static const char *const files[] = { DIRECTORY_STATE, DIRECTORY_ACTIONS };
    for (int f = 0; f < 2; f++) {
        vact_safetensor tensors[16];
        const vact_safetensor *list[16];
        char names[16][64];
        float values[16][USED];
        size_t n = 0;
        const char *statistic;
        json_t *of;
        json_object_foreach((json_t *)(uintptr_t)statistics, statistic, of)
        {
            for (int i = 0; i < USED; i++)
                values[n][i] = (float)json_number_value(json_array_get(of, (size_t)used[i]));
            snprintf(names[n], sizeof names[n], "%s.%s", features[f], statistic);
            tensors[n] = (vact_safetensor){ .name = names[n],
                                            .type_name = "F32",
                                            .n_dims = 1,
                                            .dims = { USED },
                                            .bytes = sizeof values[n],
                                            .data = (const uint8_t *)values[n] };
            list[n] = &tensors[n];
            n++;
        }
        directory_save(files[f], list, n);
    }
}

/* What LeRobot's normaliser makes of values, both ways, and what the mean and deviation of the view make of them. */
static void check_mode(const json_t *golden, const char *mode, const json_t *want)
{
    char to[64];
    directory_make();
    save_statistics(json_object_get(golden, "stats"));
    directory_edit("config.json", "\"shape\": [\n                6\n", "\"shape\": [\n                3\n");
    directory_edit("config.json", "\"shape\": [\n                6\n", "\"shape\": [\n                3\n");
    snprintf(to, sizeof to, "\"STATE\": \"%s\"", mode);
    directory_edit("policy_preprocessor.json", "\"STATE\": \"MEAN_STD\"", to);
    snprintf(to, sizeof to, "\"ACTION\": \"%s\"", mode);
    directory_edit("policy_postprocessor.json", "\"ACTION\": \"MEAN_STD\"", to);
    vact_gguf *gguf = open_checkpoint();
    const json_t *raw = json_object_get(golden, "raw"), *model = json_object_get(golden, "model");
    for (size_t r = 0; r < json_array_size(raw); r++)
        for (int i = 0; i < USED; i++) {
            const size_t at = (size_t)used[i], flat = r * GOLDEN_VALUES + at;
            const double x = json_number_value(json_array_get(json_array_get(raw, r), at));
            const double y = json_number_value(json_array_get(json_array_get(model, r), at));
            const double there = json_number_value(json_array_get(json_object_get(want, "raw_to_model"), flat));
            const double back = json_number_value(json_array_get(json_object_get(want, "model_to_raw"), flat));
            const double has = (x - view_value(gguf, "state_mean", i)) / (view_value(gguf, "state_std", i) + 1e-8);
            const double had = y * (view_value(gguf, "action_std", i) + 1e-8) + view_value(gguf, "action_mean", i);
            if (!(fabs(has - there) <= 1e-5 * (1 + fabs(there))) || !(fabs(had - back) <= 1e-6 * (1 + fabs(back))))
                fail_msg("%s, row %zu, value %zu: %g and %g, expected %g and %g", mode, r, at, has, had, there, back);
        }
    vact_gguf_close(&gguf);
}

static void test_every_way_to_normalise_becomes_a_mean_and_a_deviation(void **state)
{
    (void)state;
    json_t *golden = load_json(TEST_DATA "/lerobot_normalize.json"), *want;
    const char *mode;
    assert_int_equal(json_object_size(json_object_get(golden, "modes")), 5);
    json_object_foreach(json_object_get(golden, "modes"), mode, want)
    {
        check_mode(golden, mode, want);
    }
    json_decref(golden);
}

/* Moves the statistics into the weights' file, as LeRobot had them before it had processors: those of the golden's list
 * whose names don't hold `without`. */
static void make_old(const char *list, const char *without)
{
    vact_error err = { 0 };
    vact_safetensors *weights = NULL;
    const vact_safetensor *all[160];
    vact_safetensor moved[16];
    float values[16][6];
    const char *name;
    json_t *golden = load_json(TEST_DATA "/lerobot_smolvla.json"), *of;
    size_t n = 0, n_moved = 0;
    directory_make();
    assert_int_equal(vact_safetensors_open(&weights, directory_file("model.safetensors"), &err), VACT_OK);
    for (uint64_t i = 0; i < weights->n_tensors; i++)
        all[n++] = &weights->tensors[i];
    json_object_foreach(json_object_get(json_object_get(golden, "old_statistics"), list), name, of)
    {
        if (without && strstr(name, without))
            continue;
        assert_int_equal(json_array_size(of), 6);
        for (size_t i = 0; i < 6; i++)
            values[n_moved][i] = (float)json_number_value(json_array_get(of, i));
        moved[n_moved] = (vact_safetensor){ .name = name,
                                            .type_name = "F32",
                                            .n_dims = 1,
                                            .dims = { 6 },
                                            .bytes = sizeof values[0],
                                            .data = (const uint8_t *)values[n_moved] };
        all[n++] = &moved[n_moved++];
    }
    assert_in_range(n_moved, 6, 12);
    directory_save("new.safetensors", all, n);
    vact_safetensors_close(&weights);
    json_decref(golden);
    char to[512];
    snprintf(to, sizeof to, "%s", directory_file("model.safetensors"));
    assert_int_equal(rename(directory_file("new.safetensors"), to), 0);
    directory_delete("policy_preprocessor.json");
    directory_delete("policy_postprocessor.json");
}

static void test_statistics_are_found_where_lerobot_once_kept_them(void **state)
{
    (void)state;
    for (int prefixed = 0; prefixed < 2; prefixed++) {
        make_old(prefixed ? "prefixed_by_data_set" : "plain", "so100-blue_");
        vact_gguf *gguf = open_checkpoint();
        for (int i = 0; i < 6; i++) {
            assert_true(view_value(gguf, "state_mean", i) == value_of(DIRECTORY_STATE, "observation.state.mean", i));
            assert_true(view_value(gguf, "state_std", i) == value_of(DIRECTORY_STATE, "observation.state.std", i));
            assert_true(view_value(gguf, "action_mean", i) == value_of(DIRECTORY_STATE, "action.mean", i));
            assert_true(view_value(gguf, "action_std", i) == value_of(DIRECTORY_STATE, "action.std", i));
        }
        vact_gguf_close(&gguf);
    }
}

/* ---- shards ---- */

static void make_shards(void)
{
    vact_error err = { 0 };
    vact_safetensors *weights = NULL;
    const vact_safetensor *half[2][160];
    size_t n[2] = { 0 };
    directory_make();
    assert_int_equal(vact_safetensors_open(&weights, directory_file("model.safetensors"), &err), VACT_OK);
    FILE *f = fopen(directory_file("model.safetensors.index.json"), "w");
    assert_non_null(f);
    fprintf(f, "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {");
    for (uint64_t i = 0; i < weights->n_tensors; i++) {
        const int shard = i % 3 == 0;
        half[shard][n[shard]++] = &weights->tensors[i];
        fprintf(f, "%s\"%s\": \"model-0000%d-of-00002.safetensors\"", i ? ", " : "", weights->tensors[i].name,
                shard + 1);
    }
    fprintf(f, "}}\n");
    assert_int_equal(fclose(f), 0);
    directory_save("model-00001-of-00002.safetensors", half[0], n[0]);
    directory_save("model-00002-of-00002.safetensors", half[1], n[1]);
    vact_safetensors_close(&weights);
    directory_delete("model.safetensors");
}

static void test_shards_give_what_one_file_gives(void **state)
{
    (void)state;
    vact_error err = { 0 };
    vact_gguf *whole = NULL;
    make_shards();
    vact_gguf *gguf = open_checkpoint();
    assert_int_equal(vact_checkpoint_open(&whole, TEST_DATA "/lerobot_smolvla", &err), VACT_OK);
    assert_int_equal(gguf->n_tensors, whole->n_tensors);
    for (uint64_t i = 0; i < whole->n_tensors; i++) {
        assert_string_equal(gguf->tensors[i].name, whole->tensors[i].name);
        assert_int_equal(gguf->tensors[i].bytes, whole->tensors[i].bytes);
        assert_memory_equal(gguf->tensors[i].data, whole->tensors[i].data, whole->tensors[i].bytes);
    }
    vact_gguf_close(&whole);
    vact_gguf_close(&gguf);
}

/* ---- refusals ---- */

static void test_missing_parts_are_named(void **state)
{
    (void)state;
    directory_make();
    directory_delete("config.json");
    check_refused(VACT_EFORMAT, ": has no config.json, expected a directory that LeRobot saved or a GGUF file");

    directory_make();
    directory_delete("model.safetensors");
    check_refused(VACT_EIO, "model.safetensors");

    make_shards();
    directory_delete("model-00002-of-00002.safetensors");
    check_refused(VACT_EIO, "model-00002-of-00002.safetensors");

    directory_make();
    directory_delete("policy_preprocessor.json");
    check_refused(VACT_EFORMAT, ": has no statistic mean of observation.state, expected policy_preprocessor.json and "
                                "policy_postprocessor.json with a normalizer, or tensor "
                                "normalize_inputs.buffer_observation_state.mean");

    directory_make();
    directory_delete(DIRECTORY_ACTIONS);
    check_refused(VACT_EIO, DIRECTORY_ACTIONS);

    directory_make();
    directory_edit("policy_preprocessor.json", "\"STATE\": \"MEAN_STD\"", "\"STATE\": \"QUANTILES\"");
    directory_edit(DIRECTORY_STATE, "observation.state.q99", "observation.state.q98");
    check_refused(VACT_EFORMAT,
                  DIRECTORY_STATE " has no statistic observation.state.q99, which its normalizer asks for");
}

static void test_a_policy_that_is_not_known_is_named_with_those_that_are(void **state)
{
    (void)state;
    directory_make();
    directory_edit("config.json", "\"smolvla\"", "\"act\"");
    check_refused(VACT_EMODEL, ": config.json: the policy's type is \"act\", expected one of: smolvla");
    directory_make();
    directory_edit("config.json", "\"type\": \"smolvla\",", "");
    check_refused(VACT_EMODEL, ": config.json: the policy's type is missing, expected one of: smolvla");
    directory_make();
    directory_edit("config.json", "\"smolvla\"", "\"pi0\"");
    check_refused(VACT_EMODEL, ": config.json: the policy's type is \"pi0\", expected one of: smolvla");
}

static void test_a_configuration_that_asks_for_more_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *why;
    } cases[] = {
        { "\"cross_attn\"", "\"self_attn\"", "attention_mode is \"self_attn\", expected \"cross_attn\"" },
        { "\"adapt_to_pi_aloha\": false", "\"adapt_to_pi_aloha\": true", "adapt_to_pi_aloha is true, expected false" },
        { "\"chunk_size\": 8", "\"chunk_size\": 9999", "config.json: chunk_size is 9999, expected 1 to 1024" },
        { "\"num_steps\": 10,", "", "config.json: num_steps is missing, expected a number" },
        { "\"max_state_dim\": 32", "\"max_state_dim\": 40",
          "tensor model.state_proj.weight is [32, 32], expected [32, 40]" },
        { "\"shape\": [\n                6\n", "\"shape\": [\n                5\n",
          "has 1 dimensions and starts with 6, expected [5]" },
        { "\"type\": \"STATE\",", "\"type\": \"STATE\", \"names\": [\"pan\"],",
          "config.json: input_features/observation.state/names: has 1 names, expected 6" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        directory_make();
        directory_edit("config.json", cases[i].from, cases[i].to);
        check_refused(VACT_EFORMAT, cases[i].why);
    }
    directory_make();
    directory_edit("config.json", "\"VISUAL\"", "\"ENV\"");
    directory_edit("config.json", "\"VISUAL\"", "\"ENV\"");
    check_refused(VACT_EFORMAT, "config.json: input_features has no cameras (type VISUAL), expected 1 to ");
}

/* Where a tensor's data starts in its file. */
static long place_of(const char *file, const char *name)
{
    vact_error err = { 0 };
    vact_safetensors *s = NULL;
    assert_int_equal(vact_safetensors_open(&s, directory_file(file), &err), VACT_OK);
    const uint8_t *first = s->tensors[0].data;
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < s->n_tensors; i++) {
        first = s->tensors[i].data < first ? s->tensors[i].data : first;
        bytes += s->tensors[i].bytes;
    }
    const long at = (long)(vact_safetensors_find(s, name)->data - first);
    vact_safetensors_close(&s);
    FILE *f = fopen(directory_file(file), "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    const long start = ftell(f) - (long)bytes;
    fclose(f);
    return start + at;
}

static void test_statistics_that_cannot_be_divided_by_are_refused(void **state)
{
    (void)state;
    static const struct {
        float value;
        const char *why;
    } cases[] = {
        { 0, ": the std of observation.state value 2 is 0, expected more than 0" },
        { -1, ": the std of observation.state value 2 is -1, expected more than 0" },
        { INFINITY, ": statistic observation.state.std has inf as value 2, expected a finite number" },
        { NAN, ": statistic observation.state.std has nan as value 2, expected a finite number" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        directory_make();
        directory_poke(DIRECTORY_STATE, place_of(DIRECTORY_STATE, "observation.state.std") + 8, &cases[i].value, 4);
        check_refused(VACT_EFORMAT, cases[i].why);
    }
    const float low = 3, high = 3;
    directory_make();
    directory_edit("policy_preprocessor.json", "\"STATE\": \"MEAN_STD\"", "\"STATE\": \"MIN_MAX\"");
    directory_poke(DIRECTORY_STATE, place_of(DIRECTORY_STATE, "observation.state.min"), &low, 4);
    directory_poke(DIRECTORY_STATE, place_of(DIRECTORY_STATE, "observation.state.max"), &high, 4);
    check_refused(VACT_EFORMAT, ": the max of observation.state value 0 is 3, expected more than the other end, 3");
}

static void test_a_way_to_normalise_that_is_not_known_is_refused(void **state)
{
    (void)state;
    directory_make();
    directory_edit("policy_postprocessor.json", "\"ACTION\": \"MEAN_STD\"", "\"ACTION\": \"LOG\"");
    check_refused(VACT_EFORMAT, ": the normalizer: norm_map/ACTION is \"LOG\", expected one of: MEAN_STD, MIN_MAX, "
                                "QUANTILES, QUANTILE10, IDENTITY");
    make_old("plain", NULL);
    directory_edit("config.json", "\"STATE\": \"MEAN_STD\",", "");
    check_refused(VACT_EFORMAT, ": config.json: normalization_mapping/STATE is missing, expected how it is normalised");
    make_old("prefixed_by_data_set", NULL);
    check_refused(VACT_EFORMAT, ": 2 tensors end in buffer_observation_state.mean, as in normalize_inputs.so10");
}

static void test_normalised_pictures_are_refused(void **state)
{
    (void)state;
    directory_make();
    directory_edit("policy_preprocessor.json", "\"VISUAL\": \"IDENTITY\"", "\"VISUAL\": \"MEAN_STD\"");
    check_refused(VACT_EFORMAT, ": VISUAL is normalised by \"MEAN_STD\", expected \"IDENTITY\"");
    make_old("plain", "so100-blue_");
    directory_edit("config.json", "\"VISUAL\": \"IDENTITY\"", "\"VISUAL\": \"MEAN_STD\"");
    check_refused(VACT_EFORMAT, ": VISUAL is normalised by \"MEAN_STD\", expected \"IDENTITY\"");
}

static void test_a_normalizer_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {
        "../" DIRECTORY_STATE, "./" DIRECTORY_STATE, "/etc/passwd", "..", ".", "", "\\u00e9", DIRECTORY_STATE "\\u0000"
    };
    static const char *const numbers[] = { "-1e-9", "2", "1e9", "null", "\"1\"" };
    char to[160];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        directory_make();
        snprintf(to, sizeof to, "\"state_file\": \"%s\"", names[i]);
        directory_edit("policy_preprocessor.json", "\"state_file\": \"" DIRECTORY_STATE "\"", to);
        check_refused(VACT_EFORMAT, ": policy_preprocessor.json: state_file of normalizer_processor is \"");
    }
    directory_make();
    directory_edit("policy_preprocessor.json", "\"" DIRECTORY_STATE "\"", "5");
    check_refused(VACT_EFORMAT, ": state_file of normalizer_processor is an integer, expected a file name in ASCII");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        directory_make();
        snprintf(to, sizeof to, "\"eps\": %s", numbers[i]);
        directory_edit("policy_preprocessor.json", "\"eps\": 1e-08", to);
        check_refused(VACT_EFORMAT, ": policy_preprocessor.json: eps of normalizer_processor is no number from 0 to 1");
    }
}

static void test_a_configuration_of_gigabytes_is_not_read(void **state)
{
    (void)state;
    directory_make();
    directory_cut("config.json", (1L << 31) - 1);
    check_refused(VACT_EFORMAT, "config.json: found 2147483647 bytes, expected at most 16777216");
}

static void test_broken_weights_are_refused(void **state)
{
    (void)state;
    const uint64_t huge = (uint64_t)1 << 60;
    directory_make();
    directory_poke("model.safetensors", 0, &huge, sizeof huge);
    check_refused(VACT_EFORMAT, "1152921504606846976");

    directory_make();
    directory_cut("model.safetensors", 5000);
    check_refused(VACT_EFORMAT, "model.safetensors");

    directory_make();
    directory_edit("model.safetensors", "\"dtype\":\"F32\"", "\"dtype\":\"I32\"");
    check_refused(VACT_EFORMAT, "has type I32, expected one of: F32, F16, BF16");
}

/* A tensor without values can have any shape, and the size of pictures is told by shapes. */
static void test_shapes_that_no_policy_has_are_refused(void **state)
{
    (void)state;
    vact_error err = { 0 };
    vact_safetensors *weights = NULL;
    vact_safetensor patches;
    const vact_safetensor *all[160];
    directory_make();
    assert_int_equal(vact_safetensors_open(&weights, directory_file("model.safetensors"), &err), VACT_OK);
    for (uint64_t i = 0; i < weights->n_tensors; i++) {
        all[i] = &weights->tensors[i];
        if (!strstr(all[i]->name, "patch_embedding.weight"))
            continue;
        patches = *all[i];
        patches.dims[0] = patches.bytes = 0;
        patches.dims[2] = patches.dims[3] = 100000;
        all[i] = &patches;
    }
    directory_save("new.safetensors", all, weights->n_tensors);
    vact_safetensors_close(&weights);
    char to[512];
    snprintf(to, sizeof to, "%s", directory_file("model.safetensors"));
    assert_int_equal(rename(directory_file("new.safetensors"), to), 0);
    directory_edit("config.json", "\"resize_imgs_with_padding\"", "\"resize\"");
    check_refused(VACT_EFORMAT, ": smolvla.patch_size is 100000, expected 1 to 512");
}

static void test_remove_the_folder(void **state)
{
    (void)state;
    directory_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_are_those_of_the_configuration_and_the_shapes),
        cmocka_unit_test(test_tensors_are_the_files_own),
        cmocka_unit_test(test_cameras_come_in_the_order_of_the_configuration),
        cmocka_unit_test(test_cameras_have_the_robots_names),
        cmocka_unit_test(test_names_of_state_and_action_values_are_kept),
        cmocka_unit_test(test_every_way_to_normalise_becomes_a_mean_and_a_deviation),
        cmocka_unit_test(test_statistics_are_found_where_lerobot_once_kept_them),
        cmocka_unit_test(test_shards_give_what_one_file_gives),
        cmocka_unit_test(test_missing_parts_are_named),
        cmocka_unit_test(test_a_policy_that_is_not_known_is_named_with_those_that_are),
        cmocka_unit_test(test_a_configuration_that_asks_for_more_is_refused),
        cmocka_unit_test(test_statistics_that_cannot_be_divided_by_are_refused),
        cmocka_unit_test(test_a_way_to_normalise_that_is_not_known_is_refused),
        cmocka_unit_test(test_normalised_pictures_are_refused),
        cmocka_unit_test(test_a_normalizer_that_makes_no_sense_is_refused),
        cmocka_unit_test(test_a_configuration_of_gigabytes_is_not_read),
        cmocka_unit_test(test_broken_weights_are_refused),
        cmocka_unit_test(test_shapes_that_no_policy_has_are_refused),
        cmocka_unit_test(test_remove_the_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
