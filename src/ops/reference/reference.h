/* The device that defines: one thread, no fusion, scores materialised, sums in double. An oracle for the others. */
#ifndef VACT_OPS_REFERENCE_H
#define VACT_OPS_REFERENCE_H

#include "kernels/kernels.h"
#include "ops/ops.h"

/* Of the kernels only the decoders of weight types are used. */
vact_status vact_reference_open(vact_device **out, const vact_kernels *kernels, vact_error *err);

#endif
