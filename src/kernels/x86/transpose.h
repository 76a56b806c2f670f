/* Transposes of 32-bit words, for packing. */
#ifndef VACT_KERNELS_X86_TRANSPOSE_H
#define VACT_KERNELS_X86_TRANSPOSE_H

#include "kernels/kernels.h"

#include <immintrin.h>

/* Four words of rows r and r + 4, side by side. */
static inline __m256 load_pair(const unsigned char *src, size_t row_bytes, size_t r)
{
    return _mm256_insertf128_ps(
        _mm256_castps128_ps256(_mm_loadu_ps((const float *)(const void *)(src + r * row_bytes))),
        _mm_loadu_ps((const float *)(const void *)(src + (r + 4) * row_bytes)), 1);
}

/* Four words of each of 8 rows -> the same word of all rows side by side; rows of dst are VACT_PANEL words apart. */
static inline void transpose_8x4(float *dst, const unsigned char *src, size_t row_bytes)
{
    const __m256 r0 = load_pair(src, row_bytes, 0), r1 = load_pair(src, row_bytes, 1);
    const __m256 r2 = load_pair(src, row_bytes, 2), r3 = load_pair(src, row_bytes, 3);
    const __m256 lo01 = _mm256_unpacklo_ps(r0, r1), hi01 = _mm256_unpackhi_ps(r0, r1);
    const __m256 lo23 = _mm256_unpacklo_ps(r2, r3), hi23 = _mm256_unpackhi_ps(r2, r3);

    _mm256_store_ps(dst, _mm256_shuffle_ps(lo01, lo23, _MM_SHUFFLE(1, 0, 1, 0)));
    _mm256_store_ps(dst + VACT_PANEL, _mm256_shuffle_ps(lo01, lo23, _MM_SHUFFLE(3, 2, 3, 2)));
    _mm256_store_ps(dst + 2 * VACT_PANEL, _mm256_shuffle_ps(hi01, hi23, _MM_SHUFFLE(1, 0, 1, 0)));
    _mm256_store_ps(dst + 3 * VACT_PANEL, _mm256_shuffle_ps(hi01, hi23, _MM_SHUFFLE(3, 2, 3, 2)));
}

/* The same of 16 rows: dst[4][16]. */
static inline void transpose_16x4(float *dst, const unsigned char *src, size_t row_bytes)
{
    transpose_8x4(dst, src, row_bytes);
    transpose_8x4(dst + 8, src + 8 * row_bytes, row_bytes);
}

#endif
