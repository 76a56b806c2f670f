/* One block of an online softmax. */
#include "kernels/arm/neon.h"

#include <math.h>

/* maxnm prefers a number to a NaN, as fmaxf does; the NaN reaches the results through its own score. */
static float largest(const float *s, size_t n)
{
    float32x4_t m0 = vdupq_n_f32(-INFINITY), m1 = m0;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        m0 = vmaxnmq_f32(m0, vld1q_f32(s + i));
        m1 = vmaxnmq_f32(m1, vld1q_f32(s + i + 4));
    }
    for (; i + 4 <= n; i += 4)
        m0 = vmaxnmq_f32(m0, vld1q_f32(s + i));
    if (i < n)
        m1 = vmaxnmq_f32(m1, load_tail(s + i, n - i, -INFINITY));
    return vmaxnmvq_f32(vmaxnmq_f32(m0, m1));
}

static float softmax_row(float *s, size_t n, float scale, float *max, float *sum)
{
    const float m = fmaxf(*max, scale * largest(s, n));
    /* With every key hidden any finite shift gives zeros, where -inf would give NaN. */
    const float32x4_t shift = vdupq_n_f32(m == -INFINITY ? 0.0f : m);
    const float f = vgetq_lane_f32(exp4(vsubq_f32(vdupq_n_f32(*max), shift)), 0);
    /* The sum runs in 8 lanes. */
    float32x4_t t0 = vdupq_n_f32(0.0f), t1 = t0;
    size_t i = 0;

    /* Product and difference are rounded apart: fused, a large score could exceed its own maximum. */
#define WEIGHT(scores) exp4(vsubq_f32(vmulq_n_f32(scores, scale), shift))
    for (; i + 8 <= n; i += 8) {
        const float32x4_t p0 = WEIGHT(vld1q_f32(s + i)), p1 = WEIGHT(vld1q_f32(s + i + 4));
        vst1q_f32(s + i, p0);
        vst1q_f32(s + i + 4, p1);
        t0 = vaddq_f32(t0, p0);
        t1 = vaddq_f32(t1, p1);
    }
    for (; i < n; i += 4) {
        const size_t left = n - i < 4 ? n - i : 4;
        const float32x4_t p = WEIGHT(load_tail(s + i, left, -INFINITY));
        store_tail(s + i, left, p);
        t0 = vaddq_f32(t0, p);
    }
    *max = m;
    *sum = *sum * f + vaddvq_f32(vaddq_f32(t0, t1));
    return f;
}

void vact_softmax_neon(float *s, size_t ld, int rows, size_t n, float scale, float *max, float *sum, float *f)
{
    for (int i = 0; i < rows; i++)
        f[i] = softmax_row(s + (size_t)i * ld, n, scale, &max[i], &sum[i]);
}
