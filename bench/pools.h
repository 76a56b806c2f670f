/* Ways to run a job's tiles on threads. */
#ifndef BENCH_POOLS_H
#define BENCH_POOLS_H

#include <stdbool.h>

typedef void (*pool_tile_fn)(void *context, int tile);

typedef struct pool pool;
struct pool {
    const char *name;
    /* False: a message of why not is in `missing`. Once, before the rest. */
    bool (*open)(pool *p, int threads);
    char missing[512];
    void (*run)(pool *p, pool_tile_fn fn, void *context, int tiles);
    void (*close)(pool *p);
    void *library, *state; /* its own */
};

enum { BENCH_POOLS = 4 }; /* vact's first */
extern pool bench_pools[BENCH_POOLS];

/* pools_openmp.c */
bool openmp_open(pool *p, int threads);
void openmp_run_static(pool *p, pool_tile_fn fn, void *context, int tiles);
void openmp_run_dynamic(pool *p, pool_tile_fn fn, void *context, int tiles);

#endif
