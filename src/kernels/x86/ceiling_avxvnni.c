#include "kernels/x86/vnni.h"

#include <immintrin.h>

/* Registers of chains that run side by side: a product takes 5 cycles and two may start in each. */
enum { DOTS = 12 };

void vact_dot_ceiling_avxvnni(int32_t *values, size_t steps)
{
    const __m256i a = _mm256_set1_epi8(VACT_CEILING_A), b = _mm256_set1_epi8(VACT_CEILING_B);
    for (int32_t *end = values + VACT_CEILING; values < end; values += 8 * DOTS) {
        __m256i acc[DOTS];
        for (int i = 0; i < DOTS; i++)
            acc[i] = _mm256_loadu_si256((const __m256i *)(const void *)(values + 8 * i));
        for (size_t step = 0; step < steps; step++)
            for (int i = 0; i < DOTS; i++)
                acc[i] = _mm256_dpbusd_avx_epi32(acc[i], a, b);
        for (int i = 0; i < DOTS; i++)
            _mm256_storeu_si256((__m256i *)(void *)(values + 8 * i), acc[i]);
    }
}
