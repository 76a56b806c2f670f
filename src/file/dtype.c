/* tensor type ids -> names and block sizes; shapes -> bytes */
#include "file/dtype.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* By id. The gaps are types that ggml has withdrawn (4, 5, 31..33, 36..38) or not yet given out. */
static const vact_dtype_info types[VACT_DTYPE_END] = {
    [VACT_DTYPE_F32] = { "f32", 1, 4 },
    [VACT_DTYPE_F16] = { "f16", 1, 2 },
    [VACT_DTYPE_Q4_0] = { "q4_0", 32, 18 },
    [VACT_DTYPE_Q4_1] = { "q4_1", 32, 20 },
    [VACT_DTYPE_Q5_0] = { "q5_0", 32, 22 },
    [VACT_DTYPE_Q5_1] = { "q5_1", 32, 24 },
    [VACT_DTYPE_Q8_0] = { "q8_0", 32, 34 },
    [9] = { "q8_1", 32, 36 },
    [VACT_DTYPE_Q2_K] = { "q2_k", 256, 84 },
    [VACT_DTYPE_Q3_K] = { "q3_k", 256, 110 },
    [VACT_DTYPE_Q4_K] = { "q4_k", 256, 144 },
    [VACT_DTYPE_Q5_K] = { "q5_k", 256, 176 },
    [VACT_DTYPE_Q6_K] = { "q6_k", 256, 210 },
    [15] = { "q8_k", 256, 292 },
    [16] = { "iq2_xxs", 256, 66 },
    [17] = { "iq2_xs", 256, 74 },
    [18] = { "iq3_xxs", 256, 98 },
    [19] = { "iq1_s", 256, 50 },
    [20] = { "iq4_nl", 32, 18 },
    [21] = { "iq3_s", 256, 110 },
    [22] = { "iq2_s", 256, 82 },
    [23] = { "iq4_xs", 256, 136 },
    [24] = { "i8", 1, 1 },
    [25] = { "i16", 1, 2 },
    [26] = { "i32", 1, 4 },
    [27] = { "i64", 1, 8 },
    [28] = { "f64", 1, 8 },
    [29] = { "iq1_m", 256, 56 },
    [VACT_DTYPE_BF16] = { "bf16", 1, 2 },
    [34] = { "tq1_0", 256, 54 },
    [35] = { "tq2_0", 256, 66 },
    [39] = { "mxfp4", 32, 17 },
    [40] = { "nvfp4", 64, 36 },
    [41] = { "q1_0", 128, 18 },
    [42] = { "q2_0", 64, 18 },
};

const vact_dtype_info *vact_dtype_get(uint32_t id)
{
    return id < VACT_DTYPE_END && types[id].name ? &types[id] : NULL;
}

int vact_dtype_from_name(const char *name)
{
    for (int id = 0; id < VACT_DTYPE_END; id++)
        if (types[id].name && strcmp(types[id].name, name) == 0)
            return id;
    return -1;
}

bool vact_dtype_is_float(uint32_t id)
{
    return id == VACT_DTYPE_F32 || id == VACT_DTYPE_F16 || id == VACT_DTYPE_BF16;
}

uint64_t vact_dtype_bytes(uint32_t id, uint64_t n)
{
    const vact_dtype_info *info = vact_dtype_get(id);
    assert(info && n % info->block == 0);
    return n / info->block * info->block_bytes;
}

bool vact_dtype_shape_bytes(uint32_t id, uint32_t n_dims, const uint64_t *ne, uint64_t *bytes, char *why,
                            size_t why_size)
{
    const vact_dtype_info *info = vact_dtype_get(id);
    uint64_t n = 1;
    if (!info) {
        snprintf(why, why_size, "found tensor type %" PRIu32 ", expected a known one", id);
        return false;
    }
    for (uint32_t i = 0; i < n_dims; i++) {
        if (ne[i] == 0) {
            snprintf(why, why_size, "found dimension %" PRIu32 " of size 0, expected at least 1", i);
            return false;
        }
        if (n > INT64_MAX / ne[i]) {
            snprintf(why, why_size, "found 2^63 values or more, expected fewer");
            return false;
        }
        n *= ne[i];
    }
    if (ne[0] % info->block != 0) {
        snprintf(why, why_size, "found rows of %" PRIu64 " values, expected a multiple of %" PRIu32 " for %s", ne[0],
                 info->block, info->name);
        return false;
    }
    if (n / info->block > INT64_MAX / info->block_bytes) {
        snprintf(why, why_size, "found 2^63 bytes or more, expected fewer");
        return false;
    }
    *bytes = vact_dtype_bytes(id, n);
    return true;
}
