/* gemm: a site of the CPU device against other people's matrix products, on every shape of the policies.
 *
 * All take turns in one process. The matrix stays the same from call to call, so small ones come from the cache: that
 * favours the others, whose weights are twice as large as bf16 ones. Times are medians (or the best), ratios those of
 * times: below 1 vact is faster. bench/README.md says how to run it. */
#include "rivals.h"
#include "shapes.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/statistics.h"
#include "cli/cli.h"
#include "ops/cost/cost.h"
#include "ops/cpu/cpu.h"
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* A library's threads spin for a while after their work, and would take the next one's core: OpenBLAS's for 27 ms. */
#define PAUSE_MS    40
#define MEASURED_MS 20 /* at least, of calls in a row */

enum { F32, BF16, Q8_0, Q4_0, OURS, METHODS = OURS + BENCH_RIVALS, SPOTS = 64, FEW_ROWS = 50, MOST_REPS = 101 };

/* Ours: Q8_0 and Q4_0 multiply integers. `error` bounds what the type and they do to a product of variance 1. */
static const struct {
    const char *name;
    vact_dtype dtype;
    double error;
} ours[OURS] = { [F32] = { "vact f32", VACT_DTYPE_F32, 1e-4 },
                 [BF16] = { "vact bf16", VACT_DTYPE_BF16, 1e-4 },
                 [Q8_0] = { "vact q8_0 int8", VACT_DTYPE_Q8_0, 0.05 },
                 [Q4_0] = { "vact q4_0 int8", VACT_DTYPE_Q4_0, 0.5 } };

/* One of ours: a site on a device of its own, laid out as a session does. */
typedef struct site {
    vact_device *device;
    vact_run run;
    vact_linear w;
    vact_buf x, y;
} site;

typedef struct options {
    const char *only;
    int32_t reps, threads;
    bool best;
} options;

typedef struct bench {
    const options *options;
    vact_kernels kernels;
    regex_t only;
    const bench_shape *shape;
    float *x, *w, *y; /* of the shape; the weights are bf16's values */
    void *encoded[OURS];
    site sites[OURS];
    bool wanted[METHODS]; /* a rival that is there */
    int calls[METHODS];   /* in a row */
    double wall[METHODS][MOST_REPS], cpu[METHODS][MOST_REPS];
    /* Logarithms of the ratios so far, [0] few rows, [1] the others. */
    struct tally {
        int n;
        double sum, worst;
    } best[2], packed[2], bf16[2], q8_0[2], q4_0[2];
    vact_error err;
} bench;

static const char *method_name(int method)
{
    return method < OURS ? ours[method].name : bench_rivals[method - OURS].name;
}

/* Whether there is such a method, for this shape. */
static bool competes(const bench *b, int method)
{
    return b->wanted[method] &&
           (method >= OURS || b->shape->k % (int32_t)vact_dtype_get(ours[method].dtype)->block == 0);
}

/* ---- ours ---- */

static void lay_out(site *s, vact_run *r, const bench_shape *shape)
{
    s->x = vact_tmp(r, shape->m, shape->k);
    s->y = vact_tmp(r, shape->m, shape->n);
}

static void run_site(site *s, vact_run *r)
{
    vact_site(r, .x = s->x, .out = { { s->y, &s->w } });
}

/* What a session does: the cost device tells the memory, then the same for real. */
static vact_status open_site(bench *b, int method)
{
    site *s = &b->sites[method];
    const vact_dtype dtype = ours[method].dtype;
    const bench_shape *shape = b->shape;
    const uint64_t row_bytes = vact_dtype_bytes(dtype, (uint64_t)shape->k);
    vact_device *cost = NULL;
    *s = (site){ .w.w = { b->encoded[method], dtype, shape->n, shape->k, row_bytes } };
    vact_status status = vact_cpu_open(&s->device, &b->kernels, b->options->threads, method >= Q8_0, &b->err);
    if (status == VACT_OK)
        status = vact_cost_open(&cost, s->device, &b->err);
    if (status != VACT_OK)
        return status;
    vact_run plan = { .device = cost, .err = &b->err };
    lay_out(s, &plan, shape);
    run_site(s, &plan);
    status = s->device->reserve(s->device, plan.peak, vact_cost_get(cost)->scratch, &b->err);
    cost->close(cost);
    if (status != VACT_OK)
        return status;
    s->run = (vact_run){ .device = s->device, .err = &b->err };
    lay_out(s, &s->run, shape);
    vact_upload(&s->run, s->x, b->x);
    return s->run.status;
}

/* ---- a shape ---- */

