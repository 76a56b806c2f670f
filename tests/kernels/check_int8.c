/* quantize, pack_int8 and gemm_int8: every level against their definition, computed here in exact integers. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32, MOST_ROWS = 20, MOST_PANELS = 5 };

static const uint32_t types[] = { VACT_DTYPE_Q8_0, VACT_DTYPE_Q4_0 };

/* ---- quantize ---- */

typedef struct quantized_row {
    int8_t *q;
    int16_t *sums;
    float scale;
} quantized_row;

static quantized_row quantized(int level, const float *x, size_t k)
{
    quantized_row c = { (int8_t *)check_output((k + 3) / 4, 0), (int16_t *)check_output((k / BLOCK + 1) / 2, 0), -1 };
    check_level(level)->quantize(c.q, c.sums, &c.scale, x, k);
    return c;
}

/* scale = max |x| / 127 and q = x / scale, both rounded once; the division by scale is exact enough in double to round
 * again to the float's own rounding but for ties, which are the same. */
void check_quantize(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        if (level && !CHECK_CHANGED(level, quantize))
            continue;
        for (int i = 0; i < CHECK_CASES; i++) {
            const size_t k = BLOCK * check_range(1, 40);
            const check_fill fill = check_any_fill();
            check_begin(level, "quantize k=%zu fill=%d", k, (int)fill);
            const float *x = check_floats(k, fill, 4 * check_range(0, 7));
            const quantized_row c = quantized(level, x, k);
            float largest = 0;
            for (size_t j = 0; j < k; j++)
                largest = fabsf(x[j]) > largest ? fabsf(x[j]) : largest;
            const float step = largest / 127;
            check_true(c.scale == (step < 0x1p-126f ? 0 : step), "the scale");
            for (size_t b = 0; b < k; b += BLOCK) {
                int sum = 0;
                for (size_t j = b; j < b + BLOCK; j++) {
                    const float ratio = c.scale == 0 ? 0 : x[j] / step;
                    check_true(c.q[j] == (int)nearbyintf(ratio), "a code");
                    sum += c.q[j];
                }
                check_true(c.sums[b / BLOCK] == sum, "a sum");
            }
            check_end();
        }
    }
}

void test_quantize_by_hand(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        check_begin(level, "quantize by hand");
        float x[2 * BLOCK] = { 127, -127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 0.49f };
        x[BLOCK] = -126.5f; /* ties go to the even code */
        const int8_t want[] = { 127, -127, 0, 2, 2, 0, -2, 0 };
        quantized_row c = quantized(level, x, 2 * BLOCK);
        check_true(c.scale == 1, "scale 1");
        check_true(memcmp(c.q, want, sizeof want) == 0 && c.q[BLOCK] == -126, "the codes");
        check_true(c.sums[0] == 2 && c.sums[1] == -126, "the sums");
        const float broken[] = { NAN, INFINITY, -INFINITY };
        for (int i = 0; i < 3; i++) {
            x[37] = broken[i];
            c = quantized(level, x, 2 * BLOCK);
            check_true(isnan(c.scale) && c.q[0] == 0 && c.sums[0] == 0, "a row that is no number");
        }
        check_end();
    }
}

/* ---- products ---- */

/* Rows of codes at the limits, all equal, or any. */
static vact_int8_rows make_rows(int rows, size_t k)
{
    const size_t ldq = k + 32 * check_range(0, 2), blocks = k / BLOCK, ldsums = blocks + check_range(0, 2);
    int8_t *q = check_bytes((size_t)rows * ldq, 32 * check_range(0, 1));
    int16_t *sums = check_bytes((size_t)rows * ldsums * 2, 2);
    float *scale = check_floats((size_t)rows, CHECK_NORMAL, 0);
    const size_t kind = check_range(0, 3);
    for (int i = 0; i < rows; i++) {
        int8_t *row = q + (size_t)i * ldq;
        for (size_t j = 0; j < k; j++)
            row[j] = (int8_t)(kind == 0   ? 127
                              : kind == 1 ? -127
                              : kind == 2 ? (check_range(0, 1) ? 127 : -127)
                                          : (int)check_range(0, 254) - 127);
        for (size_t b = 0; b < blocks; b++) {
            int sum = 0;
            for (size_t j = 0; j < BLOCK; j++)
                sum += row[b * BLOCK + j];
            sums[(size_t)i * ldsums + b] = (int16_t)sum;
        }
    }
    return (vact_int8_rows){ .q = q, .sums = sums, .scale = scale, .ldq = ldq, .ldsums = ldsums };
}

/* Weight rows with finite scales; codes are any, or all one byte: the limits of either type among them. */
static unsigned char *make_weights(uint32_t type, int rows, size_t k, size_t row_bytes)
{
    static const unsigned char limits[] = { 0x00, 0xff, 0x80, 0x7f, 0x81, 0x0f, 0xf0 };
    const size_t block_bytes = vact_dtype_get(type)->block_bytes, bytes = (size_t)rows * row_bytes;
    unsigned char *w = check_bytes(bytes, 2);
    if (check_range(0, 1))
        memset(w, limits[check_range(0, 6)], bytes);
    for (size_t i = 0; i < (size_t)rows; i++)
        for (size_t b = 0; b < k / BLOCK; b++) {
            const uint16_t scale = (uint16_t)(check_range(0, 1) << 15 | check_range(0, 0x7bff));
            memcpy(w + i * row_bytes + b * block_bytes, &scale, sizeof scale);
        }
    return w;
}

