/* Memory that runs out at any allocation: one line, nothing lost, and the same call right after succeeds. */
#include "allocations.h"
#include "base/error.h"
#include "convert/diff.h"
#include "convert/merge.h"
#include "convert/quantize.h"
#include "convert/rewrite.h"
#include "kernels/kernels.h"
#include "models/golden.h"
#include "models/registry.h"
#include "policy/document.h"
#include "tensor/synth.h"
#include "text/tokenizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TINY    "test_no_memory_tiny.gguf"
#define WRITTEN "test_no_memory_written.gguf"
#define OTHER   "test_no_memory_other.gguf"
#define SPOKEN  "test_no_memory_spoken.gguf" /* with a tokenizer and names of cameras */

/* ---- operations ---- */

static vact_model *model;
static vact_session *session;
static vact_document document;
static vact_tokenizer *tokenizer;
static FILE *sink;
static float actions[5 * 6];

static vact_status open_model(double *answer, vact_error *err)
{
    vact_model *opened = NULL;
    const vact_status status = vact_model_open(&opened, SPOKEN, NULL, err);
    *answer = opened ? (double)vact_model_get_info(opened)->parameters : 0;
    vact_model_close(&opened);
    return status;
}

static vact_status open_session_with(const vact_settings *settings, double *answer, vact_error *err)
{
    vact_session *opened = NULL;
    const vact_status status = vact_session_open(&opened, model, settings, err);
    *answer = opened != NULL;
    vact_session_close(&opened);
    return status;
}

static vact_status open_session(double *answer, vact_error *err)
{
    return open_session_with(&(vact_settings){ .threads = 3 }, answer, err);
}

static vact_status open_reference_session(double *answer, vact_error *err)
{
    return open_session_with(&(vact_settings){ .reference = true }, answer, err);
}

static vact_status count_session_bytes(double *answer, vact_error *err)
{
    uint64_t bytes = 0;
    const vact_status status = vact_session_bytes(model, &(vact_settings){ .threads = 2 }, &bytes, err);
    *answer = (double)bytes;
    return status;
}

static vact_status count_cost(double *answer, vact_error *err)
{
    vact_cost cost = { 0 };
    const vact_status status = vact_session_cost(model, NULL, 2, 3, &cost, err);
    *answer = cost.denoise.flops;
    return status;
}

static vact_status predict(double *answer, vact_error *err)
{
    vact_reply reply = { .actions = actions };
    const vact_status status = vact_predict(session, &document.request, &reply, err);
    *answer = (double)actions[29];
    return status;
}

static void ignore_progress(void *user, double done)
{
    (void)user, (void)done;
}

static vact_status predict_with_progress(double *answer, vact_error *err)
{
    vact_progress(session, ignore_progress, NULL);
    const vact_status status = predict(answer, err);
    vact_progress(session, NULL, NULL);
    return status;
}

/* In words, of a camera's picture. */
static vact_status predict_in_words(double *answer, vact_error *err)
{
    static const uint8_t pixels[3 * 50 * 20] = { 1, 2, 3 };
    const vact_image image = { .data = pixels, .width = 50, .height = 20, .camera = "wrist" };
    const vact_request q = { .images = &image, .n_images = 1, .text = "pick up the red cube", .has_seed = true };
    vact_reply reply = { .actions = actions };
    vact_progress(session, ignore_progress, NULL);
    const vact_status status = vact_predict(session, &q, &reply, err);
    vact_progress(session, NULL, NULL);
    *answer = (double)actions[7];
    return status;
}

static vact_status predict_with_traces(double *answer, vact_error *err)
{
    static const char *const patterns[] = { "prefix.*.k", "step.?.velocity", NULL };
    vact_traces traces = { 0 };
    vact_status status = vact_traces_open(&traces, patterns, err);
    if (status == VACT_OK) {
        vact_trace(session, vact_traces_keep, &traces);
        status = predict(answer, err);
        vact_trace(session, NULL, NULL);
    }
    if (status == VACT_OK)
        status = vact_traces_check(&traces, err);
    *answer += (double)traces.n;
    vact_traces_close(&traces);
    return status;
}

