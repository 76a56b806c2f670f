#include "kernels/x86/avx512.h"

/* Registers of chains that run side by side: a multiply-add takes 4 or 5 cycles and two may start in each. */
enum { CHAINS = VACT_CEILING / 16 };

void vact_fma_ceiling_avx512(float *values, size_t steps)
{
    float half = 0.5f, three = 3.0f;
    __asm__("" : "+x"(half), "+x"(three)); /* unknown: an addition of 1.5 would do otherwise */
    const __m512 x = _mm512_set1_ps(half), y = _mm512_set1_ps(three);
    __m512 acc[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        acc[i] = _mm512_loadu_ps(values + 16 * i);
    for (size_t step = 0; step < steps; step++)
        for (int i = 0; i < CHAINS; i++)
            acc[i] = _mm512_fmadd_ps(x, y, acc[i]);
    for (int i = 0; i < CHAINS; i++)
        _mm512_storeu_ps(values + 16 * i, acc[i]);
}

void vact_dot_ceiling_avx512(int32_t *values, size_t steps)
{
    const __m512i a = _mm512_set1_epi8(VACT_CEILING_A), b = _mm512_set1_epi8(VACT_CEILING_B);
    __m512i acc[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        acc[i] = _mm512_loadu_si512(values + 16 * i);
    for (size_t step = 0; step < steps; step++)
        for (int i = 0; i < CHAINS; i++)
            acc[i] = _mm512_dpbusd_epi32(acc[i], a, b);
    for (int i = 0; i < CHAINS; i++)
        _mm512_storeu_si512(values + 16 * i, acc[i]);
}
