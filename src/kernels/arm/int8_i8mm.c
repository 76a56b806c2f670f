/* Products of quantized rows by smmla, which adds the 2x2 products of two rows by two channels, eight codes each, to
 * four 32-bit lanes. A tile is up to two pairs of rows by half a panel: 8 registers of integer and 8 of float sums, 4
 * of a's codes and 1 of weights. Where there is no second row of a pair, the first stands in for it.
 *
 * A panel's block: 16 float scales, then groups of [8 pairs][2 channels][8 codes] of consecutive k, 128 bytes each.
 * Q8_0 has four. Q4_0 has two, the file's own bytes: group g holds codes 8g..8g+7 in the low nibbles and 16+8g.. in the
 * high ones, 0..15 for -8..7, so a block's sum starts at -8 times the sum of a's codes. */
#include "kernels/arm/dotprod.h"
#include "kernels/arm/int8_pack.h"
#include "kernels/int8_tiles.h"

enum { GROUP_BYTES = 128, HALF_BYTES = 64, HALF_SCALES_BYTES = 32, HALF = VACT_PANEL / 2 };

/* ---- packing ---- */

/* Two groups from 16 bytes of all rows. */
static inline void pack_pairs(unsigned char *dst, const unsigned char *const rows[VACT_PANEL], size_t at)
{
    for (size_t j = 0; j < VACT_PANEL; j += 2, dst += 16) {
        const uint64x2_t r0 = vreinterpretq_u64_u8(vld1q_u8(rows[j] + at));
        const uint64x2_t r1 = vreinterpretq_u64_u8(vld1q_u8(rows[j + 1] + at));
        vst1q_u8(dst, vreinterpretq_u8_u64(vzip1q_u64(r0, r1)));
        vst1q_u8(dst + GROUP_BYTES, vreinterpretq_u8_u64(vzip2q_u64(r0, r1)));
    }
}

static inline void pack_q8_0(unsigned char *dst, const unsigned char *const rows[VACT_PANEL])
{
    pack_pairs(dst, rows, SCALE_BYTES);
    pack_pairs(dst + 2 * GROUP_BYTES, rows, SCALE_BYTES + 16);
}

static inline void pack_q4_0(unsigned char *dst, const unsigned char *const rows[VACT_PANEL])
{
    pack_pairs(dst, rows, SCALE_BYTES);
}

PACK_INT8(vact_pack_int8_q8_0_i8mm, pack_q8_0, Q8_0_FILE_BYTES, Q8_0_PANEL_BYTES)
PACK_INT8(vact_pack_int8_q4_0_i8mm, pack_q4_0, Q4_0_FILE_BYTES, Q4_0_PANEL_BYTES)

/* ---- products ---- */

/* Rows 2i and 2i + 1 of a tile. t and f are the sums with channels 0-1, 2-3, 4-5 and 6-7: [row][channel]. */
typedef struct pair {
    const int8_t *q0, *q1;
    const int16_t *sums0, *sums1;
    int32x4_t t0, t1, t2, t3;
    float32x4_t f0, f1, f2, f3;
    int8x16_t x[2]; /* eight codes of each row, the next eight */
} pair;

static inline pair take_pair(const vact_int8_rows *a, int first, int rows)
{
    const size_t r0 = (size_t)first, r1 = r0 + (first + 1 < rows);
    pair r = { .q0 = a->q + r0 * a->ldq, .q1 = a->q + r1 * a->ldq };
    r.sums0 = a->sums + r0 * a->ldsums;
    r.sums1 = a->sums + r1 * a->ldsums;
    r.f0 = r.f1 = r.f2 = r.f3 = vdupq_n_f32(0.0f);
    return r;
}

static inline void start_block(pair *r, int offset)
{
    r->t0 = vcombine_s32(vdup_n_s32(-offset * *r->sums0++), vdup_n_s32(-offset * *r->sums1++));
    r->t1 = r->t2 = r->t3 = r->t0;
}

static inline void load_codes(pair *r)
{
    const int64x2_t q0 = vreinterpretq_s64_s8(vld1q_s8(r->q0)), q1 = vreinterpretq_s64_s8(vld1q_s8(r->q1));
    r->x[0] = vreinterpretq_s8_s64(vzip1q_s64(q0, q1));
    r->x[1] = vreinterpretq_s8_s64(vzip2q_s64(q0, q1));
    r->q0 += 16;
    r->q1 += 16;
}

/* The empty asm ties products to their place: compilers would load far ahead, and keep sums in memory instead. */
static inline void dot(int32x4_t *sums, int8x16_t codes, int8x16_t weights)
{
    *sums = vmmlaq_s32(*sums, codes, weights);
    __asm__ volatile("" : "+w"(*sums)::"memory");
}

static inline void scale_sums(float32x4_t *f, int32x4_t sums, const float *scales)
{
    const float32x2_t two = vld1_f32(scales);
    *f = vfmaq_f32(*f, vcvtq_f32_s32(sums), vcombine_f32(two, two));
}

