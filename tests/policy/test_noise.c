/* Start noise: by its moments, its tails, and what its seed promises. Bounds are five standard deviations of what
 * independent N(0, 1) values would give; the seeds are fixed, so a test passes always or never. */
#include "policy/noise.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 1000000 };
static float x[N], y[N];

static void check_near(double got, double want, double deviation, const char *what)
{
    if (!(fabs(got - want) <= 5 * deviation))
        fail_msg("%s is %g, expected %g within %g", what, got, want, 5 * deviation);
}

static void check_moments(uint64_t seed)
{
    double sum[5] = { 0 };
    vact_noise_normal(x, N, seed);
    for (int i = 0; i < N; i++) {
        double power = 1;
        for (int k = 1; k <= 4; k++)
            sum[k] += power *= (double)x[i];
    }
    /* Variances of the sums' terms: E x^2k - (E x^k)^2, that is 1, 2, 15 and 96. */
    check_near(sum[1] / N, 0, sqrt(1.0 / N), "mean");
    check_near(sum[2] / N, 1, sqrt(2.0 / N), "variance");
    check_near(sum[3] / N, 0, sqrt(15.0 / N), "third moment");
    check_near(sum[4] / N, 3, sqrt(96.0 / N), "fourth moment");
}

static void test_moments_are_those_of_a_normal_distribution(void **state)
{
    (void)state;
    static const uint64_t seeds[] = { 0, 1, 42, UINT64_MAX };
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        check_moments(seeds[i]);
}

/* P(X > t): 0.5, and what tables of the normal distribution give. */
static void test_tails_are_those_of_a_normal_distribution(void **state)
{
    (void)state;
    static const struct {
        double above, share;
    } tails[] = { { 0, 0.5 }, { 1, 0.1586552539 }, { 2, 0.0227501319 }, { 3, 0.0013498980 }, { 4, 0.0000316712 } };
    vact_noise_normal(x, N, 3);
    for (size_t t = 0; t < sizeof tails / sizeof *tails; t++) {
        const double p = tails[t].share, deviation = sqrt(p * (1 - p) / N);
        int above = 0, below = 0;
        for (int i = 0; i < N; i++) {
            above += (double)x[i] > tails[t].above;
            below += (double)x[i] < -tails[t].above;
        }
        check_near((double)above / N, p, deviation, "upper tail");
        check_near((double)below / N, p, deviation, "lower tail");
    }
}

static void check_independent(const float *a, const float *b, int n, const char *what)
{
    double products = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        products += (double)a[i] * (double)b[i];
        squares += ((double)a[i] * (double)a[i] - 1) * ((double)b[i] * (double)b[i] - 1);
    }
    check_near(products / n, 0, sqrt(1.0 / n), what);
    check_near(squares / n, 0, sqrt(4.0 / n), what);
}

static void test_neighbouring_seeds_have_nothing_in_common(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        vact_noise_normal(x, N / 4, seed);
        vact_noise_normal(y, N / 4, seed + 1);
        check_independent(x, y, N / 4, "product of neighbouring seeds");
        /* nor shifted, as streams would that count on from their seed */
        check_independent(x, y + 2, N / 4 - 2, "product of neighbouring seeds, shifted");
        check_independent(x + 2, y, N / 4 - 2, "product of neighbouring seeds, shifted back");
    }
}

/* Splitmix64 counts up by this step: streams that began at their seeds would be each other's, two values on. */
static void test_seeds_a_step_apart_have_nothing_in_common(void **state)
{
    (void)state;
    const uint64_t step = 0x9E3779B97F4A7C15u;
    vact_noise_normal(x, N / 4, 9);
    vact_noise_normal(y, N / 4, 9 + 2 * step);
    check_independent(x + 2, y, N / 4 - 2, "product of seeds a step apart");
}

static void test_neighbouring_values_have_nothing_in_common(void **state)
{
    (void)state;
    vact_noise_normal(x, N, 5);
    for (int lag = 1; lag <= 4; lag++)
        check_independent(x, x + lag, N - lag, "product of neighbours");
}

static void test_first_values_over_many_seeds_are_normal(void **state)
{
    (void)state;
    enum { SEEDS = 100000 };
    double sum = 0, square = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        float first;
        vact_noise_normal(&first, 1, seed);
        sum += (double)first;
        square += (double)first * (double)first;
    }
    check_near(sum / SEEDS, 0, sqrt(1.0 / SEEDS), "mean");
    check_near(square / SEEDS, 1, sqrt(2.0 / SEEDS), "variance");
}

/* Any number of values, odd ones too, is the beginning of a longer row, and nothing behind it is touched. */
static void test_a_seed_gives_the_same_bits_whatever_the_length(void **state)
{
    (void)state;
    enum { LONGEST = 64 };
    float longest[LONGEST];
    vact_noise_normal(longest, LONGEST, 123);
    for (size_t n = 0; n <= LONGEST; n++) {
        float some[LONGEST + 1];
        for (int i = 0; i <= LONGEST; i++)
            some[i] = 1000;
        vact_noise_normal(some, n, 123);
        assert_memory_equal(some, longest, n * sizeof *some);
        for (size_t i = n; i <= LONGEST; i++)
            assert_true(some[i] == 1000);
    }
}

static void test_other_seeds_give_other_values(void **state)
{
    (void)state;
    vact_noise_normal(x, 100, 7);
    for (int bit = 0; bit < 64; bit++) {
        vact_noise_normal(y, 100, 7 ^ (uint64_t)1 << bit);
        int same = 0;
        for (int i = 0; i < 100; i++)
            same += x[i] == y[i];
        assert_int_equal(same, 0);
    }
}

/* They fit a double, so any JSON reader hands them back; and the system gives a new one each time. */
static void test_seeds_of_the_system_have_53_bits(void **state)
{
    (void)state;
    uint64_t any = 0, last = 0;
    for (int i = 0; i < 200; i++) {
        const uint64_t seed = vact_noise_seed();
        assert_int_not_equal(seed, last);
        any |= seed;
        last = seed;
    }
    assert_int_equal(any, ((uint64_t)1 << 53) - 1); /* each bit was set once: wrong in 2^-194 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments_are_those_of_a_normal_distribution),
        cmocka_unit_test(test_tails_are_those_of_a_normal_distribution),
        cmocka_unit_test(test_neighbouring_seeds_have_nothing_in_common),
        cmocka_unit_test(test_seeds_a_step_apart_have_nothing_in_common),
        cmocka_unit_test(test_neighbouring_values_have_nothing_in_common),
        cmocka_unit_test(test_first_values_over_many_seeds_are_normal),
        cmocka_unit_test(test_a_seed_gives_the_same_bits_whatever_the_length),
        cmocka_unit_test(test_other_seeds_give_other_values),
        cmocka_unit_test(test_seeds_of_the_system_have_53_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
