/* Weights in the file's types -> float32. */
#include "kernels/arm/neon.h"

enum { BLOCK = 32, Q8_0_BYTES = 34, Q4_0_BYTES = 18 }; /* f16 scale, then the codes */

static inline float32x4_t f16_to_f32(uint16x4_t halves)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(halves));
}

static inline float32x4_t bf16_to_f32(uint16x4_t halves)
{
    return vreinterpretq_f32_u32(vshll_n_u16(halves, 16));
}

/* The two 16-bit types differ in one instruction; the tail goes through a padded copy. */
#define DECODE_16(name, convert)                                                                                       \
    void name(float *dst, const void *src, size_t n)                                                                   \
    {                                                                                                                  \
        const uint16_t *p = src;                                                                                       \
        size_t i = 0;                                                                                                  \
        for (; i + 4 <= n; i += 4)                                                                                     \
            vst1q_f32(dst + i, convert(vld1_u16(p + i)));                                                              \
        if (i < n) {                                                                                                   \
            uint16_t tail[4] = { 0 };                                                                                  \
            memcpy(tail, p + i, (n - i) * sizeof *p);                                                                  \
            store_tail(dst + i, n - i, convert(vld1_u16(tail)));                                                       \
        }                                                                                                              \
    }

DECODE_16(vact_decode_f16_neon, f16_to_f32)
DECODE_16(vact_decode_bf16_neon, bf16_to_f32)

/* The scale that a block starts with, in every lane. */
static inline float32x4_t block_scale(const unsigned char *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof half);
    return f16_to_f32(vdup_n_u16(half));
}

/* dst[16] = 16 signed codes times d. */
static inline void scale_codes(float *dst, int8x16_t codes, float32x4_t d)
{
    const int16x8_t lo = vmovl_s8(vget_low_s8(codes)), hi = vmovl_high_s8(codes);

    vst1q_f32(dst, vmulq_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(lo))), d));
    vst1q_f32(dst + 4, vmulq_f32(vcvtq_f32_s32(vmovl_high_s16(lo)), d));
    vst1q_f32(dst + 8, vmulq_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(hi))), d));
    vst1q_f32(dst + 12, vmulq_f32(vcvtq_f32_s32(vmovl_high_s16(hi)), d));
}

void vact_decode_q8_0_neon(float *dst, const void *src, size_t n)
{
    const unsigned char *p = src;

    for (size_t i = 0; i < n; i += BLOCK, p += Q8_0_BYTES) {
        const float32x4_t d = block_scale(p);
        scale_codes(dst + i, vreinterpretq_s8_u8(vld1q_u8(p + 2)), d);
        scale_codes(dst + i + 16, vreinterpretq_s8_u8(vld1q_u8(p + 18)), d);
    }
}

void vact_decode_q4_0_neon(float *dst, const void *src, size_t n)
{
    const int8x16_t eight = vdupq_n_s8(8);
    const unsigned char *p = src;

    for (size_t i = 0; i < n; i += BLOCK, p += Q4_0_BYTES) {
        const float32x4_t d = block_scale(p);
        const uint8x16_t codes = vld1q_u8(p + 2);
        const int8x16_t lo = vreinterpretq_s8_u8(vandq_u8(codes, vdupq_n_u8(15)));
        const int8x16_t hi = vreinterpretq_s8_u8(vshrq_n_u8(codes, 4));

        scale_codes(dst + i, vsubq_s8(lo, eight), d);
        scale_codes(dst + i + BLOCK / 2, vsubq_s8(hi, eight), d);
    }
}