static vact_status write_reply(double *answer, vact_error *err)
{
    static const float values[] = { 1, 2, NAN };
    const vact_traced traced = { "prefix.0.k", values, 1, 3 };
    rewind(sink);
    const vact_status status =
        vact_document_write(sink, vact_model_get_info(model), &document.request,
                            &(vact_reply){ .actions = actions, .device = "cpu" }, &traced, 1, err);
    *answer = (double)ftell(sink);
    return status;
}

/* No string of it is longer than the JSON library's first buffer for one: growing that buffer it takes no notice of
 * failures (jansson 2.14), and loses characters. */
static const char request_text[] = "{\"images\":[{\"path\":\"grey_16.png\",\"name\":\"front\"}],\"text\":\"pick up\","
                                   "\"tokens\":[5,6,7],\"state\":[0.5,0,0,0,0],\"seed\":3,\"trace\":[\"prefix.*.k\"],"
                                   "\"action_units\":\"model\",\"state_units\":\"real\"}";

static vact_status parse_request(double *answer, vact_error *err)
{
    vact_document parsed;
    const vact_status status = vact_document_parse(
        &parsed, vact_model_get_info(model),
        &(vact_document_source){
            .name = "request", .folder = TEST_DATA "/pictures", .text = request_text, .length = strlen(request_text) },
        err);
    *answer = parsed.request.n_tokens + (parsed.request.state ? (double)parsed.request.state[0] : 0);
    vact_document_free(&parsed);
    return status;
}

static vact_status parse_actions(double *answer, vact_error *err)
{
    static const char text[] = "{\"actions\":[[1,2,3],[4,5,6.5]]}";
    vact_arena arena = { 0 };
    const float *values = NULL;
    int32_t rows = 0, cols = 0;
    const vact_status status = vact_document_actions("a", text, strlen(text), &arena, &values, &rows, &cols, err);
    *answer = values ? rows * cols + (double)values[5] : 0;
    vact_arena_free(&arena);
    return status;
}

static vact_status write_checkpoint(double *answer, vact_error *err)
{
    const vact_schema *schema = &vact_arch_find("smolvla", strlen("smolvla"))->schema;
    const vact_status status =
        vact_synth_write(schema, schema->presets, WRITTEN, &(vact_synth_options){ .seed = 1 }, err);
    *answer = status == VACT_OK ? unlink(WRITTEN) : access(WRITTEN, F_OK);
    return status;
}

static vact_status put_of_every_kind(const void *user, vact_gguf_writer *w, vact_error *err)
{
    static char endless[70000]; /* grows the writer's memory */
    vact_status status = vact_gguf_put_bool(w, "new.bool", true, err);
    memset(endless, 'a', sizeof endless - 1);
    if (status == VACT_OK)
        status = vact_gguf_put_text(w, "new.text", endless, err);
    if (status == VACT_OK)
        status = vact_gguf_put_array(w, "new.array", VACT_GGUF_U8, endless, sizeof endless, err);
    if (status == VACT_OK)
        status = vact_gguf_put_texts(w, "new.texts", user, 1, err);
    return status;
}

static vact_status copy_checkpoint(double *answer, vact_error *err)
{
    static const vact_gguf_text text = { "text", 4 };
    vact_gguf *gguf = NULL;
    vact_status status = vact_gguf_open(&gguf, TINY, err);
    if (status == VACT_OK)
        status = vact_rewrite_to(&(vact_rewrite){ .in = gguf, .put = put_of_every_kind, .user = &text }, WRITTEN, err);
    vact_gguf_close(&gguf);
    *answer = status == VACT_OK ? unlink(WRITTEN) : access(WRITTEN, F_OK);
    return status;
}

