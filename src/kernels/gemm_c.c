/* The product of rows with panels of 16 columns. */
#include "kernels/kernels.h"
#include "kernels/scalar.h"

#include <math.h>

/* fmaf, not * and +: the other levels have fused instructions and give the same bits. */
void vact_gemm_c(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t k, int rows,
                 int panels, bool add)
{
    for (int i = 0; i < rows; i++, a += lda, c += ldc) {
        for (size_t j = 0; j < VACT_PANEL * (size_t)panels; j++) {
            const float *column = b + j / VACT_PANEL * ldb + j % VACT_PANEL;
            float acc = add ? c[j] : 0.0f;
            for (size_t p = 0; p < k; p++)
                acc = fmaf(a[p], column[p * VACT_PANEL], acc);
            c[j] = acc;
        }
    }
}
