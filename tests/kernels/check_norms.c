/* layer_norm and rms_norm against double. */
#include "check.h"

#include <math.h>

static const float eps = 1e-6f;

/* Most additions that a sum of n values lets one value pass through: at least 32 lanes, the vectors that don't
 * fill them, the tail, and the lanes' own sum; the scalar level does better. */
static double depth(size_t n)
{
    return (double)(n / 32) + 10.0;
}

/* Truth and bound of a layer norm. With L = depth, A = max |x|, s = sqrt(var + eps), z = (x - mean) / s, u one
 * rounding: the mean is off by at most (L + 1) u A, or by the last bit of a subnormal. In units of s that is e:
 * it moves z by e, and var by a relative e^2, so z by another relative e^2 / 2. The sum for var and the steps
 * after it cost z a relative L u / 2 + 8 u, w and b 2 u of their terms. */
static void exact_layer_norm(double *want, double *bound, const float *x, const float *w, const float *b, size_t n)
{
    double mean = 0.0, var = 0.0, top = 0.0;

    for (size_t i = 0; i < n; i++) {
        mean += x[i] / (double)n;
        top = fmax(top, fabs(x[i]));
    }
    for (size_t i = 0; i < n; i++)
        var += (x[i] - mean) * (x[i] - mean) / (double)n;

    const double s = sqrt(var + eps), e = ((depth(n) + 1.0) * CHECK_UNIT * top + CHECK_TINY) / s;
    for (size_t i = 0; i < n; i++) {
        const double z = (x[i] - mean) / s, relative = e * e / 2.0 + (depth(n) / 2.0 + 8.0) * CHECK_UNIT;
        want[i] = z * w[i] + b[i];
        bound[i] = fabs(w[i]) * (e + relative * fabs(z)) + 2.0 * CHECK_UNIT * fabs(b[i]) + 2.0 * CHECK_TINY;
    }
}

void test_layer_norm_is_near_double(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        for (int i = 0; i < CHECK_CASES; i++) {
            const size_t n = check_range(1, i % 10 ? 100 : 3000);
            const bool in_place = check_range(0, 1);
            check_begin(level, "layer_norm n=%zu in_place=%d", n, in_place);
            const float *x = check_floats(n, check_any_fill(), 4 * check_range(0, 7));
            const float *w = check_floats(n, check_any_fill(), 0), *b = check_floats(n, check_any_fill(), 4);
            float *y = in_place ? check_copy(x, n, 0) : check_output(n, 4 * check_range(0, 7));
            double *want = check_doubles(n), *bound = check_doubles(n);
            exact_layer_norm(want, bound, x, w, b, n);
            check_level(level)->layer_norm(y, in_place ? y : x, w, b, eps, n);
            check_near(want, bound, y, n);
            check_end();
        }
        const float *x = check_floats(768, CHECK_NORMAL, 0);
        float *y = check_output(768, 0);
        if (level > 0)
            CHECK_BENCH(level, "layer_norm 768", check_level(0)->layer_norm(y, x, x, x, eps, 768),
                        check_level(level)->layer_norm(y, x, x, x, eps, 768));
        check_end();
    }
}

/* As above with mean 0: only relative errors are left. */
void test_rms_norm_is_near_double(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        for (int i = 0; i < CHECK_CASES; i++) {
            const size_t n = check_range(1, i % 10 ? 100 : 3000);
            const bool in_place = check_range(0, 1);
            check_begin(level, "rms_norm n=%zu in_place=%d", n, in_place);
            const float *x = check_floats(n, check_any_fill(), 4 * check_range(0, 7));
            const float *w = check_floats(n, check_any_fill(), 0);
            float *y = in_place ? check_copy(x, n, 0) : check_output(n, 4 * check_range(0, 7));
            double *want = check_doubles(n), *bound = check_doubles(n), square = 0.0;
            for (size_t j = 0; j < n; j++)
                square += (double)x[j] * x[j] / (double)n;
            for (size_t j = 0; j < n; j++) {
                want[j] = x[j] / sqrt(square + eps) * w[j];
                /* a subnormal x r rounds by up to CHECK_TINY before w scales it */
                bound[j] = fabs(want[j]) * (depth(n) / 2.0 + 8.0) * CHECK_UNIT + CHECK_TINY * (1.0 + fabs(w[j]));
            }
            check_level(level)->rms_norm(y, in_place ? y : x, w, eps, n);
            check_near(want, bound, y, n);
            check_end();
        }
        const float *x = check_floats(768, CHECK_NORMAL, 0);
        float *y = check_output(768, 0);
        if (level > 0)
            CHECK_BENCH(level, "rms_norm 768", check_level(0)->rms_norm(y, x, x, eps, 768),
                        check_level(level)->rms_norm(y, x, x, eps, 768));
        check_end();
    }
}

void test_norms_keep_nan(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        for (size_t at = 0; at < 45; at++) {
            float *x = check_copy(check_floats(45, CHECK_NORMAL, 0), 45, 0), *y = check_output(45, 0);
            check_begin(level, "norm of a row with NaN at %zu", at);
            x[at] = NAN;
            check_level(level)->layer_norm(y, x, x, x, eps, 45);
            for (size_t i = 0; i < 45; i++)
                check_true(isnan(y[i]), "layer_norm lost it");
            check_level(level)->rms_norm(y, x, x, eps, 45);
            for (size_t i = 0; i < 45; i++)
                check_true(isnan(y[i]), "rms_norm lost it");
            check_end();
        }
    }
}
