/* Product of up to 6 rows with one panel of 16 columns: six rows take 24 accumulators and 4 registers for a row of b,
 * which leaves 4 of 32 for values of a. gcc would load all six of these first and keep accumulators in memory instead:
 * the empty asm ties each to its row. */
#include "kernels/arm/neon.h"
#include "kernels/gemm_tiles.h"

#define DECLARE(i)                                                                                                     \
    const float *a##i = a + lda * (i);                                                                                 \
    float32x4_t p##i, q##i, r##i, s##i;
#define ZERO(i) p##i = q##i = r##i = s##i = vdupq_n_f32(0.0f);
#define LOAD(i)                                                                                                        \
    p##i = vld1q_f32(c + ldc * (i));                                                                                   \
    q##i = vld1q_f32(c + ldc * (i) + 4);                                                                               \
    r##i = vld1q_f32(c + ldc * (i) + 8);                                                                               \
    s##i = vld1q_f32(c + ldc * (i) + 12);
#define PANEL                                                                                                          \
    const float32x4_t bp = vld1q_f32(b), bq = vld1q_f32(b + 4);                                                        \
    const float32x4_t br = vld1q_f32(b + 8), bs = vld1q_f32(b + 12);
#define STEP(i)                                                                                                        \
    __asm__ volatile("" ::: "memory");                                                                                 \
    p##i = vfmaq_n_f32(p##i, bp, a##i[at]);                                                                            \
    q##i = vfmaq_n_f32(q##i, bq, a##i[at]);                                                                            \
    r##i = vfmaq_n_f32(r##i, br, a##i[at]);                                                                            \
    s##i = vfmaq_n_f32(s##i, bs, a##i[at]);
#define STORE(i)                                                                                                       \
    vst1q_f32(c + ldc * (i), p##i);                                                                                    \
    vst1q_f32(c + ldc * (i) + 4, q##i);                                                                                \
    vst1q_f32(c + ldc * (i) + 8, r##i);                                                                                \
    vst1q_f32(c + ldc * (i) + 12, s##i);

GEMM_TILES(vact_gemm_neon)
