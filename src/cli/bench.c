/* vact bench: latency of whole predictions and of their stages, with what they compute. */
#include "base/clock.h"
#include "base/error.h"
#include "base/statistics.h"
#include "cli/cli.h"
#include "policy/model.h"
#include <string.h>

enum { TOTAL, VISION, PREFIX, DENOISE, CPU, SERIES, MOST_VARIANTS = 2 };
static const char *const series_names[SERIES] = { "total", "vision", "prefix", "denoise", "cpu" };

typedef struct bench_options {
    cli_model_options model;
    const char *views, *ab[2];
    int32_t reps, tokens;
    double gap_ms;
    bool json;
} bench_options;

/* One set of options under measurement. */
typedef struct variant {
    const char *label; /* its options; NULL unless --ab */
    vact_settings settings;
    int32_t threads; /* that the settings stand for */
    vact_session *session;
    vact_cost cost;
    double *ms[SERIES]; /* [reps] each, in the order measured */
} variant;

typedef struct bench {
    const bench_options *options;
    const vact_model *model;
    vact_arena *arena;
    vact_request request;
    int32_t tokens;
    float *actions;
    double *sorted; /* [reps], scratch */
    variant variants[MOST_VARIANTS];
    int n_variants, printed;
} bench;

/* ---- measuring ---- */

/* A request of made-up pictures; what they show doesn't change the work. */
static bool make_request(bench *b, int32_t views)
{
    const vact_model_info *info = vact_model_get_info(b->model);
    const size_t bytes = 3 * (size_t)info->image_size * (size_t)info->image_size;
    uint8_t *pixels = vact_arena_take(b->arena, bytes, 1);
    vact_image *images = vact_arena_take(b->arena, (size_t)views, sizeof *images);
    int32_t *tokens = vact_arena_take(b->arena, (size_t)b->tokens, sizeof *tokens);
    b->actions = vact_arena_take(b->arena, (size_t)info->horizon * (size_t)info->action_dim, sizeof *b->actions);
    if (!pixels || !images || !tokens || !b->actions)
        return false;
    for (size_t i = 0; i < bytes; i++)
        pixels[i] = (uint8_t)(i * 7 + i / 1000);
    for (int32_t i = 0; i < views; i++)
        images[i] =
            (vact_image){ .data = pixels, .width = info->image_size, .height = info->image_size, .prepared = true };
    for (int32_t i = 0; i < b->tokens; i++)
        tokens[i] = i % info->vocab_size;
    b->request = (vact_request){
        .images = images, .n_images = views, .tokens = tokens, .n_tokens = b->tokens, .has_seed = true
    };
    return true;
}

static vact_status measure(bench *b, const variant *v, int rep, vact_error *err)
{
    vact_reply reply = { .actions = b->actions };
    const double cpu = vact_clock_cpu_ms();
    const vact_status status = vact_predict(v->session, &b->request, &reply, err);
    if (rep >= 0) {
        v->ms[CPU][rep] = vact_clock_cpu_ms() - cpu;
        v->ms[TOTAL][rep] = reply.timing.total;
        v->ms[VISION][rep] = reply.timing.vision;
        v->ms[PREFIX][rep] = reply.timing.prefix;
        v->ms[DENOISE][rep] = reply.timing.denoise;
    }
    if (b->options->gap_ms > 0)
        vact_clock_sleep_ms(b->options->gap_ms);
    return status;
}

/* Variants take turns, so that a machine whose speed drifts is fair to both. */
static vact_status measure_all(bench *b, vact_error *err)
{
    const int reps = b->options->reps, rounds = (reps + 1) * b->n_variants;
    vact_status status = VACT_OK;
    cli_progress progress = cli_progress_start("measuring");
    for (int round = 0; round < rounds && status == VACT_OK; round++) {
        status = measure(b, &b->variants[round % b->n_variants], round / b->n_variants - 1, err);
        cli_progress_update(&progress, (double)(round + 1) / rounds);
    }
    cli_progress_end(&progress);
    return status;
}

/* ---- figures ---- */

/* Of as many values as there are runs; they stay in the order measured. */
static double quantile(const bench *b, const double *values, double q)
{
    const size_t n = (size_t)b->options->reps;
    memcpy(b->sorted, values, n * sizeof *values);
    return vact_quantile(b->sorted, n, q);
}

static const vact_stage_cost *stage_cost(const variant *v, int series)
{
    return series == VISION ? &v->cost.vision : series == PREFIX ? &v->cost.prefix : &v->cost.denoise;
}

static double total_gflop(const variant *v)
{
    return (v->cost.vision.flops + v->cost.prefix.flops + v->cost.denoise.flops) / 1e9;
}

