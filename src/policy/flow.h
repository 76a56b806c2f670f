/* Flow matching by Euler steps: at time 1 the chunk is noise, at time 0 it is the actions. */
#ifndef VACT_POLICY_FLOW_H
#define VACT_POLICY_FLOW_H

#include <stdint.h>

/* What a step adds to the time: -1 / steps. In float32, as the published policies step; the time itself is counted in
 * double, because the fastest sine of a time embedding turns 1570 rad per unit of it. */
static inline float vact_flow_dt(int32_t steps)
{
    return (float)(-1.0 / steps);
}

static inline double vact_flow_time(int32_t step, int32_t steps)
{
    return 1 + step * (double)vact_flow_dt(steps);
}

#endif
