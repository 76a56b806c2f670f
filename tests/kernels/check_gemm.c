/* pack and gemm: levels agree to the bit, the scalar product is right, rows are independent. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ROWS = 20, MOST_PANELS = 6 };

void check_pack(void **state)
{
    static const int types[] = { VACT_DTYPE_F32,  VACT_DTYPE_F16,  VACT_DTYPE_BF16, VACT_DTYPE_Q8_0, VACT_DTYPE_Q4_0,
                                 VACT_DTYPE_Q4_1, VACT_DTYPE_Q5_0, VACT_DTYPE_Q5_1, VACT_DTYPE_Q2_K, VACT_DTYPE_Q3_K,
                                 VACT_DTYPE_Q4_K, VACT_DTYPE_Q5_K, VACT_DTYPE_Q6_K };
    enum { TYPES = sizeof types / sizeof *types };
    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        for (int i = 0; i < 2 * CHECK_CASES; i++) {
            const int type = types[check_range(0, TYPES - 1)],
                      rows = (int)(check_range(0, 2) ? 16 : check_range(1, 16));
            const vact_dtype_info *info = vact_dtype_get((uint32_t)type);
            const size_t block = info->block, k = block * check_range(0, (block < 256 ? 400 : 800) / block);
            /* Rows a multiple of 4 KiB apart take a way of their own. */
            const size_t row_bytes = check_range(0, 9)
                                         ? (size_t)vact_dtype_bytes((uint32_t)type, k + block * check_range(0, 3))
                                         : 4096 * check_range(1, 3);
            const size_t bytes = row_bytes * (size_t)(rows - 1) + (size_t)vact_dtype_bytes((uint32_t)type, k);
            check_begin(level, "pack %s rows=%d k=%zu row_bytes=%zu", info->name, rows, k, row_bytes);
            const unsigned char *src = check_bytes(bytes, type == VACT_DTYPE_F32 ? 4 * check_range(0, 7) : 2);
            float *want = check_output(k * VACT_PANEL, 0), *got = check_output(k * VACT_PANEL, 0);
            float *row = check_output(k, 0);
            for (size_t j = 0; j < VACT_PANEL; j++) {
                memset(row, 0, k * sizeof *row);
                if (j < (size_t)rows)
                    check_level(0)->decode[type](row, src + j * row_bytes, k);
                for (size_t p = 0; p < k; p++)
                    want[p * VACT_PANEL + j] = row[p];
            }
            check_level(level)->pack[type](got, src, row_bytes, rows, k);
            check_same(want, got, k * VACT_PANEL);
            check_end();
        }
        for (int t = 0; t < TYPES; t++) {
            const size_t row_bytes = (size_t)vact_dtype_bytes((uint32_t)types[t], 768);
            const void *src = check_bytes(16 * row_bytes, 0);
            float *dst = check_output(16 * 768, 0);
            char name[32];
            snprintf(name, sizeof name, "pack %s 768", vact_dtype_get((uint32_t)types[t])->name);
            if (level > 0)
                CHECK_BENCH(level, name, check_level(0)->pack[types[t]](dst, src, row_bytes, 16, 768),
                            check_level(level)->pack[types[t]](dst, src, row_bytes, 16, 768));
            check_end();
        }
    }
}

static void bench_gemm(int level, const char *name, size_t k, int rows, int panels)
{
    const size_t ldc = VACT_PANEL * (size_t)panels;
    const float *a = check_floats((size_t)rows * k, CHECK_NORMAL, 0), *b = check_floats(k * ldc, CHECK_NORMAL, 0);
    float *c = check_output((size_t)rows * ldc, 0);

    CHECK_BENCH(level, name, check_level(0)->gemm(c, ldc, a, k, b, k * VACT_PANEL, k, rows, panels, false),
                check_level(level)->gemm(c, ldc, a, k, b, k * VACT_PANEL, k, rows, panels, false));
    check_end();
}

