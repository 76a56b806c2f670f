/* pack and gemm: levels agree to the bit, the scalar product is right, rows are independent. */
#include "check.h"

#include <math.h>

void check_pack(void **state)
{
    (void)state;
    for (int level = 1; level < check_levels(); level++) {
        if (!CHECK_CHANGED(level, pack))
            continue;
        for (int i = 0; i < CHECK_CASES; i++) {
            const size_t k = check_range(0, 100), ld = k + check_range(0, 9);
            check_begin(level, "pack k=%zu ld=%zu", k, ld);
            const float *src = check_bytes((15 * ld + k) * sizeof *src, 4 * check_range(0, 7));
            float *want = check_output(k * VACT_PANEL, 0), *got = check_output(k * VACT_PANEL, 0);
            check_level(0)->pack(want, src, ld, k);
            check_level(level)->pack(got, src, ld, k);
            check_same(want, got, k * VACT_PANEL);
            check_end();
        }
        const float *src = check_floats(16 * 768, CHECK_NORMAL, 0);
        float *dst = check_output(16 * 768, 0);
        CHECK_BENCH(level, "pack 768", check_level(0)->pack(dst, src, 768, 768),
                    check_level(level)->pack(dst, src, 768, 768));
        check_end();
    }
}

static void bench_gemm(int level, const char *name, size_t k, int rows)
{
    const float *a = check_floats((size_t)rows * k, CHECK_NORMAL, 0),
                *b = check_floats(k * VACT_PANEL, CHECK_NORMAL, 0);
    float *c = check_output(VACT_GEMM_ROWS * VACT_PANEL, 0);

    CHECK_BENCH(level, name, check_level(0)->gemm(c, VACT_PANEL, a, k, b, k, rows, false),
                check_level(level)->gemm(c, VACT_PANEL, a, k, b, k, rows, false));
    check_end();
}

void check_gemm(void **state)
{
    (void)state;
    for (int level = 1; level < check_levels(); level++) {
        if (!CHECK_CHANGED(level, gemm))
            continue;
        for (int i = 0; i < CHECK_CASES; i++) {
            const int rows = (int)check_range(1, VACT_GEMM_ROWS);
            const size_t k = i % 10 ? check_range(0, 70) : check_range(0, 1500);
            const size_t lda = k + check_range(0, 5), ldc = VACT_PANEL + check_range(0, 5);
            const size_t size = (size_t)(rows - 1) * ldc + VACT_PANEL;
            const bool add = check_range(0, 1);
            check_begin(level, "gemm rows=%d k=%zu lda=%zu ldc=%zu add=%d", rows, k, lda, ldc, add);
            const float *a = check_floats((size_t)(rows - 1) * lda + k, check_any_fill(), 4 * check_range(0, 7));
            const float *b = check_floats(k * VACT_PANEL, check_any_fill(), 0);
            const float *c = check_floats(size, check_any_fill(), 0);
            float *want = check_copy(c, size, 0), *got = check_copy(c, size, 4 * check_range(0, 7));
            check_level(0)->gemm(want, ldc, a, lda, b, k, rows, add);
            check_level(level)->gemm(got, ldc, a, lda, b, k, rows, add);
            check_same(want, got, size); /* what lies between the rows as well */
            check_end();
        }
        bench_gemm(level, "gemm 6x16x768", 768, 6);
        bench_gemm(level, "gemm 6x16x64", 64, 6);
        bench_gemm(level, "gemm 1x16x768", 768, 1);
    }
}

/* Each of the k steps rounds once, by at most half a unit of a partial sum that never exceeds sum |a b|. */
void test_gemm_is_within_k_roundings_of_double(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        for (int i = 0; i < CHECK_CASES; i++) {
            const size_t k = check_range(1, 300);
            check_begin(level, "gemm against double, k=%zu", k);
            const float *a = check_floats(k, check_any_fill(), 0);
            const float *b = check_floats(k * VACT_PANEL, check_any_fill(), 0);
            float *c = check_output(VACT_PANEL, 0);
            double *want = check_doubles(VACT_PANEL), *bound = check_doubles(VACT_PANEL);
            for (size_t j = 0; j < VACT_PANEL; j++) {
                double magnitude = want[j] = 0.0;
                for (size_t p = 0; p < k; p++) {
                    want[j] += (double)a[p] * b[p * VACT_PANEL + j];
                    magnitude += fabs((double)a[p] * b[p * VACT_PANEL + j]);
                }
                bound[j] = (double)k * (1.01 * CHECK_UNIT * magnitude + CHECK_TINY);
            }
            check_level(level)->gemm(c, VACT_PANEL, a, k, b, k, 1, false);
            check_near(want, bound, c, VACT_PANEL);
            check_end();
        }
    }
}

void test_gemm_row_does_not_depend_on_other_rows(void **state)
{
    const size_t k = 333;

    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        const float *a = check_floats(VACT_GEMM_ROWS * k, CHECK_NORMAL, 0);
        const float *b = check_floats(k * VACT_PANEL, CHECK_NORMAL, 0);
        float *alone = check_output(VACT_PANEL, 0), *together = check_output(VACT_GEMM_ROWS * VACT_PANEL, 0);
        for (int rows = 1; rows <= VACT_GEMM_ROWS; rows++) {
            check_level(level)->gemm(together, VACT_PANEL, a, k, b, k, rows, false);
            for (int i = 0; i < rows; i++) {
                check_begin(level, "gemm row %d of %d", i, rows);
                check_level(level)->gemm(alone, VACT_PANEL, a + (size_t)i * k, k, b, k, 1, false);
                check_same(alone, together + i * VACT_PANEL, VACT_PANEL);
            }
        }
        check_end();
    }
}

void test_gemm_add_continues_the_chain(void **state)
{
    const size_t k = 200;

    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        const float *a = check_floats(VACT_GEMM_ROWS * k, CHECK_NORMAL, 0);
        const float *b = check_floats(k * VACT_PANEL, CHECK_NORMAL, 0);
        float *whole = check_output(VACT_GEMM_ROWS * VACT_PANEL, 0);
        float *split = check_output(VACT_GEMM_ROWS * VACT_PANEL, 0);
        check_level(level)->gemm(whole, VACT_PANEL, a, k, b, k, VACT_GEMM_ROWS, false);
        for (size_t at = 0; at <= k; at += 50) {
            check_begin(level, "gemm split at %zu", at);
            check_level(level)->gemm(split, VACT_PANEL, a, k, b, at, VACT_GEMM_ROWS, false);
            check_level(level)->gemm(split, VACT_PANEL, a + at, k, b + at * VACT_PANEL, k - at, VACT_GEMM_ROWS, true);
            check_same(whole, split, VACT_GEMM_ROWS * VACT_PANEL);
        }
        check_end();
    }
}
