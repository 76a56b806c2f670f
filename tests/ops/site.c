#include "site.h"

#include <string.h>

static int32_t outputs_of(const site_case *c)
{
    int32_t n = 0;
    while (n < VACT_SITE_OUTPUTS && c->channels[n])
        n++;
    return n;
}

/* Columns of the result. */
static int32_t live_columns(const site_case *c)
{
    int32_t n = 0;
    for (int32_t i = 0; i < (c->gated ? 1 : c->outputs); i++)
        n += c->channels[i];
    return n;
}

void site_make(site_case *c, vact_norm_kind norm)
{
    c->outputs = outputs_of(c);
    c->width = SITE_BEFORE + live_columns(c) + SITE_BEHIND;
    c->x = ops_normal((size_t)c->rows * (size_t)(c->cols + SITE_BEFORE + SITE_BEHIND));
    c->y = ops_normal((size_t)c->rows * (size_t)c->width);
    c->out = ops_take((size_t)c->rows * (size_t)c->width, sizeof *c->out);
    c->norm = (vact_norm){ .kind = norm, .weight = ops_normal((size_t)c->cols), .eps = ops_range(0, 1) ? 0.3f : 1e-5f };
    if (norm == VACT_NORM_LAYER)
        c->norm.bias = ops_normal((size_t)c->cols);
    for (int32_t i = 0; i < c->outputs; i++)
        c->w[i] = (vact_linear){ ops_weight(c->dtypes ? c->dtypes[i] : c->dtype, c->channels[i], c->cols),
                                 c->bias != SITE_NO_BIAS ? ops_normal((size_t)c->channels[i]) : NULL };
    c->bias_row = ops_normal((size_t)c->channels[0]);
    c->gate_values = ops_normal((size_t)c->channels[0]);
    c->norm_rows = ops_normal(2 * (size_t)c->cols);
}

static void program(vact_run *r, void *user)
{
    const site_case *c = user;
    const int32_t count = c->count ? c->count : c->rows;
    const vact_buf x = ops_put(r, c->x, c->rows, c->cols + SITE_BEFORE + SITE_BEHIND);
    const vact_buf y = ops_put(r, c->y, c->rows, c->width);
    const vact_buf computed = vact_rows(y, c->first, count);
    vact_site_args args = { .x = ops_cols(vact_rows(x, c->first, count), SITE_BEFORE, c->cols),
                            .norm = c->norm,
                            .act = c->act,
                            .gated = c->gated,
                            .add = c->add };
    if (c->bias == SITE_BIAS_ROW)
        args.bias_row = ops_put(r, c->bias_row, 1, c->channels[0]);
    if (c->gate_row)
        args.gate_row = ops_put(r, c->gate_values, 1, c->channels[0]);
    if (c->adaptive) {
        const vact_buf rows = ops_put(r, c->norm_rows, 2, c->cols);
        args.norm = VACT_ADA_RMS_NORM(vact_rows(rows, 0, 1), vact_rows(rows, 1, 1), c->norm.eps);
    }
    for (int32_t i = 0, at = SITE_BEFORE; i < c->outputs; i++) {
        args.out[i].w = &c->w[i];
        if (!c->gated || i == 0)
            args.out[i].y = ops_cols(computed, at, c->channels[i]);
        at += c->channels[i];
    }
    vact_site_run(r, &args);
    ops_get(r, y, c->out);
}

void site_run(site_case *c, const ops_target *target)
{
    ops_run(target, program, c);
    const int32_t behind = c->width - SITE_BEHIND, end = c->first + (c->count ? c->count : c->rows);
    for (int32_t row = 0; row < c->rows; row++) {
        const size_t at = (size_t)row * (size_t)c->width;
        if (row < c->first || row >= end)
            ops_same(target, c->y + at, c->out + at, (size_t)c->width);
        ops_same(target, c->y + at, c->out + at, SITE_BEFORE);
        ops_same(target, c->y + at + behind, c->out + at + behind, SITE_BEHIND);
    }
}
