/* Rotary positions. */
#include "kernels/arm/neon.h"

/* No fused operation: kernels.h rounds each product. */
void vact_rope_neon(float *x, const float *cos, const float *sin, size_t heads, size_t hd)
{
    const size_t half = hd / 2;

    for (size_t h = 0; h < heads; h++, x += hd) {
        size_t i = 0;
        for (; i + 4 <= half; i += 4) {
            const float32x4_t a = vld1q_f32(x + i), b = vld1q_f32(x + i + half);
            const float32x4_t c0 = vld1q_f32(cos + i), c1 = vld1q_f32(cos + i + half);
            const float32x4_t s0 = vld1q_f32(sin + i), s1 = vld1q_f32(sin + i + half);
            vst1q_f32(x + i, vsubq_f32(vmulq_f32(a, c0), vmulq_f32(b, s0)));
            vst1q_f32(x + i + half, vaddq_f32(vmulq_f32(b, c1), vmulq_f32(a, s1)));
        }
        for (; i < half; i++) {
            const float a = x[i], b = x[i + half];
            x[i] = a * cos[i] - b * sin[i];
            x[i + half] = b * cos[i + half] + a * sin[i + half];
        }
    }
}
