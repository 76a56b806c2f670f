/* Products of integers by maddubs, which multiplies unsigned by signed bytes and adds pairs in 16 bits, saturating.
 *
 * Q8_0: |w| times a with the sign of w. Activations are within +-127, so that a pair is at most 2 * 128 * 127 = 32512.
 * Q4_0: the codes 0..15 as they are; eight pairs add up in 16 bits, to 8 * 2 * 15 * 127 = 30480, a whole block; then
 * the 8 that each code is too large by is taken off through the sums of the activations.
 *
 * A panel's block: 16 float scales, then groups [16 channels][4 bytes], the same four bytes of every channel's block in
 * the file side by side: 8 groups of Q8_0, 4 of Q4_0 (low nibbles: codes 4g.., high nibbles: 16 + 4g..). */
#include "kernels/int8_tiles.h"
#include "kernels/scalar.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/transpose.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = VACT_INT8_BLOCK, SCALE_BYTES = 2, SCALES_BYTES = VACT_PANEL * 4, GROUP_BYTES = VACT_PANEL * 4 };

/* ---- rows ---- */

void vact_quantize_avx2(int8_t *q, int16_t *sums, float *scale, const float *x, size_t k)
{
    const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    __m256 largest = _mm256_setzero_ps(), nothing = largest; /* x * 0 is NaN for NaN and infinities */
    for (size_t i = 0; i < k; i += 8) {
        const __m256 v = _mm256_loadu_ps(x + i);
        largest = _mm256_max_ps(_mm256_and_ps(v, magnitude), largest);
        nothing = _mm256_fmadd_ps(v, _mm256_setzero_ps(), nothing);
    }
    const bool finite = !isnan(sum_lanes(nothing));
    const float step = max_lanes(largest) / 127.0f;
    if (!finite || step < FLT_MIN) {
        *scale = finite ? 0.0f : NAN;
        memset(q, 0, k);
        memset(sums, 0, k / BLOCK * sizeof *sums);
        return;
    }
    *scale = step;
    const __m256 steps = _mm256_set1_ps(step);
    const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
#define CODES(j) _mm256_cvtps_epi32(_mm256_div_ps(_mm256_loadu_ps(x + i + (j)), steps))
    for (size_t i = 0; i < k; i += BLOCK) {
        const __m256i codes = _mm256_permutevar8x32_epi32(
            _mm256_packs_epi16(_mm256_packs_epi32(CODES(0), CODES(8)), _mm256_packs_epi32(CODES(16), CODES(24))),
            in_order);
        _mm256_storeu_si256((__m256i *)(q + i), codes);
        /* As unsigned bytes, 128 larger, they add up exactly. */
        const __m256i parts = _mm256_sad_epu8(_mm256_xor_si256(codes, _mm256_set1_epi8(-128)), _mm256_setzero_si256());
        const __m128i halves = _mm_add_epi64(_mm256_castsi256_si128(parts), _mm256_extracti128_si256(parts, 1));
        sums[i / BLOCK] = (int16_t)(_mm_cvtsi128_si32(halves) + _mm_extract_epi32(halves, 2) - 128 * BLOCK);
    }
#undef CODES
}

/* ---- weights ---- */

static inline void pack(size_t code_bytes, unsigned char *dst, const unsigned char *src, size_t row_bytes, int rows,
                        size_t k)
{
    unsigned char some[VACT_PANEL * (SCALE_BYTES + BLOCK)] = { 0 };
    for (size_t at = 0; at < k; at += BLOCK, src += SCALE_BYTES + code_bytes) {
        const unsigned char *blocks = src;
        size_t apart = row_bytes;
        if (rows < VACT_PANEL) { /* beside zeros */
            apart = SCALE_BYTES + code_bytes;
            for (size_t j = 0; j < (size_t)rows; j++)
                memcpy(some + j * apart, src + j * row_bytes, apart);
            blocks = some;
        }
        uint16_t halves[VACT_PANEL];
        for (size_t j = 0; j < VACT_PANEL; j++)
            memcpy(halves + j, blocks + j * apart, sizeof *halves);
        vact_decode_f16_avx2((float *)(void *)dst, halves, VACT_PANEL);
        dst += SCALES_BYTES;
        for (size_t i = 0; i < code_bytes; i += 16, dst += 4 * GROUP_BYTES)
            transpose_16x4((float *)(void *)dst, blocks + SCALE_BYTES + i, apart);
    }
}

