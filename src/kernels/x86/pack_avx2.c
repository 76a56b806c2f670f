/* 16 rows of a weight -> a panel, by 8x8 transposes. */
#include "kernels/kernels.h"
#include "kernels/x86/avx2.h"

/* Rows r and r + 4 of four columns, side by side. */
static inline __m256 load_pair(const float *src, size_t ld, size_t r)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(src + r * ld)), _mm_loadu_ps(src + (r + 4) * ld),
                                1);
}

/* dst[p][0..7] = src[0..7][p] for four p; rows of dst are VACT_PANEL apart. */
static inline void transpose_8x4(float *dst, const float *src, size_t ld)
{
    const __m256 r0 = load_pair(src, ld, 0), r1 = load_pair(src, ld, 1);
    const __m256 r2 = load_pair(src, ld, 2), r3 = load_pair(src, ld, 3);
    const __m256 lo01 = _mm256_unpacklo_ps(r0, r1), hi01 = _mm256_unpackhi_ps(r0, r1);
    const __m256 lo23 = _mm256_unpacklo_ps(r2, r3), hi23 = _mm256_unpackhi_ps(r2, r3);

    _mm256_store_ps(dst, _mm256_shuffle_ps(lo01, lo23, _MM_SHUFFLE(1, 0, 1, 0)));
    _mm256_store_ps(dst + VACT_PANEL, _mm256_shuffle_ps(lo01, lo23, _MM_SHUFFLE(3, 2, 3, 2)));
    _mm256_store_ps(dst + 2 * VACT_PANEL, _mm256_shuffle_ps(hi01, hi23, _MM_SHUFFLE(1, 0, 1, 0)));
    _mm256_store_ps(dst + 3 * VACT_PANEL, _mm256_shuffle_ps(hi01, hi23, _MM_SHUFFLE(3, 2, 3, 2)));
}

void vact_pack_avx2(float *dst, const float *src, size_t ld, size_t k)
{
    size_t p = 0;

    for (; p + 4 <= k; p += 4) {
        transpose_8x4(dst + p * VACT_PANEL, src + p, ld);
        transpose_8x4(dst + p * VACT_PANEL + 8, src + 8 * ld + p, ld);
    }
    for (; p < k; p++)
        for (size_t j = 0; j < VACT_PANEL; j++)
            dst[p * VACT_PANEL + j] = src[j * ld + p];
}
