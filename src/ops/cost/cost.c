#include "ops/cost/cost.h"

#include "base/error.h"
#include <stdlib.h>

typedef struct cost_device {
    vact_device device;
    const vact_device *target;
    vact_cost_totals totals;
} cost_device;

static size_t kv_floats(const vact_device *device, const vact_kv *kv)
{
    const vact_device *target = ((const cost_device *)device)->target;
    return target->kv_floats(target, kv);
}

static vact_scratch scratch(const vact_device *device, const vact_op *op)
{
    const vact_device *target = ((const cost_device *)device)->target;
    return target->scratch(target, op);
}

static vact_status reserve(vact_device *device, size_t slab, vact_scratch scratch_size, vact_error *err)
{
    (void)device, (void)slab, (void)scratch_size, (void)err;
    return VACT_OK;
}

static void read_nothing(vact_device *device, vact_buf buf, float *values)
{
    (void)device, (void)buf, (void)values;
}

static double bytes_of(const vact_weight *w, int32_t rows)
{
    return (double)vact_dtype_bytes(w->dtype, (uint64_t)w->cols) * rows;
}

static vact_status run(vact_device *device, const vact_op *op, vact_error *err)
{
    (void)err;
    cost_device *cost = (cost_device *)device;
    vact_cost_totals *totals = &cost->totals;
    const vact_scratch need = scratch(device, op);
    if (need.shared > totals->scratch.shared)
        totals->scratch.shared = need.shared;
    if (need.per_thread > totals->scratch.per_thread)
        totals->scratch.per_thread = need.per_thread;
    totals->flops += vact_op_flops(op);
    switch (op->kind) {
    case VACT_OP_SITE:
        for (int i = 0; i < VACT_SITE_OUTPUTS && op->site.out[i].w; i++) {
            const vact_weight *w = &op->site.out[i].w->w;
            totals->weight_bytes += bytes_of(w, w->rows);
            totals->site_flops[w->dtype] += vact_site_flops(&op->site, i);
        }
        break;
    case VACT_OP_EMBED:
        totals->weight_bytes += bytes_of(op->embed.table, op->embed.y.rows);
        break;
    case VACT_OP_ADD_TABLE:
        totals->weight_bytes += bytes_of(op->add_table.table, op->add_table.table->rows);
        break;
    default:
        break;
    }
    return VACT_OK;
}

static void close_device(vact_device *device)
{
    free(device);
}

vact_status vact_cost_open(vact_device **out, const vact_device *target, vact_error *err)
{
    cost_device *cost = calloc(1, sizeof *cost);
    if (!cost)
        return vact_fail(err, VACT_ENOMEM, "out of memory");
    cost->device = (vact_device){ "cost", true, kv_floats, scratch, reserve, run, read_nothing, close_device };
    cost->target = target;
    *out = &cost->device;
    return VACT_OK;
}

const vact_cost_totals *vact_cost_get(const vact_device *device)
{
    return &((const cost_device *)device)->totals;
}
