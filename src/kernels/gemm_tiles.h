/* What the gemm files of the instruction sets share: tiles of 1 to 6 rows, unrolled, and the choice among them.
 *
 * A file defines, for row i of the tile: DECLARE(i) its pointer a##i and accumulators, ZERO(i) and LOAD(i) their start,
 * STEP(i) one multiply-add at `at`, STORE(i) their end; and PANEL, the registers that hold a row of b. Then
 * GEMM_TILES(vact_gemm_x) is the kernel. Accumulators have names, since compilers may keep an array of them in memory.
 * Whatever the number of rows, an accumulator sees the same chain of operations. */
#ifndef VACT_KERNELS_GEMM_TILES_H
#define VACT_KERNELS_GEMM_TILES_H

#include "kernels/kernels.h"

#define ROWS_1(X) X(0)
#define ROWS_2(X) ROWS_1(X) X(1)
#define ROWS_3(X) ROWS_2(X) X(2)
#define ROWS_4(X) ROWS_3(X) X(3)
#define ROWS_5(X) ROWS_4(X) X(4)
#define ROWS_6(X) ROWS_5(X) X(5)

/* clang-format off */
#define GEMM_TILE(rows)                                                                                                \
    static void tile_##rows(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t k, bool add)      \
    {                                                                                                                  \
        ROWS_##rows(DECLARE)                                                                                           \
        if (add) {                                                                                                     \
            ROWS_##rows(LOAD)                                                                                          \
        } else {                                                                                                       \
            ROWS_##rows(ZERO)                                                                                          \
        }                                                                                                              \
        for (size_t at = 0; at < k; at++, b += VACT_PANEL) {                                                           \
            PANEL                                                                                                      \
            ROWS_##rows(STEP)                                                                                          \
        }                                                                                                              \
        ROWS_##rows(STORE)                                                                                             \
    }

#define GEMM_TILES(name)                                                                                               \
    GEMM_TILE(1) GEMM_TILE(2) GEMM_TILE(3) GEMM_TILE(4) GEMM_TILE(5) GEMM_TILE(6)                                      \
    void name(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t k, int rows, bool add)          \
    {                                                                                                                  \
        static void (*const tiles[VACT_GEMM_ROWS])(float *, size_t, const float *, size_t, const float *, size_t,      \
                                                   bool) = { tile_1, tile_2, tile_3, tile_4, tile_5, tile_6 };         \
        tiles[rows - 1](c, ldc, a, lda, b, k, add);                                                                    \
    }
/* clang-format on */

#endif
