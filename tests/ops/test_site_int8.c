/* Sites that compute on integers, against their definition in double precision, and bits against thread counts and rows.
 * The definition: codes of a row are x / scale, rounded to float32 and then to the nearest integer, ties to even, with
 * scale = max |x| / 127 in float32; the rest is exact. */
#include "site.h"

#include <math.h>
#include <string.h>

static const vact_dtype quantized[] = { VACT_DTYPE_Q8_0, VACT_DTYPE_Q4_0 };
static const vact_dtype mixed[][VACT_SITE_OUTPUTS] = {
    { VACT_DTYPE_Q8_0, VACT_DTYPE_Q4_0, VACT_DTYPE_F32 },
    { VACT_DTYPE_F32, VACT_DTYPE_Q8_0, VACT_DTYPE_BF16 },
};
static const int32_t threads[] = { 1, 2, 3, 4 };

/* Of sums of at most 320 products, rounded once for each 32, and of the epilogue; the worst seen is 1.2e-6. Floats
 * round after each product: 4e-6. */
#define NEAR        4e-6
#define NEAR_FLOATS 1.2e-5

/* ---- the definition ---- */

static double half(const uint8_t *p)
{
    const int bits = p[0] | p[1] << 8, exponent = bits >> 10 & 31, fraction = bits & 1023;
    return (bits >> 15 ? -1 : 1) * ldexp(exponent ? 1024 + fraction : fraction, exponent ? exponent - 25 : -24);
}

/* Block `b` of a weight's row: its scale, and 32 codes. */
static double block_codes(const vact_weight *w, int32_t row, int32_t b, int codes[32])
{
    const uint8_t *block = vact_weight_row(w, row) + (size_t)b * (w->dtype == VACT_DTYPE_Q8_0 ? 34 : 18);
    for (int i = 0; i < 16; i++) {
        const uint8_t *p = block + 2;
        codes[i] = w->dtype == VACT_DTYPE_Q8_0 ? (int8_t)p[i] : (p[i] & 15) - 8;
        codes[16 + i] = w->dtype == VACT_DTYPE_Q8_0 ? (int8_t)p[16 + i] : (p[i] >> 4) - 8;
    }
    return half(block);
}

static double on_integers(const vact_weight *w, int32_t channel, const float *x)
{
    float largest = 0;
    for (int32_t i = 0; i < w->cols; i++)
        largest = fmaxf(largest, fabsf(x[i]));
    const float scale = largest / 127;
    double sum = 0;
    for (int32_t b = 0; b < w->cols / 32; b++) {
        int codes[32], dot = 0;
        const double weight_scale = block_codes(w, channel, b, codes);
        for (int i = 0; i < 32 && scale > 0; i++) {
            const float ratio = x[b * 32 + i] / scale;
            dot += (int)nearbyint((double)ratio) * codes[i];
        }
        sum += dot * weight_scale;
    }
    return sum * (double)scale;
}

static double on_floats(const vact_weight *w, int32_t channel, const float *x)
{
    double sum = 0;
    for (int32_t i = 0; i < w->cols; i++) {
        float v;
        uint8_t bytes[4] = { 0 };
        if (w->dtype == VACT_DTYPE_F32)
            memcpy(bytes, vact_weight_row(w, channel) + 4 * i, 4);
        else /* bf16 */
            memcpy(bytes + 2, vact_weight_row(w, channel) + 2 * i, 2);
        memcpy(&v, bytes, sizeof v);
        sum += (double)v * (double)x[i];
    }
    return sum;
}

static double map(const vact_linear *w, int32_t channel, const float *x, const float *bias)
{
    const bool integers = w->w.dtype == VACT_DTYPE_Q8_0 || w->w.dtype == VACT_DTYPE_Q4_0;
    return (integers ? on_integers : on_floats)(&w->w, channel, x) + (bias ? (double)bias[channel] : 0);
}

static double activate(vact_act act, double u)
{
    if (act == VACT_ACT_GELU_ERF)
        return 0.5 * u * (1 + erf(u * 0.70710678118654752));
    if (act == VACT_ACT_GELU_TANH)
        return 0.5 * u * (1 + tanh(0.79788456080286536 * (u + 0.044715 * u * u * u)));
    return act == VACT_ACT_SILU ? u / (1 + exp(-u)) : u;
}

