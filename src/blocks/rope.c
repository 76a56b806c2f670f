#include "blocks/rope.h"

#include <math.h>

vact_rope_table vact_rope_make(vact_run *r, int32_t positions, int32_t head_dim, double base)
{
    const vact_rope_table table = { vact_tmp(r, positions, head_dim), vact_tmp(r, positions, head_dim) };
    if (r->device->blind)
        return table;
    const size_t values = (size_t)positions * (size_t)head_dim;
    float *cosine = vact_host(r, values, sizeof *cosine), *sine = vact_host(r, values, sizeof *sine);
    if (!cosine || !sine)
        return table;
    const int32_t half = head_dim / 2;
    for (int32_t i = 0; i < half; i++) {
        const double frequency = pow(base, -2.0 * i / head_dim);
        for (int32_t p = 0; p < positions; p++) {
            const size_t at = (size_t)p * (size_t)head_dim + (size_t)i;
            cosine[at] = cosine[at + (size_t)half] = (float)cos(p * frequency);
            sine[at] = sine[at + (size_t)half] = (float)sin(p * frequency);
        }
    }
    vact_upload(r, table.cos, cosine);
    vact_upload(r, table.sin, sine);
    return table;
}

vact_rope_table vact_rope_rows(vact_rope_table table, int32_t first, int32_t count)
{
    return (vact_rope_table){ vact_rows(table.cos, first, count), vact_rows(table.sin, first, count) };
}
