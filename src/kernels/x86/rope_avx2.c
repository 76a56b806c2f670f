/* Rotary positions. */
#include "kernels/x86/avx2.h"

/* No fused operation: kernels.h rounds each product. */
void vact_rope_avx2(float *x, const float *cos, const float *sin, size_t heads, size_t hd)
{
    const size_t half = hd / 2;

    for (size_t h = 0; h < heads; h++, x += hd) {
        size_t i = 0;
        for (; i + 8 <= half; i += 8) {
            const __m256 a = _mm256_loadu_ps(x + i), b = _mm256_loadu_ps(x + i + half);
            const __m256 c0 = _mm256_loadu_ps(cos + i), c1 = _mm256_loadu_ps(cos + i + half);
            const __m256 s0 = _mm256_loadu_ps(sin + i), s1 = _mm256_loadu_ps(sin + i + half);
            _mm256_storeu_ps(x + i, _mm256_sub_ps(_mm256_mul_ps(a, c0), _mm256_mul_ps(b, s0)));
            _mm256_storeu_ps(x + i + half, _mm256_add_ps(_mm256_mul_ps(b, c1), _mm256_mul_ps(a, s1)));
        }
        for (; i < half; i++) {
            const float a = x[i], b = x[i + half];
            x[i] = a * cos[i] - b * sin[i];
            x[i + half] = b * cos[i + half] + a * sin[i + half];
        }
    }
}
