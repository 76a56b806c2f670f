/* vact run: one request, one action chunk. */
#include "base/clock.h"
#include "cli/cli.h"
#include "policy/document.h"
#include "policy/session.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct run_options {
    cli_model_options model;
    hub_settings hub;
    const char *request, *text, *tokens, *state, *expect;
    cli_list images;
    bool json, seed_given;
    uint64_t seed;
    double tolerance;
} run_options;

/* "CAMERA=FILE" or "FILE": a camera's name has no slash. */
static const char *split_image(const char *item, vact_arena *arena, const char **camera)
{
    const char *equals = strchr(item, '=');
    *camera = NULL;
    if (!equals || memchr(item, '/', (size_t)(equals - item)))
        return item;
    *camera = vact_arena_text(arena, item, (size_t)(equals - item));
    return *camera ? equals + 1 : NULL;
}

/* --image in place of the document's views; an exit code. */
static int load_images(vact_document *document, const cli_list *list)
{
    vact_image *images = vact_arena_take(&document->arena, (size_t)list->n, sizeof *images);
    vact_document_forget_images(document);
    document->decoded = images;
    for (int i = 0; images && i < list->n; i++) {
        vact_error err;
        const char *camera, *path = split_image(list->items[i], &document->arena, &camera);
        if (!path)
            return cli_fail("out of memory");
        if (vact_image_load(&images[i], path, &err) != VACT_OK)
            return cli_fail("%s", err.text);
        images[i].camera = camera;
        document->n_decoded = i + 1;
    }
    document->request.images = images;
    document->request.n_images = list->n;
    return images ? CLI_OK : cli_fail("out of memory");
}

/* Options that replace what the document says; an exit code. */
static int override(vact_document *document, const run_options *o)
{
    vact_request *q = &document->request;
    if (o->images.n && load_images(document, &o->images) != CLI_OK)
        return CLI_FAILED;
    if (o->text || o->tokens) {
        q->text = o->text;
        q->n_tokens = 0;
    }
    int32_t *tokens = NULL;
    float *state = NULL;
    if (o->tokens) {
        const int n = cli_ints("tokens", o->tokens, &document->arena, &tokens);
        if (n < 0)
            return CLI_USAGE;
        q->tokens = tokens;
        q->n_tokens = n;
    }
    if (o->state) {
        const int n = cli_floats("state", o->state, &document->arena, &state);
        if (n < 0)
            return CLI_USAGE;
        q->state = state;
        q->n_state = n;
        q->state_units = VACT_UNITS_REAL;
    }
    if (o->seed_given) {
        q->has_seed = true;
        q->seed = o->seed;
        q->noise = NULL;
    }
    return CLI_OK;
}

static void print_table(const vact_model_info *info, const vact_reply *reply)
{
    printf(" row");
    for (int32_t j = 0; j < info->action_dim; j++)
        printf("%*s%d", j < 10 ? 10 : 9, "action ", j);
    printf("\n");
    for (int32_t i = 0; i < info->horizon; i++) {
        printf("%4d", i);
        for (int32_t j = 0; j < info->action_dim; j++)
            printf(" %10.5f", (double)reply->actions[i * info->action_dim + j]);
        printf("\n");
    }
    const vact_timing *t = &reply->timing;
    printf("\n%.1f ms: vision %.1f, prefix %.1f, denoise %.1f\n", t->total, t->vision, t->prefix, t->denoise);
}

/* The actions of --expect; false after a complaint. */
static bool read_expected(const vact_model_info *info, const char *path, vact_arena *arena, const float **actions)
{
    size_t length;
    int32_t rows, cols;
    vact_error err = { 0 };
    const char *text = cli_read(path, arena, &length);
    if (!text)
        return false;
    if (vact_document_actions(path, text, length, arena, actions, &rows, &cols, &err) != VACT_OK)
        return cli_fail("%s", err.text), false;
    if (rows != info->horizon || cols != info->action_dim)
        return cli_fail("%s: actions are [%d, %d], expected [%d, %d]", path, rows, cols, info->horizon,
                        info->action_dim),
               false;
    return true;
}

