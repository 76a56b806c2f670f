/* The way through a product of quantized rows, in tiles of a few rows by a panel. */
#ifndef VACT_KERNELS_INT8_TILES_H
#define VACT_KERNELS_INT8_TILES_H

#include "kernels/gemm_tiles.h" /* ROWS_n */

#include <string.h>

/* Four codes of a row as one word, which products spread to every lane. */
static inline int32_t four_codes(const int8_t *q)
{
    int32_t four;
    memcpy(&four, q, sizeof four);
    return four;
}

/* c[rows][16] of a's first rows; how many is the tile's own. */
typedef void int8_tile(float *c, size_t ldc, const vact_int8_rows *a, const unsigned char *b, size_t k);

/* tiles[i] is of i + 1 rows, up to `most`. Rows fall into groups of nearly equal height. A panel of bytes fits in the
 * first-level cache beside a group's rows, so the rows come inside. */
static inline void vact_int8_by_tiles(int8_tile *const *tiles, int most, float *c, size_t ldc, const vact_int8_rows *a,
                                      const unsigned char *b, size_t ldb, size_t k, int rows, int panels)
{
    for (; panels > 0; panels--, b += ldb, c += VACT_PANEL) {
        vact_int8_rows at = *a;
        float *to = c;
        for (int groups = (rows + most - 1) / most, left = rows; groups > 0; groups--) {
            const int live = left / groups;
            tiles[live - 1](to, ldc, &at, b, k);
            left -= live;
            to += (size_t)live * ldc;
            at.q += (size_t)live * at.ldq;
            at.sums += (size_t)live * at.ldsums;
            at.scale += live;
        }
    }
}

#endif