static void print_table(const bench *b, const variant *v)
{
    const double p50 = quantile(b, v->ms[TOTAL], 0.5);
    if (v->label)
        printf("%c \"%s\": ", v == b->variants ? 'A' : 'B', v->label);
    printf("%d view%s, %d thread%s, %d runs\n", b->request.n_images, b->request.n_images == 1 ? "" : "s", v->threads,
           v->threads == 1 ? "" : "s", b->options->reps);
    printf("  %-8s %10s %10s %10s %10s %10s\n", "", "min ms", "p50 ms", "p90 ms", "GFLOP", "GFLOP/s");
    printf("  %-8s %10.1f %10.1f %10.1f %10.1f %10.1f\n", "total", quantile(b, v->ms[TOTAL], 0), p50,
           quantile(b, v->ms[TOTAL], 0.9), total_gflop(v), total_gflop(v) / p50 * 1e3);
    for (int s = VISION; s <= DENOISE; s++) {
        const double ms = quantile(b, v->ms[s], 0.5), gflop = stage_cost(v, s)->flops / 1e9;
        printf("  %-8s %10.1f %10.1f %10.1f %10.1f %10.1f\n", series_names[s], quantile(b, v->ms[s], 0), ms,
               quantile(b, v->ms[s], 0.9), gflop, gflop / ms * 1e3);
    }
    printf("  %-8s %10.1f %10.1f %10.1f\n", "cpu", quantile(b, v->ms[CPU], 0), quantile(b, v->ms[CPU], 0.5),
           quantile(b, v->ms[CPU], 0.9));
}

/* B over A: the median of the ratios of runs that followed each other. */
static double ratio(const bench *b, int series)
{
    double *ratios = vact_arena_take(b->arena, (size_t)b->options->reps, sizeof *ratios);
    for (int i = 0; ratios && i < b->options->reps; i++)
        ratios[i] = b->variants[1].ms[series][i] / b->variants[0].ms[series][i];
    return ratios ? quantile(b, ratios, 0.5) : -1;
}

static void print_ratios(const bench *b)
{
    printf("B/A, median of pairs:");
    for (int s = 0; s < SERIES; s++)
        printf("%s %s %.3f", s ? "," : "", series_names[s], ratio(b, s));
    printf("\n");
}

static void print_json_ratios(const bench *b)
{
    printf("\"b_over_a\":{");
    for (int s = 0; s < SERIES; s++)
        printf("%s\"%s\":%.4f", s ? "," : "", series_names[s], ratio(b, s));
    printf("},");
}

