/* Running every level of the kernels on random shapes and hostile values.
 *
 *     for (int level = 1; level < check_levels(); level++) {
 *         if (!CHECK_CHANGED(level, add))
 *             continue;
 *         for (int i = 0; i < CHECK_CASES; i++) {
 *             const size_t n = check_range(0, 300);
 *             check_begin(level, "add n=%zu", n);
 *             ... buffers, the call at level 0 and at this level, comparisons ...
 *             check_end();
 *         }
 *         CHECK_BENCH(level, "add", scalar call, call);
 *     }
 *
 * A failed comparison prints the case and the seed, then fails the test. Buffers belong to the case. */
#ifndef VACT_TESTS_KERNELS_CHECK_H
#define VACT_TESTS_KERNELS_CHECK_H

#include "kernels/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CHECK_CASES 300
#define CHECK_UNIT  0x1p-24 /* half the distance from 1 to the next float: a rounding's relative error */
#define CHECK_TINY  0x1p-149

/* Fills the tables of the levels this CPU runs, and of those that are emulated on it, and counts them; 0 is the scalar
 * one. */
int check_levels(void);
const vact_kernels *check_level(int level);
const char *check_level_name(int level);

/* Whether a level has its own version of a kernel. */
#define CHECK_CHANGED(level, field) (check_level(level)->field != check_level((level)-1)->field)

/* ---- options, set by main ---- */

extern uint64_t check_seed;
extern bool check_bench;

/* Restarts the random numbers, so that a test's cases don't depend on the tests before it. */
int check_setup(void **state);
int check_teardown(void **state);

/* ---- one case ---- */

void check_begin(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void check_end(void); /* verifies the guards and frees the buffers */

typedef enum check_fill {
    CHECK_NORMAL,   /* about a standard normal distribution */
    CHECK_EXTREME,  /* magnitudes from 2^-50 to 2^50 */
    CHECK_OUTLIER,  /* one value a thousand times the others */
    CHECK_DENORMAL, /* subnormal */
    CHECK_ZERO,     /* +0 and -0 */
    CHECK_FILLS
} check_fill;

size_t check_range(size_t low, size_t high); /* low <= result <= high */
float check_value(check_fill fill);
check_fill check_any_fill(void);

/* Inputs end where their allocation ends. `offset` bytes from a 64-byte boundary. */
void *check_bytes(size_t bytes, size_t offset);
float *check_floats(size_t n, check_fill fill, size_t offset);
double *check_doubles(size_t n);

/* Outputs lie between guard bytes. The second form starts as a copy. */
float *check_output(size_t n, size_t offset);
float *check_copy(const float *src, size_t n, size_t offset);

void check_same(const float *want, const float *got, size_t n);                       /* bits */
void check_near(const double *want, const double *bound, const float *got, size_t n); /* |got - want| <= bound */
void check_true(bool ok, const char *what);

/* ---- timing, part of no verdict ---- */

double check_nanoseconds(void);
void check_report(int level, const char *name, double scalar, double fast);

#define CHECK_TIME(result, call)                                                                                       \
    do {                                                                                                               \
        const double start_ = check_nanoseconds();                                                                     \
        double calls_ = 0.0;                                                                                           \
        do {                                                                                                           \
            for (int call_ = 0; call_ < 8; call_++)                                                                    \
                call;                                                                                                  \
            calls_ += 8.0;                                                                                             \
            result = check_nanoseconds() - start_;                                                                     \
        } while (result < 2e7);                                                                                        \
        result /= calls_;                                                                                              \
    } while (0)

/* Nothing without --bench. */
#define CHECK_BENCH(level, name, scalar_call, fast_call)                                                               \
    do {                                                                                                               \
        double scalar_, fast_;                                                                                         \
        if (!check_bench)                                                                                              \
            break;                                                                                                     \
        CHECK_TIME(scalar_, scalar_call);                                                                              \
        CHECK_TIME(fast_, fast_call);                                                                                  \
        check_report(level, name, scalar_, fast_);                                                                     \
    } while (0)

#endif
