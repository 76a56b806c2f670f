/* One block of an online softmax. */
#include "kernels/x86/avx2.h"

#include <math.h>

static __m256 load_scores(const float *s, size_t n)
{
    const __m256 hidden = _mm256_set1_ps(-INFINITY);
    return _mm256_blendv_ps(hidden, load_tail(s, n), _mm256_castsi256_ps(first_lanes(n)));
}

static float largest(const float *s, size_t n)
{
    __m256 m0 = _mm256_set1_ps(-INFINITY), m1 = m0;
    size_t i = 0;

    for (; i + 16 <= n; i += 16) {
        m0 = _mm256_max_ps(m0, _mm256_loadu_ps(s + i));
        m1 = _mm256_max_ps(m1, _mm256_loadu_ps(s + i + 8));
    }
    if (i + 8 <= n) {
        m0 = _mm256_max_ps(m0, _mm256_loadu_ps(s + i));
        i += 8;
    }
    if (i < n)
        m1 = _mm256_max_ps(m1, load_scores(s + i, n - i));
    return max_lanes(_mm256_max_ps(m0, m1));
}

/* Weights in place of scores; their sum. Product and difference are rounded apart: fused, a large score could exceed its
 * own maximum. */
static inline float weigh(float *s, size_t n, float scale, float max)
{
    const __m256 shift = _mm256_set1_ps(max), factor = _mm256_set1_ps(scale);
    __m256 total = _mm256_setzero_ps();
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256 p = exp8(_mm256_sub_ps(_mm256_mul_ps(_mm256_loadu_ps(s + i), factor), shift));
        _mm256_storeu_ps(s + i, p);
        total = _mm256_add_ps(total, p);
    }
    if (i < n) {
        const __m256 p = exp8(_mm256_sub_ps(_mm256_mul_ps(load_scores(s + i, n - i), factor), shift));
        store_tail(s + i, n - i, p);
        total = _mm256_add_ps(total, p);
    }
    return sum_lanes(total);
}

/* The maxima of eight rows come first: no row's exponentials wait for its own, and the factors are one vector. */
void vact_softmax_avx2(float *s, size_t ld, int rows, size_t n, float scale, float *max, float *sum, float *f)
{
    for (; rows > 0; rows -= 8, s += 8 * ld, max += 8, sum += 8, f += 8) {
        const int live = rows < 8 ? rows : 8;
        float shift[8] = { 0 }, factors[8] = { 0 };

        for (int i = 0; i < live; i++) {
            const float top = scale * largest(s + (size_t)i * ld, n), m = top > max[i] ? top : max[i];
            /* With every key hidden any finite shift gives zeros, where -inf would give NaN. */
            shift[i] = m == -INFINITY ? 0.0f : m;
            factors[i] = max[i] - shift[i];
            max[i] = m;
        }
        _mm256_storeu_ps(factors, exp8(_mm256_loadu_ps(factors)));
        for (int i = 0; i < live; i++) {
            f[i] = factors[i];
            sum[i] = sum[i] * f[i] + weigh(s + (size_t)i * ld, n, scale, shift[i]);
        }
    }
}
