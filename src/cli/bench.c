/* vact bench: latency of whole predictions and of their stages, with what they compute. */
#include "base/clock.h"
#include "base/error.h"
#include "cli/bench_report.h"
#include "policy/model.h"
#include <string.h>

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

/* Run `rep` between two bursts of the ceilings; the first, -1, is for warming up. */
static vact_status measure(bench *b, bench_variant *v, int rep, vact_error *err)
{
    const bool bursts = rep >= 0 && b->options->roofline;
    vact_reply reply = { .actions = b->actions };
    cli_burst before, after;
    if (bursts)
        before = cli_ceilings_measure(&v->ceilings);
    const double cpu = vact_clock_cpu_ms();
    const vact_status status = vact_predict(v->session, &b->request, &reply, err);
    if (rep >= 0) {
        v->ms[BENCH_CPU][rep] = vact_clock_cpu_ms() - cpu;
        v->ms[BENCH_TOTAL][rep] = reply.timing.total;
        v->ms[BENCH_VISION][rep] = reply.timing.vision;
        v->ms[BENCH_PREFIX][rep] = reply.timing.prefix;
        v->ms[BENCH_DENOISE][rep] = reply.timing.denoise;
    }
    if (bursts) {
        after = cli_ceilings_measure(&v->ceilings);
        for (int c = 0; c < CLI_CEILINGS; c++)
            v->rates[c][rep] = (before.rate[c] + after.rate[c]) / 2;
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

/* ---- the command ---- */

static vact_status bench_views(bench *b, int32_t views, vact_error *err)
{
    vact_status status = VACT_OK;
    if (!make_request(b, views))
        return vact_fail(err, VACT_ENOMEM, "out of memory for %d pictures", views);
    for (int i = 0; i < b->n_variants && status == VACT_OK; i++) {
        bench_variant *v = &b->variants[i];
        v->settings.max_views = views;
        status = vact_session_open(&v->session, b->model, &v->settings, err);
        if (status == VACT_OK)
            status = vact_session_cost(b->model, &v->settings, views, b->tokens, &v->cost, err);
    }
    if (status == VACT_OK)
        status = measure_all(b, err);
    if (status == VACT_OK)
        bench_print_runs(b);
    for (int i = 0; i < b->n_variants; i++)
        vact_session_close(&b->variants[i].session);
    return status;
}

/* The options in a string, over the ones given outside. */
static bool parse_variant(bench *b, int i, const char *text)
{
    enum { MOST_WORDS = 32 };
    bench_variant *v = &b->variants[i];
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
    cli_listen(&o);
    v->settings = o.settings;
    v->label = text;
    return true;
}

/* A number for every run. */
static bool take_numbers(const bench *b, double **out)
{
    *out = vact_arena_take(b->arena, (size_t)b->options->reps, sizeof **out);
    return *out != NULL;
}

/* False after a complaint. */
static bool set_up(bench *b)
{
    const bench_options *o = b->options;
    b->n_variants = o->ab[0] ? 2 : 1;
    bool ok = take_numbers(b, &b->sorted) && take_numbers(b, &b->derived);
    b->variants[0].settings = o->model.settings;
    for (int i = 0; o->ab[0] && i < 2; i++)
        if (!parse_variant(b, i, o->ab[i]))
            return false;
    for (int i = 0; i < b->n_variants; i++) {
        for (int s = 0; s < BENCH_SERIES; s++)
            ok = ok && take_numbers(b, &b->variants[i].ms[s]);
        for (int c = 0; c < CLI_CEILINGS; c++)
            ok = ok && take_numbers(b, &b->variants[i].rates[c]);
    }
    return ok || (cli_fail("out of memory"), false);
}

/* What the variants' settings stand for, and ceilings of the same threads and level. */
static vact_status resolve(bench *b, vact_error *err)
{
    vact_status status = VACT_OK;
    const uint64_t *memory = b->options->roofline ? cli_ceilings_memory(b->arena) : NULL;
    if (b->options->roofline && !memory)
        return vact_fail(err, VACT_ENOMEM, "out of memory for the ceilings");
    for (int i = 0; i < b->n_variants && status == VACT_OK; i++) {
        bench_variant *v = &b->variants[i];
        vact_settings resolved;
        status = vact_settings_resolve(&resolved, &v->settings, err);
        if (status != VACT_OK)
            break;
        v->threads = resolved.reference ? 1 : resolved.threads;
        v->isa = resolved.isa;
        if (memory)
            status =
                cli_ceilings_open(&v->ceilings, (vact_isa)vact_isa_from_name(resolved.isa), v->threads, memory, err);
    }
    return status;
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
    path = cli_resolve(path, &o->hub, arena);
    if (!path)
        return CLI_FAILED;
    vact_status status = vact_model_open(&model, path, &o->model.settings, &err);
    b.model = model;
    if (status == VACT_OK)
        status = resolve(&b, &err);
    if (status == VACT_OK) {
        const int32_t most = vact_model_get_info(model)->max_tokens;
        b.tokens = o->tokens ? o->tokens : most < 16 ? most : 16;
        bench_print_begin(&b);
        for (int i = 0; i < n && status == VACT_OK; i++)
            status = bench_views(&b, views[i], &err);
        bench_print_end(&b);
    }
    for (int i = 0; i < b.n_variants; i++)
        cli_ceilings_close(&b.variants[i].ceilings);
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
        { "roofline", 0, CLI_FLAG, &o.roofline, NULL, "measure beside every run what the machine can do at most", 0, 0,
          NULL },
        { "json", 0, CLI_FLAG, &o.json, NULL, "print JSON", 0, 0, NULL },
        { "markdown", 0, CLI_FLAG, &o.markdown, NULL, "print a table in Markdown", 0, 0, NULL },
        CLI_MODEL_OPTIONS(&o.model),
        CLI_HUB_OPTIONS(&o.hub),
        { 0 },
    };
    const char *path = NULL;
    const int operands = cli_parse(&cli_bench, options, argc, argv, &path, 1);
    if (operands < 0)
        return cli_parse_exit(operands);
    if (operands < 1)
        return cli_fail_usage(&cli_bench, "the model is missing");
    if (o.json && o.markdown)
        return cli_fail_usage(&cli_bench, "--json and --markdown are both given, expected one of them");
    cli_listen(&o.model);
    vact_arena arena = { 0 };
    const int code = bench_model(path, &o, &arena);
    vact_arena_free(&arena);
    return code;
}

const cli_command cli_bench = {
    "bench",
    "vact bench <model> [--views 1,2,3] [<options>]",
    "measure latency, its split and GFLOP/s",
    run,
};
