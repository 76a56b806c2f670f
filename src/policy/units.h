/* Normalised values, as the network sees them, and the robot's own: one rule, both ways. */
#ifndef VACT_POLICY_UNITS_H
#define VACT_POLICY_UNITS_H

#include "models/arch.h"

static inline float vact_to_model(const vact_statistics *t, int32_t i, float x)
{
    return (float)(((double)x - (double)t->mean[i]) / ((double)t->std[i] + (double)t->eps));
}

static inline float vact_to_real(const vact_statistics *t, int32_t i, float x)
{
    return (float)((double)x * ((double)t->std[i] + (double)t->eps) + (double)t->mean[i]);
}

#endif
