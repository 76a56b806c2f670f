/* softmax against double, in one block and in many; rope. */
#include "check.h"

#include <math.h>
#include <string.h>

void check_rope(void **state)
{
    (void)state;
    for (int level = 1; level < check_levels(); level++) {
        if (!CHECK_CHANGED(level, rope))
            continue;
        for (int i = 0; i < CHECK_CASES; i++) {
            const size_t heads = check_range(1, 5), hd = 2 * check_range(1, 70), n = heads * hd;
            check_begin(level, "rope heads=%zu hd=%zu", heads, hd);
            const float *x = check_floats(n, check_any_fill(), 0);
            const float *cos = check_floats(hd, check_any_fill(), 0), *sin = check_floats(hd, check_any_fill(), 4);
            float *want = check_copy(x, n, 0), *got = check_copy(x, n, 4 * check_range(0, 7));
            check_level(0)->rope(want, cos, sin, heads, hd);
            check_level(level)->rope(got, cos, sin, heads, hd);
            check_same(want, got, n);
            check_end();
        }
        float *x = check_floats(15 * 64, CHECK_NORMAL, 0), *cos = check_floats(64, CHECK_ZERO, 0);
        for (size_t i = 0; i < 64; i++)
            cos[i] = 1.0f;
        const float *sin = check_floats(64, CHECK_ZERO, 0);
        CHECK_BENCH(level, "rope 15x64", check_level(0)->rope(x, cos, sin, 15, 64),
                    check_level(level)->rope(x, cos, sin, 15, 64));
        check_end();
    }
}

/* Two products and a sum: each result passes two roundings. */
void test_rope_is_near_double(void **state)
{
    const size_t heads = 3, hd = 20, half = hd / 2, n = heads * hd;

    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        const float *x = check_floats(n, CHECK_NORMAL, 0);
        const float *cos = check_floats(hd, CHECK_NORMAL, 0), *sin = check_floats(hd, CHECK_NORMAL, 0);
        float *y = check_copy(x, n, 0);
        double *want = check_doubles(n), *bound = check_doubles(n);
        check_begin(level, "rope against double");
        for (size_t i = 0; i < n; i++) {
            const size_t at = i % hd, other = at < half ? i + half : i - half;
            const double turned = (at < half ? -1.0 : 1.0) * x[other] * sin[at];
            want[i] = (double)x[i] * cos[at] + turned;
            bound[i] = 2.1 * CHECK_UNIT * (fabs((double)x[i] * cos[at]) + fabs(turned));
        }
        check_level(level)->rope(y, cos, sin, heads, hd);
        check_near(want, bound, y, n);
        check_end();
    }
}

/* ---- softmax ---- */

/* Of one row. */
static float softmax(int level, float *s, size_t n, float scale, float *max, float *sum)
{
    float f;
    check_level(level)->softmax(s, n, 1, n, scale, max, sum, &f);
    return f;
}

/* Scores with about one hidden key in `hide`; the magnitude differs from case to case. */
static float *make_scores(size_t n, size_t hide)
{
    const float spread = (float)ldexp(1.0, (int)check_range(0, 12) - 4);
    float *s = check_floats(n, check_range(0, 1) ? CHECK_NORMAL : CHECK_OUTLIER, 0);

    for (size_t i = 0; i < n; i++)
        s[i] = check_range(1, hide) == 1 ? -INFINITY : s[i] * spread;
    return s;
}

/* What is not above e^-87.33, just over the smallest normal number, may become 0. */
#define FLUSHED 0x1.02p-126

/* Relative error of exp(scale s - m) where both the product and the difference are rounded and the exponential
 * itself is good to 2 ulp. */
static double exp_bound(double score, double shifted)
{
    return isinf(score) ? 0.0 : expm1(CHECK_UNIT * (fabs(score) + fabs(shifted) + 4.0));
}

