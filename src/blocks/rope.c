#include "blocks/rope.h"

#include <math.h>

vact_rope_table vact_rope_make(vact_run *r, int32_t positions, int32_t head_dim, double base)
{
    const vact_rope_table table = { vact_tmp(r, positions, head_dim), vact_tmp(r, positions, head_dim) };
    float *cosine = vact_host(r, (size_t)head_dim, sizeof *cosine);
    float *sine = vact_host(r, (size_t)head_dim, sizeof *sine);
    if (!cosine || !sine)
        return table;
    const int32_t half = head_dim / 2;
    for (int32_t p = 0; p < positions; p++) {
        for (int32_t i = 0; i < half; i++) {
            const double angle = p * pow(base, -2.0 * i / head_dim);
            cosine[i] = cosine[i + half] = (float)cos(angle);
            sine[i] = sine[i + half] = (float)sin(angle);
        }
        vact_upload(r, vact_rows(table.cos, p, 1), cosine);
        vact_upload(r, vact_rows(table.sin, p, 1), sine);
    }
    return table;
}

vact_rope_table vact_rope_rows(vact_rope_table table, int32_t first, int32_t count)
{
    return (vact_rope_table){ vact_rows(table.cos, first, count), vact_rows(table.sin, first, count) };
}
