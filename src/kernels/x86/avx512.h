/* The AVX-512 level (F, BW, DQ, VL and VNNI): its functions. It stands on AVX2's, which does what is not here; kernels.h
 * says what each function does. */
#ifndef VACT_KERNELS_X86_AVX512_H
#define VACT_KERNELS_X86_AVX512_H

#include "kernels/kernels.h"

#include <immintrin.h>

void vact_gemm_avx512(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t k, int rows,
                      int panels, bool add);

void vact_gemm_int8_q8_0_avx512(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                                int rows, int panels);
void vact_gemm_int8_q4_0_avx512(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                                int rows, int panels);

void vact_fma_ceiling_avx512(float *values, size_t steps);
void vact_dot_ceiling_avx512(int32_t *values, size_t steps);

#endif
