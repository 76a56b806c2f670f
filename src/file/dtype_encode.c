/* float32 -> stored values, with the roundings of ggml's reference encoders (ggml-org/ggml, src/ggml-quants.c) */
#include "file/dtype.h"
#include <math.h>
#include <string.h>

enum { BLOCK = 32, Q8_0_BYTES = 34, Q4_0_BYTES = 18 }; /* f16 scale, then the codes */

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* To nearest, ties to even; a NaN becomes quiet and keeps what fits of its payload, as in hardware. */
static uint16_t to_f16(float x)
{
    const uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;

    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= bits_of(65520.0f)) /* half way from the largest to the next power of two */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < bits_of(0x1p-14f)) /* zero or subnormal: whole multiples of 2^-24 */
        return (uint16_t)(sign | (uint32_t)lrintf(fabsf(x) * 0x1p24f));
    const uint32_t rebased = magnitude - (112u << 23);
    return (uint16_t)(sign | (rebased + 0xfff + (rebased >> 13 & 1)) >> 13);
}

static uint16_t to_bf16(float x)
{
    const uint32_t bits = bits_of(x);

    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 64);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void store_u16(unsigned char *p, uint16_t x)
{
    memcpy(p, &x, sizeof x);
}

static void encode_f32(void *dst, const float *src, size_t n)
{
    memcpy(dst, src, n * sizeof *src);
}

static void encode_f16(void *dst, const float *src, size_t n)
{
    unsigned char *p = dst;

    for (size_t i = 0; i < n; i++)
        store_u16(p + 2 * i, to_f16(src[i]));
}

static void encode_bf16(void *dst, const float *src, size_t n)
{
    unsigned char *p = dst;

    for (size_t i = 0; i < n; i++)
        store_u16(p + 2 * i, to_bf16(src[i]));
}

/* The codes come from the unrounded scale. Where its inverse overflows or a value is no number there is no code, and 0
 * is taken, which is what ggml's conversion gives on x86. */
static void encode_q8_0(void *dst, const float *src, size_t n)
{
    unsigned char *p = dst;

    for (size_t i = 0; i < n; i += BLOCK, p += Q8_0_BYTES) {
        float most = 0;
        for (size_t j = 0; j < BLOCK; j++)
            most = fmaxf(most, fabsf(src[i + j]));
        const float d = most / 127, inverse = d != 0 ? 1 / d : 0;
        store_u16(p, to_f16(d));
        for (size_t j = 0; j < BLOCK; j++) {
            const float code = roundf(src[i + j] * inverse); /* half away from zero */
            p[2 + j] = fabsf(code) <= 127 ? (unsigned char)(int)code : 0;
        }
    }
}

static unsigned q4_0_code(float x, float inverse)
{
    const float scaled = x * inverse, code = scaled + 8.5f; /* rounded twice: some builds of ggml fuse it */

    return code >= 0 && code < 16 ? (unsigned)code : code >= 16 && code < 17 ? 15 : 0;
}

/* The value furthest from 0, the first of equals, is code 0, that is -8: the scale has the other sign. Low nibbles are
 * the first half of the block, high nibbles the second. */
static void encode_q4_0(void *dst, const float *src, size_t n)
{
    unsigned char *p = dst;

    for (size_t i = 0; i < n; i += BLOCK, p += Q4_0_BYTES) {
        float most = 0;
        for (size_t j = 0; j < BLOCK; j++)
            if (fabsf(src[i + j]) > fabsf(most))
                most = src[i + j];
        const float d = most / -8, inverse = d != 0 ? 1 / d : 0;
        store_u16(p, to_f16(d));
        for (size_t j = 0; j < BLOCK / 2; j++)
            p[2 + j] =
                (unsigned char)(q4_0_code(src[i + j], inverse) | q4_0_code(src[i + j + BLOCK / 2], inverse) << 4);
    }
}

vact_encode_fn vact_dtype_encoder(uint32_t id)
{
    switch (id) {
    case VACT_DTYPE_F32:
        return encode_f32;
    case VACT_DTYPE_F16:
        return encode_f16;
    case VACT_DTYPE_BF16:
        return encode_bf16;
    case VACT_DTYPE_Q8_0:
        return encode_q8_0;
    case VACT_DTYPE_Q4_0:
        return encode_q4_0;
    default:
        return NULL;
    }
}
