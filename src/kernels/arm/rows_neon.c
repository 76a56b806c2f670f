/* One row in, one row out: norms. */
#include "kernels/arm/neon.h"

#include <math.h>

/* Sums run in 32 lanes, four to a vector: value i in lane i mod 32. The last n mod 32 values have four of their own. */
enum { VECTORS = 8, LANES = 4 * VECTORS };

static inline float sum_lanes(float32x4_t s[VECTORS], float32x4_t rest)
{
    for (size_t j = 0; j < VECTORS / 2; j++)
        s[j] = vaddq_f32(s[j], s[j + VECTORS / 2]);
    return vaddvq_f32(vaddq_f32(vaddq_f32(vaddq_f32(s[0], s[1]), vaddq_f32(s[2], s[3])), rest));
}

static float sum(const float *x, size_t n)
{
    float32x4_t s[VECTORS] = { 0 }, rest = { 0 };
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < VECTORS; j++)
            s[j] = vaddq_f32(s[j], vld1q_f32(x + i + 4 * j));
    for (; i + 4 <= n; i += 4)
        rest = vaddq_f32(rest, vld1q_f32(x + i));
    if (i < n)
        rest = vaddq_f32(rest, load_tail(x + i, n - i, 0.0f));
    return sum_lanes(s, rest);
}

static inline float32x4_t add_square(float32x4_t s, float32x4_t x, float32x4_t center)
{
    const float32x4_t d = vsubq_f32(x, center);
    return vfmaq_f32(s, d, d);
}

/* Sum of (x - center)^2. */
static float sum_squares(const float *x, float center, size_t n)
{
    const float32x4_t c = vdupq_n_f32(center);
    float32x4_t s[VECTORS] = { 0 }, rest = { 0 };
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < VECTORS; j++)
            s[j] = add_square(s[j], vld1q_f32(x + i + 4 * j), c);
    for (; i + 4 <= n; i += 4)
        rest = add_square(rest, vld1q_f32(x + i), c);
    if (i < n) /* the lanes beyond n hold the center, so they add 0 */
        rest = add_square(rest, load_tail(x + i, n - i, center), c);
    return sum_lanes(s, rest);
}

void vact_layer_norm_neon(float *y, const float *x, const float *w, const float *b, float eps, size_t n)
{
    const float mean = sum(x, n) / (float)n;
    const float var = sum_squares(x, mean, n) / (float)n;
    const float32x4_t m = vdupq_n_f32(mean), r = vdupq_n_f32(1.0f / sqrtf(var + eps));
    size_t i = 0;

#define NORMED(v, weight, bias) vfmaq_f32(bias, vmulq_f32(vsubq_f32(v, m), r), weight)
    for (; i + 4 <= n; i += 4)
        vst1q_f32(y + i, NORMED(vld1q_f32(x + i), vld1q_f32(w + i), vld1q_f32(b + i)));
    if (i < n)
        store_tail(y + i, n - i,
                   NORMED(load_tail(x + i, n - i, 0.0f), load_tail(w + i, n - i, 0.0f), load_tail(b + i, n - i, 0.0f)));
}

void vact_rms_norm_neon(float *y, const float *x, const float *w, float eps, size_t n)
{
    const float square = sum_squares(x, 0.0f, n) / (float)n;
    const float32x4_t r = vdupq_n_f32(1.0f / sqrtf(square + eps));
    size_t i = 0;

#define SCALED(v, weight) vmulq_f32(vmulq_f32(v, r), weight)
    for (; i + 4 <= n; i += 4)
        vst1q_f32(y + i, SCALED(vld1q_f32(x + i), vld1q_f32(w + i)));
    if (i < n)
        store_tail(y + i, n - i, SCALED(load_tail(x + i, n - i, 0.0f), load_tail(w + i, n - i, 0.0f)));
}
