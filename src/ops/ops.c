/* Shape checks and dispatch. A wrong shape is our own mistake, so it is an assert: the loader has made sure that
 * the weights fit the config, and the session that the request fits the plan. */
#include "ops/ops.h"

#include "base/error.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *vact_op_name(vact_op_kind kind)
{
    static const char *const names[VACT_OP_KINDS] = {
        [VACT_OP_UPLOAD] = "upload", [VACT_OP_PATCHIFY] = "patchify", [VACT_OP_EMBED] = "embed",
        [VACT_OP_SITE] = "site",     [VACT_OP_NORM] = "norm",         [VACT_OP_ADD_TABLE] = "add_table",
        [VACT_OP_ROPE] = "rope",     [VACT_OP_KV_WRITE] = "kv_write", [VACT_OP_ATTENTION] = "attention",
        [VACT_OP_COPY] = "copy",     [VACT_OP_AXPY] = "axpy",         [VACT_OP_PIXEL_SHUFFLE] = "pixel_shuffle",
    };
    return names[kind];
}

static size_t push(vact_run *r, size_t floats)
{
    const size_t at = r->top;
    r->top += (floats + 15) / 16 * 16; /* every buffer starts a cache line */
    if (r->top > r->peak)
        r->peak = r->top;
    return at;
}

vact_buf vact_tmp(vact_run *r, int32_t rows, int32_t cols)
{
    assert(rows >= 0 && cols > 0);
    const int32_t stride = vact_row_stride(cols);
    return (vact_buf){ push(r, (size_t)rows * (size_t)stride), rows, cols, stride };
}

vact_kv vact_tmp_kv(vact_run *r, int32_t groups, int32_t capacity, int32_t heads, int32_t head_dim)
{
    vact_kv kv = { 0, groups, capacity, heads, head_dim };
    kv.at = push(r, r->device->kv_floats(r->device, &kv));
    return kv;
}

vact_buf vact_rows(vact_buf buf, int32_t first, int32_t count)
{
    assert(first >= 0 && count >= 0 && first + count <= buf.rows);
    buf.at += (size_t)first * (size_t)buf.stride;
    buf.rows = count;
    return buf;
}

vact_buf vact_cols(vact_buf buf, int32_t first, int32_t count)
{
    assert(first >= 0 && count >= 0 && first + count <= buf.cols);
    return (vact_buf){ buf.at + (size_t)first, buf.rows, count, buf.stride };
}

void *vact_host(vact_run *r, size_t count, size_t size)
{
    void *memory = vact_arena_take(r->arena, count, size);
    if (!memory)
        vact_run_fail(r, VACT_ENOMEM, "out of memory while preparing the session");
    return memory;
}

