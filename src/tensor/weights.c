#include "tensor/weights.h"

#include <assert.h>

vact_weight vact_weight_cols(vact_weight weight, int32_t first, int32_t count)
{
    assert(first >= 0 && count >= 0 && first + count <= weight.cols);
    assert((uint32_t)first % vact_dtype_get(weight.dtype)->block == 0);
    assert((uint32_t)count % vact_dtype_get(weight.dtype)->block == 0);
    weight.data += vact_dtype_bytes(weight.dtype, (uint64_t)first);
    weight.cols = count;
    return weight;
}
