/* The product of rows with panels of 16 columns. Six rows by a panel take 12 accumulators, 2 registers for a row of b
 * and 1 for a value of a: 15 of 16. One row takes four panels, two rows two: 8 accumulators keep both multiply-add
 * units busy over a latency of 4 cycles. */
#include "kernels/gemm_tiles.h"
#include "kernels/x86/avx2.h"

#define DECLARE(i, p) __m256 lo##i##p, hi##i##p;
#define ZERO(i, p)    lo##i##p = hi##i##p = _mm256_setzero_ps();
#define LOAD(i, p)                                                                                                     \
    lo##i##p = _mm256_loadu_ps(c + ldc * (i) + (p)*VACT_PANEL);                                                        \
    hi##i##p = _mm256_loadu_ps(c + ldc * (i) + (p)*VACT_PANEL + 8);
#define PANEL(p)  const __m256 b_lo##p = _mm256_load_ps(b + (p)*ldb), b_hi##p = _mm256_load_ps(b + (p)*ldb + 8);
#define SPREAD(i) const __m256 x##i = _mm256_broadcast_ss(a##i + at);
#define STEP(i, p)                                                                                                     \
    lo##i##p = _mm256_fmadd_ps(x##i, b_lo##p, lo##i##p);                                                               \
    hi##i##p = _mm256_fmadd_ps(x##i, b_hi##p, hi##i##p);
#define STORE(i, p)                                                                                                    \
    _mm256_storeu_ps(c + ldc * (i) + (p)*VACT_PANEL, lo##i##p);                                                        \
    _mm256_storeu_ps(c + ldc * (i) + (p)*VACT_PANEL + 8, hi##i##p);

GEMM_TILE(1, 1)
GEMM_TILE(1, 4)
GEMM_TILE(2, 1)
GEMM_TILE(2, 2)
GEMM_TILE(3, 1)
GEMM_TILE(4, 1)
GEMM_TILE(5, 1)
GEMM_TILE(6, 1)

void vact_gemm_avx2(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t k, int rows,
                    int panels, bool add)
{
    static const gemm_height heights[] = { { tile_1x4, tile_1x1, 4 }, { tile_2x2, tile_2x1, 2 },
                                           { tile_3x1, tile_3x1, 1 }, { tile_4x1, tile_4x1, 1 },
                                           { tile_5x1, tile_5x1, 1 }, { tile_6x1, tile_6x1, 1 } };
    vact_gemm_by_tiles(heights, 6, c, ldc, a, lda, b, ldb, k, rows, panels, add);
}
