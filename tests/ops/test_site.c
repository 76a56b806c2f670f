/* Sites on every device: the cpu against the reference in double precision, bits against thread counts and rows. */
#include "site.h"

#include <string.h>

static const vact_dtype dtypes[] = { VACT_DTYPE_F32, VACT_DTYPE_BF16, VACT_DTYPE_F16, VACT_DTYPE_Q8_0,
                                     VACT_DTYPE_Q4_0 };
static const int32_t threads[] = { 1, 2, 3, 7 };

/* Sums of at most 768 products of order 1 / sqrt(cols) in float; the worst seen is 5e-6. */
#define NEAR 1.2e-5

/* Most shapes are small, so that all combinations fit in seconds; every tail is met. */
static void pick_shape(site_case *c, int32_t outputs)
{
    static const int32_t rows[] = { 1, 1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13, 70 };
    static const int32_t channels[] = { 1, 1, 2, 15, 16, 16, 17, 33, 63, 65, 130 };
    static const int32_t cols[] = { 32, 33, 36, 47, 63, 64, 65, 72, 97, 129, 320 };
    static const int32_t block_cols[] = { 32, 32, 64, 96, 128, 160, 320 };
    const bool blocks = vact_dtype_get(c->dtype)->block > 1;
    c->rows = ops_pick(rows, COUNT(rows));
    c->cols = blocks ? ops_pick(block_cols, COUNT(block_cols)) : ops_pick(cols, COUNT(cols));
    for (int32_t i = 0; i < outputs; i++)
        c->channels[i] = c->gated && i ? c->channels[0] : ops_pick(channels, COUNT(channels));
}

/* The cpu devices on `n` threads against the reference device. */
static void check_case(site_case *c, int32_t n)
{
    const size_t values = (size_t)c->rows * (size_t)c->width;
    float *want = ops_take(values, sizeof *want);
    ops_target cpus[OPS_CPUS];
    site_run(c, &ops_reference);
    memcpy(want, c->out, values * sizeof *want);
    for (size_t i = 0, count = ops_cpus(cpus, n); i < count; i++) {
        site_run(c, &cpus[i]);
        ops_near(&cpus[i], want, c->out, values, NEAR);
    }
}

static void begin_case(const site_case *c, int32_t outputs, int norm)
{
    ops_begin("site %s%s, %d outputs, norm %d, act %d, bias %d, %s", c->gated ? "gated" : "plain",
              c->add ? ", added" : "", outputs, norm, (int)c->act, (int)c->bias, vact_dtype_get(c->dtype)->name);
}

/* maps 0: gated. */
static void check_combinations(vact_norm_kind norm, int32_t maps)
{
    ops_seed((uint64_t)norm * 10 + (uint64_t)maps);
    for (int i = 0; i < VACT_ACTS * 2 * 3 * (int)COUNT(dtypes); i++) {
        site_case c = { .gated = maps == 0 };
        c.act = (vact_act)(i % VACT_ACTS);
        c.add = i / VACT_ACTS % 2;
        c.bias = (site_bias)(i / (VACT_ACTS * 2) % 3);
        c.dtype = dtypes[i / (VACT_ACTS * 6)];
        c.gate_row = maps < 2 && i % 5 < 2;
        c.adaptive = norm == VACT_NORM_RMS && i % 3 == 0;
        begin_case(&c, maps, (int)norm);
        pick_shape(&c, maps ? maps : 2);
        site_make(&c, norm);
        check_case(&c, ops_pick(threads, COUNT(threads)));
    }
}

static void test_a_plain_site_equals_the_reference(void **state)
{
    (void)state;
    for (int32_t maps = 1; maps <= VACT_SITE_OUTPUTS; maps++)
        for (int norm = VACT_NORM_NONE; norm <= VACT_NORM_RMS; norm++)
            check_combinations((vact_norm_kind)norm, maps);
}

static void test_a_gated_site_equals_the_reference(void **state)
{
    (void)state;
    for (int norm = VACT_NORM_NONE; norm <= VACT_NORM_RMS; norm++)
        check_combinations((vact_norm_kind)norm, 0);
}

