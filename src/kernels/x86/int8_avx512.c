/* Products of quantized rows with panels of 16 columns, 512 bits at a time: a group of a panel is one register. Four
 * rows have four chains of eight products and the next block's beside them; the addresses of more rows would not fit in
 * the general registers. With 256 bits AVX-VNNI's file would do for both levels, at half the products per cycle where
 * there are two 512-bit units. */
#include "kernels/x86/avx512.h"
#include "kernels/x86/int8_vnni.h"

#define WIDTHS(X, i) X(i, 0)

typedef __m512 floats;
typedef __m512i ints;

static inline floats no_floats(void)
{
    return _mm512_setzero_ps();
}

static inline floats load_floats(const void *p)
{
    return _mm512_load_ps(p);
}

static inline ints load_ints(const void *p)
{
    return _mm512_load_si512(p);
}

static inline ints low_nibbles(ints x)
{
    return _mm512_and_si512(x, _mm512_set1_epi8(15));
}

static inline ints high_nibbles(ints x)
{
    return low_nibbles(_mm512_srli_epi16(x, 4));
}

static inline ints spread_int(int x)
{
    return _mm512_set1_epi32(x);
}

static inline ints dot(ints sums, ints weights, ints codes)
{
    return _mm512_dpbusd_epi32(sums, weights, codes);
}

static inline floats multiply_add(ints sums, floats scale, floats acc)
{
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), scale, acc);
}

static inline void store_scaled(float *p, floats acc, float scale)
{
    _mm512_storeu_ps(p, _mm512_mul_ps(acc, _mm512_set1_ps(scale)));
}

TILES(1)
TILES(2)
TILES(3)
TILES(4)

void vact_gemm_int8_q8_0_avx512(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                                int rows, int panels)
{
    static int8_tile *const tiles[] = { tile_q8_0_1, tile_q8_0_2, tile_q8_0_3, tile_q8_0_4 };
    vact_int8_by_tiles(tiles, 4, c, ldc, a, b, ldb, k, rows, panels);
}

void vact_gemm_int8_q4_0_avx512(float *c, size_t ldc, const vact_int8_rows *a, const void *b, size_t ldb, size_t k,
                                int rows, int panels)
{
    static int8_tile *const tiles[] = { tile_q4_0_1, tile_q4_0_2, tile_q4_0_3, tile_q4_0_4 };
    vact_int8_by_tiles(tiles, 4, c, ldc, a, b, ldb, k, rows, panels);
}
