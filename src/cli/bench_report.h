/* What vact bench measured, and its three ways to say it. */
#ifndef VACT_CLI_BENCH_REPORT_H
#define VACT_CLI_BENCH_REPORT_H

#include "cli/ceilings.h"
#include "cli/cli.h"

enum { BENCH_TOTAL, BENCH_VISION, BENCH_PREFIX, BENCH_DENOISE, BENCH_CPU, BENCH_SERIES, BENCH_MOST_VARIANTS = 2 };

typedef struct bench_options {
    cli_model_options model;
    hub_settings hub;
    const char *views, *ab[2];
    int32_t reps, tokens;
    double gap_ms;
    bool roofline, json, markdown;
} bench_options;

/* One set of options under measurement. */
typedef struct bench_variant {
    const char *label; /* its options; NULL unless --ab */
    vact_settings settings;
    const char *isa; /* and threads: what the settings stand for */
    int32_t threads;
    vact_session *session;
    vact_cost cost;
    double *ms[BENCH_SERIES];    /* [reps] each, in the order measured */
    cli_ceilings ceilings;       /* --roofline */
    double *rates[CLI_CEILINGS]; /* [reps] each: the mean of the bursts before and after the run */
} bench_variant;

typedef struct bench {
    const bench_options *options;
    const vact_model *model;
    vact_arena *arena;
    vact_request request;
    int32_t tokens;
    float *actions;
    double *sorted, *derived; /* [reps] each, scratch */
    bench_variant variants[BENCH_MOST_VARIANTS];
    int n_variants, printed;
} bench;

/* All that stands before and after the runs, and the runs of one number of views. */
void bench_print_begin(bench *b);
void bench_print_runs(bench *b);
void bench_print_end(const bench *b);

#endif
