/* Attention with online softmax: a tile is one head's block of query rows; keys come in blocks of 128, so no
 * rows x keys matrix is ever made. Both products run on the GEMM kernel, because kv_write has left keys and values
 * as its panels. A row skips nothing that it sees and adds exact zeros for what it doesn't, so its bits depend on
 * its own span only, not on the rows computed beside it. */
#include "ops/cpu/parts.h"

#include <math.h>
#include <string.h>

enum {
    QB = 24, /* query rows of a tile */
    KB = 128 /* keys of a block, a multiple of VACT_PANEL */
};

static int32_t padded(int32_t n)
{
    return vact_ceil_div(n, VACT_PANEL) * VACT_PANEL;
}

size_t vact_cpu_kv_half(const vact_kv *kv)
{
    return (size_t)kv->groups * (size_t)kv->heads * (size_t)padded(kv->capacity) * (size_t)padded(kv->head_dim);
}

/* Panels of one head: keys [capacity / 16][head_dim][16], values [head_dim / 16][capacity][16]. */
static float *head_keys(const vact_cpu *cpu, const vact_kv *kv, int32_t group, int32_t head)
{
    return cpu->memory + kv->at +
           (size_t)(group * kv->heads + head) * (size_t)padded(kv->capacity) * (size_t)padded(kv->head_dim);
}

static float *head_values(const vact_cpu *cpu, const vact_kv *kv, int32_t group, int32_t head)
{
    return head_keys(cpu, kv, group, head) + vact_cpu_kv_half(kv);
}

/* ---- writing ---- */

typedef struct write_job {
    vact_cpu *cpu;
    vact_kv kv;
    int32_t first;
    vact_buf k, v;
} write_job;

static void write_tile(void *context, int tile, int thread)
{
    (void)thread;
    const write_job *job = context;
    const vact_kv *kv = &job->kv;
    const int32_t group = tile / kv->heads, head = tile % kv->heads, n = job->k.rows / kv->groups;
    const int32_t hd = kv->head_dim, capacity = padded(kv->capacity);
    float *keys = head_keys(job->cpu, kv, group, head), *values = head_values(job->cpu, kv, group, head);
    for (int32_t i = 0; i < n; i++) {
        const int32_t at = job->first + i, row = group * n + i;
        const float *k = vact_cpu_row(job->cpu, job->k, row) + head * hd;
        const float *v = vact_cpu_row(job->cpu, job->v, row) + head * hd;
        float *panel = keys + (size_t)(at / VACT_PANEL) * (size_t)hd * VACT_PANEL + at % VACT_PANEL;
        for (int32_t d = 0; d < hd; d++)
            panel[d * VACT_PANEL] = k[d];
        for (int32_t d = 0; d < hd; d++)
            values[((size_t)(d / VACT_PANEL) * (size_t)capacity + (size_t)at) * VACT_PANEL + (size_t)(d % VACT_PANEL)] =
                v[d];
    }
}

void vact_cpu_kv_write(vact_cpu *cpu, vact_kv kv, int32_t first, vact_buf k, vact_buf v)
{
    vact_pool_run(cpu->pool, write_tile, &(write_job){ cpu, kv, first, k, v }, kv.groups * kv.heads);
}

/* ---- reading ---- */

typedef struct attention_job {
    vact_cpu *cpu;
    const vact_attention_args *args;
    int32_t group_rows, row_blocks, head_dim;
} attention_job;

/* A tile's running state. */
typedef struct attention_state {
    float *scores; /* [QB, KB] */
    float *out;    /* [QB, padded head_dim], not yet divided by sum */
    float max[QB], sum[QB];
    vact_span span[QB];       /* keys that each row sees, over all segments */
    int32_t rows, begin, end; /* begin .. end: what any row sees */
} attention_state;

vact_scratch vact_cpu_attention_scratch(const vact_attention_args *attention)
{
    const size_t width = (size_t)padded(attention->q.cols / attention->heads);
    return (vact_scratch){ 0, QB * (KB + width) };
}

static void hide_unseen(attention_state *s, int32_t first, int32_t n)
{
    for (int32_t i = 0; i < s->rows; i++) {
        float *row = s->scores + i * KB;
        const vact_span see = s->span[i];
        for (int32_t j = 0; j < n; j++)
            if (first + j < see.begin || first + j >= see.end)
                row[j] = -INFINITY;
    }
}

