/* What the machine can do at most just now, in bursts short enough to stand beside every measured run. */
#ifndef VACT_CLI_CEILINGS_H
#define VACT_CLI_CEILINGS_H

#include "base/arena.h"
#include "base/threads.h"
#include "kernels/kernels.h"

enum { CLI_FMA, CLI_DOT, CLI_READ, CLI_CEILINGS };

/* 1e9 a second: f32 operations of multiply-adds, int8 operations of multiply-adds (2 each), bytes read from memory. */
typedef struct cli_burst {
    double rate[CLI_CEILINGS];
} cli_burst;

typedef struct cli_ceilings {
    vact_kernels kernels;
    vact_pool *pool;
    const uint64_t *memory; /* of an arena, so that several can share it */
    size_t fma_steps, dot_steps;
} cli_ceilings;

/* Memory to read, from the arena: larger than most last-level caches, and touched. NULL: there is none. */
uint64_t *cli_ceilings_memory(vact_arena *arena);

/* A level that this processor has; threads >= 1. The memory is borrowed. */
vact_status cli_ceilings_open(cli_ceilings *ceilings, vact_isa isa, int threads, const uint64_t *memory,
                              vact_error *err);
void cli_ceilings_close(cli_ceilings *ceilings);

/* About 20 to 50 ms of each. */
cli_burst cli_ceilings_measure(cli_ceilings *ceilings);

#endif
