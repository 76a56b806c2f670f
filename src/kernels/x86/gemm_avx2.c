/* Product of up to 6 rows with one panel of 16 columns: six rows take 12 accumulators, 2 registers for a row of b and 1
 * for a value of a, 15 of 16. */
#include "kernels/gemm_tiles.h"
#include "kernels/x86/avx2.h"

#define DECLARE(i)                                                                                                     \
    const float *a##i = a + lda * (i);                                                                                 \
    __m256 lo##i, hi##i;
#define ZERO(i) lo##i = hi##i = _mm256_setzero_ps();
#define LOAD(i)                                                                                                        \
    lo##i = _mm256_loadu_ps(c + ldc * (i));                                                                            \
    hi##i = _mm256_loadu_ps(c + ldc * (i) + 8);
#define PANEL                                                                                                          \
    const __m256 b_lo = _mm256_load_ps(b), b_hi = _mm256_load_ps(b + 8);                                               \
    __m256 x;
#define STEP(i)                                                                                                        \
    x = _mm256_broadcast_ss(a##i + at);                                                                                \
    lo##i = _mm256_fmadd_ps(x, b_lo, lo##i);                                                                           \
    hi##i = _mm256_fmadd_ps(x, b_hi, hi##i);
#define STORE(i)                                                                                                       \
    _mm256_storeu_ps(c + ldc * (i), lo##i);                                                                            \
    _mm256_storeu_ps(c + ldc * (i) + 8, hi##i);

GEMM_TILES(vact_gemm_avx2)