void check_gemm(void **state)
{
    (void)state;
    for (int level = 1; level < check_levels(); level++) {
        if (!CHECK_CHANGED(level, gemm))
            continue;
        for (int i = 0; i < CHECK_CASES; i++) {
            const int rows = (int)check_range(1, MOST_ROWS), panels = (int)check_range(1, MOST_PANELS);
            const size_t k = i % 10 ? check_range(0, 70) : check_range(0, 1500), columns = VACT_PANEL * (size_t)panels;
            const size_t lda = k + check_range(0, 5), ldc = columns + check_range(0, 5);
            const size_t ldb = k * VACT_PANEL + 16 * check_range(0, 2);
            const size_t size = (size_t)(rows - 1) * ldc + columns;
            const bool add = check_range(0, 1);
            check_begin(level, "gemm rows=%d panels=%d k=%zu lda=%zu ldb=%zu ldc=%zu add=%d", rows, panels, k, lda, ldb,
                        ldc, add);
            const float *a = check_floats((size_t)(rows - 1) * lda + k, check_any_fill(), 4 * check_range(0, 7));
            const float *b = check_floats((size_t)(panels - 1) * ldb + k * VACT_PANEL, check_any_fill(), 0);
            const float *c = check_floats(size, check_any_fill(), 0);
            float *want = check_copy(c, size, 0), *got = check_copy(c, size, 4 * check_range(0, 7));
            check_level(0)->gemm(want, ldc, a, lda, b, ldb, k, rows, panels, add);
            check_level(level)->gemm(got, ldc, a, lda, b, ldb, k, rows, panels, add);
            check_same(want, got, size); /* what lies between the rows as well */
            check_end();
        }
        bench_gemm(level, "gemm 48x64x768", 768, 48, 4);
        bench_gemm(level, "gemm 6x16x64", 64, 6, 1);
        bench_gemm(level, "gemm 1x64x768", 768, 1, 4);
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
            check_level(level)->gemm(c, VACT_PANEL, a, k, b, 0, k, 1, 1, false);
            check_near(want, bound, c, VACT_PANEL);
            check_end();
        }
    }
}

void test_gemm_row_does_not_depend_on_other_rows(void **state)
{
    const size_t k = 333, ldb = k * VACT_PANEL, columns = MOST_PANELS * VACT_PANEL;

    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        const float *a = check_floats(MOST_ROWS * k, CHECK_NORMAL, 0);
        const float *b = check_floats(columns * k, CHECK_NORMAL, 0);
        float *alone = check_output(VACT_PANEL, 0), *together = check_output(MOST_ROWS * columns, 0);
        for (int rows = 1; rows <= MOST_ROWS; rows++) {
            check_level(level)->gemm(together, columns, a, k, b, ldb, k, rows, MOST_PANELS, false);
            for (size_t i = 0; i < (size_t)rows; i++) {
                for (size_t p = 0; p < MOST_PANELS; p++) {
                    check_begin(level, "gemm row %zu of %d, panel %zu", i, rows, p);
                    check_level(level)->gemm(alone, VACT_PANEL, a + i * k, k, b + p * ldb, ldb, k, 1, 1, false);
                    check_same(alone, together + i * columns + p * VACT_PANEL, VACT_PANEL);
                }
            }
        }
        check_end();
    }
}

void test_gemm_add_continues_the_chain(void **state)
{
    enum { ROWS = 7, COLUMNS = 3 * VACT_PANEL };
    const size_t k = 200, ldb = k * VACT_PANEL;

    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        const vact_kernels *kernels = check_level(level);
        const float *a = check_floats(ROWS * k, CHECK_NORMAL, 0), *b = check_floats(COLUMNS * k, CHECK_NORMAL, 0);
        float *whole = check_output(ROWS * COLUMNS, 0), *split = check_output(ROWS * COLUMNS, 0);
        kernels->gemm(whole, COLUMNS, a, k, b, ldb, k, ROWS, 3, false);
        for (size_t at = 0; at <= k; at += 50) {
            check_begin(level, "gemm split at %zu", at);
            kernels->gemm(split, COLUMNS, a, k, b, ldb, at, ROWS, 3, false);
            kernels->gemm(split, COLUMNS, a + at, k, b + at * VACT_PANEL, ldb, k - at, ROWS, 3, true);
            check_same(whole, split, ROWS * COLUMNS);
        }
        check_end();
    }
}
