/* The device that computes at once: SIMD kernels, tiles claimed by threads. */
#ifndef VACT_OPS_CPU_H
#define VACT_OPS_CPU_H

#include "kernels/kernels.h"
#include "ops/ops.h"

/* threads >= 1. The kernels are borrowed. */
vact_status vact_cpu_open(vact_device **out, const vact_kernels *kernels, int threads, vact_error *err);

#endif
