/* vact's pool, and pthreadpool (XNNPACK's), which is looked for when the program runs. */
#include "pools.h"

#include "base/threads.h"
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct job {
    pool_tile_fn fn;
    void *context;
} job;

/* ---- vact ---- */

static void vact_tile(void *context, int tile, int thread)
{
    (void)thread;
    const job *j = context;
    j->fn(j->context, tile);
}

static bool vact_open(pool *p, int threads)
{
    vact_error err = { 0 };
    vact_pool *own = NULL;
    if (vact_pool_open(&own, threads, &err) != VACT_OK)
        snprintf(p->missing, sizeof p->missing, "%s", err.text);
    p->state = own;
    return own != NULL;
}

static void vact_run_job(pool *p, pool_tile_fn fn, void *context, int tiles)
{
    vact_pool_run(p->state, vact_tile, &(job){ fn, context }, tiles);
}

static void vact_close(pool *p)
{
    vact_pool *own = p->state;
    vact_pool_close(&own);
}

/* ---- pthreadpool ---- */

typedef void *create_fn(size_t threads);
typedef void parallelize_fn(void *pool, void (*fn)(void *context, size_t tile), void *context, size_t tiles,
                            uint32_t flags);
typedef void destroy_fn(void *pool);

static create_fn *create;
static parallelize_fn *parallelize;
static destroy_fn *destroy;

/* dlsym's pointer to a function, which C only lets us copy. */
#define TAKE(library, fn, name) (*(void **)(void *)&(fn) = dlsym((library), (name)))

static void pthreadpool_tile(void *context, size_t tile)
{
    const job *j = context;
    j->fn(j->context, (int)tile);
}

static bool pthreadpool_open(pool *p, int threads)
{
    p->library = dlopen("libpthreadpool.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!p->library)
        return snprintf(p->missing, sizeof p->missing, "%s", dlerror()), false;
    if (!TAKE(p->library, create, "pthreadpool_create") ||
        !TAKE(p->library, parallelize, "pthreadpool_parallelize_1d") ||
        !TAKE(p->library, destroy, "pthreadpool_destroy"))
        return snprintf(p->missing, sizeof p->missing, "it lacks one of its functions"), false;
    p->state = create((size_t)threads);
    if (!p->state)
        snprintf(p->missing, sizeof p->missing, "it makes no pool of %d threads", threads);
    return p->state != NULL;
}

static void pthreadpool_run(pool *p, pool_tile_fn fn, void *context, int tiles)
{
    parallelize(p->state, pthreadpool_tile, &(job){ fn, context }, (size_t)tiles, 0);
}

static void pthreadpool_close(pool *p)
{
    destroy(p->state);
}

static void openmp_close(pool *p)
{
    (void)p;
}

pool bench_pools[BENCH_POOLS] = {
    { .name = "vact", .open = vact_open, .run = vact_run_job, .close = vact_close },
    { .name = "pthreadpool", .open = pthreadpool_open, .run = pthreadpool_run, .close = pthreadpool_close },
    { .name = "OpenMP static", .open = openmp_open, .run = openmp_run_static, .close = openmp_close },
    { .name = "OpenMP dynamic", .open = openmp_open, .run = openmp_run_dynamic, .close = openmp_close },
};
