/* Tables of rotary position embedding. */
#ifndef VACT_BLOCKS_ROPE_H
#define VACT_BLOCKS_ROPE_H

#include "ops/ops.h"

/* Positions 0 .. positions-1: angle = position * base^(-2i / head_dim) for i < head_dim / 2, the same in both
 * halves. Computed in double. Takes buffers that stay: for `prepare`. */
vact_rope_table vact_rope_make(vact_run *r, int32_t positions, int32_t head_dim, double base);

/* Positions first .. first+count-1 of a table. */
vact_rope_table vact_rope_rows(vact_rope_table table, int32_t first, int32_t count);

#endif
