/* One job at a time -> tiles, claimed one by one by whoever is free.
 *
 * `remaining` counts the tiles nobody has claimed. A claim is one compare-and-swap that takes it from r to
 * r - 1, and nothing else of the job is read before that. Once a thread holds a tile, the job cannot end, so
 * the plain fields `fn`, `context` and `tiles` are stable until the thread reports it in `unfinished`. A
 * worker that wakes up late therefore needs no generation number: it finds no tile, or it claims one of
 * whatever job is running by then and reads that job's fields.
 *
 * Nobody waits for workers to arrive or to leave, only for claimed tiles: a worker that the system keeps
 * from running holds up nothing but the tile it has.
 *
 * Waiting is a short spin, then a condition variable. Both sides of each sleep are sequentially consistent:
 * one announces (`sleepers`, `caller_sleeps`) then looks (`epoch`, `unfinished`), the other changes, then
 * looks who sleeps; so one of the two sees the other. */
#include "base/threads.h"
#include "base/error.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64

/* Pauses before sleeping: 20 to 50 us, about what a wake-up costs. */
#define SPINS 1000

struct worker {
    vact_pool *pool;
    pthread_t id;
    int thread;
};

struct vact_pool {
    /* The job: written by the caller while no tile is claimed. */
    vact_tile_fn fn;
    void *context;
    int tiles;

    _Alignas(LINE) atomic_int remaining;  /* tiles not yet claimed */
    _Alignas(LINE) atomic_int unfinished; /* tiles not yet reported as done */
    _Alignas(LINE) atomic_uint epoch;     /* changes when there is a new job, or the end */
    atomic_bool stop;
    atomic_int sleepers; /* workers that sleep or are about to; changed under the mutex */
    atomic_bool caller_sleeps;

    _Alignas(LINE) pthread_mutex_t mutex;
    pthread_cond_t work, done;
    int threads, started;
    struct worker workers[]; /* threads - 1 */
};

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* `yield` takes no time on most cores */
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Claims and runs tiles until there are none; the number it ran. Acquire pairs with the caller's release of
 * `remaining`: other claims in between continue its release sequence. */
static int run_tiles(vact_pool *pool, int thread)
{
    int ran = 0;
    int r = atomic_load_explicit(&pool->remaining, memory_order_relaxed);
    while (r > 0) {
        if (!atomic_compare_exchange_weak_explicit(&pool->remaining, &r, r - 1, memory_order_acquire,
                                                   memory_order_relaxed))
            continue;
        pool->fn(pool->context, pool->tiles - r, thread);
        ran++;
        r = atomic_load_explicit(&pool->remaining, memory_order_relaxed);
    }
    return ran;
}

/* Reports tiles as done. The job may end here, so nothing of it is read afterwards. */
static void report(vact_pool *pool, int ran)
{
    if (ran == 0 || atomic_fetch_sub(&pool->unfinished, ran) != ran || !atomic_load(&pool->caller_sleeps))
        return;
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->mutex);
}

static void wait_for_work(vact_pool *pool, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&pool->epoch, memory_order_acquire) != seen)
            return;
        pause_briefly();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->epoch) == seen)
        pthread_cond_wait(&pool->work, &pool->mutex);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
}

static void *work(void *argument)
{
    const struct worker *worker = argument;
    vact_pool *pool = worker->pool;
    for (;;) {
        const unsigned seen = atomic_load_explicit(&pool->epoch, memory_order_acquire);
        if (atomic_load_explicit(&pool->stop, memory_order_relaxed))
            return NULL;
        report(pool, run_tiles(pool, worker->thread));
        wait_for_work(pool, seen);
    }
}

/* Makes up to `wanted` sleeping workers look again. */
static void wake_workers(vact_pool *pool, int wanted)
{
    atomic_fetch_add(&pool->epoch, 1);
    const int sleepers = atomic_load(&pool->sleepers);
    if (sleepers == 0)
        return;
    pthread_mutex_lock(&pool->mutex);
    if (wanted >= sleepers)
        pthread_cond_broadcast(&pool->work);
    else
        for (int i = 0; i < wanted; i++)
            pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
}

static void wait_for_tiles(vact_pool *pool)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&pool->unfinished, memory_order_acquire) == 0)
            return;
        pause_briefly();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_exchange(&pool->caller_sleeps, true); /* QEMU lets the next load overtake a mere store */
    while (atomic_load(&pool->unfinished) > 0)
        pthread_cond_wait(&pool->done, &pool->mutex);
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->mutex);
}

void vact_pool_run(vact_pool *pool, vact_tile_fn fn, void *context, int tiles)
{
    if (pool->threads == 1 || tiles <= 1) {
        for (int tile = 0; tile < tiles; tile++)
            fn(context, tile, 0);
        return;
    }
    pool->fn = fn;
    pool->context = context;
    pool->tiles = tiles;
    atomic_store_explicit(&pool->unfinished, tiles, memory_order_relaxed);
    atomic_store_explicit(&pool->remaining, tiles, memory_order_release);
    wake_workers(pool, tiles - 1);
    const int ran = run_tiles(pool, 0);
    if (atomic_fetch_sub_explicit(&pool->unfinished, ran, memory_order_acq_rel) != ran)
        wait_for_tiles(pool);
}

/* Workers leave every signal to the program's own threads. */
static int start_worker(struct worker *worker)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&worker->id, NULL, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

vact_status vact_pool_open(vact_pool **out, int threads, vact_error *err)
{
    *out = NULL;
    if (threads < 1)
        return vact_fail(err, VACT_EARG, "%d threads asked for, at least 1 needed", threads);
    size_t size = sizeof(vact_pool) + (size_t)(threads - 1) * sizeof(struct worker);
    size = (size + LINE - 1) / LINE * LINE;
    vact_pool *pool = aligned_alloc(LINE, size);
    if (!pool)
        return vact_fail(err, VACT_ENOMEM, "no memory for a pool of %d threads", threads);
    memset(pool, 0, size);
    pool->threads = threads;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (int i = 0; i < threads - 1; i++) {
        pool->workers[i] = (struct worker){ .pool = pool, .thread = i + 1 };
        const int error = start_worker(&pool->workers[i]);
        if (error) {
            vact_pool_close(&pool);
            return vact_fail(err, VACT_ENOMEM, "cannot start thread %d of %d: %s", i + 2, threads, strerror(error));
        }
        pool->started++;
    }
    *out = pool;
    return VACT_OK;
}

void vact_pool_close(vact_pool **pool)
{
    vact_pool *p = pool ? *pool : NULL;
    if (!p)
        return;
    atomic_store_explicit(&p->stop, true, memory_order_relaxed);
    wake_workers(p, p->started);
    for (int i = 0; i < p->started; i++)
        pthread_join(p->workers[i].id, NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->mutex);
    free(p);
    *pool = NULL;
}

int vact_pool_threads(const vact_pool *pool)
{
    return pool->threads;
}
