/* The device that computes at once: SIMD kernels, tiles claimed by threads. */
#ifndef VACT_OPS_CPU_H
#define VACT_OPS_CPU_H

#include "kernels/kernels.h"
#include "ops/ops.h"

/* threads >= 1. The kernels are borrowed. int8: sites quantize their rows where the weight's type has products of
 * integers (docs/numerics.md). */
vact_status vact_cpu_open(vact_device **out, const vact_kernels *kernels, int threads, bool int8, vact_error *err);

#endif