/* A tile has 512 rows, a call of the kernel 6. */
static void test_a_site_of_many_rows_equals_the_reference(void **state)
{
    (void)state;
    static const int32_t rows[] = { 511, 512, 513, 518, 1025 };
    ops_seed(1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        ops_begin("site of %d rows", rows[i]);
        site_case c = { rows[i], 33, { 17, 5 }, VACT_DTYPE_BF16, .bias = SITE_BIAS, .act = VACT_ACT_SILU };
        site_make(&c, VACT_NORM_LAYER);
        check_case(&c, 3);
    }
}

/* Every number of columns around the panels and the pieces that are decoded at a time. */
static void test_a_site_of_any_width_equals_the_reference(void **state)
{
    (void)state;
    ops_seed(2);
    for (int32_t cols = 1; cols <= 140; cols++) {
        ops_begin("site of %d columns", cols);
        site_case c = { 7, cols, { 18 }, dtypes[cols % 3], .bias = SITE_BIAS };
        site_make(&c, VACT_NORM_NONE);
        check_case(&c, 1);
    }
}

/* Types that are read only, with panels whole and not. */
static void test_a_site_of_any_type_of_blocks_equals_the_reference(void **state)
{
    (void)state;
    static const vact_dtype types[] = { VACT_DTYPE_Q4_1, VACT_DTYPE_Q5_0, VACT_DTYPE_Q5_1, VACT_DTYPE_Q2_K,
                                        VACT_DTYPE_Q3_K, VACT_DTYPE_Q4_K, VACT_DTYPE_Q5_K, VACT_DTYPE_Q6_K };
    static const int32_t channels[] = { 1, 15, 16, 17, 64, 70 };
    ops_seed(6);
    for (int32_t i = 0; i < 8 * (int32_t)COUNT(types); i++) {
        const vact_dtype type = types[i / 8];
        const int32_t block = (int32_t)vact_dtype_get(type)->block;
        ops_begin("site of %s, case %d", vact_dtype_get(type)->name, i);
        site_case c = { ops_range(1, 13), block * ops_range(1, 3), { 0 }, type, .gated = i % 2, .bias = SITE_BIAS };
        c.channels[0] = ops_pick(channels, COUNT(channels));
        c.channels[1] = c.gated ? c.channels[0] : ops_pick(channels, COUNT(channels));
        site_make(&c, (vact_norm_kind)(i % 3));
        check_case(&c, ops_pick(threads, COUNT(threads)));
    }
}

/* A view's columns begin with a block of the wider rows. */
static void test_a_view_of_columns_equals_the_reference(void **state)
{
    (void)state;
    static const vact_dtype types[] = { VACT_DTYPE_BF16, VACT_DTYPE_Q8_0, VACT_DTYPE_Q5_1, VACT_DTYPE_Q3_K,
                                        VACT_DTYPE_Q6_K };
    ops_seed(7);
    for (size_t i = 0; i < COUNT(types); i++) {
        const int32_t block = vact_dtype_get(types[i])->block > 1 ? (int32_t)vact_dtype_get(types[i])->block : 24;
        ops_begin("site on columns of %s", vact_dtype_get(types[i])->name);
        site_case c = { 5, 2 * block, { 37 }, types[i], .bias = SITE_BIAS };
        site_make(&c, VACT_NORM_NONE);
        c.w[0].w = vact_weight_cols(ops_weight(types[i], 37, 4 * block), block, 2 * block);
        check_case(&c, 2);
    }
}

/* ---- bits ---- */

