/* Weights in the file's types -> float32. */
#include "kernels/x86/avx2.h"

#include <string.h>

enum { BLOCK = 32, Q8_0_BYTES = 34, Q4_0_BYTES = 18 }; /* f16 scale, then the codes */

static inline __m256 f16_to_f32(__m128i halves)
{
    return _mm256_cvtph_ps(halves);
}

static inline __m256 bf16_to_f32(__m128i halves)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

/* The two 16-bit types differ in one instruction; the tail goes through a padded copy. */
#define DECODE_16(name, convert)                                                                                       \
    void name(float *dst, const void *src, size_t n)                                                                   \
    {                                                                                                                  \
        const unsigned char *p = src;                                                                                  \
        size_t i = 0;                                                                                                  \
        for (; i + 8 <= n; i += 8)                                                                                     \
            _mm256_storeu_ps(dst + i, convert(_mm_loadu_si128((const __m128i *)(p + 2 * i))));                         \
        if (i < n) {                                                                                                   \
            unsigned char tail[16] = { 0 };                                                                            \
            memcpy(tail, p + 2 * i, 2 * (n - i));                                                                      \
            store_tail(dst + i, n - i, convert(_mm_loadu_si128((const __m128i *)tail)));                               \
        }                                                                                                              \
    }

DECODE_16(vact_decode_f16_avx2, f16_to_f32)
DECODE_16(vact_decode_bf16_avx2, bf16_to_f32)

static inline __m256 block_scale(const unsigned char *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof half);
    return _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}

/* dst[16] = 16 signed codes times d. */
static inline void scale_codes(float *dst, __m128i codes, __m256 d)
{
    const __m256i lo = _mm256_cvtepi8_epi32(codes), hi = _mm256_cvtepi8_epi32(_mm_srli_si128(codes, 8));

    _mm256_storeu_ps(dst, _mm256_mul_ps(_mm256_cvtepi32_ps(lo), d));
    _mm256_storeu_ps(dst + 8, _mm256_mul_ps(_mm256_cvtepi32_ps(hi), d));
}

void vact_decode_q8_0_avx2(float *dst, const void *src, size_t n)
{
    const unsigned char *p = src;

    for (size_t i = 0; i < n; i += BLOCK, p += Q8_0_BYTES) {
        const __m256 d = block_scale(p);
        scale_codes(dst + i, _mm_loadu_si128((const __m128i *)(p + 2)), d);
        scale_codes(dst + i + 16, _mm_loadu_si128((const __m128i *)(p + 18)), d);
    }
}

void vact_decode_q4_0_avx2(float *dst, const void *src, size_t n)
{
    const __m128i nibble = _mm_set1_epi8(15), eight = _mm_set1_epi8(8);
    const unsigned char *p = src;

    for (size_t i = 0; i < n; i += BLOCK, p += Q4_0_BYTES) {
        const __m256 d = block_scale(p);
        const __m128i codes = _mm_loadu_si128((const __m128i *)(p + 2));
        const __m128i lo = _mm_and_si128(codes, nibble);
        const __m128i hi = _mm_and_si128(_mm_srli_epi16(codes, 4), nibble);

        scale_codes(dst + i, _mm_sub_epi8(lo, eight), d);
        scale_codes(dst + i + BLOCK / 2, _mm_sub_epi8(hi, eight), d);
    }
}
