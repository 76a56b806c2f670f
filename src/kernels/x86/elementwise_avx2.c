/* One value in, one value out: activations and arithmetic. */
#include "kernels/x86/avx2.h"

/* 0.5 (1 + tanh z) = 1 / (1 + e^-2z): no cancellation for negative u, and an overflow of u^2 or e^x ends in
 * the right limit. -2z = u (c1 + c3 u^2). */
static inline __m256 gelu8(__m256 u)
{
    const __m256 c1 = _mm256_set1_ps(-1.5957691216f), c3 = _mm256_set1_ps(-0.0713548163f);
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 z = _mm256_mul_ps(u, _mm256_fmadd_ps(c3, _mm256_mul_ps(u, u), c1));
    return _mm256_div_ps(u, _mm256_add_ps(one, exp8(z)));
}

static inline __m256 silu8(__m256 u)
{
    const __m256 one = _mm256_set1_ps(1.0f), minus = _mm256_set1_ps(-0.0f);
    return _mm256_div_ps(u, _mm256_add_ps(one, exp8(_mm256_xor_ps(u, minus))));
}

/* x = f(x) over n values. */
#define IN_PLACE(f)                                                                                                    \
    size_t i = 0;                                                                                                      \
    for (; i + 8 <= n; i += 8)                                                                                         \
        _mm256_storeu_ps(x + i, f(_mm256_loadu_ps(x + i)));                                                            \
    if (i < n)                                                                                                         \
        store_tail(x + i, n - i, f(load_tail(x + i, n - i)));

void vact_gelu_tanh_avx2(float *x, size_t n)
{
    IN_PLACE(gelu8)
}

void vact_silu_avx2(float *x, size_t n)
{
    IN_PLACE(silu8)
}

void vact_scale_avx2(float *x, float a, size_t n)
{
    const __m256 factor = _mm256_set1_ps(a);
#define SCALED(v) _mm256_mul_ps(v, factor)
    IN_PLACE(SCALED)
}

/* y = f(y, x) over n values. */
#define ACCUMULATE(f)                                                                                                  \
    size_t i = 0;                                                                                                      \
    for (; i + 8 <= n; i += 8)                                                                                         \
        _mm256_storeu_ps(y + i, f(_mm256_loadu_ps(y + i), _mm256_loadu_ps(x + i)));                                    \
    if (i < n)                                                                                                         \
        store_tail(y + i, n - i, f(load_tail(y + i, n - i), load_tail(x + i, n - i)));

void vact_add_avx2(float *y, const float *x, size_t n)
{
    ACCUMULATE(_mm256_add_ps)
}

void vact_mul_avx2(float *y, const float *x, size_t n)
{
    ACCUMULATE(_mm256_mul_ps)
}

void vact_axpy_avx2(float *y, float a, const float *x, size_t n)
{
    const __m256 factor = _mm256_set1_ps(a);
#define PLUS_SCALED(to, from) _mm256_fmadd_ps(factor, from, to)
    ACCUMULATE(PLUS_SCALED)
}
