/* Checkpoints with made-up weights: every value is a pure function of (seed, tensor name, element index), so any
 * program can make the same file. With h the 64-bit FNV-1a hash of the name, element i is
 *     z = (seed ^ h) + (i + 1) * 0x9E3779B97F4A7C15, then splitmix64's mix of z,
 *     u = (z >> 40) / 2^24, value = offset + scale * (2u - 1)    in float32. */
#ifndef VACT_TENSOR_SYNTH_H
#define VACT_TENSOR_SYNTH_H

#include "tensor/schema.h"

/* Noise in [-1, 1) of elements first .. first+n-1. */
void vact_synth_noise(float *out, const char *name, uint64_t seed, uint64_t first, size_t n);

/* Writes the preset's checkpoint; progress may be NULL. */
vact_status vact_synth_write(const vact_schema *schema, const vact_preset *preset, uint64_t seed, const char *path,
                             vact_progress_fn progress, void *user, vact_error *err);

#endif
