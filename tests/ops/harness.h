/* Runs ops on a device as a session does: once on the cost device to learn what memory they need, then for real, in
 * memory full of NaN. A program is a function of ops, run twice; it puts its inputs and gets its outputs.
 *
 *     static void program(vact_run *r, void *user)
 *     {
 *         const vact_buf x = ops_put(r, values, rows, cols);
 *         vact_...(r, ...);
 *         ops_get(r, x, out);
 *     }
 *     ops_run(&ops_reference, program, NULL);
 *
 * Host memory is taken by ops_take and belongs to the case that ops_begin starts. */
#ifndef TESTS_OPS_HARNESS_H
#define TESTS_OPS_HARNESS_H

#include "base/cpu.h"
#include "ops/ops.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- devices ---- */

typedef struct ops_target {
    const char *name;
    bool reference;
    vact_isa isa;
    int threads;
    bool int8; /* products of integers where weights have them */
} ops_target;

extern const ops_target ops_reference;

/* The cpu device at every level that this machine has; at most OPS_CPUS. ops_cpus leaves out those whose products of
 * floats are the level's below: they differ in products of integers only. */
enum { OPS_CPUS = VACT_ISA_END };
size_t ops_levels(ops_target *out, int threads);
size_t ops_cpus(ops_target *out, int threads);
/* Those with one thread, after the reference device. */
size_t ops_all(ops_target out[OPS_CPUS + 1]);

typedef void (*ops_fn)(vact_run *r, void *user);
void ops_run(const ops_target *target, ops_fn fn, void *user);

/* ---- inside a program ---- */

/* A buffer that holds values [rows, cols]. */
vact_buf ops_put(vact_run *r, const float *values, int32_t rows, int32_t cols);
/* Columns first .. first+count-1 of a buffer. */
vact_buf ops_cols(vact_buf buf, int32_t first, int32_t count);
void ops_get(vact_run *r, vact_buf buf, float *out);

/* ---- a case ---- */

/* Frees the last case's memory; the text stands in the messages of failures. */
void ops_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *ops_take(size_t count, size_t size);
int ops_teardown(void **state); /* frees the last case */

void ops_seed(uint64_t seed);
int32_t ops_range(int32_t low, int32_t high); /* low <= result <= high */
int32_t ops_pick(const int32_t *values, size_t n);
float *ops_normal(size_t n); /* about a standard normal distribution */

/* A made-up matrix whose products with standard normal rows are of order 1. */
vact_weight ops_weight(vact_dtype dtype, int32_t rows, int32_t cols);

/* |got - want| <= bound (1 + |want|), and nothing that isn't finite. */
void ops_near(const ops_target *target, const float *want, const float *got, size_t n, double bound);
void ops_same(const ops_target *target, const float *want, const float *got, size_t n); /* to the bit */

#endif
