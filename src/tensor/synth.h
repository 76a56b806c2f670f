/* Checkpoints with made-up weights: every value is a pure function of (seed, tensor name, element index), so any
 * program can make the same file. With h the 64-bit FNV-1a hash of the name, element i is
 *     z = (seed ^ h) + (i + 1) * 0x9E3779B97F4A7C15, then splitmix64's mix of z,
 *     u = (z >> 40) / 2^24, value = offset + scale * (2u - 1)    in float32. */
#ifndef VACT_TENSOR_SYNTH_H
#define VACT_TENSOR_SYNTH_H

#include "tensor/schema.h"

/* Noise in [-1, 1) of elements first .. first+n-1. */
void vact_synth_noise(float *out, const char *name, uint64_t seed, uint64_t first, size_t n);

/* What to make. */
typedef struct vact_synth_options {
    uint64_t seed;
    int32_t vocab;             /* rows of the embedding; 0: the preset's */
    vact_progress_fn progress; /* NULL: nobody listens */
    void *user;                /* progress's */
} vact_synth_options;

/* Writes the preset's checkpoint. EARG: the architecture has no vocabulary to shorten, or not of that size. */
vact_status vact_synth_write(const vact_schema *schema, const vact_preset *preset, const char *path,
                             const vact_synth_options *options, vact_error *err);

#endif