/* Uniform, of variance 1. */
static float noise(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(*state >> 40) / (1 << 24) - 0.5) * 3.4641016f;
}

static vact_status fill(bench *b)
{
    const bench_shape *s = b->shape;
    const size_t x = (size_t)s->m * (size_t)s->k, w = (size_t)s->n * (size_t)s->k, y = (size_t)s->m * (size_t)s->n;
    const float scale = 1 / sqrtf((float)s->k);
    uint64_t state = 1;
    b->x = malloc(x * sizeof *b->x);
    b->w = malloc(w * sizeof *b->w);
    b->y = malloc(y * sizeof *b->y);
    bool taken = b->x && b->w && b->y;
    for (int i = 0; i < OURS; i++) {
        b->encoded[i] = malloc((size_t)vact_dtype_bytes(ours[i].dtype, (w + 31) / 32 * 32));
        taken = taken && b->encoded[i];
    }
    if (!taken)
        return vact_fail(&b->err, VACT_ENOMEM, "out of memory for %d x %d x %d", s->m, s->n, s->k);
    for (size_t i = 0; i < x; i++)
        b->x[i] = noise(&state);
    for (size_t i = 0; i < w; i++)
        b->w[i] = scale * noise(&state);
    vact_dtype_encoder(VACT_DTYPE_BF16)(b->encoded[BF16], b->w, w);
    b->kernels.decode[VACT_DTYPE_BF16](b->w, b->encoded[BF16], w); /* so that all have the same answer */
    for (int i = 0; i < OURS; i++)
        if (competes(b, i))
            vact_dtype_encoder(ours[i].dtype)(b->encoded[i], b->w, w);
    return VACT_OK;
}

static vact_status open_shape(bench *b)
{
    const bench_shape *s = b->shape;
    vact_status status = fill(b);
    for (int i = 0; i < OURS && status == VACT_OK; i++)
        if (competes(b, i))
            status = open_site(b, i);
    for (int i = 0; i < BENCH_RIVALS && status == VACT_OK; i++) {
        rival *r = &bench_rivals[i];
        if (b->wanted[OURS + i] && !r->prepare(r, s->m, s->n, s->k, b->y, b->x, b->w))
            status = vact_fail(&b->err, VACT_ENOMEM, "%s refuses %d x %d x %d", r->name, s->m, s->n, s->k);
    }
    return status;
}

static void close_shape(bench *b)
{
    for (int i = 0; i < BENCH_RIVALS; i++)
        if (b->wanted[OURS + i])
            bench_rivals[i].finish(&bench_rivals[i]);
    for (int i = 0; i < OURS; i++) {
        if (b->sites[i].device)
            b->sites[i].device->close(b->sites[i].device);
        b->sites[i].device = NULL;
        free(b->encoded[i]);
        b->encoded[i] = NULL;
    }
    free(b->x);
    free(b->w);
    free(b->y);
    b->x = b->w = b->y = NULL;
}

/* ---- measuring ---- */

static vact_status call(bench *b, int method)
{
    if (method < OURS) {
        run_site(&b->sites[method], &b->sites[method].run);
        return b->sites[method].run.status;
    }
    rival *r = &bench_rivals[method - OURS];
    return r->run(r) ? VACT_OK : vact_fail(&b->err, VACT_EARG, "%s failed", r->name);
}

/* A trace's listener: the site's output to where the rivals leave theirs. */
static void take_output(void *user, const char *name, const float *values, int32_t rows, int32_t cols)
{
    (void)name;
    memcpy(((bench *)user)->y, values, (size_t)rows * (size_t)cols * sizeof *values);
}

/* What was computed is the product, at some places; a fast answer to another question is no rival's. */
static vact_status check(bench *b, int method)
{
    const bench_shape *s = b->shape;
    vact_run *own = method < OURS ? &b->sites[method].run : NULL;
    if (own) {
        own->trace = take_output;
        own->trace_user = b;
        vact_emit(own, b->sites[method].y, "y");
        own->trace = NULL;
        if (own->status != VACT_OK)
            return own->status;
    }
    for (int spot = 0; spot < SPOTS; spot++) {
        const size_t i = (size_t)spot * 7919 % (size_t)s->m, j = (size_t)spot * 104729 % (size_t)s->n;
        double want = 0;
        for (size_t k = 0; k < (size_t)s->k; k++)
            want += (double)b->x[i * (size_t)s->k + k] * (double)b->w[j * (size_t)s->k + k];
        const double got = (double)b->y[i * (size_t)s->n + j];
        if (!(fabs(got - want) <= (own ? ours[method].error : ours[F32].error) * (1 + fabs(want))))
            return vact_fail(&b->err, VACT_EARG, "%s: value [%zu][%zu] of %d x %d x %d is %g, expected %g",
                             method_name(method), i, j, s->m, s->n, s->k, got, want);
    }
    return VACT_OK;
}

