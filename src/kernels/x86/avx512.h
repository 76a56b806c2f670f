/* The AVX-512 level (F, BW, DQ, VL and VNNI): its functions. It stands on AVX2's, which does what is not here. kernels.h
 * says what each function does. */
#ifndef VACT_KERNELS_X86_AVX512_H
#define VACT_KERNELS_X86_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

void vact_gemm_avx512(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t k, int rows,
                      int panels, bool add);

#endif
