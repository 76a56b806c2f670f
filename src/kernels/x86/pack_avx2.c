/* 16 rows of a weight -> a panel, by transposes in registers. Incomplete panels take the scalar way. */
#include "kernels/kernels.h"
#include "kernels/scalar.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/transpose.h"

#include <string.h>

enum { BLOCK = 32, Q8_0_BYTES = 34, Q4_0_BYTES = 18 };

/* Rows whose distance is a multiple of 4 KiB meet in one set of the first-level cache, which has 8 places for the 16 of
 * them. So they are copied first, some lines of each at a time: that halves the time. */
enum { PAGE = 4096, STAGED = 256, STAGED_APART = STAGED + 64 }; /* bytes */

typedef void pack_rows(float *dst, const void *src, size_t row_bytes, int rows, size_t k);

static void pack_staged(pack_rows *pack, size_t value_bytes, float *dst, const unsigned char *src, size_t row_bytes,
                        size_t k)
{
    _Alignas(64) unsigned char staged[VACT_PANEL * STAGED_APART];
    for (size_t at = 0, n; at < k; at += n) {
        n = k - at < STAGED / value_bytes ? k - at : STAGED / value_bytes;
        for (size_t j = 0; j < VACT_PANEL; j++)
            if (n * value_bytes == STAGED) /* a size that compilers know */
                memcpy(staged + j * STAGED_APART, src + j * row_bytes + at * value_bytes, STAGED);
            else
                memcpy(staged + j * STAGED_APART, src + j * row_bytes + at * value_bytes, n * value_bytes);
        pack(dst + at * VACT_PANEL, staged, STAGED_APART, VACT_PANEL, n);
    }
}

static bool meets_in_the_cache(size_t row_bytes, int rows)
{
    return row_bytes % PAGE == 0 && rows == VACT_PANEL;
}

void vact_pack_f32_avx2(float *dst, const void *src, size_t row_bytes, int rows, size_t k)
{
    if (meets_in_the_cache(row_bytes, rows)) {
        pack_staged(vact_pack_f32_avx2, 4, dst, src, row_bytes, k);
        return;
    }
    const unsigned char *x = src;
    const size_t whole = rows == VACT_PANEL ? k / 4 * 4 : 0;

    for (size_t p = 0; p < whole; p += 4)
        transpose_16x4(dst + p * VACT_PANEL, x + 4 * p, row_bytes);
    vact_pack_f32_c(dst + whole * VACT_PANEL, x + 4 * whole, row_bytes, rows, k - whole);
}

/* Rows r and r + behind of eight 16-bit columns, side by side. */
static inline __m256i load_halves(const unsigned char *src, size_t row_bytes, size_t r, size_t behind)
{
    const __m128i low = _mm_loadu_si128((const __m128i *)(src + r * row_bytes));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low),
                                   _mm_loadu_si128((const __m128i *)(src + (r + behind) * row_bytes)), 1);
}

