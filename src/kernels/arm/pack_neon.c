/* 16 rows of a weight -> a panel, by 4x4 transposes. */
#include "kernels/arm/neon.h"
#include "kernels/kernels.h"

/* dst[p][0..3] = src[0..3][p] for four p; rows of dst are VACT_PANEL apart. */
static inline void transpose_4x4(float *dst, const float *src, size_t ld)
{
    const float32x4_t r0 = vld1q_f32(src), r1 = vld1q_f32(src + ld);
    const float32x4_t r2 = vld1q_f32(src + 2 * ld), r3 = vld1q_f32(src + 3 * ld);
    const float32x4_t lo02 = vzip1q_f32(r0, r2), hi02 = vzip2q_f32(r0, r2);
    const float32x4_t lo13 = vzip1q_f32(r1, r3), hi13 = vzip2q_f32(r1, r3);

    vst1q_f32(dst, vzip1q_f32(lo02, lo13));
    vst1q_f32(dst + VACT_PANEL, vzip2q_f32(lo02, lo13));
    vst1q_f32(dst + 2 * VACT_PANEL, vzip1q_f32(hi02, hi13));
    vst1q_f32(dst + 3 * VACT_PANEL, vzip2q_f32(hi02, hi13));
}

void vact_pack_neon(float *dst, const float *src, size_t ld, size_t k)
{
    size_t p = 0;

    for (; p + 4 <= k; p += 4)
        for (size_t j = 0; j < VACT_PANEL; j += 4)
            transpose_4x4(dst + p * VACT_PANEL + j, src + j * ld + p, ld);
    for (; p < k; p++)
        for (size_t j = 0; j < VACT_PANEL; j++)
            dst[p * VACT_PANEL + j] = src[j * ld + p];
}
