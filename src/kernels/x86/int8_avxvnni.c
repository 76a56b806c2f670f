/* Products of quantized rows with panels of 16 columns, 256 bits at a time: three rows by a panel take 6 registers of
 * integer and 6 of float sums, 2 for weights and 1 for four codes of a row, 15 of 16. Q4_0 needs one more for the
 * nibbles' mask and one to shift in, and has tiles of two rows. */
#include "kernels/x86/int8_vnni.h"

#include <immintrin.h>

#define WIDTHS(X, i) X(i, 0) X(i, 1)

typedef __m256 floats;
typedef __m256i ints;

static inline floats no_floats(void)
{
    return _mm256_setzero_ps();
}

static inline floats load_floats(const void *p)
{
    return _mm256_load_ps(p);
}

static inline ints load_ints(const void *p)
{
    return _mm256_load_si256(p);
}

static inline ints low_nibbles(ints x)
{
    return _mm256_and_si256(x, _mm256_set1_epi8(15));
}

static inline ints high_nibbles(ints x)
{
    return low_nibbles(_mm256_srli_epi16(x, 4));
}

static inline ints spread_int(int x)
{
    return _mm256_set1_epi32(x);
}

/* The empty asm ties a product to its place: compilers would load far ahead of it, and keep sums in memory instead. */
static inline ints dot(ints sums, ints weights, ints codes)
{
    sums = _mm256_dpbusd_avx_epi32(sums, weights, codes);
    __asm__ volatile("" : "+x"(sums)::"memory");
    return sums;
}

static inline floats multiply_add(ints sums, floats scale, floats acc)
{
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), scale, acc);
}

static inline void store_scaled(float *p, floats acc, float scale)
{
    _mm256_storeu_ps(p, _mm256_mul_ps(acc, _mm256_set1_ps(scale)));
}

TILES(1)
TILES(2)
TILE_Q8_0(3)

void vact_gemm_int8_q8_0_avxvnni(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                                 int rows, int panels)
{
    static int8_tile *const tiles[] = { tile_q8_0_1, tile_q8_0_2, tile_q8_0_3 };
    vact_int8_by_tiles(tiles, 3, c, ldc, a, b, ldb, k, rows, panels);
}

void vact_gemm_int8_q4_0_avxvnni(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                                 int rows, int panels)
{
    static int8_tile *const tiles[] = { tile_q4_0_1, tile_q4_0_2 };
    vact_int8_by_tiles(tiles, 2, c, ldc, a, b, ldb, k, rows, panels);
}
