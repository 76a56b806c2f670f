/* One row in, one row out: norms. */
#include "kernels/x86/avx2.h"

#include <math.h>

/* Sums run in 32 lanes: value i in lane i mod 32, but for the last n mod 32 values, which go to the first 8. */
static float sum(const float *x, size_t n)
{
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    size_t i = 0;

    for (; i + 32 <= n; i += 32) {
        s0 = _mm256_add_ps(s0, _mm256_loadu_ps(x + i));
        s1 = _mm256_add_ps(s1, _mm256_loadu_ps(x + i + 8));
        s2 = _mm256_add_ps(s2, _mm256_loadu_ps(x + i + 16));
        s3 = _mm256_add_ps(s3, _mm256_loadu_ps(x + i + 24));
    }
    for (; i + 8 <= n; i += 8)
        s0 = _mm256_add_ps(s0, _mm256_loadu_ps(x + i));
    if (i < n)
        s0 = _mm256_add_ps(s0, load_tail(x + i, n - i));
    return sum_lanes(_mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3)));
}

static inline __m256 add_square(__m256 s, __m256 x, __m256 center)
{
    const __m256 d = _mm256_sub_ps(x, center);
    return _mm256_fmadd_ps(d, d, s);
}

/* Sum of (x - center)^2. */
static float sum_squares(const float *x, float center, size_t n)
{
    const __m256 c = _mm256_set1_ps(center);
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    size_t i = 0;

    for (; i + 32 <= n; i += 32) {
        s0 = add_square(s0, _mm256_loadu_ps(x + i), c);
        s1 = add_square(s1, _mm256_loadu_ps(x + i + 8), c);
        s2 = add_square(s2, _mm256_loadu_ps(x + i + 16), c);
        s3 = add_square(s3, _mm256_loadu_ps(x + i + 24), c);
    }
    for (; i + 8 <= n; i += 8)
        s0 = add_square(s0, _mm256_loadu_ps(x + i), c);
    if (i < n) /* the lanes beyond n hold the center, so they add 0 */
        s0 = add_square(s0, _mm256_blendv_ps(c, load_tail(x + i, n - i), _mm256_castsi256_ps(first_lanes(n - i))), c);
    return sum_lanes(_mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3)));
}

void vact_layer_norm_avx2(float *y, const float *x, const float *w, const float *b, float eps, size_t n)
{
    const float mean = sum(x, n) / (float)n;
    const float var = sum_squares(x, mean, n) / (float)n;
    const __m256 m = _mm256_set1_ps(mean), r = _mm256_set1_ps(1.0f / sqrtf(var + eps));
    size_t i = 0;

#define NORMED(v, weight, bias) _mm256_fmadd_ps(_mm256_mul_ps(_mm256_sub_ps(v, m), r), weight, bias)
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, NORMED(_mm256_loadu_ps(x + i), _mm256_loadu_ps(w + i), _mm256_loadu_ps(b + i)));
    if (i < n)
        store_tail(y + i, n - i, NORMED(load_tail(x + i, n - i), load_tail(w + i, n - i), load_tail(b + i, n - i)));
}

void vact_rms_norm_avx2(float *y, const float *x, const float *w, float eps, size_t n)
{
    const float square = sum_squares(x, 0.0f, n) / (float)n;
    const __m256 r = _mm256_set1_ps(1.0f / sqrtf(square + eps));
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(x + i), r), _mm256_loadu_ps(w + i)));
    if (i < n)
        store_tail(y + i, n - i, _mm256_mul_ps(_mm256_mul_ps(load_tail(x + i, n - i), r), load_tail(w + i, n - i)));
}
