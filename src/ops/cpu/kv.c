/* Keys and values as the panels that attention multiplies. A tile is a block of one head's keys: whole panels of keys
 * are transposed by the pack kernel; at the ends, where a panel may hold other keys, they go in one by one. */
#include "ops/cpu/parts.h"

#include <string.h>

enum { KEYS = 128 }; /* of a tile, a multiple of VACT_PANEL */

static int32_t padded(int32_t n)
{
    return vact_ceil_div(n, VACT_PANEL) * VACT_PANEL;
}

size_t vact_cpu_kv_half(const vact_kv *kv)
{
    return (size_t)kv->groups * (size_t)kv->heads * (size_t)padded(kv->capacity) * (size_t)padded(kv->head_dim);
}

vact_cpu_kv_head vact_cpu_kv_at(const vact_cpu *cpu, const vact_kv *kv, int32_t group, int32_t head)
{
    const size_t capacity = (size_t)padded(kv->capacity), hd = (size_t)padded(kv->head_dim);
    float *keys = cpu->memory + kv->at + (size_t)(group * kv->heads + head) * capacity * hd;
    return (vact_cpu_kv_head){ keys, keys + vact_cpu_kv_half(kv), (size_t)kv->head_dim * VACT_PANEL,
                               capacity * VACT_PANEL };
}

typedef struct write_job {
    vact_cpu *cpu;
    vact_kv kv;
    int32_t first, n; /* keys of each group */
    vact_buf k, v;
} write_job;

/* Keys begin .. end-1 from rows of k, `stride` floats apart, the first of which is key begin's. */
static void write_keys(const write_job *job, float *keys, int32_t begin, int32_t end, const float *k)
{
    const int32_t hd = job->kv.head_dim;
    const size_t stride = (size_t)job->k.stride;
    for (int32_t at = begin; at < end;) {
        float *panel = keys + (size_t)(at / VACT_PANEL) * (size_t)hd * VACT_PANEL;
        if (at % VACT_PANEL == 0 && end - at >= VACT_PANEL) {
            job->cpu->k->pack[VACT_DTYPE_F32](panel, k, stride * sizeof *k, VACT_PANEL, (size_t)hd);
            at += VACT_PANEL;
            k += VACT_PANEL * stride;
        } else {
            for (int32_t d = 0; d < hd; d++)
                panel[d * VACT_PANEL + at % VACT_PANEL] = k[d];
            at++;
            k += stride;
        }
    }
}

/* Likewise, values. */
static void write_values(const write_job *job, const vact_cpu_kv_head *to, int32_t begin, int32_t end, const float *v)
{
    const int32_t hd = job->kv.head_dim;
    float *panel = to->values + (size_t)begin * VACT_PANEL;
    for (int32_t d = 0; d < hd; d += VACT_PANEL, panel += to->value_panel) {
        const size_t live = (size_t)vact_min_i32(VACT_PANEL, hd - d);
        const float *from = v + d;
        float *row = panel;
        for (int32_t i = begin; i < end; i++, row += VACT_PANEL, from += job->v.stride) {
            if (live == VACT_PANEL)
                memcpy(row, from, VACT_PANEL * sizeof *row); /* without a call */
            else
                memcpy(row, from, live * sizeof *row);
        }
    }
}

static void write_tile(void *context, int tile, int thread)
{
    (void)thread;
    const write_job *job = context;
    const vact_kv *kv = &job->kv;
    const int32_t blocks = vact_ceil_div(job->first + job->n, KEYS) - job->first / KEYS;
    const int32_t head = tile / blocks % kv->heads, group = tile / blocks / kv->heads;
    const int32_t block = job->first / KEYS + tile % blocks, last = job->first + job->n;
    const int32_t begin = block * KEYS > job->first ? block * KEYS : job->first;
    const int32_t end = vact_min_i32((block + 1) * KEYS, last), row = group * job->n + begin - job->first;
    const vact_cpu_kv_head to = vact_cpu_kv_at(job->cpu, kv, group, head);
    write_keys(job, to.keys, begin, end, vact_cpu_row(job->cpu, job->k, row) + head * kv->head_dim);
    write_values(job, &to, begin, end, vact_cpu_row(job->cpu, job->v, row) + head * kv->head_dim);
}

void vact_cpu_kv_write(vact_cpu *cpu, vact_kv kv, int32_t first, vact_buf k, vact_buf v)
{
    write_job job = { cpu, kv, first, k.rows / kv.groups, k, v };
    const int32_t blocks = vact_ceil_div(first + job.n, KEYS) - first / KEYS;
    vact_pool_run(cpu->pool, write_tile, &job, kv.groups * kv.heads * blocks);
}
