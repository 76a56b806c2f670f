#include "cli/bench_report.h"
#include "base/statistics.h"
#include <string.h>

static const char *const series_names[BENCH_SERIES] = { "total", "vision", "prefix", "denoise", "cpu" };

/* ---- figures ---- */

/* Of as many values as there are runs; they stay in the order measured. */
static double quantile(const bench *b, const double *values, double q)
{
    const size_t n = (size_t)b->options->reps;
    memcpy(b->sorted, values, n * sizeof *values);
    return vact_quantile(b->sorted, n, q);
}

static double median(const bench *b, const double *values)
{
    return quantile(b, values, 0.5);
}

/* Of a stage or of all three. */
static vact_stage_cost cost_of(const bench_variant *v, int series)
{
    const vact_cost *c = &v->cost;
    const vact_stage_cost all = { c->vision.flops + c->prefix.flops + c->denoise.flops,
                                  c->vision.weight_bytes + c->prefix.weight_bytes + c->denoise.weight_bytes };
    return series == BENCH_TOTAL    ? all
           : series == BENCH_VISION ? c->vision
           : series == BENCH_PREFIX ? c->prefix
                                    : c->denoise;
}

static double gflop(const bench_variant *v, int series)
{
    return cost_of(v, series).flops / 1e9;
}

static double weight_gb(const bench_variant *v, int series)
{
    return cost_of(v, series).weight_bytes / 1e9;
}

static double gflops(const bench *b, const bench_variant *v, int series)
{
    return gflop(v, series) / median(b, v->ms[series]) * 1e3;
}

/* Of the f32 ceiling: the median over the runs, each against the bursts beside it. */
static double share(const bench *b, const bench_variant *v, int series)
{
    for (int i = 0; i < b->options->reps; i++)
        b->derived[i] = gflop(v, series) / v->ms[series][i] * 1e3 / v->rates[CLI_FMA][i];
    return median(b, b->derived);
}

/* B over A: the median of the ratios of runs that followed each other. */
static double ratio(const bench *b, int series)
{
    for (int i = 0; i < b->options->reps; i++)
        b->derived[i] = b->variants[1].ms[series][i] / b->variants[0].ms[series][i];
    return median(b, b->derived);
}

static char letter(const bench *b, const bench_variant *v)
{
    return v == b->variants ? 'A' : 'B';
}

/* ---- for people ---- */

static void print_row(const bench *b, const bench_variant *v, int s)
{
    printf("  %-8s %10.1f %10.1f %10.1f", series_names[s], quantile(b, v->ms[s], 0), median(b, v->ms[s]),
           quantile(b, v->ms[s], 0.9));
    if (s != BENCH_CPU)
        printf(" %10.1f %10.1f", gflop(v, s), gflops(b, v, s));
    if (s != BENCH_CPU && b->options->roofline)
        printf(" %10.3f %10.3f", weight_gb(v, s), share(b, v, s));
    printf("\n");
}

static void print_table(const bench *b, const bench_variant *v)
{
    if (v->label)
        printf("%c \"%s\": ", letter(b, v), v->label);
    printf("%d view%s, %d thread%s, %d runs\n", b->request.n_images, b->request.n_images == 1 ? "" : "s", v->threads,
           v->threads == 1 ? "" : "s", b->options->reps);
    printf("  %-8s %10s %10s %10s %10s %10s", "", "min ms", "p50 ms", "p90 ms", "GFLOP", "GFLOP/s");
    printf(b->options->roofline ? " %10s %10s\n" : "\n", "weight GB", "share");
    for (int s = 0; s < BENCH_SERIES; s++)
        print_row(b, v, s);
    if (b->options->roofline)
        printf("  ceilings beside the runs: %.1f GFLOP/s f32 (share 1), %.1f GOP/s int8, %.1f GB/s read\n",
               median(b, v->rates[CLI_FMA]), median(b, v->rates[CLI_DOT]), median(b, v->rates[CLI_READ]));
}

static void print_ratios(const bench *b)
{
    printf("B/A, median of pairs:");
    for (int s = 0; s < BENCH_SERIES; s++)
        printf("%s %s %.3f", s ? "," : "", series_names[s], ratio(b, s));
    printf("\n");
}

/* ---- Markdown ---- */

static void print_machine(const bench *b, const bench_variant *v)
{
    char model[128];
    if (v->label)
        printf("- %c `%s`: ", letter(b, v), v->label);
    printf("%s, %d CPUs, %d thread%s, %s, vact %s, medians of %d\n",
           vact_cpu_model(model, sizeof model, "/proc/cpuinfo"), vact_cpu_count(), v->threads,
           v->threads == 1 ? "" : "s", v->isa, VACT_VERSION, b->options->reps);
}

static void print_markdown_head(const bench *b)
{
    const bool two = b->n_variants > 1, roofline = b->options->roofline;
    for (int i = 0; i < b->n_variants; i++)
        print_machine(b, &b->variants[i]);
    printf("\n|%s views | stage | min ms | p50 ms | p90 ms | GFLOP | GFLOP/s |%s\n", two ? " options |" : "",
           roofline ? " weight GB | share of the f32 ceiling |" : "");
    printf("|%s---|---|---|---|---|---|---|%s\n", two ? "---|" : "", roofline ? "---|---|" : "");
}

