/* The denoise time as a vector. */
#ifndef VACT_BLOCKS_TIME_H
#define VACT_BLOCKS_TIME_H

#include <stdint.h>

/* emb [width] = [sin(2 pi t / period_i), cos(2 pi t / period_i)], i < width / 2, periods from min to max in geometric
 * steps; computed in double. width is even. */
void vact_time_embedding(float *emb, int32_t width, double t, double min_period, double max_period);

#endif