/* Milliseconds of one of `calls` calls, after one that doesn't count. */
static vact_status measure(bench *b, int method, int calls, double *wall, double *cpu)
{
    vact_clock_sleep_ms(PAUSE_MS);
    vact_status status = call(b, method);
    const double start = vact_clock_ms(), start_cpu = vact_clock_cpu_ms();
    for (int i = 0; i < calls && status == VACT_OK; i++)
        status = call(b, method);
    *cpu = (vact_clock_cpu_ms() - start_cpu) / calls;
    *wall = (vact_clock_ms() - start) / calls;
    return status;
}

static vact_status measure_shape(bench *b)
{
    vact_status status = VACT_OK;
    for (int method = 0; method < METHODS && status == VACT_OK; method++) {
        double wall = 0, cpu = 0;
        if (!competes(b, method))
            continue;
        memset(b->y, 0, (size_t)b->shape->m * (size_t)b->shape->n * sizeof *b->y);
        status = measure(b, method, 1, &wall, &cpu);
        b->calls[method] = (int)(MEASURED_MS / wall) + 1;
        if (status == VACT_OK)
            status = check(b, method);
    }
    for (int rep = 0; rep < b->options->reps; rep++)
        for (int method = 0; method < METHODS && status == VACT_OK; method++)
            if (competes(b, method))
                status = measure(b, method, b->calls[method], &b->wall[method][rep], &b->cpu[method][rep]);
    return status;
}

/* ---- the table ---- */

static void print_head(const bench *b)
{
    char model[128];
    printf("%s, %d thread%s, %s, vact %s; ms, in brackets CPU ms, %s of %d\n\n|policies|M|N|K|",
           vact_cpu_model(model, sizeof model, "/proc/cpuinfo"), b->options->threads,
           b->options->threads == 1 ? "" : "s", vact_isa_name(b->kernels.isa), VACT_VERSION,
           b->options->best ? "best" : "medians", b->options->reps);
    for (int i = 0; i < METHODS; i++)
        printf("%s|", method_name(i));
    printf("f32 GFLOP/s|f32 / best|f32 / packed|bf16 / f32|q8_0 / bf16|q4_0 / q8_0|\n");
    for (int i = 0; i < 10 + METHODS; i++)
        printf("|---");
    printf("|\n");
}

static bool same_product(const bench_shape *a, const bench_shape *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k;
}

static void print_models(const bench *b)
{
    const char *last = "";
    for (int i = 0; i < BENCH_SHAPES; i++) {
        if (!same_product(&bench_shapes[i], b->shape))
            continue;
        if (strcmp(last, bench_shapes[i].model) != 0)
            printf("%s%s ", *last ? "; " : "", bench_shapes[i].model);
        else
            printf(", ");
        printf("%s", bench_shapes[i].what);
        last = bench_shapes[i].model;
    }
}

static void print_ratio(double ratio, struct tally *tally)
{
    if (!isfinite(ratio)) {
        printf("-|");
        return;
    }
    printf("%.2f|", ratio);
    tally->n++;
    tally->sum += log(ratio);
    tally->worst = fmax(tally->worst, ratio);
}

static void print_shape(bench *b)
{
    const bench_shape *s = b->shape;
    const size_t reps = (size_t)b->options->reps;
    const int rows = s->m >= FEW_ROWS;
    const double q = b->options->best ? 0 : 0.5;
    double ms[METHODS], best = NAN, packed = NAN;
    printf("|");
    print_models(b);
    printf("|%d|%d|%d|", s->m, s->n, s->k);
    for (int i = 0; i < METHODS; i++) {
        ms[i] = NAN;
        if (!competes(b, i)) {
            printf("-|");
            continue;
        }
        ms[i] = vact_quantile(b->wall[i], reps, q);
        printf("%.3f (%.3f)|", ms[i], vact_quantile(b->cpu[i], reps, q));
        if (i >= OURS && bench_rivals[i - OURS].packed)
            packed = fmin(packed, ms[i]);
        else if (i >= OURS)
            best = fmin(best, ms[i]);
    }
    printf("%.1f|", 2e-6 * s->m * s->n * s->k / ms[F32]);
    print_ratio(ms[F32] / best, &b->best[rows]);
    print_ratio(ms[F32] / packed, &b->packed[rows]);
    print_ratio(ms[BF16] / ms[F32], &b->bf16[rows]);
    print_ratio(ms[Q8_0] / ms[BF16], &b->q8_0[rows]);
    print_ratio(ms[Q4_0] / ms[Q8_0], &b->q4_0[rows]);
    printf("\n");
    fflush(stdout);
}

