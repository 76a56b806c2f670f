/* The scalar level: what the other levels are checked against. kernels.h says what each function does. */
#ifndef VACT_KERNELS_SCALAR_H
#define VACT_KERNELS_SCALAR_H

#include "kernels/kernels.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void vact_decode_f32_c(float *dst, const void *src, size_t n);
void vact_decode_f16_c(float *dst, const void *src, size_t n);
void vact_decode_bf16_c(float *dst, const void *src, size_t n);
void vact_decode_q8_0_c(float *dst, const void *src, size_t n);
void vact_decode_q4_0_c(float *dst, const void *src, size_t n);

/* X(type, TYPE, values of a block, bytes of a block) for the types that files may have and nothing here writes. Their
 * one decoder is the scalar one; a level has its own pack, of decoded rows. */
#define VACT_READ_ONLY_TYPES(X)                                                                                        \
    X(q4_1, Q4_1, 32, 20)                                                                                              \
    X(q5_0, Q5_0, 32, 22)                                                                                              \
    X(q5_1, Q5_1, 32, 24)                                                                                              \
    X(q2_k, Q2_K, 256, 84)                                                                                             \
    X(q3_k, Q3_K, 256, 110)                                                                                            \
    X(q4_k, Q4_K, 256, 144)                                                                                            \
    X(q5_k, Q5_K, 256, 176)                                                                                            \
    X(q6_k, Q6_K, 256, 210)
#define VACT_DECLARE(type, TYPE, block, block_bytes)                                                                   \
    void vact_decode_##type##_c(float *dst, const void *src, size_t n);                                                \
    void vact_pack_##type##_c(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
VACT_READ_ONLY_TYPES(VACT_DECLARE)
#undef VACT_DECLARE

void vact_pack_f32_c(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_f16_c(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_bf16_c(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_q8_0_c(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_q4_0_c(float *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_gemm_c(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t k, int rows,
                 int panels, bool add);

void vact_quantize_c(int8_t *q, int16_t *sums, float *scale, const float *x, size_t k);
void vact_pack_int8_q8_0_c(void *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_pack_int8_q4_0_c(void *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_gemm_int8_q8_0_c(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k, int rows,
                           int panels);
void vact_gemm_int8_q4_0_c(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k, int rows,
                           int panels);

void vact_layer_norm_c(float *y, const float *x, const float *w, const float *b, float eps, size_t n);
void vact_rms_norm_c(float *y, const float *x, const float *w, float eps, size_t n);
void vact_softmax_c(float *s, size_t ld, int rows, size_t n, float scale, float *max, float *sum, float *f);
void vact_rope_c(float *x, const float *cos, const float *sin, size_t heads, size_t hd);

void vact_gelu_erf_c(float *x, size_t n);
void vact_gelu_tanh_c(float *x, size_t n);
void vact_silu_c(float *x, size_t n);
void vact_scale_c(float *x, float a, size_t n);
void vact_add_c(float *y, const float *x, size_t n);
void vact_mul_c(float *y, const float *x, size_t n);
void vact_axpy_c(float *y, float a, const float *x, size_t n);

void vact_pixels_u8_c(float *dst, size_t plane, const unsigned char *src, size_t n);
void vact_pixels_f32_c(float *dst, size_t plane, const float *src, size_t n);

void vact_fma_ceiling_c(float *values, size_t steps);
void vact_dot_ceiling_c(int32_t *values, size_t steps);

#endif
