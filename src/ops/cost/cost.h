/* The device that computes nothing: it counts what another would, and what memory that one needs. */
#ifndef VACT_OPS_COST_H
#define VACT_OPS_COST_H

#include "ops/ops.h"

typedef struct vact_cost_totals {
    double flops;                      /* of products: sites and attention, by the keys that rows really see */
    double weight_bytes;               /* of matrices and embedding rows, as stored, once for each op that reads them */
    double site_flops[VACT_DTYPE_END]; /* of sites' products, by the type of the matrix */
    vact_scratch scratch;              /* the largest of any op */
} vact_cost_totals;

/* Counts for `target`, which is borrowed and need not have reserved memory. */
vact_status vact_cost_open(vact_device **out, const vact_device *target, vact_error *err);

/* Running totals of a device made by vact_cost_open. */
const vact_cost_totals *vact_cost_get(const vact_device *device);

#endif