static vact_status quantize_checkpoint(double *answer, vact_error *err)
{
    const vact_quantize_options options = { .type = VACT_DTYPE_Q8_0, .only = "attn_o", .keep = "vit" };
    vact_quantize_report report = { 0 };
    const vact_status status = vact_quantize(TINY, WRITTEN, &options, &report, err);
    *answer = (double)report.n_changed + (status == VACT_OK ? unlink(WRITTEN) : access(WRITTEN, F_OK));
    return status;
}

/* With what has nothing in common with it. */
static vact_status merge_files(double *answer, vact_error *err)
{
    vact_gguf_writer *w = NULL;
    vact_merge_report report = { 0 };
    vact_status status = vact_gguf_writer_open(&w, OTHER, err);
    if (status == VACT_OK)
        status = vact_gguf_put_text(w, "other", "text", err);
    if (status == VACT_OK)
        status = vact_gguf_writer_finish(w, err);
    vact_gguf_writer_close(&w);
    if (status == VACT_OK)
        status = vact_merge(TINY, OTHER, WRITTEN, &(vact_merge_options){ 0 }, &report, err);
    *answer = (double)report.n_values + (status == VACT_OK ? unlink(WRITTEN) : access(WRITTEN, F_OK));
    unlink(OTHER);
    return status;
}

static void hear_key(void *user, const vact_diff_key *key)
{
    (void)user, (void)key;
}

static void hear_tensor(void *user, const vact_diff_tensor *tensor)
{
    (void)user, (void)tensor;
}

static vact_status compare_files(double *answer, vact_error *err)
{
    const vact_diff_listener listener = { .key = hear_key, .tensor = hear_tensor };
    vact_diff_summary summary = { 0 };
    vact_gguf *a = NULL, *b = NULL;
    vact_status status = vact_gguf_open(&a, TINY, err);
    if (status == VACT_OK)
        status = vact_gguf_open(&b, SPOKEN, err);
    if (status == VACT_OK)
        status = vact_diff(a, b, &listener, &summary, err);
    *answer = (double)summary.n_keys_different;
    vact_gguf_close(&a);
    vact_gguf_close(&b);
    return status;
}

static vact_status encode_text(double *answer, vact_error *err)
{
    static const char text[] = "pick up the red cube, then <|begin|> Gr\xc3\xbc\xc3\x9f";
    vact_gguf *gguf = NULL;
    vact_tokenizer *opened = NULL;
    vact_encoder *encoder = NULL;
    const int32_t *ids;
    size_t n = 0;
    vact_status status = vact_gguf_open(&gguf, SPOKEN, err);
    if (status == VACT_OK)
        status = vact_tokenizer_from_gguf(&opened, gguf, err);
    vact_gguf_close(&gguf);
    if (status == VACT_OK)
        status = vact_encoder_open(&encoder, opened, 4, err); /* less than the text: it grows */
    if (status == VACT_OK)
        status = vact_encode(encoder, text, strlen(text), true, &ids, &n, err);
    *answer = n > 0 ? (double)n + ids[n - 1] : 0;
    vact_encoder_close(&encoder);
    vact_tokenizer_close(&opened);
    return status;
}

static vact_status put_tokenizer(const void *user, vact_gguf_writer *w, vact_error *err)
{
    const vact_gguf_text names[] = { { "front", 5 }, { "wrist", 5 } };
    const vact_status status = vact_tokenizer_put(user, w, err);
    return status == VACT_OK ? vact_gguf_put_texts(w, "vact.cameras", names, 2, err) : status;
}

static vact_status embed_tokenizer(const char *to, vact_error *err)
{
    vact_gguf *gguf = NULL;
    vact_status status = vact_gguf_open(&gguf, TINY, err);
    if (status == VACT_OK)
        status = vact_rewrite_to(&(vact_rewrite){ .in = gguf, .put = put_tokenizer, .user = tokenizer }, to, err);
    vact_gguf_close(&gguf);
    return status;
}

static vact_status write_tokenizer(double *answer, vact_error *err)
{
    const vact_status status = embed_tokenizer(WRITTEN, err);
    *answer = status == VACT_OK ? unlink(WRITTEN) : access(WRITTEN, F_OK);
    return status;
}