/* Prints the differences per column; CLI_FAILED above the tolerance. */
static int compare(FILE *out, const vact_model_info *info, const float *actions, const float *want, double tolerance)
{
    double worst = 0;
    fprintf(out, "column   max difference  mean difference\n");
    for (int32_t j = 0; j < info->action_dim; j++) {
        double most = 0, sum = 0;
        for (int32_t i = 0; i < info->horizon; i++) {
            const double d = fabs((double)actions[i * info->action_dim + j] - (double)want[i * info->action_dim + j]);
            most = d > most ? d : most;
            sum += d;
        }
        fprintf(out, "%6d  %15.3e  %15.3e\n", j, most, sum / info->horizon);
        worst = most > worst ? most : worst;
    }
    fprintf(out, "largest difference %.3e, tolerance %.3e: %s\n", worst, tolerance,
            worst <= tolerance ? "ok" : "too far");
    return worst <= tolerance ? CLI_OK : CLI_FAILED;
}

/* Predicts into the reply, with a bar on the terminal and the traces that the document asks for. */
static vact_status predict(vact_session *session, const vact_document *document, vact_reply *reply, vact_traces *traces,
                           vact_error *err)
{
    if (document->trace) {
        const vact_status status = vact_traces_open(traces, document->trace, err);
        if (status != VACT_OK)
            return status;
        vact_trace(session, vact_traces_keep, traces);
    }
    cli_progress progress = cli_progress_start("predicting");
    vact_progress(session, cli_progress_update, &progress);
    const vact_status status = vact_predict(session, &document->request, reply, err);
    cli_progress_end(&progress);
    return status == VACT_OK && document->trace ? vact_traces_check(traces, err) : status;
}

static int predict_and_print(vact_session *session, const vact_model_info *info, const vact_document *document,
                             const run_options *o, vact_arena *arena)
{
    vact_error err = { 0 };
    vact_traces traces = { 0 };
    vact_reply reply = { 0 };
    const float *want = NULL;
    if (document->trace && !o->json)
        return cli_fail("the document asks for traces, which only --json prints");
    if (o->expect && !read_expected(info, o->expect, arena, &want))
        return CLI_FAILED;
    reply.actions = vact_arena_take(arena, (size_t)info->horizon * (size_t)info->action_dim, sizeof(float));
    if (!reply.actions)
        return cli_fail("out of memory");
    vact_status status = predict(session, document, &reply, &traces, &err);
    if (status == VACT_OK && o->json)
        status = vact_document_write(stdout, info, &document->request, &reply, traces.list, traces.n, &err);
    else if (status == VACT_OK)
        print_table(info, &reply);
    vact_traces_close(&traces);
    if (status != VACT_OK)
        return cli_fail("%s", err.text);
    return want ? compare(o->json ? stderr : stdout, info, reply.actions, want, o->tolerance) : CLI_OK;
}

static void print_memory(const vact_model *model, const vact_settings *settings)
{
    uint64_t planned = 0;
    if (vact_session_bytes(model, settings, &planned, NULL) != VACT_OK)
        return;
    fflush(stdout);
    fprintf(stderr, "vact: memory: file %.1f MB, planned %.1f MB, peak resident %.1f MB\n",
            (double)vact_model_get_info(model)->file_bytes / 1e6, (double)planned / 1e6,
            (double)vact_peak_resident_bytes() / 1e6);
}

/* The document; without one, an empty one. False after a complaint. */
static bool read_request(const char *path, vact_arena *arena, vact_document_source *out)
{
    *out = (vact_document_source){ .name = "request", .folder = "", .text = "{}", .length = 2 };
    if (!path)
        return true;
    out->text = cli_read(path, arena, &out->length);
    if (!out->text || strcmp(path, "-") == 0)
        return out->text != NULL;
    out->name = path;
    const char *slash = strrchr(path, '/');
    if (slash)
        out->folder = vact_arena_text(arena, path, (size_t)(slash - path) + (slash == path));
    return out->folder || (cli_fail("out of memory"), false);
}

