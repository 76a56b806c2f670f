/* Products of integers without dot product instructions: eight products in 16 bits, eight more on top (two are at most
 * 2 * 128 * 127), then pairs go to 32-bit sums. Weights stay in the file's order: a panel's block is 16 float scales,
 * then the code bytes of each of the 16 channels. */
#include "kernels/arm/neon.h"
#include "kernels/kernels.h"
#include "kernels/scalar.h"

#include <float.h>
#include <math.h>

enum { BLOCK = VACT_INT8_BLOCK, SCALE_BYTES = 2, SCALES_BYTES = VACT_PANEL * 4 };

void vact_quantize_neon(int8_t *q, int16_t *sums, float *scale, const float *x, size_t k)
{
    float32x4_t largest = vdupq_n_f32(0.0f), nothing = largest; /* x * 0 is NaN for NaN and infinities */
    for (size_t i = 0; i < k; i += 4) {
        const float32x4_t v = vld1q_f32(x + i);
        largest = vmaxnmq_f32(vabsq_f32(v), largest);
        nothing = vfmaq_f32(nothing, v, vdupq_n_f32(0.0f));
    }
    const bool finite = !isnan(vaddvq_f32(nothing));
    const float step = vmaxnmvq_f32(largest) / 127.0f;
    if (!finite || step < FLT_MIN) {
        *scale = finite ? 0.0f : NAN;
        memset(q, 0, k);
        memset(sums, 0, k / BLOCK * sizeof *sums);
        return;
    }
    *scale = step;
    for (size_t i = 0; i < k; i += BLOCK) {
        int16x8_t sum = vdupq_n_s16(0);
        for (size_t j = i; j < i + BLOCK; j += 8) {
            const int32x4_t a = vcvtnq_s32_f32(vdivq_f32(vld1q_f32(x + j), vdupq_n_f32(step)));
            const int32x4_t b = vcvtnq_s32_f32(vdivq_f32(vld1q_f32(x + j + 4), vdupq_n_f32(step)));
            const int8x8_t codes = vmovn_s16(vcombine_s16(vmovn_s32(a), vmovn_s32(b)));
            vst1_s8(q + j, codes);
            sum = vaddw_s8(sum, codes);
        }
        sums[i / BLOCK] = vaddvq_s16(sum);
    }
}

static void pack(size_t code_bytes, unsigned char *dst, const unsigned char *src, size_t row_bytes, int rows, size_t k)
{
    for (size_t at = 0; at < k; at += BLOCK, src += SCALE_BYTES + code_bytes) {
        memset(dst, 0, SCALES_BYTES + VACT_PANEL * code_bytes);
        for (size_t j = 0; j < (size_t)rows; j++) {
            const unsigned char *block = src + j * row_bytes;
            vact_decode_f16_neon((float *)(void *)dst + j, block, 1);
            memcpy(dst + SCALES_BYTES + j * code_bytes, block + SCALE_BYTES, code_bytes);
        }
        dst += SCALES_BYTES + VACT_PANEL * code_bytes;
    }
}

/* A channel's block of 32 codes. */
static inline int8x16x2_t q8_0_codes(const unsigned char *p)
{
    return (int8x16x2_t){ { vreinterpretq_s8_u8(vld1q_u8(p)), vreinterpretq_s8_u8(vld1q_u8(p + 16)) } };
}

static inline int8x16x2_t q4_0_codes(const unsigned char *p)
{
    const uint8x16_t both = vld1q_u8(p);
    const int8x16_t eight = vdupq_n_s8(8);
    return (int8x16x2_t){ { vsubq_s8(vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(15))), eight),
                            vsubq_s8(vreinterpretq_s8_u8(vshrq_n_u8(both, 4)), eight) } };
}

static inline int32x4_t dot(int8x16x2_t w, const int8_t *q)
{
    const int8x16_t a = vld1q_s8(q), b = vld1q_s8(q + 16);
    int16x8_t first = vmull_s8(vget_low_s8(w.val[0]), vget_low_s8(a));
    int16x8_t second = vmull_s8(vget_low_s8(w.val[1]), vget_low_s8(b));
    first = vmlal_s8(first, vget_high_s8(w.val[0]), vget_high_s8(a));
    second = vmlal_s8(second, vget_high_s8(w.val[1]), vget_high_s8(b));
    return vpadalq_s16(vpaddlq_s16(first), second);
}

/* Four channels of a panel: each row meets their codes while those are in registers. */
#define CHANNELS(type, code_bytes)                                                                                     \
    static void type##_channels(float *c, size_t ldc, const vact_int8_rows *a, const unsigned char *panel, size_t j,   \
                                size_t k, size_t rows)                                                                 \
    {                                                                                                                  \
        for (size_t i = 0; i < rows; i++)                                                                              \
            vst1q_f32(c + i * ldc, vdupq_n_f32(0.0f));                                                                 \
        for (size_t at = 0; at < k; at += BLOCK, panel += SCALES_BYTES + VACT_PANEL * (code_bytes)) {                  \
            const float32x4_t scales = vld1q_f32((const float *)(const void *)panel + j);                              \
            const unsigned char *codes = panel + SCALES_BYTES + j * (code_bytes);                                      \
            const int8x16x2_t w0 = type##_codes(codes), w1 = type##_codes(codes + (code_bytes));                       \
            const int8x16x2_t w2 = type##_codes(codes + 2 * (code_bytes)),                                             \
                              w3 = type##_codes(codes + 3 * (code_bytes));                                             \
            for (size_t i = 0; i < rows; i++) {                                                                        \
                const int8_t *q = a->q + i * a->ldq + at;                                                              \
                const int32x4_t sums =                                                                                 \
                    vpaddq_s32(vpaddq_s32(dot(w0, q), dot(w1, q)), vpaddq_s32(dot(w2, q), dot(w3, q)));                \
                vst1q_f32(c + i * ldc, vfmaq_f32(vld1q_f32(c + i * ldc), vcvtq_f32_s32(sums), scales));                \
            }                                                                                                          \
        }                                                                                                              \
        for (size_t i = 0; i < rows; i++)                                                                              \
            vst1q_f32(c + i * ldc, vmulq_n_f32(vld1q_f32(c + i * ldc), a->scale[i]));                                  \
    }

#define INT8(type, code_bytes)                                                                                         \
    void vact_pack_int8_##type##_neon(void *dst, const void *src, size_t row_bytes, int rows, size_t k)                \
    {                                                                                                                  \
        pack(code_bytes, dst, src, row_bytes, rows, k);                                                                \
    }                                                                                                                  \
    CHANNELS(type, code_bytes)                                                                                         \
    void vact_gemm_int8_##type##_neon(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb,        \
                                      size_t k, int rows, int panels)                                                  \
    {                                                                                                                  \
        for (size_t j = 0; j < VACT_PANEL * (size_t)panels; j += 4)                                                    \
            type##_channels(c + j, ldc, a, (const unsigned char *)b + j / VACT_PANEL * ldb, j % VACT_PANEL, k,         \
                            (size_t)rows);                                                                             \
    }

INT8(q8_0, 32)
INT8(q4_0, 16)
