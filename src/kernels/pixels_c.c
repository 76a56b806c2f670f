/* Interleaved RGB -> three planes in [-1, 1]. */
#include "kernels/scalar.h"

void vact_pixels_u8_c(float *dst, size_t plane, const unsigned char *src, size_t n)
{
    for (size_t i = 0; i < n / 3; i++)
        for (size_t c = 0; c < 3; c++)
            dst[c * plane + i] = (float)src[3 * i + c] / 255.0f * 2.0f - 1.0f;
}

void vact_pixels_f32_c(float *dst, size_t plane, const float *src, size_t n)
{
    for (size_t i = 0; i < n / 3; i++)
        for (size_t c = 0; c < 3; c++)
            dst[c * plane + i] = 2.0f * src[3 * i + c] - 1.0f;
}