static int code_of(uint32_t type, const unsigned char *codes, size_t i)
{
    if (type == VACT_DTYPE_Q8_0)
        return (int8_t)codes[i];
    return (i < BLOCK / 2 ? codes[i] & 15 : codes[i - BLOCK / 2] >> 4) - 8;
}

/* The definition of kernels.h. */
static float defined(uint32_t type, const vact_int8_rows *a, size_t row, const unsigned char *w, size_t k)
{
    float acc = 0;
    for (size_t b = 0; b < k / BLOCK; b++, w += vact_dtype_get(type)->block_bytes) {
        float scale;
        int64_t dot = 0;
        check_level(0)->decode[VACT_DTYPE_F16](&scale, w, 1);
        for (size_t i = 0; i < BLOCK; i++)
            dot += (int64_t)a->q[row * a->ldq + b * BLOCK + i] * code_of(type, w + 2, i);
        acc = fmaf((float)dot, scale, acc);
    }
    return acc * a->scale[row];
}

static void check_product(int level, uint32_t type)
{
    const vact_kernels *kernels = check_level(level);
    const int rows = (int)check_range(1, MOST_ROWS), panels = (int)check_range(1, MOST_PANELS);
    const int channels = VACT_PANEL * (panels - 1) + (int)(check_range(0, 1) ? VACT_PANEL : check_range(1, 16));
    const size_t k = BLOCK * check_range(1, 12), columns = VACT_PANEL * (size_t)panels;
    const size_t row_bytes = (size_t)vact_dtype_bytes(type, k + BLOCK * check_range(0, 1));
    const size_t ldc = columns + check_range(0, 5), ldb = vact_int8_panel_bytes(type, k) + 64 * check_range(0, 1);
    check_begin(level, "int8 %s rows=%d channels=%d k=%zu", vact_dtype_get(type)->name, rows, channels, k);
    const vact_int8_rows a = make_rows(rows, k);
    const unsigned char *w = make_weights(type, channels, k, row_bytes);
    unsigned char *b = (unsigned char *)check_output(((size_t)panels * ldb + 3) / 4, 0);
    for (int p = 0; p < panels; p++)
        kernels->pack_int8[type](b + (size_t)p * ldb, w + (size_t)p * VACT_PANEL * row_bytes, row_bytes,
                                 channels - p * VACT_PANEL < VACT_PANEL ? channels - p * VACT_PANEL : VACT_PANEL, k);
    const size_t size = (size_t)(rows - 1) * ldc + columns;
    float *want = check_output(size, 0), *got = check_output(size, 4 * check_range(0, 7));
    memcpy(got, want, size * sizeof *got);
    for (size_t i = 0; i < (size_t)rows; i++)
        for (size_t j = 0; j < columns; j++)
            want[i * ldc + j] = j < (size_t)channels ? defined(type, &a, i, w + j * row_bytes, k) : 0 * a.scale[i];
    kernels->gemm_int8[type](got, ldc, &a, b, ldb, k, rows, panels);
    check_same(want, got, size); /* what lies between the rows as well */
    check_end();
}

/* The shapes of check_gemm and check_pack. */
static void bench_int8(int level, uint32_t type, int rows)
{
    enum { K = 768, PANELS = 4, COLUMNS = PANELS * VACT_PANEL };
    const vact_kernels *scalar = check_level(0), *fast = check_level(level);
    const size_t row_bytes = (size_t)vact_dtype_bytes(type, K), ldb = vact_int8_panel_bytes(type, K);
    const vact_int8_rows a = make_rows(rows, K);
    const unsigned char *w = make_weights(type, VACT_PANEL, K, row_bytes);
    unsigned char *b = (unsigned char *)check_output(PANELS * ldb / 4, 0);
    float *c = check_output((size_t)rows * COLUMNS, 0);
    char name[40];
    for (size_t p = 0; p < PANELS; p++)
        fast->pack_int8[type](b + p * ldb, w, row_bytes, VACT_PANEL, K);
    snprintf(name, sizeof name, "int8 %s %dx64x768", vact_dtype_get(type)->name, rows);
    CHECK_BENCH(level, name, scalar->gemm_int8[type](c, COLUMNS, &a, b, ldb, K, rows, PANELS),
                fast->gemm_int8[type](c, COLUMNS, &a, b, ldb, K, rows, PANELS));
    snprintf(name, sizeof name, "int8 pack %s 768", vact_dtype_get(type)->name);
    CHECK_BENCH(level, name, scalar->pack_int8[type](b, w, row_bytes, VACT_PANEL, K),
                fast->pack_int8[type](b, w, row_bytes, VACT_PANEL, K));
    check_end();
}