/* Runs the case on each cpu and thread count; all must give the bits of one thread. */
static void test_bits_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    ops_seed(3);
    for (int i = 0; i < 6; i++) {
        ops_begin("site %d", i);
        site_case c = { i == 0 ? 520 : 31, 64, { 130, 130, 65 }, dtypes[i % 5], .gated = i % 2, .bias = SITE_BIAS };
        c.channels[2] = c.gated ? 0 : c.channels[2];
        c.act = (vact_act)(i % VACT_ACTS);
        site_make(&c, VACT_NORM_RMS);
        const size_t values = (size_t)c.rows * (size_t)c.width;
        float *want = ops_take(values, sizeof *want);
        ops_target cpus[OPS_CPUS];
        for (size_t k = 0, count = ops_cpus(cpus, 1); k < count; k++) {
            site_run(&c, &cpus[k]);
            memcpy(want, c.out, values * sizeof *want);
            for (size_t t = 1; t < COUNT(threads); t++) {
                cpus[k].threads = threads[t];
                site_run(&c, &cpus[k]);
                ops_same(&cpus[k], want, c.out, values);
            }
        }
    }
}

static void test_a_row_has_the_same_bits_whatever_is_computed_beside_it(void **state)
{
    (void)state;
    static const int32_t counts[] = { 1, 2, 3, 4, 5, 6, 7, 11, 23, 64 };
    ops_seed(4);
    for (size_t i = 0; i < COUNT(counts) * 3; i++) {
        const int32_t count = counts[i % COUNT(counts)], rows = i % 3 ? 70 : 530;
        ops_begin("%d of %d rows", count, rows);
        site_case c = { rows, 64, { 20 }, dtypes[i % 5], .act = VACT_ACT_SILU, .bias = SITE_BIAS, .add = i % 2 };
        site_make(&c, (vact_norm_kind)(i % 3));
        const size_t values = (size_t)rows * (size_t)c.width;
        float *want = ops_take(values, sizeof *want);
        ops_target cpus[OPS_CPUS];
        for (size_t k = 0, n = ops_cpus(cpus, 1); k < n; k++) {
            c.first = c.count = 0;
            site_run(&c, &cpus[k]);
            memcpy(want, c.out, values * sizeof *want);
            c.first = ops_range(0, rows - count);
            c.count = count;
            site_run(&c, &cpus[k]);
            const size_t from = (size_t)c.first * (size_t)c.width;
            ops_same(&cpus[k], want + from, c.out + from, (size_t)count * (size_t)c.width);
        }
    }
}

/* q|k|v together or one by one. */
static void test_an_output_has_the_same_bits_alone(void **state)
{
    (void)state;
    ops_seed(5);
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        ops_begin("three outputs of %s", vact_dtype_get(dtypes[d])->name);
        site_case c = { 13, 96, { 65, 7, 16 }, dtypes[d], .bias = SITE_BIAS };
        site_make(&c, VACT_NORM_LAYER);
        ops_target cpus[OPS_CPUS];
        for (size_t k = 0, n = ops_cpus(cpus, 2); k < n; k++) {
            int32_t at = SITE_BEFORE;
            site_run(&c, &cpus[k]);
            for (int i = 0; i < 3; at += c.channels[i++]) {
                site_case one = c;
                one.channels[0] = c.channels[i];
                one.w[0] = c.w[i];
                one.outputs = 1;
                one.width = SITE_BEFORE + c.channels[i] + SITE_BEHIND;
                one.out = ops_take((size_t)c.rows * (size_t)one.width, sizeof *one.out);
                site_run(&one, &cpus[k]);
                for (int32_t row = 0; row < c.rows; row++)
                    ops_same(&cpus[k], c.out + row * c.width + at, one.out + row * one.width + SITE_BEFORE,
                             (size_t)c.channels[i]);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plain_site_equals_the_reference),
        cmocka_unit_test(test_a_gated_site_equals_the_reference),
        cmocka_unit_test(test_a_site_of_many_rows_equals_the_reference),
        cmocka_unit_test(test_a_site_of_any_width_equals_the_reference),
        cmocka_unit_test(test_a_site_of_any_type_of_blocks_equals_the_reference),
        cmocka_unit_test(test_a_view_of_columns_equals_the_reference),
        cmocka_unit_test(test_bits_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(test_a_row_has_the_same_bits_whatever_is_computed_beside_it),
        cmocka_unit_test(test_an_output_has_the_same_bits_alone),
    };
    return cmocka_run_group_tests(tests, NULL, ops_teardown);
}
