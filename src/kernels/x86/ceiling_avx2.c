#include "kernels/kernels.h"
#include "kernels/x86/avx2.h"

/* Registers of chains that run side by side. A fused multiply-add takes 4 or 5 cycles and two may start in each; an
 * addition takes one. */
enum { FMAS = 12, DOTS = 4 };

void vact_fma_ceiling_avx2(float *values, size_t steps)
{
    __m256 x = _mm256_set1_ps(0.5f), y = _mm256_set1_ps(3.0f);
    __asm__("" : "+x"(x), "+x"(y)); /* unknown: an addition of 1.5 would do otherwise */
    for (float *end = values + VACT_CEILING; values < end; values += 8 * FMAS) {
        __m256 acc[FMAS];
        for (int i = 0; i < FMAS; i++)
            acc[i] = _mm256_loadu_ps(values + 8 * i);
        for (size_t step = 0; step < steps; step++)
            for (int i = 0; i < FMAS; i++)
                acc[i] = _mm256_fmadd_ps(x, y, acc[i]);
        for (int i = 0; i < FMAS; i++)
            _mm256_storeu_ps(values + 8 * i, acc[i]);
    }
}

/* The empty asm makes `b` unknown again: products that don't change would be made only once. */
void vact_dot_ceiling_avx2(int32_t *values, size_t steps)
{
    const __m256i a = _mm256_set1_epi8(VACT_CEILING_A), ones = _mm256_set1_epi16(1);
    __m256i b = _mm256_set1_epi8(VACT_CEILING_B);
    for (int32_t *end = values + VACT_CEILING; values < end; values += 8 * DOTS) {
        __m256i acc[DOTS];
        for (int i = 0; i < DOTS; i++)
            acc[i] = _mm256_loadu_si256((const __m256i *)(const void *)(values + 8 * i));
        for (size_t step = 0; step < steps; step++) {
            for (int i = 0; i < DOTS; i++) {
                __asm__ volatile("" : "+x"(b));
                acc[i] = _mm256_add_epi32(acc[i], _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
            }
        }
        for (int i = 0; i < DOTS; i++)
            _mm256_storeu_si256((__m256i *)(void *)(values + 8 * i), acc[i]);
    }
}
