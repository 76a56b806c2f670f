/* Memory that runs out at any allocation: one line, nothing lost, and the same call right after succeeds.
 *
 * Every operation below runs with its first, second, third ... allocation refused, until it gets by without a refusal;
 * once with that allocation alone refused, once with all that follow. */
#include "base/error.h"
#include "kernels/kernels.h"
#include "models/golden.h"
#include "models/registry.h"
#include "policy/document.h"
#include "tensor/synth.h"
#include "text/tokenizer.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define TINY    "test_no_memory_tiny.gguf"
#define WRITTEN "test_no_memory_written.gguf"
#define SPOKEN  "test_no_memory_spoken.gguf" /* with a tokenizer and names of cameras */

/* ---- link-time wrappers: every allocation of the library passes here ---- */

static struct {
    long next;     /* number of this operation's next allocation, from 1 */
    long refused;  /* the allocation to refuse; 0: none */
    bool all;      /* and those that follow */
    long refusals; /* so far */
    long live;     /* allocations not yet freed */
} memory;

static bool is_refused(void)
{
    const long n = memory.next++;
    const bool refused = memory.refused && (n == memory.refused || (memory.all && n > memory.refused));
    memory.refusals += refused;
    return refused;
}

static void *counted(void *block)
{
    memory.live += block != NULL;
    return block;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __real_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*fn)(void *), void *argument);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*fn)(void *), void *argument);
void __wrap_free(void *block);

void *__wrap_malloc(size_t size)
{
    return is_refused() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    if (is_refused())
        return NULL;
    return block ? __real_realloc(block, size) : counted(__real_realloc(NULL, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return is_refused() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    errno = ENOMEM;
    return is_refused() ? MAP_FAILED : __real_mmap(address, size, protection, flags, fd, offset);
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*fn)(void *), void *argument)
{
    return is_refused() ? EAGAIN : __real_pthread_create(id, how, fn, argument);
}

void __wrap_free(void *block)
{
    memory.live -= block != NULL;
    __real_free(block);
}

/* The JSON library is not linked through the wrappers. */
static void *json_malloc(size_t size)
{
    return __wrap_malloc(size);
}

static void json_free(void *block)
{
    __wrap_free(block);
}

/* ---- operations: each leaves nothing behind and gives a number that is the same every time ---- */

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
    const vact_status status = vact_synth_write(schema, schema->presets, 1, WRITTEN, NULL, NULL, err);
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
        status = vact_gguf_copy(gguf, WRITTEN, "none", put_of_every_kind, &text, err);
    vact_gguf_close(&gguf);
    *answer = status == VACT_OK ? unlink(WRITTEN) : access(WRITTEN, F_OK);
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
        status = vact_gguf_copy(gguf, to, "tokenizer.ggml.", put_tokenizer, tokenizer, err);
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

/* ---- the check ---- */

typedef vact_status (*operation)(double *answer, vact_error *err);

/* Runs it with allocation n refused (0: none). False if that many are not made. */
static bool run_with(operation run, long n, bool all, double want)
{
    vact_error err = { 0 };
    double answer = 0;
    const long live = memory.live;
    memory.next = 1;
    memory.refused = n;
    memory.all = all;
    memory.refusals = 0;
    const vact_status status = run(&answer, &err);
    memory.refused = 0;
    assert_int_equal(memory.live, live);
    if (memory.refusals == 0) {
        if (status != VACT_OK)
            fail_msg("%s", err.text);
        assert_true(answer == want);
        return false;
    }
    /* A string that the JSON library has no memory for is no token to it. */
    const bool no_token = strstr(err.text, ": not JSON at ") && status == VACT_EINPUT;
    if (status != VACT_ENOMEM && !no_token)
        fail_msg("allocation %ld: status %d, \"%s\"", n, status, err.text);
    assert_int_equal(err.code, status);
    assert_true(err.text[0] && !strchr(err.text, '\n'));
    return true;
}

static void check(operation run)
{
    vact_error err = { 0 };
    double want = 0;
    if (run(&want, &err) != VACT_OK)
        fail_msg("%s", err.text);
    for (int all = 0; all < 2; all++) {
        long n = 1;
        for (; run_with(run, n, all, want); n++)
            assert_false(run_with(run, 0, false, want));
        assert_true(n > 1); /* the wrappers are in place */
    }
}

static void test_opening_a_model(void **state)
{
    (void)state;
    check(open_model);
}

static void test_opening_a_session(void **state)
{
    (void)state;
    check(open_session);
    check(open_reference_session);
}

static void test_planning(void **state)
{
    (void)state;
    check(count_session_bytes);
    check(count_cost);
}

static void test_predicting(void **state)
{
    (void)state; /* without these two a prediction allocates nothing: test_predict */
    check(predict_with_progress);
    check(predict_with_traces);
    check(predict_in_words);
}

static void test_documents(void **state)
{
    (void)state;
    check(write_reply);
    check(parse_request);
    check(parse_actions);
}

static void test_text(void **state)
{
    (void)state;
    check(encode_text);
    check(write_tokenizer);
}

static void test_writing_files(void **state)
{
    (void)state;
    check(write_checkpoint);
    check(copy_checkpoint);
}

static void test_inspecting(void **state)
{
    (void)state;
    check(list_faults);
}

static int set_up(void **state)
{
    (void)state;
    vact_error err = { 0 };
    json_set_alloc_funcs(json_malloc, json_free);
    golden_model("smolvla", "tiny", TINY);
    if (vact_tokenizer_open(&tokenizer, TEST_DATA "/cli_tokenizer.json", &err) != VACT_OK ||
        embed_tokenizer(SPOKEN, &err) != VACT_OK)
        fail_msg("%s", err.text);
    model = golden_open(SPOKEN);
    session = golden_session(model, &(vact_settings){ .threads = 2 });
    sink = tmpfile();
    json_t *request = golden_load(TEST_DATA "/smolvla_tiny_request.json");
    char *text = json_dumps(request, JSON_COMPACT);
    const vact_status status =
        vact_document_parse(&document, vact_model_get_info(model),
                            &(vact_document_source){ .name = "request", .text = text, .length = strlen(text) }, &err);
    json_decref(request);
    free(text);
    return sink && status == VACT_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    vact_document_free(&document);
    fclose(sink);
    vact_session_close(&session);
    vact_model_close(&model);
    vact_tokenizer_close(&tokenizer);
    unlink(TINY);
    unlink(SPOKEN);
    return memory.live == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opening_a_model), cmocka_unit_test(test_opening_a_session),
        cmocka_unit_test(test_planning),        cmocka_unit_test(test_predicting),
        cmocka_unit_test(test_documents),       cmocka_unit_test(test_writing_files),
        cmocka_unit_test(test_inspecting),      cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
