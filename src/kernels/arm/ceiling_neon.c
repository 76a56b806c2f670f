#include "kernels/arm/neon.h"
#include "kernels/kernels.h"

/* Registers of chains that run side by side. A fused multiply-add takes 4 cycles and up to four may start in each; a
 * pairwise addition takes 4 on some processors. gcc unrolls no more than 16. */
enum { FMAS = 16, DOTS = 8 };

void vact_fma_ceiling_neon(float *values, size_t steps)
{
    float32x4_t x = vdupq_n_f32(0.5f), y = vdupq_n_f32(3.0f);
    __asm__("" : "+w"(x), "+w"(y)); /* unknown: an addition of 1.5 would do otherwise */
    for (float *end = values + VACT_CEILING; values < end; values += 4 * FMAS) {
        float32x4_t acc[FMAS];
        for (int i = 0; i < FMAS; i++)
            acc[i] = vld1q_f32(values + 4 * i);
        for (size_t step = 0; step < steps; step++)
            for (int i = 0; i < FMAS; i++)
                acc[i] = vfmaq_f32(acc[i], x, y);
        for (int i = 0; i < FMAS; i++)
            vst1q_f32(values + 4 * i, acc[i]);
    }
}

/* The empty asm makes `b` and `c` unknown again: products that don't change would be made only once. */
void vact_dot_ceiling_neon(int32_t *values, size_t steps)
{
    const int8x8_t a = vdup_n_s8(VACT_CEILING_A);
    int8x8_t b = vdup_n_s8(VACT_CEILING_B), c = b;
    for (int32_t *end = values + VACT_CEILING; values < end; values += 4 * DOTS) {
        int32x4_t acc[DOTS];
        for (int i = 0; i < DOTS; i++)
            acc[i] = vld1q_s32(values + 4 * i);
        for (size_t step = 0; step < steps; step++) {
            for (int i = 0; i < DOTS; i++) {
                __asm__ volatile("" : "+w"(b), "+w"(c));
                acc[i] = vpadalq_s16(acc[i], vmlal_s8(vmull_s8(a, b), a, c));
            }
        }
        for (int i = 0; i < DOTS; i++)
            vst1q_s32(values + 4 * i, acc[i]);
    }
}
