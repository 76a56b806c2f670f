/* Normalised values, as the network sees them, and the robot's own: one rule, both ways. */
#ifndef VACT_POLICY_UNITS_H
#define VACT_POLICY_UNITS_H

#include "models/arch.h"

/* real = normalised * scale + shift */
static inline double vact_units_scale(const vact_statistics *t, int32_t i)
{
    return t->range ? ((double)t->std[i] - (double)t->mean[i]) / 2 : (double)t->std[i] + (double)t->eps;
}

static inline double vact_units_shift(const vact_statistics *t, int32_t i)
{
    return t->range ? ((double)t->std[i] + (double)t->mean[i]) / 2 : (double)t->mean[i];
}

static inline float vact_to_model(const vact_statistics *t, int32_t i, float x)
{
    return (float)(((double)x - vact_units_shift(t, i)) / vact_units_scale(t, i));
}

static inline float vact_to_real(const vact_statistics *t, int32_t i, float x)
{
    return (float)((double)x * vact_units_scale(t, i) + vact_units_shift(t, i));
}

#endif