static void print_tally(const char *rows, const char *what, const struct tally *t)
{
    if (t->n > 0)
        printf("- %s %d rows, %s: geometric mean %.2f, worst %.2f of %d\n", rows, FEW_ROWS, what, exp(t->sum / t->n),
               t->worst, t->n);
}

static void print_summary(const bench *b)
{
    printf("\n");
    static const char *const names[] = { "under", "at least" };
    for (int rows = 1; rows >= 0; rows--) {
        print_tally(names[rows], "f32 / best", &b->best[rows]);
        print_tally(names[rows], "f32 / packed", &b->packed[rows]);
        print_tally(names[rows], "bf16 / f32", &b->bf16[rows]);
        print_tally(names[rows], "q8_0 int8 / bf16", &b->q8_0[rows]);
        print_tally(names[rows], "q4_0 int8 / q8_0 int8", &b->q4_0[rows]);
    }
}

/* ---- the command ---- */

static int run(int argc, char **argv);

static const cli_command command = {
    "gemm",
    "gemm [--only <regex>] [<options>]",
    "the CPU device's matrix products against OpenBLAS, BLIS and oneDNN, on every shape of the policies",
    run,
};

/* Whether "model MxNxK" of any policy with this shape matches; the first of them stands for all. */
static bool is_wanted(const bench *b, int shape)
{
    bool wanted = !b->options->only;
    for (int i = 0; i < BENCH_SHAPES; i++) {
        const bench_shape *s = &bench_shapes[i];
        char name[64];
        if (!same_product(s, &bench_shapes[shape]))
            continue;
        if (i < shape)
            return false;
        snprintf(name, sizeof name, "%s %dx%dx%d", s->model, s->m, s->n, s->k);
        wanted = wanted || regexec(&b->only, name, 0, NULL, 0) == 0;
    }
    return wanted;
}

static vact_status measure_all(bench *b)
{
    vact_status status = VACT_OK;
    print_head(b);
    for (int i = 0; i < BENCH_SHAPES && status == VACT_OK; i++) {
        if (!is_wanted(b, i))
            continue;
        b->shape = &bench_shapes[i];
        status = open_shape(b);
        if (status == VACT_OK)
            status = measure_shape(b);
        if (status == VACT_OK)
            print_shape(b);
        close_shape(b);
    }
    if (status == VACT_OK)
        print_summary(b);
    return status;
}

static int run(int argc, char **argv)
{
    options o = { .reps = 5, .threads = 2 };
    const cli_option known[] = {
        { "only", 0, CLI_TEXT, &o.only, "<regex>", "shapes whose \"policy MxNxK\" matches, as in \"smolvla 50x\"", 0, 0,
          NULL },
        { "reps", 0, CLI_INT, &o.reps, "<n>", "measurements of each (default: 5)", 1, MOST_REPS, NULL },
        { "best", 0, CLI_FLAG, &o.best, NULL, "the best measurement, not the median: for a machine with other users", 0,
          0, NULL },
        { "threads", 't', CLI_INT, &o.threads, "<n>", "threads of each (default: 2)", 1, 1024, NULL },
        { 0 },
    };
    const int operands = cli_parse(&command, known, argc, argv, NULL, 0);
    if (operands < 0)
        return cli_parse_exit(operands);
    static bench b;
    b.options = &o;
    if (o.only && regcomp(&b.only, o.only, REG_EXTENDED | REG_NOSUB) != 0)
        return cli_fail_usage(&command, "option --only: \"%s\" is not a regular expression", o.only);
    vact_kernels_init(&b.kernels, vact_cpu_isa());
    for (int i = 0; i < OURS; i++)
        b.wanted[i] = true;
    for (int i = 0; i < BENCH_RIVALS; i++) {
        rival *r = &bench_rivals[i];
        b.wanted[OURS + i] = r->open(r, o.threads);
        if (!b.wanted[OURS + i])
            printf("%s is skipped: %s\n\n", r->name, r->missing);
    }
    const vact_status status = measure_all(&b);
    if (o.only)
        regfree(&b.only);
    return status == VACT_OK ? CLI_OK : cli_fail("%s", b.err.text);
}

int main(int argc, char **argv)
{
    const int code = run(argc, argv);
    if (code != CLI_OK || (fflush(stdout) == 0 && !ferror(stdout)))
        return code;
    return cli_fail("standard output: cannot write all of it");
}
