/* Products of quantized rows by vpdpbusd, which adds four products of an unsigned by a signed byte to each 32-bit lane:
 * what the two register widths share. A row of a tile has a register of sums for so many of a panel's 16 channels
 * as fit.
 *
 * The unsigned operand is the weight, which is stored 128 or 8 too large, so a block's sum starts at -128 or -8 times
 * the sum of a's codes. All is exact: vpdpbusd doesn't saturate.
 *
 * A file defines the types `floats` and `ints`, the functions on them that are used here, and WIDTHS(X, i), which is
 * X(i, p) for every register p. Then TILE_Q8_0(rows) and TILE_Q4_0(rows) are tiles, TILES(rows) both. */
#ifndef VACT_KERNELS_X86_INT8_VNNI_H
#define VACT_KERNELS_X86_INT8_VNNI_H

#include "kernels/int8_tiles.h"
#include "kernels/x86/vnni.h"

/* clang-format off */
#define NO_FLOATS(i, p) floats f##i##p = no_floats();
#define DECLARE(i, offset)                                                                                             \
    const int8_t *q##i = a->q + a->ldq * (i);                                                                          \
    const int16_t *sums##i = a->sums + a->ldsums * (i);                                                                \
    WIDTHS(NO_FLOATS, i)
#define COPY(i, p) ints t##i##p = start##i;
#define START(i, offset)                                                                                               \
    const ints start##i = spread_int(-(offset)*sums##i[at / BLOCK]);                                                   \
    WIDTHS(COPY, i)
#define LOAD(decoded, p) const ints w##p = decoded(load_ints(codes + g * GROUP_BYTES + (p) * sizeof(ints)));
#define DOT(i, p) t##i##p = dot(t##i##p, w##p, x);
#define DOTS(i, group)                                                                                                 \
    {                                                                                                                  \
        const ints x = spread_int(four_codes(q##i + at + 4 * (group)));                                                \
        WIDTHS(DOT, i)                                                                                                 \
    }
#define SCALES(b, p) const floats scale##p = load_floats((b) + (p) * sizeof(floats));
#define ADD(i, p) f##i##p = multiply_add(t##i##p, scale##p, f##i##p);
#define FINISH(i, offset) WIDTHS(ADD, i)
#define PUT(i, p) store_scaled(c + ldc * (i) + (p) * sizeof(floats) / sizeof *c, f##i##p, a->scale[i]);
#define STORE(i, offset) WIDTHS(PUT, i)

#define GROUPS(rows, count, first, decoded)                                                                            \
    for (size_t g = 0; g < (count); g++) {                                                                             \
        WIDTHS(LOAD, decoded)                                                                                          \
        ROWS_##rows(DOTS, (first) + g)                                                                                 \
    }
#define GROUPS_q8_0(rows) GROUPS(rows, 8, 0, )
#define GROUPS_q4_0(rows)                                                                                              \
    GROUPS(rows, 4, 0, low_nibbles)                                                                                    \
    GROUPS(rows, 4, 4, high_nibbles)

#define TILE(type, rows, offset, panel_bytes)                                                                          \
    static void tile_##type##_##rows(float *c, size_t ldc, const vact_int8_rows *a, const unsigned char *b,            \
                                     size_t k)                                                                         \
    {                                                                                                                  \
        ROWS_##rows(DECLARE, offset)                                                                                   \
        for (size_t at = 0; at < k; at += BLOCK, b += (panel_bytes)) {                                                 \
            const unsigned char *codes = b + SCALES_BYTES;                                                             \
            ROWS_##rows(START, offset)                                                                                 \
            GROUPS_##type(rows)                                                                                        \
            WIDTHS(SCALES, b)                                                                                          \
            ROWS_##rows(FINISH, offset)                                                                                \
        }                                                                                                              \
        ROWS_##rows(STORE, offset)                                                                                     \
    }
#define TILE_Q8_0(rows) TILE(q8_0, rows, 128, Q8_0_PANEL_BYTES)
#define TILE_Q4_0(rows) TILE(q4_0, rows, 8, Q4_0_PANEL_BYTES)
#define TILES(rows)     TILE_Q8_0(rows) TILE_Q4_0(rows)
/* clang-format on */

#endif
