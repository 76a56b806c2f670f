/* Product of up to 6 rows with one panel of 16 columns. */
#include "kernels/kernels.h"
#include "kernels/x86/avx2.h"

/* Six rows take 12 accumulators, 2 registers for a row of b and 1 for a value of a: 15 of 16. The
 * accumulators are named, since gcc 12 keeps an array of them in memory. Whatever the number of rows,
 * an accumulator sees the same chain of operations. */
#define ROWS_1(X) X(0)
#define ROWS_2(X) ROWS_1(X) X(1)
#define ROWS_3(X) ROWS_2(X) X(2)
#define ROWS_4(X) ROWS_3(X) X(3)
#define ROWS_5(X) ROWS_4(X) X(4)
#define ROWS_6(X) ROWS_5(X) X(5)

#define DECLARE(i)                                                                                                     \
    const float *a##i = a + lda * (i);                                                                                 \
    __m256 lo##i, hi##i;
#define ZERO(i) lo##i = hi##i = _mm256_setzero_ps();
#define LOAD(i)                                                                                                        \
    lo##i = _mm256_loadu_ps(c + ldc * (i));                                                                            \
    hi##i = _mm256_loadu_ps(c + ldc * (i) + 8);
#define STEP(i)                                                                                                        \
    x = _mm256_broadcast_ss(a##i + p);                                                                                 \
    lo##i = _mm256_fmadd_ps(x, b_lo, lo##i);                                                                           \
    hi##i = _mm256_fmadd_ps(x, b_hi, hi##i);
#define STORE(i)                                                                                                       \
    _mm256_storeu_ps(c + ldc * (i), lo##i);                                                                            \
    _mm256_storeu_ps(c + ldc * (i) + 8, hi##i);

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
        for (size_t p = 0; p < k; p++, b += VACT_PANEL) {                                                              \
            const __m256 b_lo = _mm256_load_ps(b), b_hi = _mm256_load_ps(b + 8);                                       \
            __m256 x;                                                                                                  \
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

void vact_gemm_avx2(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t k, int rows, bool add)
{
    switch (rows) {
    case 1:
        tile_1(c, ldc, a, lda, b, k, add);
        break;
    case 2:
        tile_2(c, ldc, a, lda, b, k, add);
        break;
    case 3:
        tile_3(c, ldc, a, lda, b, k, add);
        break;
    case 4:
        tile_4(c, ldc, a, lda, b, k, add);
        break;
    case 5:
        tile_5(c, ldc, a, lda, b, k, add);
        break;
    default:
        tile_6(c, ldc, a, lda, b, k, add);
        break;
    }
}
