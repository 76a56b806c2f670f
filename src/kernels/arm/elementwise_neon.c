/* One value in, one value out: activations and arithmetic. */
#include "kernels/arm/neon.h"

/* u Phi(u) = max(u, 0) - a (1 - Phi(a)), a = |u|: nothing cancels. 1 - Phi(a) = e^(-a^2 / 2) t p(t), t = 1 / (1 + 0.305 a),
 * p of degree 7 fitted to a relative error of 1e-7. Beyond 14 e^x is 0, whatever a is. */
static inline float32x4_t gelu_erf4(float32x4_t u)
{
    const float32x4_t one = vdupq_n_f32(1.0f);
    const float32x4_t a = vminq_f32(vabsq_f32(u), vdupq_n_f32(14.0f));
    const float32x4_t t = vdivq_f32(one, vfmaq_f32(one, a, vdupq_n_f32(0.305f)));
    float32x4_t p = vdupq_n_f32(0x1.2ca3c2p-5f);
    p = vfmaq_f32(vdupq_n_f32(-0x1.3951e8p-3f), p, t);
    p = vfmaq_f32(vdupq_n_f32(0x1.7c5916p-3f), p, t);
    p = vfmaq_f32(vdupq_n_f32(-0x1.371af4p-5f), p, t);
    p = vfmaq_f32(vdupq_n_f32(0x1.efb45cp-4f), p, t);
    p = vfmaq_f32(vdupq_n_f32(0x1.a79ca8p-4f), p, t);
    p = vfmaq_f32(vdupq_n_f32(0x1.f59fc2p-4f), p, t);
    p = vfmaq_f32(vdupq_n_f32(0x1.f23c82p-4f), p, t);
    const float32x4_t e = exp4(vmulq_n_f32(vmulq_f32(a, a), -0.5f));
    const float32x4_t rest = vmulq_f32(vmulq_f32(a, t), vmulq_f32(p, e));
    return vsubq_f32(vmaxq_f32(u, vdupq_n_f32(0.0f)), rest);
}

/* 0.5 (1 + tanh z) = 1 / (1 + e^-2z): no cancellation for negative u, and an overflow of u^2 or e^x ends in
 * the right limit. -2z = u (c1 + c3 u^2). */
static inline float32x4_t gelu_tanh4(float32x4_t u)
{
    const float32x4_t c1 = vdupq_n_f32(-1.5957691216f), c3 = vdupq_n_f32(-0.0713548163f);
    const float32x4_t z = vmulq_f32(u, vfmaq_f32(c1, c3, vmulq_f32(u, u)));
    return vdivq_f32(u, vaddq_f32(vdupq_n_f32(1.0f), exp4(z)));
}

static inline float32x4_t silu4(float32x4_t u)
{
    return vdivq_f32(u, vaddq_f32(vdupq_n_f32(1.0f), exp4(vnegq_f32(u))));
}

/* x = f(x) over n values. */
#define IN_PLACE(f)                                                                                                    \
    size_t i = 0;                                                                                                      \
    for (; i + 4 <= n; i += 4)                                                                                         \
        vst1q_f32(x + i, f(vld1q_f32(x + i)));                                                                         \
    if (i < n)                                                                                                         \
        store_tail(x + i, n - i, f(load_tail(x + i, n - i, 0.0f)));

void vact_gelu_erf_neon(float *x, size_t n)
{
    IN_PLACE(gelu_erf4)
}

void vact_gelu_tanh_neon(float *x, size_t n)
{
    IN_PLACE(gelu_tanh4)
}

void vact_silu_neon(float *x, size_t n)
{
    IN_PLACE(silu4)
}

void vact_scale_neon(float *x, float a, size_t n)
{
#define SCALED(v) vmulq_n_f32(v, a)
    IN_PLACE(SCALED)
}

/* y = f(y, x) over n values. */
#define ACCUMULATE(f)                                                                                                  \
    size_t i = 0;                                                                                                      \
    for (; i + 4 <= n; i += 4)                                                                                         \
        vst1q_f32(y + i, f(vld1q_f32(y + i), vld1q_f32(x + i)));                                                       \
    if (i < n)                                                                                                         \
        store_tail(y + i, n - i, f(load_tail(y + i, n - i, 0.0f), load_tail(x + i, n - i, 0.0f)));

void vact_add_neon(float *y, const float *x, size_t n)
{
    ACCUMULATE(vaddq_f32)
}

void vact_mul_neon(float *y, const float *x, size_t n)
{
    ACCUMULATE(vmulq_f32)
}

void vact_axpy_neon(float *y, float a, const float *x, size_t n)
{
#define PLUS_SCALED(to, from) vfmaq_n_f32(to, from, a)
    ACCUMULATE(PLUS_SCALED)
}
