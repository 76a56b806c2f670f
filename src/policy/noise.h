/* Start noise of flow policies. */
#ifndef VACT_POLICY_NOISE_H
#define VACT_POLICY_NOISE_H

#include <stddef.h>
#include <stdint.h>

/* out[i] ~ N(0, 1), a pure function of (seed, i): Box-Muller over splitmix64. */
void vact_noise_normal(float *out, size_t n, uint64_t seed);

/* From the operating system. */
uint64_t vact_noise_seed(void);

#endif
