/* Interleaved RGB -> three planes in [-1, 1], by loads that split. Doubling is exact, so a fused 2v - 1 has the bits of
 * the definition. */
#include "kernels/arm/neon.h"

static inline float32x4_t centred(float32x4_t v)
{
    return vfmaq_n_f32(vdupq_n_f32(-1.0f), v, 2.0f);
}

static inline float32x4_t from_u16(uint16x4_t v)
{
    return centred(vdivq_f32(vcvtq_f32_u32(vmovl_u16(v)), vdupq_n_f32(255.0f)));
}

/* Eight pixels. */
static inline void split_u8(float32x4_t planes[3][2], const unsigned char *src)
{
    const uint8x8x3_t v = vld3_u8(src);
    for (size_t c = 0; c < 3; c++) {
        const uint16x8_t wide = vmovl_u8(v.val[c]);
        planes[c][0] = from_u16(vget_low_u16(wide));
        planes[c][1] = from_u16(vget_high_u16(wide));
    }
}

static inline void split_f32(float32x4_t planes[3][2], const float *src)
{
    const float32x4x3_t low = vld3q_f32(src), high = vld3q_f32(src + 12);
    for (size_t c = 0; c < 3; c++) {
        planes[c][0] = centred(low.val[c]);
        planes[c][1] = centred(high.val[c]);
    }
}

enum { PIXELS = 8 };

/* T is the type of src's values; the last pixels go through a padded copy. */
#define SPLIT(T, split)                                                                                                \
    float32x4_t planes[3][2];                                                                                          \
    size_t at = 0;                                                                                                     \
    n /= 3;                                                                                                            \
    for (; at + PIXELS <= n; at += PIXELS) {                                                                           \
        split(planes, src + 3 * at);                                                                                   \
        for (size_t c = 0; c < 3; c++) {                                                                               \
            vst1q_f32(dst + c * plane + at, planes[c][0]);                                                             \
            vst1q_f32(dst + c * plane + at + 4, planes[c][1]);                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    if (at < n) {                                                                                                      \
        T rest[3 * PIXELS] = { 0 };                                                                                    \
        memcpy(rest, src + 3 * at, 3 * (n - at) * sizeof *rest);                                                       \
        split(planes, rest);                                                                                           \
        for (size_t c = 0; c < 3; c++)                                                                                 \
            memcpy(dst + c * plane + at, planes[c], (n - at) * sizeof *dst);                                           \
    }

void vact_pixels_u8_neon(float *dst, size_t plane, const unsigned char *src, size_t n)
{
    SPLIT(unsigned char, split_u8)
}

void vact_pixels_f32_neon(float *dst, size_t plane, const float *src, size_t n)
{
    SPLIT(float, split_f32)
}