static inline void finish_block(pair *r, const float *scales)
{
    scale_sums(&r->f0, r->t0, scales);
    scale_sums(&r->f1, r->t1, scales + 2);
    scale_sums(&r->f2, r->t2, scales + 4);
    scale_sums(&r->f3, r->t3, scales + 6);
}

static inline void store_pair(float *c, size_t ldc, const pair *r, const float *scale, int rows)
{
    const float32x4_t lo0 = vcombine_f32(vget_low_f32(r->f0), vget_low_f32(r->f1));
    const float32x4_t hi0 = vcombine_f32(vget_low_f32(r->f2), vget_low_f32(r->f3));
    vst1q_f32(c, vmulq_n_f32(lo0, scale[0]));
    vst1q_f32(c + 4, vmulq_n_f32(hi0, scale[0]));
    if (rows == 1)
        return;
    const float32x4_t lo1 = vcombine_f32(vget_high_f32(r->f0), vget_high_f32(r->f1));
    const float32x4_t hi1 = vcombine_f32(vget_high_f32(r->f2), vget_high_f32(r->f3));
    vst1q_f32(c + ldc, vmulq_n_f32(lo1, scale[1]));
    vst1q_f32(c + ldc + 4, vmulq_n_f32(hi1, scale[1]));
}

static inline int8x16_t whole(uint8x16_t bytes)
{
    return vreinterpretq_s8_u8(bytes);
}

static inline int8x16_t low_nibbles(uint8x16_t bytes)
{
    return vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15)));
}

static inline int8x16_t high_nibbles(uint8x16_t bytes)
{
    return vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4));
}

/* clang-format off */
#define CHANNELS(p, decoded)                                                                                           \
    {                                                                                                                  \
        const int8x16_t w = decoded(vld1q_u8(group + 16 * (p)));                                                       \
        dot(&low.t##p, low.x[g], w);                                                                                   \
        if (rows > 2)                                                                                                  \
            dot(&high.t##p, high.x[g], w);                                                                             \
    }
/* Sixteen codes of every row, against two groups. */
#define STEP(first, decoded)                                                                                           \
    load_codes(&low);                                                                                                  \
    if (rows > 2)                                                                                                      \
        load_codes(&high);                                                                                             \
    for (int g = 0; g < 2; g++) {                                                                                      \
        const unsigned char *group = codes + ((first) + g) * GROUP_BYTES;                                              \
        CHANNELS(0, decoded) CHANNELS(1, decoded) CHANNELS(2, decoded) CHANNELS(3, decoded)                            \
    }
#define STEPS_q8_0 STEP(0, whole) STEP(2, whole)
#define STEPS_q4_0 STEP(0, low_nibbles) STEP(0, high_nibbles)

#define TILE(type, height, offset, panel_bytes)                                                                        \
    static void tile_##type##_##height(float *c, size_t ldc, const vact_int8_rows *a, const unsigned char *b,          \
                                       size_t k)                                                                       \
    {                                                                                                                  \
        enum { rows = height };                                                                                        \
        for (size_t half = 0; half < 2; half++, c += HALF) {                                                           \
            const unsigned char *scales = b + half * HALF_SCALES_BYTES;                                                \
            const unsigned char *codes = b + SCALES_BYTES + half * HALF_BYTES;                                         \
            pair low = take_pair(a, 0, rows), high = take_pair(a, rows > 2 ? 2 : 0, rows);                             \
            for (size_t at = 0; at < k; at += BLOCK, scales += (panel_bytes), codes += (panel_bytes)) {                \
                start_block(&low, offset);                                                                             \
                start_block(&high, offset);                                                                            \
                STEPS_##type                                                                                           \
                finish_block(&low, (const float *)scales);                                                             \
                if (rows > 2)                                                                                          \
                    finish_block(&high, (const float *)scales);                                                        \
            }                                                                                                          \
            store_pair(c, ldc, &low, a->scale, rows);                                                                  \
            if (rows > 2)                                                                                              \
                store_pair(c + 2 * ldc, ldc, &high, a->scale + 2, rows - 2);                                           \
        }                                                                                                              \
    }
#define TILES(rows)                                                                                                    \
    TILE(q8_0, rows, 0, Q8_0_PANEL_BYTES)                                                                              \
    TILE(q4_0, rows, 8, Q4_0_PANEL_BYTES)
/* clang-format on */

TILES(1)
TILES(2)
TILES(3)
TILES(4)

void vact_gemm_int8_q8_0_i8mm(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                              int rows, int panels)
{
    static int8_tile *const tiles[] = { tile_q8_0_1, tile_q8_0_2, tile_q8_0_3, tile_q8_0_4 };
    vact_int8_by_tiles(tiles, 4, c, ldc, a, b, ldb, k, rows, panels);
}

void vact_gemm_int8_q4_0_i8mm(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                              int rows, int panels)
{
    static int8_tile *const tiles[] = { tile_q4_0_1, tile_q4_0_2, tile_q4_0_3, tile_q4_0_4 };
    vact_int8_by_tiles(tiles, 4, c, ldc, a, b, ldb, k, rows, panels);
}
