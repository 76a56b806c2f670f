/* Included before everything else in the sources of the levels above AVX2 when they are compiled a second time, for
 * processors that lack them: SIMDe's functions, made of AVX2, take the place of the intrinsics, and names of their own
 * keep these kernels apart from the library's. */
#ifndef VACT_TESTS_KERNELS_EMULATED_H
#define VACT_TESTS_KERNELS_EMULATED_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

/* AVX-VNNI's product is AVX512-VNNI's under another name. */
#undef _mm256_dpbusd_avx_epi32
#define _mm256_dpbusd_avx_epi32(sum, a, b) simde_mm256_dpbusd_epi32(sum, a, b)

/* SIMDe 0.7 lacks these. */
static inline __m512 emulated_cvtepi32_ps(__m512i x)
{
    __m256i ints[2];
    __m256 floats[2];
    simde_mm512_storeu_si512(ints, x);
    for (int half = 0; half < 2; half++)
        floats[half] = _mm256_cvtepi32_ps(ints[half]);
    return simde_mm512_loadu_ps(floats);
}
#undef _mm512_cvtepi32_ps
#define _mm512_cvtepi32_ps emulated_cvtepi32_ps

#define vact_kernels_init_avxvnni emulated_init_avxvnni
#define vact_kernels_init_avx512  emulated_init_avx512
#define vact_gemm_avx512          emulated_gemm_avx512

#define vact_dot_ceiling_avxvnni emulated_dot_ceiling_avxvnni
#define vact_dot_ceiling_avx512  emulated_dot_ceiling_avx512
#define vact_fma_ceiling_avx512  emulated_fma_ceiling_avx512

#define vact_gemm_int8_q8_0_avxvnni emulated_gemm_int8_q8_0_avxvnni
#define vact_gemm_int8_q4_0_avxvnni emulated_gemm_int8_q4_0_avxvnni
#define vact_gemm_int8_q8_0_avx512  emulated_gemm_int8_q8_0_avx512
#define vact_gemm_int8_q4_0_avx512  emulated_gemm_int8_q4_0_avx512

#endif