/* What the site gives for normed rows x [rows, cols]. */
static float *define(const site_case *c, const float *x)
{
    float *want = ops_take((size_t)c->rows * (size_t)c->width, sizeof *want);
    memcpy(want, c->y, (size_t)c->rows * (size_t)c->width * sizeof *want);
    for (int32_t row = 0; row < c->rows; row++, x += c->cols) {
        float *y = want + row * c->width + SITE_BEFORE;
        for (int32_t o = 0; o < (c->gated ? 1 : c->outputs); y += c->channels[o++]) {
            const float *bias = o == 0 && c->bias == SITE_BIAS_ROW ? c->bias_row : c->w[o].bias;
            for (int32_t j = 0; j < c->channels[o]; j++) {
                double v = activate(c->act, map(&c->w[o], j, x, bias));
                if (c->gated)
                    v *= map(&c->w[1], j, x, c->w[1].bias);
                y[j] = (float)(c->add ? (double)y[j] + v : v);
            }
        }
    }
    return want;
}

/* ---- running ---- */

typedef struct norm_case {
    const site_case *site;
    float *out; /* [rows, cols] */
} norm_case;

static void norm_program(vact_run *r, void *user)
{
    const norm_case *n = user;
    const site_case *c = n->site;
    const vact_buf x = ops_put(r, c->x, c->rows, c->cols + SITE_BEFORE + SITE_BEHIND);
    const vact_buf y = vact_tmp(r, c->rows, c->cols);
    if (c->norm.kind == VACT_NORM_NONE)
        vact_copy(r, y, ops_cols(x, SITE_BEFORE, c->cols), 1);
    else
        vact_norm_rows(r, y, ops_cols(x, SITE_BEFORE, c->cols), c->norm);
    ops_get(r, y, n->out);
}

/* The rows that the level's own norm gives: rounding differs, and a code next to a half would be another. test_row_ops
 * checks norms. */
static const float *normed(const site_case *c, const ops_target *target)
{
    norm_case n = { c, ops_take((size_t)c->rows * (size_t)c->cols, sizeof *n.out) };
    ops_run(target, norm_program, &n);
    return n.out;
}

static size_t int8_cpus(ops_target *out, int count)
{
    const size_t n = ops_levels(out, count);
    for (size_t i = 0; i < n; i++)
        out[i].int8 = true;
    return n;
}

static void check_case(site_case *c, int32_t n, double bound)
{
    ops_target cpus[OPS_CPUS];
    for (size_t i = 0, count = int8_cpus(cpus, n); i < count; i++) {
        site_run(c, &cpus[i]);
        ops_near(&cpus[i], define(c, normed(c, &cpus[i])), c->out, (size_t)c->rows * (size_t)c->width, bound);
    }
}

static void pick_shape(site_case *c, int32_t outputs)
{
    static const int32_t rows[] = { 1, 1, 2, 3, 4, 5, 6, 8, 9, 13, 40 };
    static const int32_t channels[] = { 1, 2, 15, 16, 17, 33, 65, 130 };
    static const int32_t cols[] = { 32, 32, 64, 96, 128, 160, 320 };
    c->rows = ops_pick(rows, COUNT(rows));
    c->cols = ops_pick(cols, COUNT(cols));
    for (int32_t i = 0; i < outputs; i++)
        c->channels[i] = c->gated && i ? c->channels[0] : ops_pick(channels, COUNT(channels));
}

/* ---- tests ---- */

static void test_a_site_is_what_it_is_defined_as(void **state)
{
    (void)state;
    ops_seed(1);
    for (int i = 0; i < VACT_ACTS * 2 * 3 * 3 * 4 * 2; i++) {
        const int32_t maps = i / 72 % 4; /* 0: gated */
        site_case c = { .gated = maps == 0, .act = (vact_act)(i % VACT_ACTS), .add = i / 4 % 2 };
        c.bias = (site_bias)(i / 8 % 3);
        c.dtype = quantized[i / 288];
        ops_begin("site %d, %d outputs, %s", i, maps, vact_dtype_get(c.dtype)->name);
        pick_shape(&c, maps ? maps : 2);
        site_make(&c, (vact_norm_kind)(i / 24 % 3));
        check_case(&c, ops_pick(threads, COUNT(threads)), NEAR);
    }
}

