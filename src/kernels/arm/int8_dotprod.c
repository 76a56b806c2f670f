/* Products of quantized rows by sdot, which adds four products of bytes to each 32-bit lane. A tile is up to four rows
 * by half a panel: 8 registers of integer and 8 of float sums, 4 of a's codes and 2 of weights.
 *
 * A panel's block: 16 float scales, then groups of [16 channels][4 codes] of consecutive k, 64 bytes each. Q8_0 has
 * eight. Q4_0 has four, the file's own bytes: group g holds codes 4g..4g+3 in the low nibbles and 16+4g.. in the high
 * ones, 0..15 for -8..7, so a block's sum starts at -8 times the sum of a's codes. */
#include "kernels/arm/dotprod.h"
#include "kernels/arm/int8_pack.h"
#include "kernels/int8_tiles.h"

enum { GROUP_BYTES = 64, HALF_BYTES = 32, HALF = VACT_PANEL / 2 };

/* ---- packing ---- */

static inline uint32x4_t load_words(const unsigned char *p)
{
    return vreinterpretq_u32_u8(vld1q_u8(p));
}

static inline void store_words(unsigned char *p, uint32x4_t words)
{
    vst1q_u8(p, vreinterpretq_u8_u32(words));
}

/* Four groups from 16 bytes of all rows, by 4x4 transposes of four codes at a time. */
static inline void pack_words(unsigned char *dst, const unsigned char *const rows[VACT_PANEL], size_t at)
{
    for (size_t j = 0; j < VACT_PANEL; j += 4, dst += 16) {
        const uint32x4_t r0 = load_words(rows[j] + at), r1 = load_words(rows[j + 1] + at);
        const uint32x4_t r2 = load_words(rows[j + 2] + at), r3 = load_words(rows[j + 3] + at);
        const uint32x4_t lo02 = vzip1q_u32(r0, r2), hi02 = vzip2q_u32(r0, r2);
        const uint32x4_t lo13 = vzip1q_u32(r1, r3), hi13 = vzip2q_u32(r1, r3);
        store_words(dst, vzip1q_u32(lo02, lo13));
        store_words(dst + GROUP_BYTES, vzip2q_u32(lo02, lo13));
        store_words(dst + 2 * GROUP_BYTES, vzip1q_u32(hi02, hi13));
        store_words(dst + 3 * GROUP_BYTES, vzip2q_u32(hi02, hi13));
    }
}

static inline void pack_q8_0(unsigned char *dst, const unsigned char *const rows[VACT_PANEL])
{
    pack_words(dst, rows, SCALE_BYTES);
    pack_words(dst + 4 * GROUP_BYTES, rows, SCALE_BYTES + 16);
}

static inline void pack_q4_0(unsigned char *dst, const unsigned char *const rows[VACT_PANEL])
{
    pack_words(dst, rows, SCALE_BYTES);
}

PACK_INT8(vact_pack_int8_q8_0_dotprod, pack_q8_0, Q8_0_FILE_BYTES, Q8_0_PANEL_BYTES)
PACK_INT8(vact_pack_int8_q4_0_dotprod, pack_q4_0, Q4_0_FILE_BYTES, Q4_0_PANEL_BYTES)

/* ---- products ---- */

static inline int8x16_t whole(const unsigned char *p)
{
    return vreinterpretq_s8_u8(vld1q_u8(p));
}

static inline int8x16_t low_nibbles(const unsigned char *p)
{
    return vreinterpretq_s8_u8(vandq_u8(vld1q_u8(p), vdupq_n_u8(15)));
}

static inline int8x16_t high_nibbles(const unsigned char *p)
{
    return vreinterpretq_s8_u8(vshrq_n_u8(vld1q_u8(p), 4));
}

/* clang-format off */
#define DECLARE(i, offset)                                                                                             \
    const int8_t *q##i = a->q + a->ldq * (i);                                                                          \
    const int16_t *sums##i = a->sums + a->ldsums * (i);                                                                \
    float32x4_t f_lo##i = vdupq_n_f32(0.0f), f_hi##i = f_lo##i;
