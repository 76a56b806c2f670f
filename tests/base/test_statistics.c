/* Figures by statsmodels 0.15.0 (proportion_confint, method "wilson") and scipy 1.17.1 (binomtest), by exact fractions,
 * and by the evaluation that came with the demo's policy. */
#include "base/statistics.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check_near(double got, double want, double within)
{
    if (!(fabs(got - want) <= within))
        fail_msg("found %.17g, expected %.17g", got, want);
}

static void test_a_quantile_is_the_least_value_that_covers_the_share(void **state)
{
    (void)state;
    double values[] = { 5, 1, 4, 2, 3, 10, 9, 7, 8, 6 };
    static const struct {
        double q, want;
    } cases[] = { { 0, 1 }, { 0.05, 1 }, { 0.1, 1 }, { 0.11, 2 }, { 0.5, 5 }, { 0.9, 9 }, { 0.91, 10 }, { 1, 10 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(vact_quantile(values, 10, cases[i].q) == cases[i].want);
    for (int i = 0; i < 10; i++)
        assert_true(values[i] == i + 1);
    assert_true(vact_quantile(values, 1, 0.5) == 1);
    double thirty[30];
    for (int i = 0; i < 30; i++)
        thirty[i] = i + 1;
    assert_true(vact_quantile(thirty, 30, 0.9) == 27);
}

static void test_wilson_is_statsmodels(void **state)
{
    (void)state;
    static const struct {
        int64_t k, n;
        double low, high;
    } cases[] = {
        { 0, 1, 0, 0.79345068562276266 },
        { 1, 1, 0.20654931437723739, 1 },
        { 0, 100, 0, 0.036993498206985692 },
        { 100, 100, 0.96300650179301428, 1 },
        { 1, 100, 0.001767432064140647, 0.054486196178705329 },
        { 399, 400, 0.9859767149241766, 0.99955855221319834 },
        { 320, 400, 0.75802968313329899, 0.83626294026612313 },
        { 5, 10, 0.23659309051256394, 0.76340690948743606 },
        { 499999, 1000000, 0.49901901989384823, 0.50097898011383479 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const vact_interval w = vact_wilson(cases[i].k, cases[i].n);
        check_near(w.low, cases[i].low, 1e-15);
        check_near(w.high, cases[i].high, 1e-15);
    }
    assert_true(vact_wilson(0, 7).low == 0 && vact_wilson(7, 7).high == 1);
}

/* To a decimal of a percentage, as printed there. */
static void test_wilson_is_the_policys_own_evaluation(void **state)
{
    (void)state;
    static const struct {
        int64_t k, n;
        double low, high;
    } cases[] = {
        { 100, 100, 96.3, 100.0 }, { 23, 23, 85.7, 100.0 }, { 9, 9, 70.1, 100.0 },   { 8, 8, 67.6, 100.0 },
        { 0, 100, 0.0, 3.7 },      { 1, 100, 0.2, 5.4 },    { 399, 400, 98.6, 100 }, { 499, 500, 98.9, 100 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const vact_interval w = vact_wilson(cases[i].k, cases[i].n);
        check_near(100 * w.low, cases[i].low, 0.05);
        check_near(100 * w.high, cases[i].high, 0.05);
    }
}

static void test_mcnemar_is_the_exact_binomial_test(void **state)
{
    (void)state;
    static const struct {
        int64_t a, b;
        double want;
    } cases[] = {
        { 0, 0, 1 },
        { 0, 1, 1 },
        { 1, 1, 1 },
        { 0, 5, 0.0625 },
        { 0, 6, 0.03125 },
        { 1, 8, 0.0390625 },
        { 2, 8, 0.109375 },
        { 5, 12, 0.143463134765625 },
        { 10, 25, 0.016673847800120715 },
        { 3, 3, 1 },
        { 3, 4, 1 },
        { 3, 5, 0.7265625 },
        { 100, 150, 0.001883300935076157 },
        { 400, 600, 2.7284641560660184e-10 },
        { 0, 1000, 1.8665272370064378e-301 },
        { 4900, 5100, 0.04658552770494739 },
        { 499000, 501000, 0.045608299865389598 },
        { 498500, 501500, 0.0027086553060593739 },
        { 500000, 500000, 1 },
        { 0, 1000000, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_near(vact_mcnemar(cases[i].a, cases[i].b), cases[i].want, 2e-11 * cases[i].want);
        assert_true(vact_mcnemar(cases[i].b, cases[i].a) == vact_mcnemar(cases[i].a, cases[i].b));
    }
}

/* By hand: n + 2 is a square number of pairs, so that the root is plain. */
static void test_the_paired_difference_is_agresti_and_mins(void **state)
{
    (void)state;
    const double z = 1.959963984540054;
    vact_interval d = vact_paired_difference(0, 0, 398);
    check_near(d.low, -z / 400, 1e-15);
    check_near(d.high, z / 400, 1e-15);
    d = vact_paired_difference(2, 42, 98); /* 40/100, variance (45 - 16) / 100 / 100 */
    check_near(d.low, 0.4 - z * sqrt(29) / 100, 1e-15);
    check_near(d.high, 0.4 + z * sqrt(29) / 100, 1e-15);
    const vact_interval back = vact_paired_difference(42, 2, 98);
    assert_true(back.low == -d.high && back.high == -d.low);
    assert_true(vact_paired_difference(1, 0, 1).low == -1);
    assert_true(vact_paired_difference(0, 1, 1).high == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_quantile_is_the_least_value_that_covers_the_share),
        cmocka_unit_test(test_wilson_is_statsmodels),
        cmocka_unit_test(test_wilson_is_the_policys_own_evaluation),
        cmocka_unit_test(test_mcnemar_is_the_exact_binomial_test),
        cmocka_unit_test(test_the_paired_difference_is_agresti_and_mins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
