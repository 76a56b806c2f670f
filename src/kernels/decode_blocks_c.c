/* Types of blocks that are read only -> float32. Layouts: ggml-org/ggml, src/ggml-common.h. A value is scale * code, plus
 * or minus a minimum. Products have at most 23 bits, so they are exact, and the sum is all that rounds. Compilers make
 * vectors of these loops, so no level has others. */
#include "kernels/scalar.h"

#include <string.h>

/* The half-precision number at p. */
static float half(const unsigned char *p)
{
    float x;
    vact_decode_f16_c(&x, p, 1);
    return x;
}

/* ---- blocks of 32: low nibbles are the first half, high nibbles the second ---- */

/* f16 scale, f16 minimum, codes of 4 bits. */
static void q4_1_block(float *restrict dst, const unsigned char *restrict p)
{
    const float d = half(p), m = half(p + 2);

    for (int j = 0; j < 16; j++) {
        dst[j] = (float)(p[4 + j] & 15) * d + m;
        dst[16 + j] = (float)(p[4 + j] >> 4) * d + m;
    }
}

/* Codes 8i to 8i+7 of 5 bits, i < 4: four bytes of highest bits, then nibbles. */
static void five_bits(unsigned char *restrict codes, const unsigned char *restrict p, int i)
{
    const uint64_t alone = p[i] * 0x0101010101010101u & 0x8040201008040201u; /* in byte j bit j or nothing */
    const uint64_t fifth = ((alone + 0x7f7f7f7f7f7f7f7fu) & 0x8080808080808080u) >> 3;
    uint64_t nibbles;

    memcpy(&nibbles, p + 4 + i % 2 * 8, sizeof nibbles);
    nibbles = fifth | (nibbles >> i / 2 * 4 & 0x0f0f0f0f0f0f0f0fu);
    memcpy(codes, &nibbles, sizeof nibbles);
}

/* f16 scale, codes of 5 bits. */
static void q5_0_block(float *restrict dst, const unsigned char *restrict p)
{
    const float d = half(p);

    for (int i = 0; i < 4; i++) {
        unsigned char codes[8];
        five_bits(codes, p + 2, i);
        for (int j = 0; j < 8; j++)
            dst[8 * i + j] = (float)(codes[j] - 16) * d;
    }
}

/* f16 scale, f16 minimum, codes of 5 bits. */
static void q5_1_block(float *restrict dst, const unsigned char *restrict p)
{
    const float d = half(p), m = half(p + 2);

    for (int i = 0; i < 4; i++) {
        unsigned char codes[8];
        five_bits(codes, p + 4, i);
        for (int j = 0; j < 8; j++)
            dst[8 * i + j] = (float)codes[j] * d + m;
    }
}

/* ---- blocks of 256: parts have whole-numbered scales of their own, minima too or an offset ---- */

/* 16 parts of 16. Bytes of scale and minimum in nibbles, codes of 2 bits, f16 scale, f16 minimum. 32 bytes of codes hold
 * 128 values, bits 0 and 1 the first 32 and so on. */
static void q2_k_block(float *restrict dst, const unsigned char *restrict p)
{
    const float d = half(p + 80), dmin = half(p + 82);

    for (int part = 0; part < 16; part++) {
        const unsigned char *codes = p + 16 + part / 8 * 32 + part % 2 * 16;
        const int shift = part % 8 / 2 * 2;
        const float scale = d * (float)(p[part] & 15), min = dmin * (float)(p[part] >> 4);
        for (int l = 0; l < 16; l++)
            dst[16 * part + l] = scale * (float)(codes[l] >> shift & 3) - min;
    }
}

/* The same parts. 32 bytes of highest bits, codes' low 2 bits, 12 bytes of scales, f16 scale. Bit b of a byte of highest
 * bits is that of 32 values from 32b on; where it is clear the value is 4 lower. Scales have 6 bits, offset by 32:
 * nibbles as in Q4_0, then four twos in each of 4 bytes. */