/* Keys at .. at+n-1 of a segment, which are number `first` of all keys. */
static void attend_block(const attention_job *job, attention_state *s, const float *q, const float *keys,
                         const float *values, int32_t capacity, int32_t at, int32_t n, int32_t first)
{
    const vact_kernels *k = job->cpu->k;
    const int32_t hd = job->head_dim, width = padded(hd);
    const size_t stride = (size_t)job->args->q.stride;
    k->gemm(s->scores, KB, q, stride, keys + (size_t)at * (size_t)hd, (size_t)hd * VACT_PANEL, (size_t)hd, s->rows,
            vact_ceil_div(n, VACT_PANEL), false);
    hide_unseen(s, first, n);
    for (int32_t i = 0; i < s->rows; i++) {
        const float f = k->softmax(s->scores + i * KB, (size_t)n, job->args->scale, &s->max[i], &s->sum[i]);
        k->scale(s->out + i * width, f, (size_t)width);
    }
    k->gemm(s->out, (size_t)width, s->scores, KB, values + (size_t)at * VACT_PANEL, (size_t)capacity * VACT_PANEL,
            (size_t)n, s->rows, width / VACT_PANEL, true);
}

static void start(const attention_job *job, attention_state *s, int32_t row, int32_t keys)
{
    s->begin = keys;
    s->end = 0;
    for (int32_t i = 0; i < s->rows; i++) {
        s->max[i] = -INFINITY;
        s->sum[i] = 0;
        s->span[i] = job->args->spans ? job->args->spans[row + i] : (vact_span){ 0, keys };
        s->begin = vact_min_i32(s->begin, s->span[i].begin);
        s->end = s->span[i].end > s->end ? s->span[i].end : s->end;
    }
    memset(s->out, 0, (size_t)s->rows * (size_t)padded(job->head_dim) * sizeof *s->out);
}

static void attention_tile(void *context, int tile, int thread)
{
    const attention_job *job = context;
    const vact_attention_args *args = job->args;
    const vact_cpu *cpu = job->cpu;
    const int32_t block = tile % job->row_blocks, head = tile / job->row_blocks % args->heads;
    const int32_t group = tile / job->row_blocks / args->heads;
    const int32_t hd = job->head_dim, width = padded(hd);
    const int32_t row = group * job->group_rows + block * QB;
    attention_state s = { .scores = vact_cpu_scratch(cpu, thread),
                          .rows = vact_min_i32(QB, job->group_rows - block * QB) };
    s.out = s.scores + QB * KB;
    int32_t total = 0;
    for (int i = 0; i < VACT_ATTENTION_SEGMENTS; i++)
        total += args->segments[i].keys;
    start(job, &s, row, total);

    const float *q = vact_cpu_row(cpu, args->q, row) + head * hd;
    int32_t first = 0;
    for (int i = 0; i < VACT_ATTENTION_SEGMENTS; first += args->segments[i++].keys) {
        const vact_kv *kv = &args->segments[i].kv;
        for (int32_t at = 0; at < args->segments[i].keys; at += KB) {
            const int32_t n = vact_min_i32(KB, args->segments[i].keys - at);
            if (first + at >= s.end || first + at + n <= s.begin)
                continue;
            const int32_t kv_head = head / (args->heads / kv->heads);
            attend_block(job, &s, q, head_keys(cpu, kv, group, kv_head), head_values(cpu, kv, group, kv_head),
                         padded(kv->capacity), at, n, first + at);
        }
    }
    for (int32_t i = 0; i < s.rows; i++) {
        float *y = vact_cpu_row(cpu, args->y, row + i) + head * hd;
        for (int32_t d = 0; d < hd; d++)
            y[d] = s.sum[i] == 0 ? 0 : s.out[i * width + d] / s.sum[i]; /* the sum may be NaN, and so is y then */
    }
}

void vact_cpu_attention(vact_cpu *cpu, const vact_attention_args *attention)
{
    const int32_t groups = attention->segments[0].keys ? attention->segments[0].kv.groups : 1;
    attention_job job = { cpu, attention, attention->q.rows / groups, 0, attention->q.cols / attention->heads };
    job.row_blocks = vact_ceil_div(job.group_rows, QB);
    vact_pool_run(cpu->pool, attention_tile, &job, groups * attention->heads * job.row_blocks);
}
