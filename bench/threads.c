/* threads: vact's pool against others on jobs like those of a prediction, on a quiet machine and with one busy process
 * on every core. bench/README.md says how to run it.
 *
 * A job is a number of tiles of about equal work, and the next starts when all are done. All pools get the same jobs,
 * in turns. Times are medians, ratios those of times: below 1 vact is faster. */
#include "pools.h"

#include "base/clock.h"
#include "base/statistics.h"
#include "cli/cli.h"
#include "kernels/kernels.h"
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A pool's threads may spin for a while after their work, and would take the next one's core. */
#define PAUSE_MS 40

enum { MOST_JOBS = 100000, MOST_REPS = 101, MOST_CPUS = 1024 };

typedef struct job {
    int tiles;
    size_t steps; /* of work in each */
} job;

typedef struct options {
    int32_t jobs, reps, threads;
    const char *tiles_text, *us_text;
    int32_t *tiles, *us; /* [2]: the least and the most of a job, and microseconds of a tile */
    bool quiet, busy;
} options;

typedef struct bench {
    const options *options;
    vact_kernels kernels;
    job *jobs;
    int64_t tiles; /* of all jobs */
    bool wanted[BENCH_POOLS];
    double wall[BENCH_POOLS][MOST_REPS], cpu[BENCH_POOLS][MOST_REPS];
    pid_t busy[MOST_CPUS];
    int n_busy;
    const job *present;
    atomic_llong done;
} bench;

/* ---- the work ---- */

static void tile(void *context, int index)
{
    (void)index;
    bench *b = context;
    float values[VACT_CEILING] = { 0 };
    b->kernels.fma_ceiling(values, b->present->steps);
    atomic_fetch_add_explicit(&b->done, 1, memory_order_relaxed);
}

/* Steps of a core that has nothing else to do: the best of some. */
static double steps_per_us(const bench *b)
{
    enum { STEPS = 5000, TRIES = 50 };
    float values[VACT_CEILING] = { 0 };
    double best = 0;
    for (int i = 0; i < TRIES; i++) {
        const double start = vact_clock_ms();
        b->kernels.fma_ceiling(values, STEPS);
        best = fmax(best, STEPS / 1e3 / (vact_clock_ms() - start));
    }
    return best;
}

/* Between the limits, on a logarithmic scale. */
static double pick(uint64_t *state, double low, double high)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return low * pow(high / low, (double)(*state >> 40) / (1 << 24));
}

static bool make_jobs(bench *b)
{
    const double rate = steps_per_us(b);
    uint64_t state = 1;
    b->jobs = malloc((size_t)b->options->jobs * sizeof *b->jobs);
    for (int i = 0; b->jobs && i < b->options->jobs; i++) {
        b->jobs[i].tiles = (int)pick(&state, b->options->tiles[0], b->options->tiles[1] + 1);
        b->jobs[i].steps = (size_t)(rate * pick(&state, b->options->us[0], b->options->us[1])) + 1;
        b->tiles += b->jobs[i].tiles;
    }
    return b->jobs != NULL;
}

/* ---- busy processes ---- */

/* False after a complaint. */
static bool start_busy(bench *b)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return cli_fail("cannot tell the CPUs to keep busy: %s", strerror(errno)), false;
    const pid_t parent = getpid();
    for (size_t cpu = 0; cpu < MOST_CPUS; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        const pid_t child = fork();
        if (child == 0) {
            cpu_set_t own;
            CPU_ZERO(&own);
            CPU_SET(cpu, &own);
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever ends this program ends them */
            if (getppid() != parent || sched_setaffinity(0, sizeof own, &own) != 0)
                _exit(1);
            for (volatile unsigned spin = 0;; spin++)
                ;
        }
        if (child < 0)
            return cli_fail("cannot keep CPU %zu busy: %s", cpu, strerror(errno)), false;
        b->busy[b->n_busy++] = child;
    }
    return true;
}

static void stop_busy(bench *b)
{
    for (int i = 0; i < b->n_busy; i++)
        kill(b->busy[i], SIGKILL);
    for (int i = 0; i < b->n_busy; i++)
        waitpid(b->busy[i], NULL, 0);
    b->n_busy = 0;
}

/* ---- measuring ---- */

/* False after a complaint. */
static bool measure(bench *b, int which, int rep)
{
    pool *p = &bench_pools[which];
    vact_clock_sleep_ms(PAUSE_MS);
    atomic_store(&b->done, 0);
    const double wall = vact_clock_ms(), cpu = vact_clock_cpu_ms();
    for (int i = 0; i < b->options->jobs; i++) {
        b->present = &b->jobs[i];
        p->run(p, tile, b, b->present->tiles);
    }
    b->wall[which][rep] = vact_clock_ms() - wall;
    b->cpu[which][rep] = vact_clock_cpu_ms() - cpu;
    if (atomic_load(&b->done) == b->tiles)
        return true;
    cli_fail("%s ran %lld tiles, expected %lld", p->name, (long long)atomic_load(&b->done), (long long)b->tiles);
    return false;
}

static bool measure_all(bench *b)
{
    for (int rep = 0; rep < b->options->reps; rep++)
        for (int i = 0; i < BENCH_POOLS; i++)
            if (b->wanted[i] && !measure(b, i, rep))
                return false;
    return true;
}

