/* What the processor could do at most, scalar: the loops that a share of the ceiling is measured against. */
#include "kernels/scalar.h"

#include "kernels/kernels.h"
#include <math.h>

enum { CHAINS = 8 }; /* that run side by side: a chain alone waits for its own last result */

void vact_fma_ceiling_c(float *values, size_t steps)
{
    float x = 0.5f, y = 3.0f;
    __asm__("" : "+r"(x), "+r"(y)); /* unknown: an addition of 1.5 would do otherwise */
    for (int i = 0; i < VACT_CEILING; i += CHAINS) {
        float acc[CHAINS];
        for (int j = 0; j < CHAINS; j++)
            acc[j] = values[i + j];
        for (size_t step = 0; step < steps; step++)
            for (int j = 0; j < CHAINS; j++)
                acc[j] = fmaf(x, y, acc[j]);
        for (int j = 0; j < CHAINS; j++)
            values[i + j] = acc[j];
    }
}

/* The empty asm makes the bytes unknown again: products that don't change would be made only once. */
void vact_dot_ceiling_c(int32_t *values, size_t steps)
{
    uint8_t a[4 * VACT_CEILING];
    int8_t b[4 * VACT_CEILING];
    for (int i = 0; i < 4 * VACT_CEILING; i++) {
        a[i] = VACT_CEILING_A;
        b[i] = VACT_CEILING_B;
    }
    for (size_t step = 0; step < steps; step++) {
        __asm__ volatile("" : : "r"(a), "r"(b) : "memory");
        for (int i = 0; i < VACT_CEILING; i++)
            for (int j = 4 * i; j < 4 * i + 4; j++)
                values[i] += a[j] * b[j];
    }
}