static void q3_k_block(float *restrict dst, const unsigned char *restrict p)
{
    const unsigned char *scales = p + 96;
    const float d = half(p + 108);

    for (int part = 0; part < 16; part++) {
        const unsigned char *codes = p + 32 + part / 8 * 32 + part % 2 * 16, *high = p + part % 2 * 16;
        const int shift = part % 8 / 2 * 2, bit = part / 2;
        const int low = part < 8 ? scales[part] & 15 : scales[part - 8] >> 4;
        const float scale = d * (float)((low | (scales[8 + part % 4] >> part / 4 * 2 & 3) << 4) - 32);
        for (int l = 0; l < 16; l++)
            dst[16 * part + l] = scale * (float)((codes[l] >> shift & 3) + (high[l] >> bit & 1) * 4 - 4);
    }
}

/* Of part j of 8. Six bits each in 12 bytes: four scales, four minima, then nibbles of the other four of each, whose
 * upper two bits are on top of the first eight. */
static int packed_scale(const unsigned char *s, int j)
{
    return j < 4 ? s[j] & 63 : (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
}

static int packed_min(const unsigned char *s, int j)
{
    return j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | s[j] >> 6 << 4;
}

/* 8 parts of 32. f16 scale, f16 minimum, 12 bytes of scales and minima, codes of 4 bits: low nibbles of 32 bytes are a
 * part, high nibbles the next. */
static void q4_k_block(float *restrict dst, const unsigned char *restrict p)
{
    const float d = half(p), dmin = half(p + 2);

    for (int part = 0; part < 8; part++) {
        const unsigned char *codes = p + 16 + part / 2 * 32;
        const int shift = part % 2 * 4;
        const float scale = d * (float)packed_scale(p + 4, part), min = dmin * (float)packed_min(p + 4, part);
        for (int l = 0; l < 32; l++)
            dst[32 * part + l] = scale * (float)(codes[l] >> shift & 15) - min;
    }
}

/* The same, with 32 bytes of highest bits before the codes: bit b of each is that of a value of part b. */
static void q5_k_block(float *restrict dst, const unsigned char *restrict p)
{
    const float d = half(p), dmin = half(p + 2);

    for (int part = 0; part < 8; part++) {
        const unsigned char *codes = p + 48 + part / 2 * 32, *high = p + 16;
        const int shift = part % 2 * 4;
        const float scale = d * (float)packed_scale(p + 4, part), min = dmin * (float)packed_min(p + 4, part);
        for (int l = 0; l < 32; l++)
            dst[32 * part + l] = scale * (float)((codes[l] >> shift & 15) + (high[l] >> part & 1) * 16) - min;
    }
}

/* 16 parts of 16, their scales signed bytes. Codes' low 4 bits, their high 2 bits, scales, f16 scale. Of 128 values, 64
 * bytes of nibbles hold the first 64 low and the others high; 32 bytes of twos as in Q2_K. */
static void q6_k_block(float *restrict dst, const unsigned char *restrict p)
{
    const float d = half(p + 208);

    for (int part = 0; part < 16; part++) {
        const unsigned char *low = p + part / 8 * 64 + part % 4 * 16, *high = p + 128 + part / 8 * 32 + part % 2 * 16;
        const int low_shift = part % 8 / 4 * 4, high_shift = part % 8 / 2 * 2;
        const float scale = d * (float)(int8_t)p[192 + part];
        for (int l = 0; l < 16; l++)
            dst[16 * part + l] = scale * (float)((low[l] >> low_shift & 15) + (high[l] >> high_shift & 3) * 16 - 32);
    }
}

#define DECODE(type, TYPE, block, block_bytes)                                                                         \
    void vact_decode_##type##_c(float *dst, const void *src, size_t n)                                                 \
    {                                                                                                                  \
        const unsigned char *p = src;                                                                                  \
        for (size_t i = 0; i < n; i += (block), p += (block_bytes))                                                    \
            type##_block(dst + i, p);                                                                                  \
    }

VACT_READ_ONLY_TYPES(DECODE)
