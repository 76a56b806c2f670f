/* One value in, one value out: activations and arithmetic. */
#include "kernels/scalar.h"

#include <math.h>

/* By erfc, which unlike 1 + erf keeps its bits for negative u. */
void vact_gelu_erf_c(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double u = x[i], half_sqrt_2 = 0.70710678118654752440;
        x[i] = (float)(0.5 * u * erfc(-u * half_sqrt_2));
    }
}

/* In double: 1 + tanh loses most of its bits in float for negative u. */
void vact_gelu_tanh_c(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double u = x[i], sqrt_2_pi = 0.79788456080286535588;
        x[i] = (float)(0.5 * u * (1.0 + tanh(sqrt_2_pi * (u + 0.044715 * u * u * u))));
    }
}

void vact_silu_c(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double u = x[i];
        x[i] = (float)(u / (1.0 + exp(-u)));
    }
}

void vact_scale_c(float *x, float a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= a;
}

void vact_add_c(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

void vact_mul_c(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] *= x[i];
}

void vact_axpy_c(float *y, float a, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = fmaf(a, x[i], y[i]);
}
