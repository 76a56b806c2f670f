/* 16 rows of a quantized weight -> a panel for vpdpbusd (vnni.h), by transposes of four codes at a time. Made of
 * AVX2: both levels that have the products take it. */
#include "kernels/x86/avx2.h"
#include "kernels/x86/vnni.h"

#include <string.h>

/* A block in the file is an f16 scale and its codes. */
enum { SCALE_BYTES = 2 };

/* 16 bytes of rows r and r + 4, side by side. */
static inline __m256i load_pair(const unsigned char *const rows[8], size_t r, size_t at)
{
    const __m128i low = _mm_loadu_si128((const __m128i *)(rows[r] + at));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), _mm_loadu_si128((const __m128i *)(rows[r + 4] + at)),
                                   1);
}

/* Four groups of eight channels from 16 bytes of eight rows; flip is what their bits are changed by. */
static inline void transpose_8x4(unsigned char *dst, const unsigned char *const rows[8], size_t at, __m256i flip)
{
    const __m256i r0 = load_pair(rows, 0, at), r1 = load_pair(rows, 1, at);
    const __m256i r2 = load_pair(rows, 2, at), r3 = load_pair(rows, 3, at);
    const __m256i lo01 = _mm256_unpacklo_epi32(r0, r1), hi01 = _mm256_unpackhi_epi32(r0, r1);
    const __m256i lo23 = _mm256_unpacklo_epi32(r2, r3), hi23 = _mm256_unpackhi_epi32(r2, r3);
    const __m256i groups[4] = { _mm256_unpacklo_epi64(lo01, lo23), _mm256_unpackhi_epi64(lo01, lo23),
                                _mm256_unpacklo_epi64(hi01, hi23), _mm256_unpackhi_epi64(hi01, hi23) };

    for (size_t g = 0; g < 4; g++)
        _mm256_store_si256((__m256i *)(dst + g * GROUP_BYTES), _mm256_xor_si256(groups[g], flip));
}

static inline void pack_scales(unsigned char *dst, const unsigned char *const rows[VACT_PANEL])
{
    uint16_t halves[VACT_PANEL];
    for (size_t j = 0; j < VACT_PANEL; j++)
        memcpy(halves + j, rows[j], sizeof *halves);
    for (size_t j = 0; j < VACT_PANEL; j += 8)
        _mm256_store_ps((float *)dst + j, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(halves + j))));
}

static inline void pack_q8_0(unsigned char *dst, const unsigned char *const rows[VACT_PANEL])
{
    const __m256i plus_128 = _mm256_set1_epi8(-128);
    for (size_t at = 0; at < 32; at += 16, dst += 4 * GROUP_BYTES) {
        transpose_8x4(dst, rows, SCALE_BYTES + at, plus_128);
        transpose_8x4(dst + 32, rows + 8, SCALE_BYTES + at, plus_128);
    }
}

static inline void pack_q4_0(unsigned char *dst, const unsigned char *const rows[VACT_PANEL])
{
    transpose_8x4(dst, rows, SCALE_BYTES, _mm256_setzero_si256());
    transpose_8x4(dst + 32, rows + 8, SCALE_BYTES, _mm256_setzero_si256());
}

/* Channels beyond `rows` read a block whose scale is zero. */
#define PACK(type, file_bytes, block_bytes)                                                                            \
    void vact_pack_int8_##type##_vnni(void *dst, const void *src, size_t row_bytes, int rows, size_t k)                \
    {                                                                                                                  \
        static const unsigned char none[file_bytes] = { 0 };                                                           \
        const unsigned char *row[VACT_PANEL];                                                                          \
        unsigned char *to = dst;                                                                                       \
        for (int j = 0; j < VACT_PANEL; j++)                                                                           \
            row[j] = j < rows ? (const unsigned char *)src + (size_t)j * row_bytes : none;                             \
        for (; k > 0; k -= BLOCK, to += (block_bytes)) {                                                               \
            pack_scales(to, row);                                                                                      \
            pack_##type(to + SCALES_BYTES, row);                                                                       \
            for (int j = 0; j < rows; j++)                                                                             \
                row[j] += (file_bytes);                                                                                \
        }                                                                                                              \
    }

PACK(q8_0, 34, Q8_0_PANEL_BYTES)
PACK(q4_0, 18, Q4_0_PANEL_BYTES)
