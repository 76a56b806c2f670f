#include "kernels/arm/dotprod.h"

#include <arm_neon.h>

/* Registers of chains that run side by side: a product takes 3 or 4 cycles and up to four may start in each. */
enum { DOTS = 16 };

void vact_dot_ceiling_dotprod(int32_t *values, size_t steps)
{
    const int8x16_t a = vdupq_n_s8(VACT_CEILING_A), b = vdupq_n_s8(VACT_CEILING_B);
    for (int32_t *end = values + VACT_CEILING; values < end; values += 4 * DOTS) {
        int32x4_t acc[DOTS];
        for (int i = 0; i < DOTS; i++)
            acc[i] = vld1q_s32(values + 4 * i);
        for (size_t step = 0; step < steps; step++)
            for (int i = 0; i < DOTS; i++)
                acc[i] = vdotq_s32(acc[i], a, b);
        for (int i = 0; i < DOTS; i++)
            vst1q_s32(values + 4 * i, acc[i]);
    }
}
