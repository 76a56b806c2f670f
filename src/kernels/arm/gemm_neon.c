/* The product of rows with panels of 16 columns: six rows by a panel take 24 accumulators and 4 registers for a row of
 * b, which leaves 4 of 32 for values of a. gcc would load all six of these first and keep accumulators in memory
 * instead: the empty asm ties each to its row. A single row takes two panels, since 4 accumulators don't fill two
 * multiply-add units. */
#include "kernels/arm/neon.h"
#include "kernels/gemm_tiles.h"

#define DECLARE(i, p) float32x4_t t##i##p, u##i##p, v##i##p, w##i##p;
#define ZERO(i, p)    t##i##p = u##i##p = v##i##p = w##i##p = vdupq_n_f32(0.0f);
#define LOAD(i, p)                                                                                                     \
    t##i##p = vld1q_f32(c + ldc * (i) + (p)*VACT_PANEL);                                                               \
    u##i##p = vld1q_f32(c + ldc * (i) + (p)*VACT_PANEL + 4);                                                           \
    v##i##p = vld1q_f32(c + ldc * (i) + (p)*VACT_PANEL + 8);                                                           \
    w##i##p = vld1q_f32(c + ldc * (i) + (p)*VACT_PANEL + 12);
#define PANEL(p)                                                                                                       \
    const float32x4_t bt##p = vld1q_f32(b + (p)*ldb), bu##p = vld1q_f32(b + (p)*ldb + 4);                              \
    const float32x4_t bv##p = vld1q_f32(b + (p)*ldb + 8), bw##p = vld1q_f32(b + (p)*ldb + 12);
#define SPREAD(i)                                                                                                      \
    __asm__ volatile("" ::: "memory");                                                                                 \
    const float x##i = a##i[at];
#define STEP(i, p)                                                                                                     \
    t##i##p = vfmaq_n_f32(t##i##p, bt##p, x##i);                                                                       \
    u##i##p = vfmaq_n_f32(u##i##p, bu##p, x##i);                                                                       \
    v##i##p = vfmaq_n_f32(v##i##p, bv##p, x##i);                                                                       \
    w##i##p = vfmaq_n_f32(w##i##p, bw##p, x##i);
#define STORE(i, p)                                                                                                    \
    vst1q_f32(c + ldc * (i) + (p)*VACT_PANEL, t##i##p);                                                                \
    vst1q_f32(c + ldc * (i) + (p)*VACT_PANEL + 4, u##i##p);                                                            \
    vst1q_f32(c + ldc * (i) + (p)*VACT_PANEL + 8, v##i##p);                                                            \
    vst1q_f32(c + ldc * (i) + (p)*VACT_PANEL + 12, w##i##p);

GEMM_TILE(1, 1)
GEMM_TILE(1, 2)
GEMM_TILE(2, 1)
GEMM_TILE(3, 1)
GEMM_TILE(4, 1)
GEMM_TILE(5, 1)
GEMM_TILE(6, 1)

void vact_gemm_neon(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t k, int rows,
                    int panels, bool add)
{
    static const gemm_height heights[] = { { tile_1x2, tile_1x1, 2 }, { tile_2x1, tile_2x1, 1 },
                                           { tile_3x1, tile_3x1, 1 }, { tile_4x1, tile_4x1, 1 },
                                           { tile_5x1, tile_5x1, 1 }, { tile_6x1, tile_6x1, 1 } };
    vact_gemm_by_tiles(heights, 6, c, ldc, a, lda, b, ldb, k, rows, panels, add);
}
