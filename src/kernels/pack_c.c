/* Rows of a weight -> a panel. */
#include "kernels/kernels.h"
#include "kernels/scalar.h"

#include <string.h>

enum { CHUNK = 32 }; /* values decoded at a time: a multiple of every block */

static void pack(void (*decode)(float *, const void *, size_t), size_t chunk_bytes, float *dst, const void *src,
                 size_t row_bytes, int rows, size_t k)
{
    for (size_t at = 0; at < k; at += CHUNK) {
        const size_t n = k - at < CHUNK ? k - at : CHUNK;
        const unsigned char *chunk = (const unsigned char *)src + at / CHUNK * chunk_bytes;
        for (size_t j = 0; j < VACT_PANEL; j++) {
            float values[CHUNK] = { 0 };
            if (j < (size_t)rows)
                decode(values, chunk + j * row_bytes, n);
            for (size_t p = 0; p < n; p++)
                dst[(at + p) * VACT_PANEL + j] = values[p];
        }
    }
}

#define PACK(type, chunk_bytes)                                                                                        \
    void vact_pack_##type##_c(float *dst, const void *src, size_t row_bytes, int rows, size_t k)                       \
    {                                                                                                                  \
        pack(vact_decode_##type##_c, chunk_bytes, dst, src, row_bytes, rows, k);                                       \
    }

PACK(f32, 4 * CHUNK)
PACK(f16, 2 * CHUNK)
PACK(bf16, 2 * CHUNK)
PACK(q8_0, 34)
PACK(q4_0, 18)