/* Those of other types stay on floats. */
static void test_outputs_of_one_site_may_mix_types(void **state)
{
    (void)state;
    ops_seed(2);
    for (int i = 0; i < 2 * 2 * 3 * 2; i++) {
        site_case c = { .gated = i % 2, .dtypes = mixed[i / 2 % 2], .act = VACT_ACT_SILU, .bias = SITE_BIAS };
        c.add = i / 12;
        ops_begin("site %d of several types", i);
        pick_shape(&c, c.gated ? 2 : 3);
        site_make(&c, (vact_norm_kind)(i / 4 % 3));
        check_case(&c, ops_pick(threads, COUNT(threads)), NEAR_FLOATS);
    }
}

/* A tile has 512 rows; rows of 1056 and more bytes of codes are padded to an odd number of cache lines. */
static void test_large_sites_are_what_they_are_defined_as(void **state)
{
    (void)state;
    static const int32_t rows[] = { 511, 513, 1025 };
    ops_seed(3);
    for (size_t i = 0; i < COUNT(rows); i++) {
        ops_begin("site of %d rows", rows[i]);
        site_case c = { rows[i], 64, { 17, 5 }, quantized[i % 2], .bias = SITE_BIAS };
        site_make(&c, VACT_NORM_LAYER);
        check_case(&c, 3, NEAR);
    }
    for (int32_t cols = 960; cols <= 1152; cols += 32) {
        ops_begin("site of %d columns", cols);
        site_case c = { .rows = 7, .cols = cols, .channels = { 18 }, .dtype = quantized[cols / 32 % 2] };
        site_make(&c, VACT_NORM_NONE);
        check_case(&c, 2, NEAR);
    }
}

/* Without the flag, and on types without such products, nothing changes. */
static void test_other_sites_have_the_bits_of_floats(void **state)
{
    (void)state;
    ops_seed(4);
    static const vact_dtype others[] = { VACT_DTYPE_F32, VACT_DTYPE_BF16, VACT_DTYPE_F16 };
    for (size_t i = 0; i < COUNT(others); i++) {
        ops_begin("site of %s", vact_dtype_get(others[i])->name);
        site_case c = { .rows = 9, .cols = 64, .channels = { 33, 16 }, .dtype = others[i], .bias = SITE_BIAS };
        site_make(&c, VACT_NORM_RMS);
        const size_t values = (size_t)c.rows * (size_t)c.width;
        float *want = ops_take(values, sizeof *want);
        ops_target cpus[OPS_CPUS];
        for (size_t k = 0, count = ops_cpus(cpus, 2); k < count; k++) {
            site_run(&c, &cpus[k]);
            memcpy(want, c.out, values * sizeof *want);
            cpus[k].int8 = true;
            site_run(&c, &cpus[k]);
            ops_same(&cpus[k], want, c.out, values);
        }
    }
}

/* Rows that hold a NaN or an infinity give NaN, all others what they give alone; a row of zeros gives zeros. */
static void test_a_row_that_is_no_numbers_gives_none(void **state)
{
    (void)state;
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    enum { ROWS = 9, COLS = 64, ZEROS = 7 };
    ops_seed(5);
    for (int i = 0; i < 3 * 2; i++) {
        ops_begin("site with %g, %s", (double)bad[i % 3], vact_dtype_get(quantized[i / 3])->name);
        site_case c = { .rows = ROWS, .cols = COLS, .channels = { 20 }, .dtype = quantized[i / 3] };
        site_make(&c, VACT_NORM_NONE);
        const size_t width = COLS + SITE_BEFORE + SITE_BEHIND;
        ops_target cpus[OPS_CPUS];
        const size_t count = int8_cpus(cpus, 2);
        memset(c.x + ZEROS * width + SITE_BEFORE, 0, COLS * sizeof *c.x);
        const float *want = define(&c, normed(&c, &cpus[0]));
        c.x[2 * width + SITE_BEFORE] = bad[i % 3];
        c.x[4 * width + SITE_BEFORE + COLS - 1] = bad[i % 3];
        for (size_t k = 0; k < count; k++) {
            site_run(&c, &cpus[k]);
            for (int32_t row = 0; row < ROWS; row++) {
                const int32_t at = row * c.width + SITE_BEFORE;
                if (row != 2 && row != 4)
                    ops_near(&cpus[k], want + at, c.out + at, 20, NEAR);
                for (int32_t j = 0; j < 20; j++) {
                    if (row == ZEROS)
                        assert_true(c.out[at + j] == 0);
                    if (row == 2 || row == 4)
                        assert_true(isnan(c.out[at + j]));
                }
            }
        }
    }
}

