/* The product of rows with panels of 16 columns, a register wide: ten rows by two panels take 20 accumulators, 2
 * registers for a row of b and 1 for a value of a. Two more rows would fit in the 32 vector registers, but not their
 * addresses in the 14 general ones that compilers have left. Up to four rows take four panels, or they would not keep
 * both multiply-add units busy. */
#include "kernels/gemm_tiles.h"
#include "kernels/x86/avx512.h"

#define DECLARE(i, p) __m512 t##i##p;
#define ZERO(i, p)    t##i##p = _mm512_setzero_ps();
#define LOAD(i, p)    t##i##p = _mm512_loadu_ps(c + ldc * (i) + (p)*VACT_PANEL);
#define PANEL(p)      const __m512 b##p = _mm512_load_ps(b + (p)*ldb);
#define SPREAD(i)     const __m512 x##i = _mm512_set1_ps(a##i[at]);
#define STEP(i, p)    t##i##p = _mm512_fmadd_ps(x##i, b##p, t##i##p);
#define STORE(i, p)   _mm512_storeu_ps(c + ldc * (i) + (p)*VACT_PANEL, t##i##p);

GEMM_TILE(1, 1)
GEMM_TILE(1, 4)
GEMM_TILE(2, 1)
GEMM_TILE(2, 4)
GEMM_TILE(3, 1)
GEMM_TILE(3, 4)
GEMM_TILE(4, 1)
GEMM_TILE(4, 4)
GEMM_TILE(5, 1)
GEMM_TILE(5, 2)
GEMM_TILE(6, 1)
GEMM_TILE(6, 2)
GEMM_TILE(7, 1)
GEMM_TILE(7, 2)
GEMM_TILE(8, 1)
GEMM_TILE(8, 2)
GEMM_TILE(9, 1)
GEMM_TILE(9, 2)
GEMM_TILE(10, 1)
GEMM_TILE(10, 2)

void vact_gemm_avx512(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t k, int rows,
                      int panels, bool add)
{
    static const gemm_height heights[] = {
        { tile_1x4, tile_1x1, 4 }, { tile_2x4, tile_2x1, 4 },   { tile_3x4, tile_3x1, 4 }, { tile_4x4, tile_4x1, 4 },
        { tile_5x2, tile_5x1, 2 }, { tile_6x2, tile_6x1, 2 },   { tile_7x2, tile_7x1, 2 }, { tile_8x2, tile_8x1, 2 },
        { tile_9x2, tile_9x1, 2 }, { tile_10x2, tile_10x1, 2 },
    };
    vact_gemm_by_tiles(heights, 10, c, ldc, a, lda, b, ldb, k, rows, panels, add);
}