#define START(i, offset) int32x4_t lo##i = vdupq_n_s32(-(offset)*sums##i[at / BLOCK]), hi##i = lo##i;
#define CODES(i, step) const int8x16_t x##i = vld1q_s8(q##i + at + 16 * (step));
/* The empty asm ties products to their place: compilers would load far ahead, and keep sums in memory instead. */
#define DOT(i, lane)                                                                                                   \
    lo##i = vdotq_laneq_s32(lo##i, w_lo, x##i, lane);                                                                  \
    hi##i = vdotq_laneq_s32(hi##i, w_hi, x##i, lane);                                                                  \
    __asm__ volatile("" : "+w"(lo##i), "+w"(hi##i)::"memory");
#define FINISH(i, offset)                                                                                              \
    f_lo##i = vfmaq_f32(f_lo##i, vcvtq_f32_s32(lo##i), scale_lo);                                                      \
    f_hi##i = vfmaq_f32(f_hi##i, vcvtq_f32_s32(hi##i), scale_hi);
#define STORE(i, offset)                                                                                               \
    vst1q_f32(c + ldc * (i), vmulq_n_f32(f_lo##i, a->scale[i]));                                                       \
    vst1q_f32(c + ldc * (i) + 4, vmulq_n_f32(f_hi##i, a->scale[i]));

#define GROUP(rows, first, lane, decoded)                                                                              \
    {                                                                                                                  \
        const unsigned char *group = codes + ((first) + (lane)) * GROUP_BYTES;                                         \
        const int8x16_t w_lo = decoded(group), w_hi = decoded(group + 16);                                             \
        ROWS_##rows(DOT, lane)                                                                                         \
    }
#define STEP(rows, step, first, decoded)                                                                               \
    {                                                                                                                  \
        ROWS_##rows(CODES, step)                                                                                       \
        GROUP(rows, first, 0, decoded)                                                                                 \
        GROUP(rows, first, 1, decoded)                                                                                 \
        GROUP(rows, first, 2, decoded)                                                                                 \
        GROUP(rows, first, 3, decoded)                                                                                 \
    }
#define STEPS_q8_0(rows) STEP(rows, 0, 0, whole) STEP(rows, 1, 4, whole)
#define STEPS_q4_0(rows) STEP(rows, 0, 0, low_nibbles) STEP(rows, 1, 0, high_nibbles)

#define HALF_TILE(type, rows, offset, panel_bytes)                                                                     \
    static inline void half_tile_##type##_##rows(float *c, size_t ldc, const vact_int8_rows *a,                        \
                                                 const unsigned char *scales, const unsigned char *codes, size_t k)    \
    {                                                                                                                  \
        ROWS_##rows(DECLARE, offset)                                                                                   \
        for (size_t at = 0; at < k; at += BLOCK, scales += (panel_bytes), codes += (panel_bytes)) {                    \
            ROWS_##rows(START, offset)                                                                                 \
            STEPS_##type(rows)                                                                                         \
            const float32x4_t scale_lo = vld1q_f32((const float *)scales);                                             \
            const float32x4_t scale_hi = vld1q_f32((const float *)scales + 4);                                         \
            ROWS_##rows(FINISH, offset)                                                                                \
        }                                                                                                              \
        ROWS_##rows(STORE, offset)                                                                                     \
    }
#define TILE(type, rows, offset, panel_bytes)                                                                          \
    HALF_TILE(type, rows, offset, panel_bytes)                                                                         \
    static void tile_##type##_##rows(float *c, size_t ldc, const vact_int8_rows *a, const unsigned char *b,            \
                                     size_t k)                                                                         \
    {                                                                                                                  \
        half_tile_##type##_##rows(c, ldc, a, b, b + SCALES_BYTES, k);                                                  \
        half_tile_##type##_##rows(c + HALF, ldc, a, b + HALF_BYTES, b + SCALES_BYTES + HALF_BYTES, k);                 \
    }
#define TILES(rows)                                                                                                    \
    TILE(q8_0, rows, 0, Q8_0_PANEL_BYTES)                                                                              \
    TILE(q4_0, rows, 8, Q4_0_PANEL_BYTES)
/* clang-format on */

TILES(1)
TILES(2)
TILES(3)
TILES(4)

void vact_gemm_int8_q8_0_dotprod(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                                 int rows, int panels)
{
    static int8_tile *const tiles[] = { tile_q8_0_1, tile_q8_0_2, tile_q8_0_3, tile_q8_0_4 };
    vact_int8_by_tiles(tiles, 4, c, ldc, a, b, ldb, k, rows, panels);
}

void vact_gemm_int8_q4_0_dotprod(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                                 int rows, int panels)
{
    static int8_tile *const tiles[] = { tile_q4_0_1, tile_q4_0_2, tile_q4_0_3, tile_q4_0_4 };
    vact_int8_by_tiles(tiles, 4, c, ldc, a, b, ldb, k, rows, panels);
}
