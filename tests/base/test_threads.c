/* Every tile runs once, on one thread at a time per thread number, whatever the machine has free. */
#include "base/clock.h"
#include "base/threads.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MAX_TILES   1000
#define MAX_THREADS 64

struct job {
    int tiles, threads;
    int runs[MAX_TILES];             /* plain: a tile that ran twice at once is also a race for the sanitizer */
    int scratch[MAX_THREADS];        /* plain, one per thread number */
    atomic_int inside[MAX_THREADS];  /* threads that use this number now */
    atomic_int strangers, overlaps;  /* tiles or numbers out of range; numbers used twice at once */
    volatile unsigned work_per_tile; /* turns of a loop */
};

static struct job job;

static void count_tile(void *context, int tile, int thread)
{
    struct job *j = context;
    if (tile < 0 || tile >= j->tiles || thread < 0 || thread >= j->threads) {
        atomic_fetch_add(&j->strangers, 1);
        return;
    }
    if (atomic_fetch_add_explicit(&j->inside[thread], 1, memory_order_relaxed) != 0)
        atomic_fetch_add(&j->overlaps, 1);
    j->runs[tile]++;
    j->scratch[thread]++;
    for (volatile unsigned i = 0; i < j->work_per_tile; i++)
        ;
    atomic_fetch_sub_explicit(&j->inside[thread], 1, memory_order_relaxed);
}

/* Runs the job `repeats` times and looks at every tile after each. */
static void check_pool(int threads, int tiles, int repeats, unsigned work_per_tile)
{
    vact_pool *pool = NULL;
    vact_error err = { 0 };
    assert_int_equal(vact_pool_open(&pool, threads, &err), VACT_OK);
    assert_int_equal(vact_pool_threads(pool), threads);
    memset(&job, 0, sizeof job);
    job.tiles = tiles;
    job.threads = threads;
    job.work_per_tile = work_per_tile;
    for (int repeat = 1; repeat <= repeats; repeat++) {
        vact_pool_run(pool, count_tile, &job, tiles);
        for (int tile = 0; tile < tiles; tile++)
            if (job.runs[tile] != repeat)
                fail_msg("%d threads, %d tiles: tile %d ran %d times in %d runs", threads, tiles, tile, job.runs[tile],
                         repeat);
    }
    long total = 0;
    for (int thread = 0; thread < threads; thread++)
        total += job.scratch[thread];
    assert_int_equal(total, (long)tiles * repeats);
    assert_int_equal(atomic_load(&job.strangers), 0);
    assert_int_equal(atomic_load(&job.overlaps), 0);
    vact_pool_close(&pool);
    assert_null(pool);
}

static void test_every_tile_runs_exactly_once(void **state)
{
    (void)state;
    static const int threads[] = { 1, 2, 3, 7 };
    static const struct {
        int tiles, repeats;
    } cases[] = { { 0, 5000 }, { 1, 5000 }, { 2, 5000 }, { 5, 3000 }, { 1000, 300 } };
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
            check_pool(threads[t], cases[c].tiles, cases[c].repeats, 0);
}

static void test_uneven_tiles_and_more_threads_than_cores(void **state)
{
    (void)state;
    check_pool(32, 40, 300, 200);
    check_pool(64, 3, 300, 2000);
}

/* Longer than the spin, so that workers and the caller really go to sleep between and within runs. */
static void test_sleepers_wake_up(void **state)
{
    (void)state;
    vact_pool *pool = NULL;
    assert_int_equal(vact_pool_open(&pool, 3, NULL), VACT_OK);
    memset(&job, 0, sizeof job);
    job.tiles = 6;
    job.threads = 3;
    for (int repeat = 1; repeat <= 100; repeat++) {
        job.work_per_tile = repeat % 2 ? 0 : 200000;
        vact_pool_run(pool, count_tile, &job, job.tiles);
        for (int tile = 0; tile < job.tiles; tile++)
            assert_int_equal(job.runs[tile], repeat);
        vact_clock_sleep_ms(repeat % 3);
    }
    vact_pool_close(&pool);
}

/* Tile 0 waits for tile 1, so the run ends only if a sleeping worker is woken to take it. */
struct meeting {
    atomic_int arrived;
    bool met;
};

static void meet(void *context, int tile, int thread)
{
    (void)thread;
    struct meeting *m = context;
    atomic_fetch_add(&m->arrived, 1);
    const double limit = vact_clock_ms() + 20000;
    while (atomic_load(&m->arrived) < 2 && vact_clock_ms() < limit)
        vact_clock_sleep_ms(0.05);
    if (tile == 0)
        m->met = atomic_load(&m->arrived) == 2;
}

static void test_no_wake_up_is_lost(void **state)
{
    (void)state;
    vact_pool *pool = NULL;
    assert_int_equal(vact_pool_open(&pool, 2, NULL), VACT_OK);
    for (int repeat = 0; repeat < 1000; repeat++) {
        struct meeting m = { .met = false };
        vact_pool_run(pool, meet, &m, 2);
        assert_true(m.met);
        if (repeat % 4 == 0) /* around the length of the spin */
            vact_clock_sleep_ms((repeat % 16) * 0.01);
    }
    vact_pool_close(&pool);
}

static void test_open_and_close_without_a_run(void **state)
{
    (void)state;
    for (int repeat = 0; repeat < 50; repeat++) {
        vact_pool *pool = NULL;
        assert_int_equal(vact_pool_open(&pool, 1 + repeat % 5, NULL), VACT_OK);
        vact_pool_close(&pool);
        vact_pool_close(&pool);
    }
    vact_pool_close(NULL);
}

static void test_zero_threads_is_earg(void **state)
{
    (void)state;
    vact_pool *pool = NULL;
    vact_error err = { 0 };
    assert_int_equal(vact_pool_open(&pool, 0, &err), VACT_EARG);
    assert_null(pool);
    assert_string_equal(err.text, "0 threads asked for, at least 1 needed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tile_runs_exactly_once),
        cmocka_unit_test(test_uneven_tiles_and_more_threads_than_cores),
        cmocka_unit_test(test_sleepers_wake_up),
        cmocka_unit_test(test_no_wake_up_is_lost),
        cmocka_unit_test(test_open_and_close_without_a_run),
        cmocka_unit_test(test_zero_threads_is_earg),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