void vact_run_fail(vact_run *r, vact_status status, const char *format, ...)
{
    if (r->status != VACT_OK)
        return;
    char text[sizeof r->err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->status = vact_fail(r->err, status, "%s", text);
}

void vact_emit(vact_run *r, vact_buf buf, const char *name, ...)
{
    if (!r->trace || r->status != VACT_OK)
        return;
    char full[64];
    va_list args;
    va_start(args, name);
    vsnprintf(full, sizeof full, name, args);
    va_end(args);
    float *values = malloc(((size_t)buf.rows * (size_t)buf.cols + 1) * sizeof *values);
    if (!values) {
        vact_run_fail(r, VACT_ENOMEM, "out of memory for trace '%s'", full);
        return;
    }
    r->device->read(r->device, buf, values);
    r->trace(r->trace_user, full, values, buf.rows, buf.cols);
    free(values);
}

double vact_site_flops(const vact_site_args *site, int output)
{
    return 2.0 * site->x.rows * site->out[output].w->w.rows * site->x.cols;
}

double vact_op_flops(const vact_op *op)
{
    double flops = 0;
    if (op->kind == VACT_OP_SITE) {
        for (int i = 0; i < VACT_SITE_OUTPUTS && op->site.out[i].w; i++)
            flops += vact_site_flops(&op->site, i);
    } else if (op->kind == VACT_OP_ATTENTION) {
        const vact_attention_args *a = &op->attention;
        int32_t keys = 0;
        for (int i = 0; i < VACT_ATTENTION_SEGMENTS; i++)
            keys += a->segments[i].keys;
        double seen = (double)a->q.rows * keys; /* pairs of row and key */
        for (int32_t i = 0; a->spans && i < a->q.rows; i++)
            seen += a->spans[i].end - a->spans[i].begin - keys;
        flops = 4.0 * a->q.cols * seen;
    }
    return flops;
}

static void dispatch(vact_run *r, const vact_op *op)
{
    if (r->status != VACT_OK)
        return;
    r->status = r->device->run(r->device, op, r->err);
    if (r->progress) {
        r->flops += vact_op_flops(op);
        r->progress(r->progress_user, r->flops < r->all_flops ? r->flops / r->all_flops : 1);
    }
}

static bool same_shape(vact_buf a, vact_buf b)
{
    return a.rows == b.rows && a.cols == b.cols;
}

static void check_row(vact_buf row, int32_t cols)
{
    assert(row.rows == 0 || (row.rows == 1 && row.cols == cols));
    (void)row, (void)cols;
}

static bool overlap(vact_buf a, vact_buf b)
{
    return a.at < b.at + (size_t)b.rows * (size_t)b.stride && b.at < a.at + (size_t)a.rows * (size_t)a.stride;
}

void vact_upload(vact_run *r, vact_buf y, const float *values)
{
    dispatch(r, &(vact_op){ VACT_OP_UPLOAD, .upload = { y, values } });
}

void vact_patchify(vact_run *r, vact_buf y, const vact_image *image, int32_t patch)
{
    assert(y.cols == 3 * patch * patch);
    assert(y.rows == image->width / patch * (image->height / patch));
    dispatch(r, &(vact_op){ VACT_OP_PATCHIFY, .patchify = { y, image, patch } });
}

void vact_embed(vact_run *r, vact_buf y, const vact_weight *table, const int32_t *ids, float scale)
{
    assert(y.cols == table->cols);
    dispatch(r, &(vact_op){ VACT_OP_EMBED, .embed = { y, table, ids, scale } });
}

void vact_site_run(vact_run *r, const vact_site_args *site)
{
    for (int i = 0; i < VACT_SITE_OUTPUTS && site->out[i].w; i++) {
        const vact_weight *w = &site->out[i].w->w;
        const vact_buf y = site->out[site->gated ? 0 : i].y;
        assert(w->cols == site->x.cols && y.cols == w->rows && y.rows == site->x.rows);
        assert(!overlap(y, site->x));
        (void)w, (void)y;
    }
    assert(!site->gated || (site->out[1].w && !site->out[2].w));
    check_row(site->bias_row, site->out[0].y.cols);
    check_row(site->gate_row, site->out[0].y.cols);
    check_row(site->norm.weight_row, site->x.cols);
    check_row(site->norm.bias_row, site->x.cols);
    assert(!site->gate_row.rows || site->gated || !site->out[1].w);
    dispatch(r, &(vact_op){ VACT_OP_SITE, .site = *site });
}

void vact_norm_rows(vact_run *r, vact_buf y, vact_buf x, vact_norm norm)
{
    assert(same_shape(x, y));
    check_row(norm.weight_row, x.cols);
    check_row(norm.bias_row, x.cols);
    dispatch(r, &(vact_op){ VACT_OP_NORM, .norm = { y, x, norm } });
}

void vact_add_table(vact_run *r, vact_buf y, const vact_weight *table)
{
    assert(y.cols == table->cols && y.rows % table->rows == 0);
    dispatch(r, &(vact_op){ VACT_OP_ADD_TABLE, .add_table = { y, table } });
}

void vact_rope(vact_run *r, vact_buf x, vact_rope_table table)
{
    assert(table.cos.rows == x.rows && same_shape(table.cos, table.sin) && x.cols % table.cos.cols == 0);
    dispatch(r, &(vact_op){ VACT_OP_ROPE, .rope = { x, table } });
}

void vact_kv_write(vact_run *r, vact_kv kv, int32_t first, vact_buf k, vact_buf v)
{
    assert(same_shape(k, v) && k.cols == kv.heads * kv.head_dim && k.rows % kv.groups == 0);
    assert(first >= 0 && first + k.rows / kv.groups <= kv.capacity);
    dispatch(r, &(vact_op){ VACT_OP_KV_WRITE, .kv_write = { kv, first, k, v } });
}

void vact_attention_run(vact_run *r, const vact_attention_args *attention)
{
    assert(same_shape(attention->y, attention->q) && attention->q.cols % attention->heads == 0);
    for (int i = 0; i < VACT_ATTENTION_SEGMENTS && attention->segments[i].keys; i++) {
        const vact_kv kv = attention->segments[i].kv;
        assert(attention->segments[i].keys <= kv.capacity && attention->heads % kv.heads == 0);
        assert(kv.head_dim == attention->q.cols / attention->heads && attention->q.rows % kv.groups == 0);
        assert(kv.groups == attention->segments[0].kv.groups && kv.heads == attention->segments[0].kv.heads);
        (void)kv;
    }
    dispatch(r, &(vact_op){ VACT_OP_ATTENTION, .attention = *attention });
}

void vact_copy(vact_run *r, vact_buf y, vact_buf x, float scale)
{
    assert(same_shape(x, y));
    dispatch(r, &(vact_op){ VACT_OP_COPY, .copy = { y, x, scale } });
}

void vact_axpy(vact_run *r, vact_buf y, float a, vact_buf x)
{
    assert(same_shape(x, y));
    dispatch(r, &(vact_op){ VACT_OP_AXPY, .axpy = { y, x, a } });
}

void vact_pixel_shuffle(vact_run *r, vact_buf y, vact_buf x, int32_t grid, int32_t factor)
{
    assert(grid % factor == 0 && x.rows % (grid * grid) == 0);
    assert(y.cols == x.cols * factor * factor && y.rows * factor * factor == x.rows);
    dispatch(r, &(vact_op){ VACT_OP_PIXEL_SHUFFLE, .shuffle = { y, x, grid, factor } });
}
