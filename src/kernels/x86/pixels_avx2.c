/* Interleaved RGB -> three planes in [-1, 1], eight pixels at a time. Doubling is exact, so a fused 2v - 1 has the bits
 * of the definition. */
#include "kernels/x86/avx2.h"

#include <string.h>

enum { PIXELS = 8 };

static inline __m256 centred(__m256 v)
{
    return _mm256_fmsub_ps(v, _mm256_set1_ps(2.0f), _mm256_set1_ps(1.0f));
}

/* Channel c of eight pixels: the first four lie in bytes 0..15, the last four in bytes 8..23. */
static inline __m256 channel_u8(__m128i low, __m128i high, char c)
{
    const __m128i first =
        _mm_setr_epi8(c, (char)(c + 3), (char)(c + 6), (char)(c + 9), -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i last = _mm_setr_epi8(-1, -1, -1, -1, (char)(c + 4), (char)(c + 7), (char)(c + 10), (char)(c + 13), -1,
                                       -1, -1, -1, -1, -1, -1, -1);
    const __m128i bytes = _mm_or_si128(_mm_shuffle_epi8(low, first), _mm_shuffle_epi8(high, last));
    const __m256 v = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
    return centred(_mm256_div_ps(v, _mm256_set1_ps(255.0f)));
}

static inline void split_u8(__m256 planes[3], const unsigned char *src)
{
    const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)src);
    const __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(src + 8));
    planes[0] = channel_u8(low, high, 0);
    planes[1] = channel_u8(low, high, 1);
    planes[2] = channel_u8(low, high, 2);
}

/* Of the three channels, lane i's lies in the vector that holds value 3i + c: one blend of all three and one permutation
 * for each. */
static inline void split_f32(__m256 planes[3], const float *src)
{
    const __m256 v0 = _mm256_loadu_ps(src), v1 = _mm256_loadu_ps(src + 8), v2 = _mm256_loadu_ps(src + 16);
    const __m256 r = _mm256_blend_ps(_mm256_blend_ps(v0, v1, 0x92), v2, 0x24);
    const __m256 g = _mm256_blend_ps(_mm256_blend_ps(v0, v1, 0x24), v2, 0x49);
    const __m256 b = _mm256_blend_ps(_mm256_blend_ps(v0, v1, 0x49), v2, 0x92);
    planes[0] = centred(_mm256_permutevar8x32_ps(r, _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5)));
    planes[1] = centred(_mm256_permutevar8x32_ps(g, _mm256_setr_epi32(1, 4, 7, 2, 5, 0, 3, 6)));
    planes[2] = centred(_mm256_permutevar8x32_ps(b, _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7)));
}

/* T is the type of src's values; the last pixels go through a padded copy. */
#define SPLIT(T, split)                                                                                                \
    __m256 planes[3];                                                                                                  \
    size_t at = 0;                                                                                                     \
    n /= 3;                                                                                                            \
    for (; at + PIXELS <= n; at += PIXELS) {                                                                           \
        split(planes, src + 3 * at);                                                                                   \
        for (size_t c = 0; c < 3; c++)                                                                                 \
            _mm256_storeu_ps(dst + c * plane + at, planes[c]);                                                         \
    }                                                                                                                  \
    if (at < n) {                                                                                                      \
        T rest[3 * PIXELS] = { 0 };                                                                                    \
        memcpy(rest, src + 3 * at, 3 * (n - at) * sizeof *rest);                                                       \
        split(planes, rest);                                                                                           \
        for (size_t c = 0; c < 3; c++)                                                                                 \
            store_tail(dst + c * plane + at, n - at, planes[c]);                                                       \
    }

void vact_pixels_u8_avx2(float *dst, size_t plane, const unsigned char *src, size_t n)
{
    SPLIT(unsigned char, split_u8)
}

void vact_pixels_f32_avx2(float *dst, size_t plane, const float *src, size_t n)
{
    SPLIT(float, split_f32)
}