/* Runs one block and checks all that it returns against double, given the running maximum it leaves. */
static void check_block(int level, const float *scores, size_t n, float scale, float *max, float *sum)
{
    const float old_max = *max, old_sum = *sum;
    float *s = check_copy(scores, n, 4 * check_range(0, 7)), top = old_max;
    double *want = check_doubles(n + 2), *bound = check_doubles(n + 2);
    double total, total_bound;

    const float f = softmax(level, s, n, scale, max, sum);
    for (size_t i = 0; i < n; i++)
        top = fmaxf(top, scale * scores[i]);
    check_true(*max == top, "wrong maximum");

    const double shift = isinf(top) ? 0.0 : top;
    want[n] = exp(old_max - shift);
    bound[n] = want[n] * exp_bound(old_max, old_max - shift) + FLUSHED;
    total = old_sum * want[n];
    total_bound = old_sum * bound[n];
    for (size_t i = 0; i < n; i++) {
        const double score = (double)scale * scores[i];
        want[i] = exp(score - shift);
        bound[i] = want[i] * exp_bound(score, score - shift) + (isinf(score) ? 0.0 : FLUSHED);
        total += want[i];
        total_bound += bound[i];
    }
    want[n + 1] = total;
    bound[n + 1] = total_bound + total * ((double)(n / 8) + 8.0) * CHECK_UNIT;
    check_near(want, bound, s, n);
    check_near(want + n, bound + n, &f, 1);
    check_near(want + n + 1, bound + n + 1, sum, 1);
}

void test_softmax_is_near_double(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        for (int i = 0; i < CHECK_CASES; i++) {
            const size_t n = check_range(1, 300);
            const float scale = (float)ldexp(1.0, -(int)check_range(0, 4)) * 0.9f;
            float max = -INFINITY, sum = 0.0f;
            check_begin(level, "softmax n=%zu scale=%g", n, (double)scale);
            const float *scores = make_scores(n, check_range(1, 20));
            check_block(level, scores, n, scale, &max, &sum);
            check_block(level, scores, check_range(1, n), scale, &max, &sum);
            check_end();
        }
        enum { ROWS = 24, KEYS = 128, BYTES = ROWS * KEYS * sizeof(float) };
        const float *x = check_floats(ROWS * KEYS, CHECK_NORMAL, 0);
        float *s = check_output(ROWS * KEYS, 0), max[ROWS] = { 0 }, sum[ROWS] = { 0 }, f[ROWS];
        if (level > 0)
            CHECK_BENCH(level, "softmax 24x128",
                        check_level(0)->softmax(memcpy(s, x, BYTES), KEYS, ROWS, KEYS, 1.0f, max, sum, f),
                        check_level(level)->softmax(memcpy(s, x, BYTES), KEYS, ROWS, KEYS, 1.0f, max, sum, f));
        check_end();
    }
}

/* Two blocks of several rows, some with nothing seen before, against each row alone. */
void test_softmax_row_does_not_depend_on_other_rows(void **state)
{
    enum { ROWS = 20 };

    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        for (int c = 0; c < CHECK_CASES / 3; c++) {
            const size_t rows = check_range(1, ROWS), n = check_range(1, 70), ld = n + check_range(0, 9);
            check_begin(level, "softmax of %zu rows of %zu keys", rows, n);
            const float *scores = make_scores(rows * ld, check_range(1, 3));
            float *together = check_copy(scores, rows * ld, 0), *alone = check_copy(scores, rows * ld, 0);
            float *max = check_output(rows, 0), *sum = check_output(rows, 0), *f = check_output(rows, 0);
            float alone_max[ROWS], alone_sum[ROWS], alone_f[ROWS];
            for (size_t i = 0; i < rows; i++) {
                max[i] = alone_max[i] = -INFINITY;
                sum[i] = alone_sum[i] = 0.0f;
            }
            for (int block = 0; block < 2; block++) {
                check_level(level)->softmax(together, ld, (int)rows, n, 0.5f, max, sum, f);
                for (size_t i = 0; i < rows; i++)
                    alone_f[i] = softmax(level, alone + i * ld, n, 0.5f, &alone_max[i], &alone_sum[i]);
                check_same(alone, together, rows * ld);
                check_same(alone_max, max, rows);
                check_same(alone_sum, sum, rows);
                check_same(alone_f, f, rows);
            }
            check_end();
        }
    }
}

/* With scale 1 and maximum 0 the scores are the exponents themselves: only e^x is left to be wrong. */
void test_softmax_exponential_is_within_one_ulp(void **state)
{
    enum { STEPS = 4000 };

    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        float *s = check_output(STEPS, 0), max = 0.0f, sum = 0.0f;
        double *want = check_doubles(STEPS), *bound = check_doubles(STEPS);
        check_begin(level, "softmax over exponents from -87.3 to 0");
        for (size_t i = 0; i < STEPS; i++) {
            s[i] = -87.3f * (float)i / STEPS;
            want[i] = exp(s[i]);
            bound[i] = 2.0 * CHECK_UNIT * want[i];
        }
        softmax(level, s, STEPS, 1.0f, &max, &sum);
        check_near(want, bound, s, STEPS);
        check_end();
    }
}

