#include "ops/cpu/cpu.h"

#include "base/error.h"
#include "ops/cpu/parts.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 }; /* bytes; panels are read with aligned loads */

static size_t kv_floats(const vact_device *device, const vact_kv *kv)
{
    (void)device;
    return 2 * vact_cpu_kv_half(kv);
}

static vact_scratch scratch(const vact_device *device, const vact_op *op)
{
    switch (op->kind) {
    case VACT_OP_SITE:
        return vact_cpu_site_scratch((const vact_cpu *)device, &op->site);
    case VACT_OP_ATTENTION:
        return vact_cpu_attention_scratch(&op->attention);
    default:
        return (vact_scratch){ 0, 0 };
    }
}

static size_t round_up(size_t floats)
{
    return (floats + 15) / 16 * 16;
}

static vact_status reserve(vact_device *device, size_t slab, vact_scratch scratch, vact_error *err)
{
    vact_cpu *cpu = (vact_cpu *)device;
    const size_t shared = round_up(scratch.shared);
    cpu->per_thread = round_up(scratch.per_thread);
    const size_t total = round_up(slab) + shared + cpu->per_thread * (size_t)cpu->threads;
    const size_t bytes = total * sizeof(float) + LINE;
    cpu->block = calloc(1, bytes); /* untouched pages stay with the system until a request needs them */
    if (!cpu->block)
        return vact_fail(err, VACT_ENOMEM, "out of memory: a session needs %zu bytes", bytes);
    cpu->memory = (float *)(void *)(((uintptr_t)cpu->block + LINE - 1) / LINE * LINE);
    cpu->shared = cpu->memory + round_up(slab);
    cpu->private = cpu->shared + shared;
    return vact_pool_open(&cpu->pool, cpu->threads, err);
}

static vact_status run(vact_device *device, const vact_op *op, vact_error *err)
{
    (void)err;
    vact_cpu *cpu = (vact_cpu *)device;
    switch (op->kind) {
    case VACT_OP_SITE:
        vact_cpu_site(cpu, &op->site);
        break;
    case VACT_OP_ATTENTION:
        vact_cpu_attention(cpu, &op->attention);
        break;
    case VACT_OP_KV_WRITE:
        vact_cpu_kv_write(cpu, op->kv_write.kv, op->kv_write.first, op->kv_write.k, op->kv_write.v);
        break;
    default:
        vact_cpu_rows(cpu, op);
        break;
    }
    return VACT_OK;
}

static void read_values(vact_device *device, vact_buf buf, float *values)
{
    for (int32_t row = 0; row < buf.rows; row++)
        memcpy(values + (size_t)row * (size_t)buf.cols, vact_cpu_row((vact_cpu *)device, buf, row),
               (size_t)buf.cols * sizeof *values);
}

static void close_device(vact_device *device)
{
    vact_cpu *cpu = (vact_cpu *)device;
    vact_pool_close(&cpu->pool);
    free(cpu->block);
    free(cpu);
}

vact_status vact_cpu_open(vact_device **out, const vact_kernels *kernels, int threads, bool int8, vact_error *err)
{
    vact_cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return vact_fail(err, VACT_ENOMEM, "out of memory");
    cpu->device = (vact_device){ "cpu", false, kv_floats, scratch, reserve, run, read_values, close_device };
    cpu->k = kernels;
    cpu->threads = threads;
    cpu->int8 = int8;
    *out = &cpu->device;
    return VACT_OK;
}
