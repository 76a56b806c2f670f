/* What the files of this folder share. */
#ifndef VACT_OPS_CPU_PARTS_H
#define VACT_OPS_CPU_PARTS_H

#include "base/threads.h"
#include "kernels/kernels.h"
#include "ops/ops.h"

typedef struct vact_cpu {
    vact_device device;
    const vact_kernels *k;
    vact_pool *pool; /* from reserve on */
    int threads;
    bool int8; /* rows are quantized for weights that have products of integers */
    void *block;
    float *memory; /* in block, aligned: slab, shared scratch, then every thread's */
    float *shared, *private;
    size_t per_thread;
} vact_cpu;

static inline float *vact_cpu_row(const vact_cpu *cpu, vact_buf buf, int32_t row)
{
    return cpu->memory + buf.at + (size_t)row * (size_t)buf.stride;
}

static inline float *vact_cpu_scratch(const vact_cpu *cpu, int thread)
{
    return cpu->private + (size_t)thread * cpu->per_thread;
}

/* y[cols] = norm(x[cols]); y may be x. */
static inline void vact_cpu_norm(const vact_cpu *cpu, const vact_norm *norm, float *y, const float *x, size_t cols)
{
    const float *weight = norm->weight_row.rows ? vact_cpu_row(cpu, norm->weight_row, 0) : norm->weight;
    const float *bias = norm->bias_row.rows ? vact_cpu_row(cpu, norm->bias_row, 0) : norm->bias;
    if (norm->kind == VACT_NORM_LAYER)
        cpu->k->layer_norm(y, x, weight, bias, norm->eps, cols);
    else
        cpu->k->rms_norm(y, x, weight, norm->eps, cols);
    if (norm->kind == VACT_NORM_RMS && bias)
        cpu->k->add(y, bias, cols);
}

static inline int32_t vact_ceil_div(int32_t a, int32_t b)
{
    return (a + b - 1) / b;
}

static inline int32_t vact_min_i32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t vact_max_i32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* The i-th of n nearly equal parts of a whole starts here. */
static inline int32_t vact_part(int32_t whole, int32_t i, int32_t n)
{
    return (int32_t)((int64_t)whole * i / n);
}

/* K: [group][head][capacity / 16][head_dim][16], panels for q k^T.
 * V: [group][head][head_dim / 16][capacity][16], panels for p v. Both rounded up to whole panels. */
size_t vact_cpu_kv_half(const vact_kv *kv); /* floats of K, and of V */

/* One head of a group. */
typedef struct vact_cpu_kv_head {
    float *keys, *values;
    size_t key_panel, value_panel; /* floats from panel to panel */
} vact_cpu_kv_head;

vact_cpu_kv_head vact_cpu_kv_at(const vact_cpu *cpu, const vact_kv *kv, int32_t group, int32_t head);
void vact_cpu_kv_write(vact_cpu *cpu, vact_kv kv, int32_t first, vact_buf k, vact_buf v);

vact_scratch vact_cpu_site_scratch(const vact_cpu *cpu, const vact_site_args *site);
void vact_cpu_site(vact_cpu *cpu, const vact_site_args *site);

vact_scratch vact_cpu_attention_scratch(const vact_attention_args *attention);
void vact_cpu_attention(vact_cpu *cpu, const vact_attention_args *attention);

/* Everything that works row by row; needs no scratch. */
void vact_cpu_rows(vact_cpu *cpu, const vact_op *op);

#endif