void test_softmax_survives_huge_scores(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        float s[11] = { 1e30f, -1e30f, 0.1f, -INFINITY, 3e38f, -3e38f, 1e-40f, 2e38f, 3e38f, 0.0f, -90.0f };
        float max = -INFINITY, sum = 0.0f;
        check_begin(level, "softmax of huge scores");
        softmax(level, s, 11, 0.3f, &max, &sum);
        for (size_t i = 0; i < 11; i++)
            check_true(s[i] == (i == 4 || i == 8 ? 1.0f : 0.0f), "not one for the largest and zero for others");
        check_true(sum == 2.0f && max == 0.3f * 3e38f, "wrong state");
    }
}

/* What attention does: blocks of 128, earlier ones scaled down when a larger score comes. Per key the errors of
 * one exponential and of a factor per block; the differences they are taken of add up to at most three times the
 * largest score. */
void test_softmax_in_blocks_equals_one_pass(void **state)
{
    enum { BLOCK = 128 };

    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        for (int c = 0; c < CHECK_CASES / 3; c++) {
            const size_t n = check_range(1, 900);
            const float scale = 0.125f;
            const float *scores = make_scores(n, 10);
            float *s = check_copy(scores, n, 0), max = -INFINITY, sum = 0.0f;
            double *want = check_doubles(n), *bound = check_doubles(n), top = -INFINITY, reach = 0.0, total = 0.0;
            check_begin(level, "softmax of %zu keys in blocks", n);
            for (size_t at = 0; at < n; at += BLOCK) {
                const size_t left = n - at < BLOCK ? n - at : BLOCK;
                const float f = softmax(level, s + at, left, scale, &max, &sum);
                check_level(level)->scale(s, f, at);
            }
            for (size_t i = 0; i < n; i++) {
                top = fmax(top, (double)scale * scores[i]);
                reach = isinf(scores[i]) ? reach : fmax(reach, fabs((double)scale * scores[i]));
            }
            for (size_t i = 0; i < n; i++)
                total += exp((double)scale * scores[i] - top);
            for (size_t i = 0; i < n && sum > 0.0f; i++) {
                const double blocks = (double)(n / BLOCK + 1), relative = 4.0 * reach + 6.0 * blocks + BLOCK / 8 + 16.0;
                s[i] /= sum;
                want[i] = exp((double)scale * scores[i] - top) / total;
                bound[i] = want[i] * expm1(2.0 * CHECK_UNIT * relative) + 2.0 * FLUSHED;
            }
            if (sum > 0.0f)
                check_near(want, bound, s, n);
            check_end();
        }
    }
}

void test_softmax_hidden_keys_count_for_nothing(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        for (size_t n = 1; n <= 40; n++) {
            float s[40], max = -INFINITY, sum = 0.0f, kept_max, kept_sum;
            check_begin(level, "softmax of %zu hidden keys", n);
            for (size_t i = 0; i < n; i++)
                s[i] = -INFINITY;
            check_true(softmax(level, s, n, 0.5f, &max, &sum) == 0.0f, "factor before any key");
            check_true(max == -INFINITY && sum == 0.0f, "state changed before any key");
            for (size_t i = 0; i < n; i++)
                check_true(s[i] == 0.0f, "a hidden key counts");

            s[0] = 3.0f;
            for (size_t i = 1; i < n; i++)
                s[i] = -INFINITY;
            check_true(softmax(level, s, n, 0.5f, &max, &sum) == 0.0f, "factor at the first key");
            check_true(max == 1.5f && sum == 1.0f && s[0] == 1.0f, "one key is not the whole");
            for (size_t i = 1; i < n; i++)
                check_true(s[i] == 0.0f, "a hidden key counts beside a seen one");

            kept_max = max;
            kept_sum = sum;
            for (size_t i = 0; i < n; i++)
                s[i] = -INFINITY;
            check_true(softmax(level, s, n, 0.5f, &max, &sum) == 1.0f, "factor of a hidden block");
            check_true(max == kept_max && sum == kept_sum, "a hidden block changed the state");
        }
    }
}

void test_softmax_keeps_nan(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        for (size_t at = 0; at < 27; at++) {
            for (int others_hidden = 0; others_hidden < 2; others_hidden++) {
                float s[27], max = -INFINITY, sum = 0.0f;
                check_begin(level, "softmax with NaN at %zu, others hidden: %d", at, others_hidden);
                for (size_t i = 0; i < 27; i++)
                    s[i] = others_hidden ? -INFINITY : (float)i;
                s[at] = NAN;
                softmax(level, s, 27, 0.5f, &max, &sum);
                check_true(isnan(s[at]) && isnan(sum), "NaN was lost");
            }
        }
    }
}
