#include "blocks/time.h"

#include <math.h>

void vact_time_embedding(float *emb, int32_t width, double t, double min_period, double max_period)
{
    const int32_t half = width / 2;
    for (int32_t i = 0; i < half; i++) {
        const double exponent = half > 1 ? (double)i / (half - 1) : 0;
        const double angle = 6.283185307179586476925 * t / (min_period * pow(max_period / min_period, exponent));
        emb[i] = (float)sin(angle);
        emb[half + i] = (float)cos(angle);
    }
}
