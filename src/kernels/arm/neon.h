/* The NEON level, which every 64-bit Arm has: its functions and what its files share. kernels.h says what each
 * function does. Tails go through a padded copy and meet the same instructions as whole vectors. */
#ifndef VACT_KERNELS_ARM_NEON_H
#define VACT_KERNELS_ARM_NEON_H

#include "kernels/kernels.h"
#include "kernels/scalar.h"
#include <arm_neon.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void vact_decode_f16_neon(float *dst, const void *src, size_t n);
void vact_decode_bf16_neon(float *dst, const void *src, size_t n);
void vact_decode_q8_0_neon(float *dst, const void *src, size_t n);
void vact_decode_q4_0_neon(float *dst, const void *src, size_t n);

void vact_pack_f32_neon(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_f16_neon(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_bf16_neon(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_q8_0_neon(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_q4_0_neon(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
#define VACT_DECLARE(type, TYPE, block, block_bytes)                                                                   \
    void vact_pack_##type##_neon(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
VACT_READ_ONLY_TYPES(VACT_DECLARE)
#undef VACT_DECLARE
void vact_gemm_neon(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t k, int rows,
                    int panels, bool add);

void vact_quantize_neon(int8_t *q, int16_t *sums, float *scale, const float *x, size_t k);
void vact_pack_int8_q8_0_neon(void *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_int8_q4_0_neon(void *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_gemm_int8_q8_0_neon(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                              int rows, int panels);
void vact_gemm_int8_q4_0_neon(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                              int rows, int panels);

void vact_layer_norm_neon(float *y, const float *x, const float *w, const float *b, float eps, size_t n);
void vact_rms_norm_neon(float *y, const float *x, const float *w, float eps, size_t n);
void vact_softmax_neon(float *s, size_t ld, int rows, size_t n, float scale, float *max, float *sum, float *f);
void vact_rope_neon(float *x, const float *cos, const float *sin, size_t heads, size_t hd);

void vact_gelu_erf_neon(float *x, size_t n);
void vact_gelu_tanh_neon(float *x, size_t n);
void vact_silu_neon(float *x, size_t n);
void vact_scale_neon(float *x, float a, size_t n);
void vact_add_neon(float *y, const float *x, size_t n);
void vact_mul_neon(float *y, const float *x, size_t n);
void vact_axpy_neon(float *y, float a, const float *x, size_t n);

void vact_pixels_u8_neon(float *dst, size_t plane, const unsigned char *src, size_t n);
void vact_pixels_f32_neon(float *dst, size_t plane, const float *src, size_t n);

void vact_fma_ceiling_neon(float *values, size_t steps);
void vact_dot_ceiling_neon(int32_t *values, size_t steps);

/* p[n], n < 4; the other lanes are `rest`. */
static inline float32x4_t load_tail(const float *p, size_t n, float rest)
{
    float lanes[4] = { rest, rest, rest, rest };
    memcpy(lanes, p, n * sizeof *p);
    return vld1q_f32(lanes);
}

static inline void store_tail(float *p, size_t n, float32x4_t v)
{
    float lanes[4];
    vst1q_f32(lanes, v);
    memcpy(p, lanes, n * sizeof *p);
}

/* e^x within 0.9 ulp for x in [-87.33, 88.37]; 0 below (no subnormal results), inf above; NaN stays NaN.
 * x = n ln 2 + r, |r| <= ln 2 / 2: e^r is 1 + r + r^2 q(r), q of degree 4 fitted to a relative error of
 * 4e-9, and 2^n is made from bits. */
static inline float32x4_t exp4(float32x4_t x)
{
    /* 1.5 * 2^23 rounds the product to an integer in the low bits; 127 is the exponent's bias. */
    const float32x4_t magic = vdupq_n_f32(0x1.8p23f + 127.0f);
    const float32x4_t capped = vminq_f32(x, vdupq_n_f32(88.75f));
    const float32x4_t biased = vfmaq_f32(magic, capped, vdupq_n_f32(0x1.715476p+0f));
    const float32x4_t n = vsubq_f32(biased, magic);
    const float32x4_t power = vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(biased), 23));

    float32x4_t r = vfmsq_f32(capped, n, vdupq_n_f32(0x1.62e43p-1f));
    r = vfmsq_f32(r, n, vdupq_n_f32(-0x1.05c61p-29f));

    float32x4_t p = vdupq_n_f32(0x1.6a241ap-10f);
    p = vfmaq_f32(vdupq_n_f32(0x1.1239f2p-7f), p, r);
    p = vfmaq_f32(vdupq_n_f32(0x1.5558f2p-5f), p, r);
    p = vfmaq_f32(vdupq_n_f32(0x1.555492p-3f), p, r);
    p = vfmaq_f32(vdupq_n_f32(0x1.fffffcp-2f), p, r);
    p = vfmaq_f32(vdupq_n_f32(1.0f), p, r);
    p = vfmaq_f32(vdupq_n_f32(1.0f), p, r);

    /* Far below, n and r are meaningless: those lanes are cleared. */
    const uint32x4_t vanishes = vcltq_f32(x, vdupq_n_f32(-87.33f));
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(vmulq_f32(p, power)), vanishes));
}

#endif