void vact_pack_int8_q8_0_avx2(void *dst, const void *src, size_t row_bytes, int rows, size_t k)
{
    pack(32, dst, src, row_bytes, rows, k);
}

void vact_pack_int8_q4_0_avx2(void *dst, const void *src, size_t row_bytes, int rows, size_t k)
{
    pack(16, dst, src, row_bytes, rows, k);
}

/* ---- products ---- */

static inline __m256i load_group(const unsigned char *p)
{
    return _mm256_load_si256((const __m256i *)(const void *)p);
}

static inline __m256i spread(const int8_t *q)
{
    return _mm256_set1_epi32(four_codes(q));
}

/* Eight channels of a row: c = fma(sum, scale, c). */
static inline void add_block(float *c, __m256i sum, const unsigned char *scales)
{
    const __m256 w = _mm256_load_ps((const float *)(const void *)scales);
    _mm256_storeu_ps(c, _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), w, _mm256_loadu_ps(c)));
}

static inline void clear_row(float *c)
{
    _mm256_storeu_ps(c, _mm256_setzero_ps());
    _mm256_storeu_ps(c + 8, _mm256_setzero_ps());
}

static inline void scale_row(float *c, float scale)
{
    const __m256 s = _mm256_set1_ps(scale);
    _mm256_storeu_ps(c, _mm256_mul_ps(_mm256_loadu_ps(c), s));
    _mm256_storeu_ps(c + 8, _mm256_mul_ps(_mm256_loadu_ps(c + 8), s));
}

/* A tile is up to four rows by a panel: 8 integer sums. Half a panel at a time, for want of registers; the empty asm
 * keeps compilers from copying sums around and from holding a's codes for both halves, and so from spilling. Unrolled,
 * the loop over groups is up to a tenth faster, but compilers spill again. */
/* clang-format off */
#define TIE(sum) __asm__("" : "+x"(sum));
#define FORGET   __asm__ volatile("" ::: "memory");
#define ROLLED   _Pragma("GCC unroll 1")

#define CLEAR(i, unused) clear_row(c + (i) * ldc);
#define START(i, unused) __m256i lo##i = _mm256_setzero_si256(), hi##i = lo##i;
#define SCALE(i, unused) scale_row(c + (i) * ldc, a->scale[i]);

/* FIRST_HALF and SECOND_HALF of group g; END(i) adds a block's sums to c. */
#define TILE(name, rows, groups, FIRST_HALF, SECOND_HALF, END)                                                         \
    static void name##_##rows(float *c, size_t ldc, const vact_int8_rows *a, const unsigned char *b,                   \
                              size_t k)                                                                                \
    {                                                                                                                  \
        const __m256i ones = _mm256_set1_epi16(1);                                                                     \
        const int8_t *q = a->q;                                                                                        \
        const size_t ldq = a->ldq;                                                                                     \
        ROWS_##rows(CLEAR, )                                                                                           \
        for (size_t at = 0; at < k; at += BLOCK, q += BLOCK, b += SCALES_BYTES + (groups) * GROUP_BYTES) {             \
            ROWS_##rows(START, )                                                                                       \
            ROLLED                                                                                                     \
            for (size_t g = 0; g < (groups); g++) {                                                                    \
                const unsigned char *group = b + SCALES_BYTES + g * GROUP_BYTES;                                       \
                FIRST_HALF(rows, group, g)                                                                             \
                SECOND_HALF(rows, group + GROUP_BYTES / 2, g)                                                          \
            }                                                                                                          \
            ROWS_##rows(END, )                                                                                         \
        }                                                                                                              \
        ROWS_##rows(SCALE, )                                                                                           \
    }

