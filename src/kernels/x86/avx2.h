/* The AVX2 level (with FMA and F16C): its functions and what its files share. kernels.h says what each
 * function does. Tails are loaded under a mask and meet the same instructions as whole vectors. */
#ifndef VACT_KERNELS_X86_AVX2_H
#define VACT_KERNELS_X86_AVX2_H

#include "kernels/kernels.h"
#include "kernels/scalar.h"
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void vact_decode_f16_avx2(float *dst, const void *src, size_t n);
void vact_decode_bf16_avx2(float *dst, const void *src, size_t n);
void vact_decode_q8_0_avx2(float *dst, const void *src, size_t n);
void vact_decode_q4_0_avx2(float *dst, const void *src, size_t n);

void vact_pack_f32_avx2(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_f16_avx2(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_bf16_avx2(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_q8_0_avx2(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_q4_0_avx2(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
#define VACT_DECLARE(type, TYPE, block, block_bytes)                                                                   \
    void vact_pack_##type##_avx2(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
VACT_READ_ONLY_TYPES(VACT_DECLARE)
#undef VACT_DECLARE
void vact_gemm_avx2(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t k, int rows,
                    int panels, bool add);

void vact_quantize_avx2(int8_t *q, int16_t *sums, float *scale, const float *x, size_t k);
void vact_pack_int8_q8_0_avx2(void *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_int8_q4_0_avx2(void *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_gemm_int8_q8_0_avx2(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                              int rows, int panels);
void vact_gemm_int8_q4_0_avx2(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                              int rows, int panels);

void vact_layer_norm_avx2(float *y, const float *x, const float *w, const float *b, float eps, size_t n);
void vact_rms_norm_avx2(float *y, const float *x, const float *w, float eps, size_t n);
void vact_softmax_avx2(float *s, size_t ld, int rows, size_t n, float scale, float *max, float *sum, float *f);
void vact_rope_avx2(float *x, const float *cos, const float *sin, size_t heads, size_t hd);

void vact_gelu_erf_avx2(float *x, size_t n);
void vact_gelu_tanh_avx2(float *x, size_t n);
void vact_silu_avx2(float *x, size_t n);
void vact_scale_avx2(float *x, float a, size_t n);
void vact_add_avx2(float *y, const float *x, size_t n);
void vact_mul_avx2(float *y, const float *x, size_t n);
void vact_axpy_avx2(float *y, float a, const float *x, size_t n);

void vact_pixels_u8_avx2(float *dst, size_t plane, const unsigned char *src, size_t n);
void vact_pixels_f32_avx2(float *dst, size_t plane, const float *src, size_t n);

void vact_fma_ceiling_avx2(float *values, size_t steps);
void vact_dot_ceiling_avx2(int32_t *values, size_t steps);

/* All ones in the first n lanes, n <= 8. */
static inline __m256i first_lanes(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* p[n], n < 8; the other lanes are 0. */
static inline __m256 load_tail(const float *p, size_t n)
{
    return _mm256_maskload_ps(p, first_lanes(n));
}

static inline void store_tail(float *p, size_t n, __m256 v)
{
    _mm256_maskstore_ps(p, first_lanes(n), v);
}

static inline float sum_lanes(__m256 v)
{
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

static inline float max_lanes(__m256 v)
{
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/* e^x within 0.9 ulp for x in [-87.33, 88.37]; 0 below (no subnormal results), inf above; NaN stays NaN.
 * x = n ln 2 + r, |r| <= ln 2 / 2: e^r is 1 + r + r^2 q(r), q of degree 4 fitted to a relative error of
 * 4e-9, and 2^n is made from bits. */
static inline __m256 exp8(__m256 x)
{
    /* 1.5 * 2^23 rounds the product to an integer in the low bits; 127 is the exponent's bias. The second
     * operand of min wins if either is NaN. */
    const __m256 magic = _mm256_set1_ps(0x1.8p23f + 127.0f);
    const __m256 capped = _mm256_min_ps(_mm256_set1_ps(88.75f), x);
    const __m256 biased = _mm256_fmadd_ps(capped, _mm256_set1_ps(0x1.715476p+0f), magic);
    const __m256 n = _mm256_sub_ps(biased, magic);
    const __m256 power = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(biased), 23));

    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0x1.62e43p-1f), capped);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-0x1.05c61p-29f), r);

    __m256 p = _mm256_set1_ps(0x1.6a241ap-10f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.1239f2p-7f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.5558f2p-5f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.555492p-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.fffffcp-2f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));

    /* Far below, n and r are meaningless: those lanes are cleared. */
    const __m256 vanishes = _mm256_cmp_ps(x, _mm256_set1_ps(-87.33f), _CMP_LT_OQ);
    return _mm256_andnot_ps(vanishes, _mm256_mul_ps(p, power));
}

#endif
