#include "attention.h"

#include <math.h>
#include <string.h>

int32_t attention_keys(const attention_case *c)
{
    return c->keys[0] + c->keys[1];
}

size_t attention_values(const attention_case *c)
{
    return (size_t)(c->groups * c->rows) * (size_t)(c->heads * c->head_dim);
}

double attention_products(const attention_case *c)
{
    return 2.0 * (double)attention_values(c) * attention_keys(c);
}

/* What row `row` of a group sees of `keys`. */
static vact_span span_of(span_rule rule, int32_t row, int32_t rows, int32_t keys)
{
    const int32_t begin = rule == SPAN_LATE ? ops_range(keys * 2 / 3, keys - 1) : ops_range(0, keys - 1);
    switch (rule) {
    case SPAN_CAUSAL:
        return (vact_span){ 0, keys - rows + row + 1 > 0 ? keys - rows + row + 1 : 0 };
    case SPAN_LAST:
        return (vact_span){ 0, row < rows - 1 ? keys - 1 : keys };
    case SPAN_NONE:
        return row % 3 == 1 ? (vact_span){ begin, begin } : (vact_span){ 0, keys };
    default:
        return (vact_span){ begin, ops_range(begin + 1, keys) };
    }
}

void attention_make(attention_case *c)
{
    const int32_t width = c->heads * c->head_dim, rows = c->groups * c->rows;
    c->q = ops_normal((size_t)rows * (size_t)(width + 1));
    c->out = ops_take(attention_values(c), sizeof *c->out);
    for (int i = 0; i < VACT_ATTENTION_SEGMENTS; i++) {
        c->capacity[i] = c->keys[i] + ops_range(0, 20);
        c->split[i] = ops_range(0, c->keys[i]);
        c->kv[i] = ops_normal((size_t)(c->groups * c->keys[i]) * (size_t)(2 * c->kv_heads * c->head_dim));
    }
    c->spans = c->rule == SPAN_ALL ? NULL : ops_take((size_t)rows, sizeof *c->spans);
    for (int32_t row = 0; row < rows && c->spans; row++)
        c->spans[row] = span_of(c->rule, row % c->rows, c->rows, attention_keys(c));
}

/* Keys first .. end-1 of every group, from one buffer of k and v side by side. */
static void write_keys(vact_run *r, const attention_case *c, int i, vact_kv kv, int32_t first, int32_t end)
{
    const int32_t width = c->kv_heads * c->head_dim, n = end - first;
    const size_t row = 2 * (size_t)width;
    if (n == 0)
        return;
    float *values = ops_take((size_t)(c->groups * n) * row, sizeof *values);
    for (int32_t group = 0; group < c->groups; group++)
        memcpy(values + (size_t)(group * n) * row, c->kv[i] + (size_t)(group * c->keys[i] + first) * row,
               (size_t)n * row * sizeof *values);
    const size_t mark = vact_mark(r);
    const vact_buf both = ops_put(r, values, c->groups * n, 2 * width);
    vact_kv_write(r, kv, first, ops_cols(both, 0, width), ops_cols(both, width, width));
    vact_release(r, mark);
}

static void program(vact_run *r, void *user)
{
    const attention_case *c = user;
    const int32_t width = c->heads * c->head_dim, rows = c->groups * c->rows, count = c->count ? c->count : rows;
    vact_attention_args args = { .heads = c->heads, .scale = c->scale, .spans = c->spans };
    const vact_buf all = ops_put(r, c->q, rows, width + 1), y = vact_tmp(r, rows, width);
    for (int i = 0; i < VACT_ATTENTION_SEGMENTS && c->keys[i]; i++) {
        const vact_kv kv = vact_tmp_kv(r, c->groups, c->capacity[i], c->kv_heads, c->head_dim);
        if (!c->backwards)
            write_keys(r, c, i, kv, 0, c->split[i]);
        write_keys(r, c, i, kv, c->split[i], c->keys[i]);
        if (c->backwards)
            write_keys(r, c, i, kv, 0, c->split[i]);
        args.segments[i].kv = kv;
        args.segments[i].keys = c->keys[i];
    }
    vact_buf q = ops_cols(all, 1, width);
    if (c->in_place) {
        vact_copy(r, y, q, 1);
        q = y;
    }
    args.q = vact_rows(q, c->first, count);
    args.y = vact_rows(y, c->first, count);
    args.spans = c->spans ? c->spans + c->first : NULL;
    vact_attention_run(r, &args);
    ops_get(r, y, c->out);
}

void attention_run(attention_case *c, const ops_target *target)
{
    ops_run(target, program, c);
}