#define Q8_0_STEP(i, half, g)                                                                                          \
    half##i = _mm256_add_epi32(half##i,                                                                                \
        _mm256_madd_epi16(_mm256_maddubs_epi16(size, _mm256_sign_epi8(spread(q + (i) * ldq + 4 * (g)), w)), ones));    \
    TIE(half##i)
#define Q8_0_LOW(i, g)  Q8_0_STEP(i, lo, g)
#define Q8_0_HIGH(i, g) Q8_0_STEP(i, hi, g)
#define Q8_0_HALF(rows, STEP, p, g)                                                                                    \
    {                                                                                                                  \
        const __m256i w = load_group(p), size = _mm256_abs_epi8(w);                                                    \
        ROWS_##rows(STEP, g)                                                                                           \
    }
#define Q8_0_FIRST(rows, p, g)  Q8_0_HALF(rows, Q8_0_LOW, p, g)
#define Q8_0_SECOND(rows, p, g) Q8_0_HALF(rows, Q8_0_HIGH, p, g)
#define Q8_0_END(i, unused)                                                                                            \
    add_block(c + (i) * ldc, lo##i, b);                                                                                \
    add_block(c + (i) * ldc + 8, hi##i, b + SCALES_BYTES / 2);

#define Q4_0_STEP(i, half, g)                                                                                          \
    half##i = _mm256_add_epi16(half##i, _mm256_maddubs_epi16(w, spread(q + (i) * ldq + 4 * (g))));                     \
    TIE(half##i)
#define Q4_0_LOW(i, g)  Q4_0_STEP(i, lo, g)
#define Q4_0_HIGH(i, g) Q4_0_STEP(i, hi, g)
#define Q4_0_HALF(rows, STEP, p, g)                                                                                    \
    {                                                                                                                  \
        const __m256i both = load_group(p), nibble = _mm256_set1_epi8(15);                                             \
        __m256i w = _mm256_and_si256(both, nibble);                                                                    \
        ROWS_##rows(STEP, g)                                                                                           \
        w = _mm256_and_si256(_mm256_srli_epi16(both, 4), nibble);                                                      \
        ROWS_##rows(STEP, g + 4)                                                                                       \
    }
#define Q4_0_FIRST(rows, p, g)  Q4_0_HALF(rows, Q4_0_LOW, p, g) FORGET
#define Q4_0_SECOND(rows, p, g) Q4_0_HALF(rows, Q4_0_HIGH, p, g)
#define Q4_0_END(i, unused)                                                                                            \
    {                                                                                                                  \
        const __m256i excess = _mm256_set1_epi32(8 * a->sums[(i) * a->ldsums + at / BLOCK]);                           \
        add_block(c + (i) * ldc, _mm256_sub_epi32(_mm256_madd_epi16(lo##i, ones), excess), b);                         \
        add_block(c + (i) * ldc + 8, _mm256_sub_epi32(_mm256_madd_epi16(hi##i, ones), excess), b + SCALES_BYTES / 2);  \
    }

#define Q8_0_TILE(rows) TILE(q8_0_tile, rows, 8, Q8_0_FIRST, Q8_0_SECOND, Q8_0_END)
#define Q4_0_TILE(rows) TILE(q4_0_tile, rows, 4, Q4_0_FIRST, Q4_0_SECOND, Q4_0_END)
/* clang-format on */

Q8_0_TILE(1)
Q8_0_TILE(2)
Q8_0_TILE(3)
Q8_0_TILE(4)
Q4_0_TILE(1)
Q4_0_TILE(2)
Q4_0_TILE(3)
Q4_0_TILE(4)

void vact_gemm_int8_q8_0_avx2(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                              int rows, int panels)
{
    static int8_tile *const tiles[] = { q8_0_tile_1, q8_0_tile_2, q8_0_tile_3, q8_0_tile_4 };
    vact_int8_by_tiles(tiles, 4, c, ldc, a, b, ldb, k, rows, panels);
}

void vact_gemm_int8_q4_0_avx2(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                              int rows, int panels)
{
    static int8_tile *const tiles[] = { q4_0_tile_1, q4_0_tile_2, q4_0_tile_3, q4_0_tile_4 };
    vact_int8_by_tiles(tiles, 4, c, ldc, a, b, ldb, k, rows, panels);
}
