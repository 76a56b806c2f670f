/* What the two levels with vpdpbusd share, the panels of quantized weights, and the functions of the lower one, AVX-VNNI.
 * kernels.h says what each function does. */
#ifndef VACT_KERNELS_X86_VNNI_H
#define VACT_KERNELS_X86_VNNI_H

#include "kernels/kernels.h"

/* A block of a panel, as AVX2's: 16 float scales, then groups of [16 channels][4 codes] of consecutive k. Q8_0 has eight
 * groups, here of codes plus 128. Q4_0 has four, the file's own bytes: group g holds codes 4g..4g+3 in the low nibbles
 * and 16+4g.. in the high ones, 0..15 for -8..7. */
enum { BLOCK = VACT_INT8_BLOCK, GROUP_BYTES = 64, SCALES_BYTES = 64 };
enum { Q8_0_PANEL_BYTES = SCALES_BYTES + 512, Q4_0_PANEL_BYTES = SCALES_BYTES + 256 };

void vact_pack_int8_q8_0_vnni(void *dst, const void *src, size_t row_bytes, int rows, size_t k);
void vact_gemm_int8_q8_0_avxvnni(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                                 int rows, int panels);
void vact_gemm_int8_q4_0_avxvnni(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                                 int rows, int panels);

void vact_dot_ceiling_avxvnni(int32_t *values, size_t steps);

#endif