static void print_rows(bench *b, const char *machine)
{
    const size_t reps = (size_t)b->options->reps;
    double own = 0;
    for (int i = 0; i < BENCH_POOLS; i++) {
        if (!b->wanted[i])
            continue;
        const double ms = vact_quantile(b->wall[i], reps, 0.5);
        own = i ? own : ms;
        printf("| %s | %s | %.1f | %.1f | %.1f | %.3f |\n", machine, bench_pools[i].name,
               vact_quantile(b->wall[i], reps, 0), ms, vact_quantile(b->cpu[i], reps, 0.5), own / ms);
    }
    fflush(stdout);
}

static bool bench_all(bench *b)
{
    const options *o = b->options;
    const bool both = o->quiet == o->busy;
    char model[128];
    printf("%s, %d CPUs, %d thread%s, vact %s; ", vact_cpu_model(model, sizeof model, "/proc/cpuinfo"),
           vact_cpu_count(), o->threads, o->threads == 1 ? "" : "s", VACT_VERSION);
    printf("%d jobs of %d to %d tiles of %d to %d us, %lld tiles; medians of %d\n\n", o->jobs, o->tiles[0], o->tiles[1],
           o->us[0], o->us[1], (long long)b->tiles, o->reps);
    printf("| machine | pool | best ms | ms | CPU ms | vact / it |\n|---|---|---|---|---|---|\n");
    if (both || o->quiet) {
        if (!measure_all(b))
            return false;
        print_rows(b, "quiet");
    }
    if (both || o->busy) {
        const bool ok = start_busy(b) && measure_all(b);
        stop_busy(b);
        if (!ok)
            return false;
        print_rows(b, "busy");
    }
    return true;
}

/* ---- the command ---- */

static int run(int argc, char **argv);

static const cli_command command = {
    "threads",
    "threads [--quiet] [--busy] [<options>]",
    "vact's thread pool against pthreadpool and OpenMP",
    run,
};

/* Two whole numbers, the second not below the first; NULL after a complaint. */
static int32_t *take_range(vact_arena *arena, const char *what, const char *text, int32_t most)
{
    int32_t *range = NULL;
    const int n = cli_ints(what, text, arena, &range);
    if (n == 2 && range[0] >= 1 && range[0] <= range[1] && range[1] <= most)
        return range;
    if (n >= 0)
        cli_fail_usage(&command, "option --%s is \"%s\", expected two numbers from 1 to %d, the least and the most",
                       what, text, most);
    return NULL;
}

static int measure_pools(const options *o)
{
    static bench b;
    b.options = o;
    vact_kernels_init(&b.kernels, vact_cpu_isa());
    if (!make_jobs(&b))
        return cli_fail("out of memory for %d jobs", o->jobs);
    for (int i = 0; i < BENCH_POOLS; i++) {
        b.wanted[i] = bench_pools[i].open(&bench_pools[i], o->threads);
        if (!b.wanted[i])
            printf("%s is skipped: %s\n\n", bench_pools[i].name, bench_pools[i].missing);
    }
    const bool ok = bench_all(&b);
    for (int i = 0; i < BENCH_POOLS; i++)
        if (b.wanted[i])
            bench_pools[i].close(&bench_pools[i]);
    free(b.jobs);
    return ok ? CLI_OK : CLI_FAILED;
}

static int run(int argc, char **argv)
{
    options o = { .jobs = 300, .reps = 5, .tiles_text = "12,200", .us_text = "50,500" };
    const cli_option known[] = {
        { "jobs", 0, CLI_INT, &o.jobs, "<n>", "one after the other (default: 300)", 1, MOST_JOBS, NULL },
        { "reps", 0, CLI_INT, &o.reps, "<n>", "measurements of each pool (default: 5)", 1, MOST_REPS, NULL },
        { "threads", 't', CLI_INT, &o.threads, "<n>", "threads of each pool (default: the CPUs there are)", 0, 1024,
          NULL },
        { "tiles", 0, CLI_TEXT, &o.tiles_text, "<low,high>", "of a job (default: 12,200, as in SmolVLA)", 0, 0, NULL },
        { "us", 0, CLI_TEXT, &o.us_text, "<low,high>", "microseconds of a tile (default: 50,500)", 0, 0, NULL },
        { "quiet", 0, CLI_FLAG, &o.quiet, NULL, "the machine as it is (default: both)", 0, 0, NULL },
        { "busy", 0, CLI_FLAG, &o.busy, NULL, "with a busy process on every CPU (default: both)", 0, 0, NULL },
        { 0 },
    };
    const int operands = cli_parse(&command, known, argc, argv, NULL, 0);
    if (operands < 0)
        return cli_parse_exit(operands);
    if (o.threads == 0)
        o.threads = vact_cpu_count();
    vact_arena arena = { 0 };
    o.tiles = take_range(&arena, "tiles", o.tiles_text, 100000);
    o.us = o.tiles ? take_range(&arena, "us", o.us_text, 1000000) : NULL;
    const int code = o.us ? measure_pools(&o) : CLI_USAGE;
    vact_arena_free(&arena);
    return code;
}

int main(int argc, char **argv)
{
    const int code = run(argc, argv);
    if (code != CLI_OK || (fflush(stdout) == 0 && !ferror(stdout)))
        return code;
    return cli_fail("standard output: cannot write all of it");
}
