/* The inner loops: raw pointers, one thread, no allocation, no globals. `_c` is the definition, written to be
 * read; the other levels are checked against it on random shapes (tests/kernels).
 *
 * Bits: element (i, j) of a product is one chain acc = fma(a[i][k], b[k][j], acc), k = 0, 1, 2 ..., at every
 * level, whatever the number of rows or columns around it. decode, pack, quantize, scale, add, mul, axpy, rope and
 * pixels agree between levels to the bit too, and so do products of integers. Reductions (norms, softmax) use a fixed
 * number of lanes per level. So a row's result depends on the level and on its own length only. A NaN that comes in
 * goes out. */
#ifndef VACT_KERNELS_H
#define VACT_KERNELS_H

#include "base/cpu.h"
#include "file/dtype.h"
#include <stddef.h>
#include <stdint.h>

#define VACT_PANEL      16 /* columns of a packed panel */
#define VACT_INT8_BLOCK 32 /* values of a weight row that share a scale, where products are of integers */

/* Rows made by `quantize`: codes, ldq from row to row; sums, ldsums from row to row; a scale each. */
typedef struct vact_int8_rows {
    const int8_t *q;
    const int16_t *sums;
    const float *scale;
    size_t ldq, ldsums;
} vact_int8_rows;

/* Bytes of a panel that pack_int8 makes: for each block 16 float scales and the codes of 16 channels. */
static inline size_t vact_int8_panel_bytes(uint32_t type, size_t k)
{
    const size_t code_bytes = vact_dtype_get(type)->block_bytes - 2; /* without the half-precision scale */
    return k / VACT_INT8_BLOCK * VACT_PANEL * (sizeof(float) + code_bytes);
}

