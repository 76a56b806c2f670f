/* Product of up to 6 rows with one panel of 16 columns. */
#include "kernels/arm/neon.h"
#include "kernels/kernels.h"

/* Six rows take 24 accumulators and 4 registers for a row of b, which leaves 4 of 32 for values of a. gcc would
 * load all six of these first and keep accumulators in memory instead: the empty asm ties each to its row. The
 * accumulators are named, since a compiler may keep an array of them in memory. Whatever the number of rows, an
 * accumulator sees the same chain of operations. */
#define ROWS_1(X) X(0)
#define ROWS_2(X) ROWS_1(X) X(1)
#define ROWS_3(X) ROWS_2(X) X(2)
#define ROWS_4(X) ROWS_3(X) X(3)
#define ROWS_5(X) ROWS_4(X) X(4)
#define ROWS_6(X) ROWS_5(X) X(5)

#define DECLARE(i)                                                                                                     \
    const float *a##i = a + lda * (i);                                                                                 \
    float32x4_t p##i, q##i, r##i, s##i;
#define ZERO(i) p##i = q##i = r##i = s##i = vdupq_n_f32(0.0f);
#define LOAD(i)                                                                                                        \
    p##i = vld1q_f32(c + ldc * (i));                                                                                   \
    q##i = vld1q_f32(c + ldc * (i) + 4);                                                                               \
    r##i = vld1q_f32(c + ldc * (i) + 8);                                                                               \
    s##i = vld1q_f32(c + ldc * (i) + 12);
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

#define TILE(rows)                                                                                                     \
    static void tile_##rows(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t k, bool add)      \
    {                                                                                                                  \
        ROWS_##rows(DECLARE) if (add)                                                                                  \
        {                                                                                                              \
            ROWS_##rows(LOAD)                                                                                          \
        }                                                                                                              \
        else                                                                                                           \
        {                                                                                                              \
            ROWS_##rows(ZERO)                                                                                          \
        }                                                                                                              \
        for (size_t at = 0; at < k; at++, b += VACT_PANEL) {                                                           \
            const float32x4_t bp = vld1q_f32(b), bq = vld1q_f32(b + 4);                                                \
            const float32x4_t br = vld1q_f32(b + 8), bs = vld1q_f32(b + 12);                                           \
            ROWS_##rows(STEP)                                                                                          \
        }                                                                                                              \
        ROWS_##rows(STORE)                                                                                             \
    }

TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

void vact_gemm_neon(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t k, int rows, bool add)
{
    static void (*const tiles[VACT_GEMM_ROWS])(float *, size_t, const float *, size_t, const float *, size_t,
                                               bool) = { tile_1, tile_2, tile_3, tile_4, tile_5, tile_6 };
    tiles[rows - 1](c, ldc, a, lda, b, k, add);
}