static void print_markdown_start(const bench *b, const char *options, const char *stage)
{
    if (b->n_variants > 1)
        printf("| %s ", options);
    printf("| %d | %s ", b->request.n_images, stage);
}

static void print_markdown_row(const bench *b, const bench_variant *v, int s)
{
    const bool work = s != BENCH_CPU;
    print_markdown_start(b, (char[]){ letter(b, v), 0 }, series_names[s]);
    printf("| %.1f | %.1f | %.1f |", quantile(b, v->ms[s], 0), median(b, v->ms[s]), quantile(b, v->ms[s], 0.9));
    printf(work ? " %.1f | %.1f |" : " | |", gflop(v, s), gflops(b, v, s));
    if (b->options->roofline)
        printf(work ? " %.3f | %.3f |" : " | |", weight_gb(v, s), work ? share(b, v, s) : 0);
    printf("\n");
}

static void print_markdown(const bench *b, const bench_variant *v)
{
    static const char *const ceilings[CLI_CEILINGS] = { "f32 ceiling", "int8 ceiling, GOP/s", "memory read, GB/s" };
    for (int s = 0; s < BENCH_SERIES; s++)
        print_markdown_row(b, v, s);
    for (int c = 0; c < CLI_CEILINGS && b->options->roofline; c++) {
        print_markdown_start(b, (char[]){ letter(b, v), 0 }, ceilings[c]);
        printf("| | | | | %.1f | | |\n", median(b, v->rates[c]));
    }
}

static void print_markdown_ratios(const bench *b)
{
    for (int s = 0; s < BENCH_SERIES; s++) {
        print_markdown_start(b, "B/A", series_names[s]);
        printf("| | %.3f | | | |%s\n", ratio(b, s), b->options->roofline ? " | |" : "");
    }
}

/* ---- JSON ---- */

/* The variant's letter and options; B carries the ratios. */
static void print_json_label(const bench *b, const bench_variant *v)
{
    printf("\"variant\":\"%c\",\"options\":\"", letter(b, v));
    for (const char *c = v->label; *c; c++)
        printf(*c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    printf("\",");
    if (v == b->variants)
        return;
    printf("\"b_over_a\":{");
    for (int s = 0; s < BENCH_SERIES; s++)
        printf("%s\"%s\":%.4f", s ? "," : "", series_names[s], ratio(b, s));
    printf("},");
}

static void print_json_roofline(const bench *b, const bench_variant *v)
{
    printf(",\"roofline\":{\"fma_gflops\":%.3f,\"dot_gops\":%.3f,\"read_gbs\":%.3f", median(b, v->rates[CLI_FMA]),
           median(b, v->rates[CLI_DOT]), median(b, v->rates[CLI_READ]));
    for (int s = BENCH_TOTAL; s <= BENCH_DENOISE; s++)
        printf(",\"%s\":{\"gflop\":%.6f,\"weight_gb\":%.6f,\"share\":%.4f}", series_names[s], gflop(v, s),
               weight_gb(v, s), share(b, v, s));
    printf("}");
}

static void print_json(bench *b, const bench_variant *v)
{
    printf("%s\n  {\"views\":%d,\"threads\":%d,", b->printed++ ? "," : "", b->request.n_images, v->threads);
    if (v->label)
        print_json_label(b, v);
    const double *total = v->ms[BENCH_TOTAL];
    printf("\"min_ms\":%.3f,\"p50_ms\":%.3f,\"p90_ms\":%.3f,\"cpu_ms\":%.3f,\"stages\":{", quantile(b, total, 0),
           median(b, total), quantile(b, total, 0.9), median(b, v->ms[BENCH_CPU]));
    for (int s = BENCH_VISION; s <= BENCH_DENOISE; s++)
        printf("%s\"%s\":{\"ms\":%.3f,\"gflop\":%.3f,\"gflops\":%.3f}", s > BENCH_VISION ? "," : "", series_names[s],
               median(b, v->ms[s]), gflop(v, s), gflops(b, v, s));
    printf("}");
    if (b->options->roofline)
        print_json_roofline(b, v);
    printf("}");
}

/* ---- all of it ---- */

void bench_print_begin(bench *b)
{
    if (b->options->json)
        printf("{\"runs\":[");
    else if (b->options->markdown)
        print_markdown_head(b);
}

void bench_print_runs(bench *b)
{
    const bench_options *o = b->options;
    for (int i = 0; i < b->n_variants; i++) {
        if (o->json)
            print_json(b, &b->variants[i]);
        else if (o->markdown)
            print_markdown(b, &b->variants[i]);
        else
            print_table(b, &b->variants[i]);
    }
    if (b->n_variants == 2 && o->markdown)
        print_markdown_ratios(b);
    else if (b->n_variants == 2 && !o->json)
        print_ratios(b);
}

void bench_print_end(const bench *b)
{
    if (b->options->json)
        printf("\n]}\n");
}
