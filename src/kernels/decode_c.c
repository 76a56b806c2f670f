/* Weights in the file's types -> float32. Every product here is exact, so all levels agree to the bit. */
#include "kernels/scalar.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK = 32, Q8_0_BYTES = 34, Q4_0_BYTES = 18 }; /* f16 scale, then the codes */

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint16_t load_u16(const unsigned char *p)
{
    uint16_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static float from_f16(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t exponent = half >> 10 & 31;
    const uint32_t fraction = half & 0x3ff;

    if (exponent == 0) { /* zero or subnormal: fraction * 2^-24, exact in float32 */
        const float x = (float)fraction * 0x1p-24f;
        return sign ? -x : x;
    }
    if (exponent == 31) /* inf keeps fraction 0; a NaN keeps its payload and becomes quiet, as in hardware */
        return from_bits(sign | 0x7f800000 | (fraction ? 0x400000 | fraction << 13 : 0));
    return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

void vact_decode_f32_c(float *dst, const void *src, size_t n)
{
    memcpy(dst, src, n * sizeof *dst);
}

void vact_decode_f16_c(float *dst, const void *src, size_t n)
{
    const unsigned char *p = src;

    for (size_t i = 0; i < n; i++)
        dst[i] = from_f16(load_u16(p + 2 * i));
}

void vact_decode_bf16_c(float *dst, const void *src, size_t n)
{
    const unsigned char *p = src;

    for (size_t i = 0; i < n; i++)
        dst[i] = from_bits((uint32_t)load_u16(p + 2 * i) << 16);
}

void vact_decode_q8_0_c(float *dst, const void *src, size_t n)
{
    const unsigned char *p = src;

    for (size_t i = 0; i < n; i += BLOCK, p += Q8_0_BYTES) {
        const float d = from_f16(load_u16(p));
        for (size_t j = 0; j < BLOCK; j++)
            dst[i + j] = (float)(int8_t)p[2 + j] * d;
    }
}

/* Low nibbles are the first half of the block, high nibbles the second. */
void vact_decode_q4_0_c(float *dst, const void *src, size_t n)
{
    const unsigned char *p = src;

    for (size_t i = 0; i < n; i += BLOCK, p += Q4_0_BYTES) {
        const float d = from_f16(load_u16(p));
        for (size_t j = 0; j < BLOCK / 2; j++) {
            dst[i + j] = (float)((p[2 + j] & 15) - 8) * d;
            dst[i + j + BLOCK / 2] = (float)((p[2 + j] >> 4) - 8) * d;
        }
    }
}
