/* OpenMP's loops, if this was compiled with it. */
#include "pools.h"

#include <stdio.h>

#ifdef _OPENMP
#include <omp.h>

bool openmp_open(pool *p, int threads)
{
    (void)p;
    omp_set_num_threads(threads);
    return true;
}

void openmp_run_static(pool *p, pool_tile_fn fn, void *context, int tiles)
{
    (void)p;
#pragma omp parallel for schedule(static)
    for (int tile = 0; tile < tiles; tile++)
        fn(context, tile);
}

void openmp_run_dynamic(pool *p, pool_tile_fn fn, void *context, int tiles)
{
    (void)p;
#pragma omp parallel for schedule(dynamic, 1)
    for (int tile = 0; tile < tiles; tile++)
        fn(context, tile);
}
#else
bool openmp_open(pool *p, int threads)
{
    (void)threads;
    snprintf(p->missing, sizeof p->missing, "the compiler was without it when this was configured");
    return false;
}

void openmp_run_static(pool *p, pool_tile_fn fn, void *context, int tiles)
{
    (void)p, (void)fn, (void)context, (void)tiles;
}

void openmp_run_dynamic(pool *p, pool_tile_fn fn, void *context, int tiles)
{
    (void)p, (void)fn, (void)context, (void)tiles;
}
#endif