typedef struct vact_kernels {
    vact_isa isa;

    /* dst[n] = src decoded to float32; n is a multiple of the type's block. NULL: a type that doesn't
     * compute. Index is vact_dtype. src is aligned to 2 bytes only (4 for f32). f16 NaNs become quiet. */
    void (*decode[VACT_DTYPE_END])(float *dst, const void *src, size_t n);

    /* Panel: dst[k][16] = transpose of `rows` rows (1..16) of a weight, row_bytes apart, decoded; columns beyond rows
     * are zero. k, alignment of src and NULLs as for decode. dst is aligned to 64 bytes. */
    void (*pack[VACT_DTYPE_END])(float *dst, const void *src, size_t row_bytes, int rows, size_t k);

    /* Rows that gemm takes at a time: more are split into nearly equal parts of at most so many. */
    int gemm_rows;
    /* c[rows][16 * panels] = (add ? c : 0) + a[rows][k] * b; rows, panels >= 1. Panel p of b is [k][16] at b + p * ldb,
     * aligned to 64 bytes; lda, ldb and ldc in floats. With add the chain starts from c. */
    void (*gemm)(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t k, int rows,
                 int panels, bool add);

    /* A row as integers: q[k] = x / scale rounded to nearest, ties to even, with scale = max |x| / 127, and sums[k / 32],
     * those of 32 codes each. k is a multiple of 32. A row of values below 127 * FLT_MIN has scale 0 and codes 0; one
     * that holds a NaN or an infinity has scale NaN and codes 0. */
    void (*quantize)(int8_t *q, int16_t *sums, float *scale, const float *x, size_t k);
    /* A panel of `rows` (1..16) weight rows, row_bytes apart, in the level's own layout: vact_int8_panel_bytes. k is a
     * multiple of 32; channels beyond rows are zero; dst is aligned to 64 bytes. Index is vact_dtype; NULL: a type
     * without integer products (all but Q8_0 and Q4_0). */
    void (*pack_int8[VACT_DTYPE_END])(void *dst, const void *src, size_t row_bytes, int rows, size_t k);
    /* Rows that gemm_int8 takes at a time, as gemm_rows. */
    int int8_rows;
    /* c[rows][16 * panels] from rows of integers and such panels, ldb bytes apart. For a block's exact sum of products d
     * and its scale w, acc = fma(d, w, acc) from block to block; then c = acc * the row's scale: the same bits at every
     * level. */
    void (*gemm_int8[VACT_DTYPE_END])(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb,
                                      size_t k, int rows, int panels);

    /* y = (x - mean) / sqrt(var + eps) * w + b, biased variance, two passes; y may be x. n >= 1; the sum of
     * squares must be finite in float32. */
    void (*layer_norm)(float *y, const float *x, const float *w, const float *b, float eps, size_t n);
    /* y = x / sqrt(mean(x^2) + eps) * w; y may be x. The same limits. */
    void (*rms_norm)(float *y, const float *x, const float *w, float eps, size_t n);

    /* In place. gelu_erf: 0.5 u (1 + erf(u / sqrt 2)), what models call exact GELU; gelu_tanh, near it:
     * 0.5 u (1 + tanh(sqrt(2/pi) (u + 0.044715 u^3))); silu: u / (1 + e^-u). At most 2e-7 * max(1, |result|) from the
     * exact value, for every finite input; an element's result does not depend on its position or on n. */
    void (*gelu_erf)(float *x, size_t n);
    void (*gelu_tanh)(float *x, size_t n);
    void (*silu)(float *x, size_t n);

    /* One block of an online softmax for each of `rows` rows, ld floats apart. s[n] are a row's raw scores, -inf for
     * keys that are hidden; n >= 1, scale > 0. With m = max(*max, scale * max(s)): s[i] = exp(scale * s[i] - m) (0 for
     * hidden keys), *sum = *sum * f + sum(s), *max = m, and *f = exp(old max - m) is for what has been summed so far.
     * Start with *max = -inf, *sum = 0. If nothing has been seen yet (m = -inf): s = 0, f = 0. max, sum and f are
     * [rows]. Product and difference round separately, so that s <= 1; s that would be below 1.2e-38 may be 0. */
    void (*softmax)(float *s, size_t ld, int rows, size_t n, float scale, float *max, float *sum, float *f);

    void (*scale)(float *x, float a, size_t n);                /* x *= a */
    void (*add)(float *y, const float *x, size_t n);           /* y += x */
    void (*mul)(float *y, const float *x, size_t n);           /* y *= x */
    void (*axpy)(float *y, float a, const float *x, size_t n); /* y = fma(a, x, y) */

    /* Rotates one row of `heads` heads of width hd in place, pairs half a head apart (i, i + hd/2):
     * (a, b) -> (a cos[i] - b sin[i], b cos[j] + a sin[j]), j = i + hd/2; cos and sin are [hd].
     * Products round before they meet, as in the models' original code. */
    void (*rope)(float *x, const float *cos, const float *sin, size_t heads, size_t hd);

    /* Pixels of one patch row: n interleaved RGB values of src to dst[c * plane + i] in [-1, 1],
     * i = 0..n/3-1: u8 v / 255 * 2 - 1 (in this order), f32 2v - 1. */
    void (*pixels_u8)(float *dst, size_t plane, const unsigned char *src, size_t n);
    void (*pixels_f32)(float *dst, size_t plane, const float *src, size_t n);

    /* What a core can do at most with the instructions of the level's products and all data in registers; for
     * measuring, no model calls them. A step of fma_ceiling is one fused multiply-add in each of the
     * values[VACT_CEILING]: v = fma(1/2, 3, v). A step of dot_ceiling is four int8 multiply-adds in each:
     * v += 4 * VACT_CEILING_A * VACT_CEILING_B. */
    void (*fma_ceiling)(float *values, size_t steps);
    void (*dot_ceiling)(int32_t *values, size_t steps);
} vact_kernels;

/* Of the ceilings' loops: values, and the bytes that dot_ceiling multiplies. */
#define VACT_CEILING   192
#define VACT_CEILING_A 3
#define VACT_CEILING_B (-2)

/* Fills the table with the highest versions up to isa, a level that vact_cpu_has. */
void vact_kernels_init(vact_kernels *kernels, vact_isa isa);

/* Setters of the levels, each overwriting what it has faster (called by vact_kernels_init). */
void vact_kernels_init_c(vact_kernels *kernels);
void vact_kernels_init_avx2(vact_kernels *kernels);
void vact_kernels_init_avxvnni(vact_kernels *kernels);
void vact_kernels_init_avx512(vact_kernels *kernels);
void vact_kernels_init_neon(vact_kernels *kernels);
void vact_kernels_init_dotprod(vact_kernels *kernels);
void vact_kernels_init_i8mm(vact_kernels *kernels);

#endif
