/* The two levels above NEON, of processors with sdot and with smmla: their functions. kernels.h says what each does. */
#ifndef VACT_KERNELS_ARM_DOTPROD_H
#define VACT_KERNELS_ARM_DOTPROD_H

#include "kernels/kernels.h"

void vact_pack_int8_q8_0_dotprod(void *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_int8_q4_0_dotprod(void *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_gemm_int8_q8_0_dotprod(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                                 int rows, int panels);
void vact_gemm_int8_q4_0_dotprod(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                                 int rows, int panels);

void vact_dot_ceiling_dotprod(int32_t *values, size_t steps);

void vact_pack_int8_q8_0_i8mm(void *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_int8_q4_0_i8mm(void *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_gemm_int8_q8_0_i8mm(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                              int rows, int panels);
void vact_gemm_int8_q4_0_i8mm(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                              int rows, int panels);
void vact_dot_ceiling_i8mm(int32_t *values, size_t steps);

#endif
