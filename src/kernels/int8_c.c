/* Products of rows and weights that are both integers, with a scale for each row and for each block of a weight. */
#include "kernels/kernels.h"
#include "kernels/scalar.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = VACT_INT8_BLOCK, SCALE_BYTES = 2, SCALES_BYTES = VACT_PANEL * 4 };

void vact_quantize_c(int8_t *q, int16_t *sums, float *scale, const float *x, size_t k)
{
    float largest = 0.0f;
    bool finite = true;
    for (size_t i = 0; i < k; i++) {
        largest = fmaxf(largest, fabsf(x[i]));
        finite = finite && isfinite(x[i]);
    }
    const float step = largest / 127.0f;
    const bool zero = !finite || step < FLT_MIN;
    *scale = !finite ? NAN : zero ? 0.0f : step;
    for (size_t i = 0; i < k; i += BLOCK) {
        int sum = 0;
        for (size_t j = i; j < i + BLOCK; j++) {
            q[j] = zero ? 0 : (int8_t)lrintf(x[j] / step); /* to nearest, ties to even: nobody changes the mode */
            sum += q[j];
        }
        sums[i / BLOCK] = (int16_t)sum;
    }
}

/* A block of a panel: 16 scales, then byte p of the codes of channels 0..15, for each p. */
static void pack(size_t code_bytes, unsigned char *dst, const unsigned char *src, size_t row_bytes, int rows, size_t k)
{
    for (size_t at = 0; at < k; at += BLOCK, src += SCALE_BYTES + code_bytes) {
        memset(dst, 0, SCALES_BYTES + VACT_PANEL * code_bytes);
        for (size_t j = 0; j < (size_t)rows; j++) {
            const unsigned char *block = src + j * row_bytes;
            vact_decode_f16_c((float *)(void *)dst + j, block, 1);
            for (size_t p = 0; p < code_bytes; p++)
                dst[SCALES_BYTES + p * VACT_PANEL + j] = block[SCALE_BYTES + p];
        }
        dst += SCALES_BYTES + VACT_PANEL * code_bytes;
    }
}

/* Code i of a channel of a packed block. */
static int q8_0_code(const unsigned char *codes, size_t i)
{
    return (int8_t)codes[i * VACT_PANEL];
}

static int q4_0_code(const unsigned char *codes, size_t i)
{
    const int both = codes[i % (BLOCK / 2) * VACT_PANEL];
    return (i < BLOCK / 2 ? both & 15 : both >> 4) - 8;
}

static float product(int (*code)(const unsigned char *, size_t), size_t code_bytes, const int8_t *q, float scale,
                     const unsigned char *panel, size_t channel, size_t k)
{
    float acc = 0.0f;
    for (size_t at = 0; at < k; at += BLOCK, panel += SCALES_BYTES + VACT_PANEL * code_bytes) {
        float weight_scale;
        memcpy(&weight_scale, panel + channel * sizeof weight_scale, sizeof weight_scale);
        int dot = 0;
        for (size_t i = 0; i < BLOCK; i++)
            dot += q[at + i] * code(panel + SCALES_BYTES + channel, i);
        acc = fmaf((float)dot, weight_scale, acc);
    }
    return acc * scale;
}

#define INT8(type, code_bytes)                                                                                         \
    void vact_pack_int8_##type##_c(void *dst, const void *src, size_t row_bytes, int rows, size_t k)                   \
    {                                                                                                                  \
        pack(code_bytes, dst, src, row_bytes, rows, k);                                                                \
    }                                                                                                                  \
    void vact_gemm_int8_##type##_c(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k, \
                                   int rows, int panels)                                                               \
    {                                                                                                                  \
        for (size_t i = 0; i < (size_t)rows; i++)                                                                      \
            for (size_t j = 0; j < VACT_PANEL * (size_t)panels; j++)                                                   \
                c[i * ldc + j] = product(type##_code, code_bytes, a->q + i * a->ldq, a->scale[i],                      \
                                         (const unsigned char *)b + j / VACT_PANEL * ldb, j % VACT_PANEL, k);          \
    }

INT8(q8_0, 32)
INT8(q4_0, 16)
