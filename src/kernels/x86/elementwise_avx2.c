/* One value in, one value out: activations and arithmetic. */
#include "kernels/x86/avx2.h"

/* u Phi(u) = max(u, 0) - a (1 - Phi(a)), a = |u|: nothing cancels. 1 - Phi(a) = e^(-a^2 / 2) t p(t), t = 1 / (1 + 0.305 a),
 * p of degree 7 fitted to a relative error of 1e-7. Beyond 14 e^x is 0, whatever a is. */
static inline __m256 gelu_erf8(__m256 u)
{
    const __m256 one = _mm256_set1_ps(1.0f), minus = _mm256_set1_ps(-0.0f);
    const __m256 a = _mm256_min_ps(_mm256_set1_ps(14.0f), _mm256_andnot_ps(minus, u)); /* a NaN as second stays */
    const __m256 t = _mm256_div_ps(one, _mm256_fmadd_ps(a, _mm256_set1_ps(0.305f), one));
    __m256 p = _mm256_set1_ps(0x1.2ca3c2p-5f);
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(-0x1.3951e8p-3f));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(0x1.7c5916p-3f));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(-0x1.371af4p-5f));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(0x1.efb45cp-4f));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(0x1.a79ca8p-4f));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(0x1.f59fc2p-4f));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(0x1.f23c82p-4f));
    const __m256 e = exp8(_mm256_mul_ps(_mm256_mul_ps(a, a), _mm256_set1_ps(-0.5f)));
    const __m256 rest = _mm256_mul_ps(_mm256_mul_ps(a, t), _mm256_mul_ps(p, e));
    return _mm256_sub_ps(_mm256_max_ps(_mm256_setzero_ps(), u), rest);
}

/* 0.5 (1 + tanh z) = 1 / (1 + e^-2z): no cancellation for negative u, and an overflow of u^2 or e^x ends in
 * the right limit. -2z = u (c1 + c3 u^2). */
static inline __m256 gelu_tanh8(__m256 u)
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

void vact_gelu_erf_avx2(float *x, size_t n)
{
    IN_PLACE(gelu_erf8)
}

void vact_gelu_tanh_avx2(float *x, size_t n)
{
    IN_PLACE(gelu_tanh8)
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