/* As vact inspect does it, on a file that lacks tensors. */
static vact_status list_faults(double *answer, vact_error *err)
{
    const vact_arch *arch = vact_arch_find("smolvla", strlen("smolvla"));
    vact_gguf *gguf = NULL;
    vact_arena arena = { 0 };
    vact_faults faults = { 0 };
    vact_kernels kernels;
    vact_kernels_init(&kernels, VACT_ISA_SCALAR);
    vact_status status = vact_gguf_open(&gguf, TINY, err);
    void *bound = status == VACT_OK ? vact_arena_take(&arena, 1, arch->schema.model_bytes) : NULL;
    if (status == VACT_OK && !bound)
        status = vact_fail(err, VACT_ENOMEM, "out of memory");
    if (status == VACT_OK) {
        vact_schema_read(&arch->schema, gguf, bound, &faults);
        status = vact_schema_bind(&arch->schema, gguf, bound, kernels.decode, &arena, &faults, err);
    }
    *answer = faults.count;
    vact_arena_free(&arena);
    vact_gguf_close(&gguf);
    return status;
}

/* ---- the checks ---- */

static void test_opening_a_model(void **state)
{
    (void)state;
    memory_check(open_model);
}

static void test_opening_a_session(void **state)
{
    (void)state;
    memory_check(open_session);
    memory_check(open_reference_session);
}

static void test_planning(void **state)
{
    (void)state;
    memory_check(count_session_bytes);
    memory_check(count_cost);
}

static void test_predicting(void **state)
{
    (void)state; /* without these two a prediction allocates nothing: test_predict */
    memory_check(predict_with_progress);
    memory_check(predict_with_traces);
    memory_check(predict_in_words);
}

static void test_documents(void **state)
{
    (void)state;
    memory_check(write_reply);
    memory_check(parse_request);
    memory_check(parse_actions);
}

static void test_text(void **state)
{
    (void)state;
    memory_check(encode_text);
    memory_check(write_tokenizer);
}

static void test_writing_files(void **state)
{
    (void)state;
    memory_check(write_checkpoint);
    memory_check(copy_checkpoint);
    memory_check(quantize_checkpoint);
    memory_check(merge_files);
}

static void test_comparing_files(void **state)
{
    (void)state;
    memory_check(compare_files);
}

static void test_inspecting(void **state)
{
    (void)state;
    memory_check(list_faults);
}

static int set_up(void **state)
{
    (void)state;
    vact_error err = { 0 };
    memory_count_json();
    golden_model("smolvla", "tiny", TINY);
    if (vact_tokenizer_open(&tokenizer, TEST_DATA "/cli_tokenizer.json", &err) != VACT_OK ||
        embed_tokenizer(SPOKEN, &err) != VACT_OK)
        fail_msg("%s", err.text);
    model = golden_open(SPOKEN);
    session = golden_session(model, &(vact_settings){ .threads = 2 });
    sink = tmpfile();
    json_t *request = load_json(TEST_DATA "/smolvla_tiny_request.json");
    char *text = json_dumps(request, JSON_COMPACT);
    const vact_status status =
        vact_document_parse(&document, vact_model_get_info(model),
                            &(vact_document_source){ .name = "request", .text = text, .length = strlen(text) }, &err);
    json_decref(request);
    free(text);
    return sink && status == VACT_OK ? 0 : -1;
}

/* The last test, not a tear-down: cmocka does not count those that fail. */
static void test_everything_is_freed(void **state)
{
    (void)state;
    vact_document_free(&document);
    fclose(sink);
    vact_session_close(&session);
    vact_model_close(&model);
    vact_tokenizer_close(&tokenizer);
    unlink(TINY);
    unlink(SPOKEN);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opening_a_model),
        cmocka_unit_test(test_opening_a_session),
        cmocka_unit_test(test_planning),
        cmocka_unit_test(test_predicting),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_writing_files),
        cmocka_unit_test(test_comparing_files),
        cmocka_unit_test(test_inspecting),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_everything_is_freed),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
