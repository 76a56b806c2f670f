/* Packing and the product of up to 6 rows with one panel of 16 columns. */
#include "kernels/kernels.h"
#include "kernels/scalar.h"

#include <math.h>

void vact_pack_c(float *dst, const float *src, size_t ld, size_t k)
{
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < VACT_PANEL; j++)
            dst[p * VACT_PANEL + j] = src[j * ld + p];
}

/* fmaf, not * and +: the other levels have fused instructions and give the same bits. */
void vact_gemm_c(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t k, int rows, bool add)
{
    for (int i = 0; i < rows; i++, a += lda, c += ldc) {
        for (size_t j = 0; j < VACT_PANEL; j++) {
            float acc = add ? c[j] : 0.0f;
            for (size_t p = 0; p < k; p++)
                acc = fmaf(a[p], b[p * VACT_PANEL + j], acc);
            c[j] = acc;
        }
    }
}
