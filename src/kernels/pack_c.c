/* Rows of a weight -> a panel. */
#include "kernels/kernels.h"
#include "kernels/scalar.h"

#include <string.h>

enum { FEW = 32, MOST = 256 }; /* values decoded at a time: whole blocks */

static void pack(void (*decode)(float *, const void *, size_t), size_t chunk, size_t chunk_bytes, float *dst,
                 const void *src, size_t row_bytes, int rows, size_t k)
{
    for (size_t at = 0; at < k; at += chunk) {
        const size_t n = k - at < chunk ? k - at : chunk;
        const unsigned char *from = (const unsigned char *)src + at / chunk * chunk_bytes;
        for (size_t j = 0; j < VACT_PANEL; j++) {
            float values[MOST];
            if (j < (size_t)rows)
                decode(values, from + j * row_bytes, n);
            else
                memset(values, 0, n * sizeof *values);
            for (size_t p = 0; p < n; p++)
                dst[(at + p) * VACT_PANEL + j] = values[p];
        }
    }
}

#define PACK(type, TYPE, chunk, chunk_bytes)                                                                           \
    void vact_pack_##type##_c(float *dst, const void *src, size_t row_bytes, int rows, size_t k)                       \
    {                                                                                                                  \
        pack(vact_decode_##type##_c, chunk, chunk_bytes, dst, src, row_bytes, rows, k);                                \
    }

PACK(f32, F32, FEW, 4 * FEW)
PACK(f16, F16, FEW, 2 * FEW)
PACK(bf16, BF16, FEW, 2 * FEW)
PACK(q8_0, Q8_0, FEW, 34)
PACK(q4_0, Q4_0, FEW, 18)
VACT_READ_ONLY_TYPES(PACK)