void check_gemm_int8(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++)
        for (int t = 0; t < 2; t++) {
            if (level && !CHECK_CHANGED(level, gemm_int8[types[t]]))
                continue;
            for (int i = 0; i < CHECK_CASES; i++)
                check_product(level, types[t]);
            if (level && check_bench)
                bench_int8(level, types[t], 48);
        }
}

/* A row that holds a NaN gives NaN and a row of zeros gives 0, in all channels; the rows beside them are as ever. */
void test_rows_without_a_scale(void **state)
{
    (void)state;
    enum { ROWS = 9, BROKEN = 2, ZEROS = 5, BLOCKS = 3, K = BLOCKS * BLOCK };
    for (int level = 0; level < check_levels(); level++)
        for (int t = 0; t < 2; t++) {
            const vact_kernels *kernels = check_level(level);
            const size_t row_bytes = (size_t)vact_dtype_bytes(types[t], K);
            check_begin(level, "rows without a scale, %s", vact_dtype_get(types[t])->name);
            float *x = check_copy(check_floats(ROWS * K, CHECK_NORMAL, 0), ROWS * K, 0);
            x[BROKEN * K + K - 1] = NAN;
            memset(x + ZEROS * K, 0, K * sizeof *x);
            int8_t *q = (int8_t *)check_output(ROWS * K / 4, 0);
            int16_t *sums = (int16_t *)check_output((ROWS * BLOCKS + 1) / 2, 0);
            float *scale = check_output(ROWS, 0), *c = check_output(ROWS * VACT_PANEL, 0);
            for (int i = 0; i < ROWS; i++)
                kernels->quantize(q + i * K, sums + i * BLOCKS, scale + i, x + i * K, K);
            const unsigned char *w = make_weights(types[t], VACT_PANEL, K, row_bytes);
            void *b = check_output(vact_int8_panel_bytes(types[t], K) / 4, 0);
            const vact_int8_rows a = { .q = q, .sums = sums, .scale = scale, .ldq = K, .ldsums = BLOCKS };
            kernels->pack_int8[types[t]](b, w, row_bytes, VACT_PANEL, K);
            kernels->gemm_int8[types[t]](c, VACT_PANEL, &a, b, 0, K, ROWS, 1);
            for (size_t i = 0; i < ROWS; i++)
                for (size_t j = 0; j < VACT_PANEL; j++) {
                    const float want = defined(types[t], &a, i, w + j * row_bytes, K), got = c[i * VACT_PANEL + j];
                    check_true(i == BROKEN ? isnan(got) : i == ZEROS ? got == 0 : got == want, "a row's products");
                }
            check_end();
        }
}

/* ---- all together ---- */

/* One channel of a row against real numbers. Half a step for each code and the rounding of its quotient; a rounding for
 * each block, and for the last product. A row without a scale counts as zeros. */
static void check_error(uint32_t type, const float *x, size_t k, float scale, const unsigned char *w, float got)
{
    double exact = 0, sizes = 0, largest = 0;
    for (size_t i = 0; i < k; i++) {
        const unsigned char *block = w + i / BLOCK * vact_dtype_get(type)->block_bytes;
        float weight_scale;
        check_level(0)->decode[VACT_DTYPE_F16](&weight_scale, block, 1);
        const double weight = (double)weight_scale * code_of(type, block + 2, i % BLOCK);
        exact += weight * (double)x[i];
        sizes += fabs(weight);
        largest = fmax(largest, fabs((double)x[i]));
    }
    const double step = scale > 0 ? largest / 127 * (0.5 + 0x1p-17) : largest;
    const double roundings = (double)(k / BLOCK + 1) * CHECK_UNIT * 1.01;
    check_near(&exact, &(double){ sizes * (step + roundings * largest) + CHECK_TINY }, &got, 1);
}

/* The bound of docs/numerics.md. */
void check_int8_error(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++)
        for (int i = 0; i < CHECK_CASES; i++) {
            const vact_kernels *kernels = check_level(level);
            const uint32_t type = types[i % 2];
            const size_t k = BLOCK * check_range(1, 40), row_bytes = (size_t)vact_dtype_bytes(type, k);
            const check_fill fill = check_any_fill();
            check_begin(level, "int8 error %s k=%zu fill=%d", vact_dtype_get(type)->name, k, (int)fill);
            const float *x = check_floats(k, fill, 0);
            const quantized_row row = quantized(level, x, k);
            const unsigned char *w = make_weights(type, VACT_PANEL, k, row_bytes);
            void *b = check_output(vact_int8_panel_bytes(type, k) / 4, 0);
            float *c = check_output(VACT_PANEL, 0);
            const vact_int8_rows a = { .q = row.q, .sums = row.sums, .scale = &row.scale, .ldq = k, .ldsums = 0 };
            kernels->pack_int8[type](b, w, row_bytes, VACT_PANEL, k);
            kernels->gemm_int8[type](c, VACT_PANEL, &a, b, 0, k, 1, 1);
            for (size_t j = 0; j < VACT_PANEL; j++)
                check_error(type, x, k, row.scale, w + j * row_bytes, c[j]);
            check_end();
        }
}
