/* What the gemm files of the instruction sets share: tiles of rows by panels, unrolled, and the way through a product.
 *
 * A file defines, for row i and panel p of a tile: DECLARE(i, p) its accumulators, ZERO(i, p) and LOAD(i, p) their
 * start, STORE(i, p) their end; PANEL(p), the registers that hold a row of panel p; SPREAD(i), the value a##i[at];
 * STEP(i, p), its multiply-adds. Then GEMM_TILE(rows, panels) is a tile, and vact_gemm_by_tiles the whole product.
 * Accumulators have names, since compilers may keep an array of them in memory. Whatever the tile, an accumulator sees
 * the same chain of operations. */
#ifndef VACT_KERNELS_GEMM_TILES_H
#define VACT_KERNELS_GEMM_TILES_H

#include "kernels/kernels.h"

#define ROWS_1(X, panels)  X(0, panels)
#define ROWS_2(X, panels)  ROWS_1(X, panels) X(1, panels)
#define ROWS_3(X, panels)  ROWS_2(X, panels) X(2, panels)
#define ROWS_4(X, panels)  ROWS_3(X, panels) X(3, panels)
#define ROWS_5(X, panels)  ROWS_4(X, panels) X(4, panels)
#define ROWS_6(X, panels)  ROWS_5(X, panels) X(5, panels)
#define ROWS_7(X, panels)  ROWS_6(X, panels) X(6, panels)
#define ROWS_8(X, panels)  ROWS_7(X, panels) X(7, panels)
#define ROWS_9(X, panels)  ROWS_8(X, panels) X(8, panels)
#define ROWS_10(X, panels) ROWS_9(X, panels) X(9, panels)

#define COLUMNS_1(X, i) X(i, 0)
#define COLUMNS_2(X, i) COLUMNS_1(X, i) X(i, 1)
#define COLUMNS_4(X, i) COLUMNS_2(X, i) X(i, 2) X(i, 3)

#define PANELS_1 PANEL(0)
#define PANELS_2 PANELS_1 PANEL(1)
#define PANELS_4 PANELS_2 PANEL(2) PANEL(3)

/* clang-format off */
#define ROW_DECLARE(i, panels) const float *a##i = a + lda * (i); COLUMNS_##panels(DECLARE, i)
#define ROW_ZERO(i, panels)    COLUMNS_##panels(ZERO, i)
#define ROW_LOAD(i, panels)    COLUMNS_##panels(LOAD, i)
#define ROW_STEP(i, panels)    SPREAD(i) COLUMNS_##panels(STEP, i)
#define ROW_STORE(i, panels)   COLUMNS_##panels(STORE, i)

#define GEMM_TILE(rows, panels)                                                                                        \
    static void tile_##rows##x##panels(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb,   \
                                       size_t k, bool add)                                                             \
    {                                                                                                                  \
        (void)ldb; /* a single panel needs none */                                                                     \
        ROWS_##rows(ROW_DECLARE, panels)                                                                               \
        if (add) {                                                                                                     \
            ROWS_##rows(ROW_LOAD, panels)                                                                              \
        } else {                                                                                                       \
            ROWS_##rows(ROW_ZERO, panels)                                                                              \
        }                                                                                                              \
        for (size_t at = 0; at < k; at++, b += VACT_PANEL) {                                                           \
            PANELS_##panels                                                                                            \
            ROWS_##rows(ROW_STEP, panels)                                                                              \
        }                                                                                                              \
        ROWS_##rows(ROW_STORE, panels)                                                                                 \
    }
/* clang-format on */

typedef void gemm_tile(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t k,
                       bool add);

/* Tiles of one height: for `panels` of them at a time, and for one. */
typedef struct gemm_height {
    gemm_tile *wide, *narrow;
    int panels;
} gemm_height;

/* heights[i] is of i + 1 rows, up to `most`. Rows fall into groups of nearly equal height, so that none is too low to
 * keep the multiply-add units busy: 50 rows are 5 x 6 + 4 x 5, not 8 x 6 + 2. Panels come inside: a group's rows of a
 * stay in the first-level cache. */
static inline void vact_gemm_by_tiles(const gemm_height *heights, int most, float *c, size_t ldc, const float *a,
                                      size_t lda, const float *b, size_t ldb, size_t k, int rows, int panels, bool add)
{
    const int groups = (rows + most - 1) / most;
    for (int left = groups; left > 0; left--) {
        const int live = rows / left;
        const gemm_height *height = &heights[live - 1];
        int p = 0;
        for (; p + height->panels <= panels; p += height->panels)
            height->wide(c + p * VACT_PANEL, ldc, a, lda, b + (size_t)p * ldb, ldb, k, add);
        for (; p < panels; p++)
            height->narrow(c + p * VACT_PANEL, ldc, a, lda, b + (size_t)p * ldb, ldb, k, add);
        rows -= live;
        a += (size_t)live * lda;
        c += (size_t)live * ldc;
    }
}

#endif