static int run_document(const vact_model *model, vact_document *document, run_options *o, vact_arena *arena)
{
    vact_error err;
    vact_session *session = NULL;
    vact_settings *settings = &o->model.settings;
    int code = override(document, o);
    if (code != CLI_OK)
        return code;
    settings->max_views = vact_request_views(&document->request); /* 0: the default, and a refusal that says so */
    if (vact_session_open(&session, model, settings, &err) != VACT_OK)
        return cli_fail("%s", err.text);
    code = predict_and_print(session, vact_model_get_info(model), document, o, arena);
    if (o->model.verbose)
        print_memory(model, settings);
    vact_session_close(&session);
    return code;
}

static int run_model(const char *path, run_options *o, vact_arena *arena)
{
    vact_error err;
    vact_model *model = NULL;
    vact_document document = { 0 };
    vact_document_source source;
    const char **tokenizer = &o->model.settings.tokenizer;
    if (!(path = cli_resolve(path, &o->hub, arena)) ||
        (*tokenizer && !(*tokenizer = cli_resolve(*tokenizer, &o->hub, arena))))
        return CLI_FAILED;
    if (!read_request(o->request, arena, &source))
        return CLI_FAILED;
    const bool ready = vact_model_open(&model, path, &o->model.settings, &err) == VACT_OK &&
                       vact_document_parse(&document, vact_model_get_info(model), &source, &err) == VACT_OK;
    const int code = ready ? run_document(model, &document, o, arena) : cli_fail("%s", err.text);
    vact_document_free(&document);
    vact_model_close(&model);
    return code;
}

static int run(int argc, char **argv)
{
    run_options o = { .tolerance = 1e-4 };
    vact_settings_default(&o.model.settings);
    const cli_option options[] = {
        { "request", 'r', CLI_TEXT, &o.request, "<file>", "the request document (JSON); - reads standard input", 0, 0,
          NULL },
        { "image", 'i', CLI_LIST, &o.images, "[<camera>=]<file>",
          "a camera's picture (JPEG or PNG), once for each view, in place of the document's", 0, 0, NULL },
        { "text", 0, CLI_TEXT, &o.text, "<instruction>", "the instruction, in place of the document's", 0, 0, NULL },
        { "tokens", 0, CLI_TEXT, &o.tokens, "<id,...>", "the instruction as token ids", 0, 0, NULL },
        { "tokenizer", 0, CLI_TEXT, &o.model.settings.tokenizer, "<file>",
          "a tokenizer.json (or a GGUF file with a tokenizer) to read the instruction with", 0, 0, NULL },
        { "state", 0, CLI_TEXT, &o.state, "<x,...>", "proprioception in real units, in place of the document's", 0, 0,
          NULL },
        { "seed", 0, CLI_U64, &o.seed, "<n>", "of the start noise, in place of the document's seed or noise", 0, 0,
          &o.seed_given },
        { "json", 0, CLI_FLAG, &o.json, NULL, "print the reply as JSON", 0, 0, NULL },
        { "expect", 0, CLI_TEXT, &o.expect, "<reply.json>",
          "print the differences from another reply's actions; exit 1 above the tolerance", 0, 0, NULL },
        { "tol", 0, CLI_DOUBLE, &o.tolerance, "<x>", "tolerance of --expect (default: 1e-4)", 0, 0, NULL },
        CLI_MODEL_OPTIONS(&o.model),
        CLI_HUB_OPTIONS(&o.hub),
        { 0 },
    };
    const char *path = NULL;
    const int operands = cli_parse(&cli_run, options, argc, argv, &path, 1);
    if (operands < 0)
        return cli_parse_exit(operands);
    if (operands < 1)
        return cli_fail_usage(&cli_run, "the model is missing");
    if (!o.request && !o.images.n)
        return cli_fail_usage(&cli_run, "--request <file> or --image <file> is missing");
    if (o.text && o.tokens)
        return cli_fail_usage(&cli_run, "--text and --tokens are both given, expected one of them");
    cli_listen(&o.model);
    vact_arena arena = { 0 };
    const int code = run_model(path, &o, &arena);
    vact_arena_free(&arena);
    return code;
}

const cli_command cli_run = {
    "run",
    "vact run <model> (--request <file> | --image <file> --text <instruction>) [<options>]",
    "predict one action chunk",
    run,
};