/* The variant's letter and options; B carries the ratios. */
static void print_json_label(const bench *b, const variant *v)
{
    const bool second = v != b->variants;
    printf("\"variant\":\"%c\",\"options\":\"", second ? 'B' : 'A');
    for (const char *c = v->label; *c; c++)
        printf(*c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    printf("\",");
    if (second)
        print_json_ratios(b);
}

static void print_json(bench *b, const variant *v)
{
    printf("%s\n  {\"views\":%d,\"threads\":%d,", b->printed++ ? "," : "", b->request.n_images, v->threads);
    if (v->label)
        print_json_label(b, v);
    printf("\"min_ms\":%.3f,\"p50_ms\":%.3f,\"p90_ms\":%.3f,\"cpu_ms\":%.3f,\"stages\":{", quantile(b, v->ms[TOTAL], 0),
           quantile(b, v->ms[TOTAL], 0.5), quantile(b, v->ms[TOTAL], 0.9), quantile(b, v->ms[CPU], 0.5));
    for (int s = VISION; s <= DENOISE; s++) {
        const double ms = quantile(b, v->ms[s], 0.5), gflop = stage_cost(v, s)->flops / 1e9;
        printf("%s\"%s\":{\"ms\":%.3f,\"gflop\":%.3f,\"gflops\":%.3f}", s > VISION ? "," : "", series_names[s], ms,
               gflop, gflop / ms * 1e3);
    }
    printf("}}");
}

/* ---- the command ---- */

static vact_status bench_views(bench *b, int32_t views, vact_error *err)
{
    vact_status status = VACT_OK;
    if (!make_request(b, views))
        return vact_fail(err, VACT_ENOMEM, "out of memory for %d pictures", views);
    for (int i = 0; i < b->n_variants && status == VACT_OK; i++) {
        variant *v = &b->variants[i];
        vact_settings resolved;
        v->settings.max_views = views;
        status = vact_settings_resolve(&resolved, &v->settings, err);
        v->threads = resolved.threads;
        if (status == VACT_OK)
            status = vact_session_open(&v->session, b->model, &v->settings, err);
        if (status == VACT_OK)
            status = vact_session_cost(b->model, &v->settings, views, b->tokens, &v->cost, err);
    }
    if (status == VACT_OK)
        status = measure_all(b, err);
    for (int i = 0; i < b->n_variants && status == VACT_OK; i++) {
        if (b->options->json)
            print_json(b, &b->variants[i]);
        else
            print_table(b, &b->variants[i]);
    }
    if (status == VACT_OK && b->n_variants == 2 && !b->options->json)
        print_ratios(b);
    for (int i = 0; i < b->n_variants; i++)
        vact_session_close(&b->variants[i].session);
    return status;
}

/* The options in a string, over the ones given outside. */
static bool parse_variant(bench *b, int i, const char *text)
{
    enum { MOST_WORDS = 32 };
    variant *v = &b->variants[i];
    cli_model_options o = b->options->model;
    const cli_option options[] = { CLI_MODEL_OPTIONS(&o), { 0 } };
    char *copy = vact_arena_text(b->arena, text, strlen(text)), *save = NULL;
    char *argv[MOST_WORDS + 1] = { (char[]){ "--ab" } };
    int argc = 1;
    if (!copy)
        return cli_fail("out of memory"), false;
    for (char *word = strtok_r(copy, " ", &save); word && argc < MOST_WORDS; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    if (argc == MOST_WORDS)
        return cli_fail_usage(&cli_bench, "option --ab: more than %d words in \"%s\"", MOST_WORDS - 2, text), false;
    if (cli_parse(&cli_bench, options, argc, argv, NULL, 0) < 0)
        return false;
    v->settings = o.settings;
    v->label = text;
    return true;
}

static bool set_up(bench *b)
{
    const bench_options *o = b->options;
    b->n_variants = o->ab[0] ? 2 : 1;
    b->sorted = vact_arena_take(b->arena, (size_t)o->reps, sizeof *b->sorted);
    if (!b->sorted)
        return cli_fail("out of memory"), false;
    b->variants[0].settings = o->model.settings;
    for (int i = 0; o->ab[0] && i < 2; i++)
        if (!parse_variant(b, i, o->ab[i]))
            return false;
    for (int i = 0; i < b->n_variants; i++) {
        for (int s = 0; s < SERIES; s++) {
            b->variants[i].ms[s] = vact_arena_take(b->arena, (size_t)o->reps, sizeof(double));
            if (!b->variants[i].ms[s])
                return cli_fail("out of memory"), false;
        }
    }
    return true;
}

static int bench_model(const char *path, const bench_options *o, vact_arena *arena)
{
    int32_t *views = NULL;
    vact_error err = { 0 };
    vact_model *model = NULL;
    const int n = cli_ints("views", o->views, arena, &views);
    if (n < 0)
        return CLI_USAGE;
    for (int i = 0; i < n; i++)
        if (views[i] < 1 || views[i] > VACT_MAX_VIEWS)
            return cli_fail_usage(&cli_bench, "option --views: %d views, expected 1 to %d", views[i], VACT_MAX_VIEWS);
    bench b = { .options = o, .arena = arena };
    if (!set_up(&b))
        return CLI_USAGE;
    vact_status status = vact_model_open(&model, path, &o->model.settings, &err);
    b.model = model;
    if (o->json && status == VACT_OK)
        printf("{\"runs\":[");
    if (status == VACT_OK) {
        const int32_t most = vact_model_get_info(model)->max_tokens;
        b.tokens = o->tokens ? o->tokens : most < 16 ? most : 16;
    }
    for (int i = 0; i < n && status == VACT_OK; i++)
        status = bench_views(&b, views[i], &err);
    if (o->json && model)
        printf("\n]}\n");
    vact_model_close(&model);
    return status == VACT_OK ? CLI_OK : cli_fail("%s", err.text);
}

static int run(int argc, char **argv)
{
    bench_options o = { .views = "1", .reps = 5 };
    vact_settings_default(&o.model.settings);
    const cli_option options[] = {
        { "views", 0, CLI_TEXT, &o.views, "<n,...>", "numbers of camera views to measure (default: 1)", 0, 0, NULL },
        { "reps", 0, CLI_INT, &o.reps, "<n>", "measured runs, after one that is not (default: 5)", 1, 1000, NULL },
        { "tokens", 0, CLI_INT, &o.tokens, "<n>", "length of the instruction (default: 16, or what the model takes)", 1,
          4096, NULL },
        { "gap-ms", 0, CLI_DOUBLE, &o.gap_ms, "<ms>", "pause after every run", 0, 0, NULL },
        { "ab", 0, CLI_PAIR, o.ab, "<A> <B>", "two sets of the options below, measured in turns", 0, 0, NULL },
        { "json", 0, CLI_FLAG, &o.json, NULL, "print JSON", 0, 0, NULL },
        CLI_MODEL_OPTIONS(&o.model),
        { 0 },
    };
    const char *path = NULL;
    const int operands = cli_parse(&cli_bench, options, argc, argv, &path, 1);
    if (operands < 0)
        return cli_parse_exit(operands);
    if (operands < 1)
        return cli_fail_usage(&cli_bench, "the model is missing");
    if (o.model.verbose)
        o.model.settings.log = cli_log;
    vact_arena arena = { 0 };
    const int code = bench_model(path, &o, &arena);
    vact_arena_free(&arena);
    return code;
}

const cli_command cli_bench = {
    "bench",
    "vact bench <model.gguf> [--views 1,2,3] [<options>]",
    "measure latency, its split and GFLOP/s",
    run,
};