/* ---- bits ---- */

/* All levels too, where no norm comes before. */
static void test_bits_do_not_depend_on_threads_or_level(void **state)
{
    (void)state;
    ops_seed(6);
    for (int i = 0; i < 8; i++) {
        ops_begin("site %d", i);
        site_case c = { i == 0 ? 520 : 31, 96, { 130, 130, 65 }, quantized[i / 2 % 2], .gated = i % 2 };
        c.dtypes = i >= 4 ? mixed[0] : NULL;
        c.channels[2] = c.gated ? 0 : c.channels[2];
        site_make(&c, i == 3 ? VACT_NORM_RMS : VACT_NORM_NONE);
        const size_t values = (size_t)c.rows * (size_t)c.width;
        float *want = ops_take(values, sizeof *want);
        ops_target cpus[OPS_CPUS];
        for (size_t k = 0, count = int8_cpus(cpus, 1); k < count; k++) {
            for (size_t t = 0; t < COUNT(threads); t++) {
                cpus[k].threads = threads[t];
                site_run(&c, &cpus[k]);
                if (t == 0 && (k == 0 || c.norm.kind != VACT_NORM_NONE))
                    memcpy(want, c.out, values * sizeof *want);
                ops_same(&cpus[k], want, c.out, values);
            }
        }
    }
}

static void test_a_row_has_the_same_bits_whatever_is_computed_beside_it(void **state)
{
    (void)state;
    static const int32_t counts[] = { 1, 2, 3, 4, 5, 8, 9, 17, 64 };
    ops_seed(7);
    for (size_t i = 0; i < COUNT(counts) * 2; i++) {
        const int32_t count = counts[i % COUNT(counts)], rows = i % 3 ? 70 : 530;
        ops_begin("%d of %d rows", count, rows);
        site_case c = { rows, 64, { 20 }, quantized[i % 2], .act = VACT_ACT_SILU, .bias = SITE_BIAS, .add = i % 2 };
        site_make(&c, (vact_norm_kind)(i % 3));
        float *want = ops_take((size_t)rows * (size_t)c.width, sizeof *want);
        ops_target cpus[OPS_CPUS];
        for (size_t k = 0, n = int8_cpus(cpus, 1); k < n; k++) {
            c.first = c.count = 0;
            site_run(&c, &cpus[k]);
            memcpy(want, c.out, (size_t)rows * (size_t)c.width * sizeof *want);
            c.first = ops_range(0, rows - count);
            c.count = count;
            site_run(&c, &cpus[k]);
            const size_t from = (size_t)c.first * (size_t)c.width;
            ops_same(&cpus[k], want + from, c.out + from, (size_t)count * (size_t)c.width);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_site_is_what_it_is_defined_as),
        cmocka_unit_test(test_outputs_of_one_site_may_mix_types),
        cmocka_unit_test(test_large_sites_are_what_they_are_defined_as),
        cmocka_unit_test(test_other_sites_have_the_bits_of_floats),
        cmocka_unit_test(test_a_row_that_is_no_numbers_gives_none),
        cmocka_unit_test(test_bits_do_not_depend_on_threads_or_level),
        cmocka_unit_test(test_a_row_has_the_same_bits_whatever_is_computed_beside_it),
    };
    return cmocka_run_group_tests(tests, NULL, ops_teardown);
}
