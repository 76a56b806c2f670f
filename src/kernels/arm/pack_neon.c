/* 16 rows of a weight -> a panel, by 4x4 transposes. Incomplete panels take the scalar way. */
#include "kernels/arm/neon.h"
#include "kernels/kernels.h"
#include "kernels/scalar.h"

enum { CHUNK = 32 }; /* values decoded at a time: whole blocks */

/* dst[p][0..3] = src[0..3][p] for four p; rows of dst are VACT_PANEL apart. */
static inline void transpose_4x4(float *dst, const float *src, size_t ld)
{
    const float32x4_t r0 = vld1q_f32(src), r1 = vld1q_f32(src + ld);
    const float32x4_t r2 = vld1q_f32(src + 2 * ld), r3 = vld1q_f32(src + 3 * ld);
    const float32x4_t lo02 = vzip1q_f32(r0, r2), hi02 = vzip2q_f32(r0, r2);
    const float32x4_t lo13 = vzip1q_f32(r1, r3), hi13 = vzip2q_f32(r1, r3);

    vst1q_f32(dst, vzip1q_f32(lo02, lo13));
    vst1q_f32(dst + VACT_PANEL, vzip2q_f32(lo02, lo13));
    vst1q_f32(dst + 2 * VACT_PANEL, vzip1q_f32(hi02, hi13));
    vst1q_f32(dst + 3 * VACT_PANEL, vzip2q_f32(hi02, hi13));
}

/* k is a multiple of 4. */
static inline void transpose(float *dst, const float *src, size_t ld, size_t k)
{
    for (size_t p = 0; p < k; p += 4)
        for (size_t j = 0; j < VACT_PANEL; j += 4)
            transpose_4x4(dst + p * VACT_PANEL + j, src + j * ld + p, ld);
}

void vact_pack_f32_neon(float *dst, const void *src, size_t row_bytes, int rows, size_t k)
{
    const float *x = src;
    const size_t whole = rows == VACT_PANEL ? k / 4 * 4 : 0;

    transpose(dst, x, row_bytes / sizeof *x, whole);
    vact_pack_f32_c(dst + whole * VACT_PANEL, x + whole, row_bytes, rows, k - whole);
}

/* A chunk of every row is decoded, then transposed. */
#define PACK(type, chunk, chunk_bytes, level)                                                                          \
    void vact_pack_##type##_neon(float *dst, const void *src, size_t row_bytes, int rows, size_t k)                    \
    {                                                                                                                  \
        const size_t whole = rows == VACT_PANEL ? k / (chunk) * (chunk) : 0;                                           \
        const unsigned char *x = src;                                                                                  \
        for (size_t p = 0; p < whole; p += (chunk), x += (chunk_bytes)) {                                              \
            float values[VACT_PANEL * (chunk)];                                                                        \
            for (size_t j = 0; j < VACT_PANEL; j++)                                                                    \
                vact_decode_##type##_##level(values + j * (chunk), x + j * row_bytes, chunk);                          \
            transpose(dst + p * VACT_PANEL, values, chunk, chunk);                                                     \
        }                                                                                                              \
        vact_pack_##type##_c(dst + whole * VACT_PANEL, x, row_bytes, rows, k - whole);                                 \
    }

PACK(f16, CHUNK, 2 * CHUNK, neon)
PACK(bf16, CHUNK, 2 * CHUNK, neon)
PACK(q8_0, CHUNK, 34, neon)
PACK(q4_0, CHUNK, 18, neon)
#define PACK_READ_ONLY(type, TYPE, block, block_bytes) PACK(type, block, block_bytes, c)
VACT_READ_ONLY_TYPES(PACK_READ_ONLY)
