/* One row in, one row out: norms, softmax, rotary positions. */
#include "kernels/scalar.h"

#include <math.h>

void vact_layer_norm_c(float *y, const float *x, const float *w, const float *b, float eps, size_t n)
{
    double mean = 0.0, var = 0.0;

    for (size_t i = 0; i < n; i++)
        mean += x[i];
    mean /= (double)n;
    for (size_t i = 0; i < n; i++)
        var += (x[i] - mean) * (x[i] - mean);
    var /= (double)n;

    const double r = 1.0 / sqrt(var + eps);
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((x[i] - mean) * r * w[i] + b[i]);
}

void vact_rms_norm_c(float *y, const float *x, const float *w, float eps, size_t n)
{
    double square = 0.0;

    for (size_t i = 0; i < n; i++)
        square += (double)x[i] * x[i];

    const double r = 1.0 / sqrt(square / (double)n + eps);
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(x[i] * r * w[i]);
}

static float softmax_row(float *s, size_t n, float scale, float *max, float *sum)
{
    float m = *max;

    for (size_t i = 0; i < n; i++)
        m = fmaxf(m, scale * s[i]);

    /* With every key hidden any finite shift gives zeros, where -inf would give NaN. */
    const float shift = m == -INFINITY ? 0.0f : m;
    const float f = expf(*max - shift);
    double total = 0.0;

    for (size_t i = 0; i < n; i++) {
        s[i] = expf(scale * s[i] - shift);
        total += s[i];
    }
    *max = m;
    *sum = (float)(*sum * (double)f + total);
    return f;
}

void vact_softmax_c(float *s, size_t ld, int rows, size_t n, float scale, float *max, float *sum, float *f)
{
    for (int i = 0; i < rows; i++)
        f[i] = softmax_row(s + (size_t)i * ld, n, scale, &max[i], &sum[i]);
}

void vact_rope_c(float *x, const float *cos, const float *sin, size_t heads, size_t hd)
{
    const size_t half = hd / 2;

    for (size_t h = 0; h < heads; h++, x += hd) {
        for (size_t i = 0; i < half; i++) {
            const size_t j = i + half;
            const float a = x[i], b = x[j];
            x[i] = a * cos[i] - b * sin[i];
            x[j] = b * cos[j] + a * sin[j];
        }
    }
}