/* In each half of the registers: eight rows of eight columns become eight columns of eight rows. */
static inline void transpose_halves(__m256i r[8])
{
    __m256i s[8];
    for (int i = 0; i < 4; i++) {
        s[2 * i] = _mm256_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
        s[2 * i + 1] = _mm256_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        r[4 * i] = _mm256_unpacklo_epi32(s[4 * i], s[4 * i + 2]);
        r[4 * i + 1] = _mm256_unpackhi_epi32(s[4 * i], s[4 * i + 2]);
        r[4 * i + 2] = _mm256_unpacklo_epi32(s[4 * i + 1], s[4 * i + 3]);
        r[4 * i + 3] = _mm256_unpackhi_epi32(s[4 * i + 1], s[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        s[2 * i] = _mm256_unpacklo_epi64(r[i], r[i + 4]);
        s[2 * i + 1] = _mm256_unpackhi_epi64(r[i], r[i + 4]);
    }
    for (int i = 0; i < 8; i++)
        r[i] = s[i];
}

/* Rows 0-3 and 8-11 in the low half, 4-7 and 12-15 in the high one: then the two unpackings that put a zero below each
 * 16-bit value, which makes a float of it, also leave channels 0-7 and 8-15 in order. */
void vact_pack_bf16_avx2(float *dst, const void *src, size_t row_bytes, int rows, size_t k)
{
    if (meets_in_the_cache(row_bytes, rows)) {
        pack_staged(vact_pack_bf16_avx2, 2, dst, src, row_bytes, k);
        return;
    }
    const unsigned char *x = src;
    const size_t whole = rows == VACT_PANEL ? k / 8 * 8 : 0;
    const __m256i zero = _mm256_setzero_si256();

    for (size_t p = 0; p < whole; p += 8) {
        __m256i r[8];
        for (size_t i = 0; i < 4; i++) {
            r[i] = load_halves(x + 2 * p, row_bytes, i, 4);
            r[i + 4] = load_halves(x + 2 * p, row_bytes, i + 8, 4);
        }
        transpose_halves(r);
        for (size_t i = 0; i < 8; i++) {
            float *to = dst + (p + i) * VACT_PANEL;
            _mm256_store_ps(to, _mm256_castsi256_ps(_mm256_unpacklo_epi16(zero, r[i])));
            _mm256_store_ps(to + 8, _mm256_castsi256_ps(_mm256_unpackhi_epi16(zero, r[i])));
        }
    }
    vact_pack_bf16_c(dst + whole * VACT_PANEL, x + 2 * whole, row_bytes, rows, k - whole);
}

void vact_pack_f16_avx2(float *dst, const void *src, size_t row_bytes, int rows, size_t k)
{
    if (meets_in_the_cache(row_bytes, rows)) {
        pack_staged(vact_pack_f16_avx2, 2, dst, src, row_bytes, k);
        return;
    }
    const unsigned char *x = src;
    const size_t whole = rows == VACT_PANEL ? k / 8 * 8 : 0;

    for (size_t p = 0; p < whole; p += 8) {
        __m256i r[8];
        for (size_t i = 0; i < 8; i++)
            r[i] = load_halves(x + 2 * p, row_bytes, i, 8);
        transpose_halves(r);
        for (size_t i = 0; i < 8; i++) {
            float *to = dst + (p + i) * VACT_PANEL;
            _mm256_store_ps(to, _mm256_cvtph_ps(_mm256_castsi256_si128(r[i])));
            _mm256_store_ps(to + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(r[i], 1)));
        }
    }
    vact_pack_f16_c(dst + whole * VACT_PANEL, x + 2 * whole, row_bytes, rows, k - whole);
}

/* A block of every row is decoded, then transposed. */
#define PACK_BLOCKS(type, block, block_bytes, level)                                                                   \
    void vact_pack_##type##_avx2(float *dst, const void *src, size_t row_bytes, int rows, size_t k)                    \
    {                                                                                                                  \
        if (rows < VACT_PANEL) {                                                                                       \
            vact_pack_##type##_c(dst, src, row_bytes, rows, k);                                                        \
            return;                                                                                                    \
        }                                                                                                              \
        const unsigned char *x = src;                                                                                  \
        for (size_t p = 0; p < k; p += (block), x += (block_bytes)) {                                                  \
            float values[VACT_PANEL * (block)];                                                                        \
            for (size_t j = 0; j < VACT_PANEL; j++)                                                                    \
                vact_decode_##type##_##level(values + j * (block), x + j * row_bytes, block);                          \
            for (size_t i = 0; i < (block); i += 4)                                                                    \
                transpose_16x4(dst + (p + i) * VACT_PANEL, (const unsigned char *)(values + i), 4 * (block));          \
        }                                                                                                              \
    }

PACK_BLOCKS(q8_0, BLOCK, Q8_0_BYTES, avx2)
PACK_BLOCKS(q4_0, BLOCK, Q4_0_BYTES, avx2)
#define PACK_READ_ONLY(type, TYPE, block, block_bytes) PACK_BLOCKS(type, block, block_bytes, c)
VACT_READ_ONLY_TYPES(PACK_READ_ONLY)
