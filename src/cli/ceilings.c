#include "cli/ceilings.h"
#include "base/clock.h"
#include <string.h>

enum {
    TILES = 32,          /* of arithmetic, for each thread: one that loses its core delays a 32nd */
    READ_TILES = 256,    /* of memory */
    READ_WORDS = 1 << 17 /* of 8 bytes, in each: 1 MiB */
};
#define TILE_MS 1.0

uint64_t *cli_ceilings_memory(vact_arena *arena)
{
    uint64_t *memory = vact_arena_take(arena, (size_t)READ_TILES * READ_WORDS, sizeof *memory);
    if (memory) /* pages that were never written are all the same one */
        memset(memory, 1, (size_t)READ_TILES * READ_WORDS * sizeof *memory);
    return memory;
}

static void fma_tile(void *context, int tile, int thread)
{
    (void)tile, (void)thread;
    const cli_ceilings *c = context;
    float values[VACT_CEILING] = { 0 };
    c->kernels.fma_ceiling(values, c->fma_steps);
}

static void dot_tile(void *context, int tile, int thread)
{
    (void)tile, (void)thread;
    const cli_ceilings *c = context;
    int32_t values[VACT_CEILING] = { 0 };
    c->kernels.dot_ceiling(values, c->dot_steps);
}

static void read_tile(void *context, int tile, int thread)
{
    (void)thread;
    const cli_ceilings *c = context;
    const uint64_t *words = c->memory + (size_t)tile * READ_WORDS;
    uint64_t sums[8] = { 0 };
    for (size_t i = 0; i < READ_WORDS; i += 8)
        for (size_t j = 0; j < 8; j++)
            sums[j] += words[i + j];
    __asm__ volatile("" : : "r"(sums) : "memory"); /* somebody may look at them */
}

/* Steps that take a tile's time. */
static void calibrate(cli_ceilings *c, size_t *steps, vact_tile_fn tile)
{
    double ms = 0;
    for (*steps = 1000; ms < TILE_MS / 4; *steps *= 2) {
        const double start = vact_clock_ms();
        tile(c, 0, 0);
        ms = vact_clock_ms() - start;
    }
    *steps = (size_t)((double)(*steps / 2) * TILE_MS / ms) + 1;
}

vact_status cli_ceilings_open(cli_ceilings *c, vact_isa isa, int threads, const uint64_t *memory, vact_error *err)
{
    *c = (cli_ceilings){ .memory = memory };
    vact_kernels_init(&c->kernels, isa);
    calibrate(c, &c->fma_steps, fma_tile);
    calibrate(c, &c->dot_steps, dot_tile);
    return vact_pool_open(&c->pool, threads, err);
}

void cli_ceilings_close(cli_ceilings *c)
{
    vact_pool_close(&c->pool);
}

/* 1e9 a second, of `work` in each tile. */
static double rate(cli_ceilings *c, vact_tile_fn tile, int tiles, double work)
{
    const double start = vact_clock_ms();
    vact_pool_run(c->pool, tile, c, tiles);
    return work * tiles / 1e6 / (vact_clock_ms() - start);
}

cli_burst cli_ceilings_measure(cli_ceilings *c)
{
    const int tiles = TILES * vact_pool_threads(c->pool);
    cli_burst burst;
    burst.rate[CLI_FMA] = rate(c, fma_tile, tiles, 2.0 * VACT_CEILING * (double)c->fma_steps);
    burst.rate[CLI_DOT] = rate(c, dot_tile, tiles, 8.0 * VACT_CEILING * (double)c->dot_steps);
    burst.rate[CLI_READ] = rate(c, read_tile, READ_TILES, (double)READ_WORDS * sizeof(uint64_t));
    return burst;
}
