/* Attention with online softmax.
 *
 * A query is a row and one of the heads that share a key head: they see the same keys, so a tile is a block of queries
 * of one key head. Keys come in blocks of 256, so no queries x keys matrix is ever made; both products run on the GEMM
 * kernel, because kv_write has left keys and values as its panels. Of a block a tile takes the keys that any of its
 * queries sees.
 *
 * Every four blocks are a split. A split starts afresh, with no maximum, and its part of the answer is merged with that
 * of the splits before it, in order. So where there are few queries but many keys, threads share the splits of a block
 * of queries. Where there are many, a tile goes through the splits itself: what it does once more for each of them, after
 * 1024 keys, costs it 1 %.
 *
 * Bits: blocks and splits depend on the numbers of keys alone. A query skips nothing that it sees, and adds exact zeros
 * for what it doesn't; so its bits depend on its own span only, not on the queries computed beside it, nor on who
 * computes which split. */
#include "ops/cpu/parts.h"

#include <math.h>
#include <string.h>

enum {
    QB = 24,          /* most queries of a tile */
    KB = 256,         /* keys of a block, a multiple of VACT_PANEL */
    SPLIT_BLOCKS = 4, /* of keys in a split */
    FEW = 4,          /* most blocks of queries, of a key head, whose splits are shared */
    LANES = 8         /* of the softmax, which is slow where it has to fill up a vector */
};

typedef struct attention_job {
    vact_cpu *cpu;
    const vact_attention_args *args;
    int32_t group_rows, head_dim, width; /* width: head_dim in whole panels */
    int32_t groups, kv_heads, shared;    /* shared: heads of one key head */
    int32_t keys;                        /* of all segments */
    int32_t blocks, splits;              /* of the queries of a group and a key head; of the keys */
} attention_job;

/* What some keys answer to a tile's queries. */
typedef struct attention_part {
    float *max, *sum; /* [QB] */
    float *out;       /* [QB, width], not yet divided by sum */
} attention_part;

typedef struct attention_tile {
    int32_t group, kv_head, first, n; /* queries first .. first+n-1 of the group's */
    float *q;                         /* [QB, head_dim] */
    float *scores;                    /* [QB, KB] */
    vact_span span[QB];               /* keys that each query sees, over all segments */
    vact_span any, all;               /* no query sees keys outside of any; every one sees all */
} attention_tile;

static attention_job make_job(vact_cpu *cpu, const vact_attention_args *args)
{
    attention_job job = { cpu, args, .head_dim = args->q.cols / args->heads, .groups = 1, .kv_heads = args->heads };
    int32_t blocks = 0;
    if (args->segments[0].keys) {
        job.groups = args->segments[0].kv.groups;
        job.kv_heads = args->segments[0].kv.heads;
    }
    for (int i = 0; i < VACT_ATTENTION_SEGMENTS; i++) {
        job.keys += args->segments[i].keys;
        blocks += vact_ceil_div(args->segments[i].keys, KB);
    }
    job.width = vact_ceil_div(job.head_dim, VACT_PANEL) * VACT_PANEL;
    job.group_rows = args->q.rows / job.groups;
    job.shared = args->heads / job.kv_heads;
    job.blocks = vact_ceil_div(job.group_rows * job.shared, QB);
    job.splits = blocks > SPLIT_BLOCKS ? vact_ceil_div(blocks, SPLIT_BLOCKS) : 1;
    return job;
}

static size_t part_floats(const attention_job *job)
{
    return QB * (2 + (size_t)job->width);
}

static attention_part part_in(float *memory)
{
    return (attention_part){ memory, memory + QB, memory + 2 * QB };
}

/* A thread has queries, scores and two parts. Whether splits are shared is known only with the number of rows, of which
 * a session plans for the most: there is always room for the parts of a few blocks of queries. */
vact_scratch vact_cpu_attention_scratch(const vact_attention_args *attention)
{
    const attention_job job = make_job(NULL, attention);
    const int32_t shared = job.groups * job.kv_heads * vact_min_i32(job.blocks, FEW);
    const size_t parts = job.splits > 1 ? (size_t)shared * (size_t)job.splits : 0;
    return (vact_scratch){ parts * part_floats(&job), QB * (size_t)(job.head_dim + KB) + 2 * part_floats(&job) };
}

/* Query i of a tile: its row, and where its head lies in it. */
static int32_t row_of(const attention_job *job, const attention_tile *t, int32_t i)
{
    return t->group * job->group_rows + (t->first + i) / job->shared;
}

static size_t head_of(const attention_job *job, const attention_tile *t, int32_t i)
{
    return (size_t)(t->kv_head * job->shared + (t->first + i) % job->shared) * (size_t)job->head_dim;
}

/* Block `number` of the queries of all groups and key heads, in memory of QB * (head_dim + KB) floats. */
static attention_tile make_tile(const attention_job *job, int32_t number, float *memory)
{
    const int32_t head = number / job->blocks, block = number % job->blocks;
    const int32_t queries = job->group_rows * job->shared, first = vact_part(queries, block, job->blocks);
    attention_tile t = { head / job->kv_heads,
                         head % job->kv_heads,
                         first,
                         vact_part(queries, block + 1, job->blocks) - first,
                         memory,
                         memory + QB * job->head_dim,
                         .any = { job->keys, 0 },
                         .all = { 0, job->keys } };
    for (int32_t i = 0; i < t.n; i++) {
        const int32_t row = row_of(job, &t, i);
        memcpy(t.q + i * job->head_dim, vact_cpu_row(job->cpu, job->args->q, row) + head_of(job, &t, i),
               (size_t)job->head_dim * sizeof *t.q);
        const vact_span see = job->args->spans ? job->args->spans[row] : (vact_span){ 0, job->keys };
        t.span[i] = see;
        t.any = (vact_span){ vact_min_i32(t.any.begin, see.begin), vact_max_i32(t.any.end, see.end) };
        t.all = (vact_span){ vact_max_i32(t.all.begin, see.begin), vact_min_i32(t.all.end, see.end) };
    }
    return t;
}

/* ---- one split ---- */

static int32_t clamp(int32_t x, int32_t low, int32_t high)
{
    return x < low ? low : x > high ? high : x;
}

static void hide(float *scores, int32_t begin, int32_t end)
{
    for (int32_t i = begin; i < end; i++)
        scores[i] = -INFINITY;
}

/* Scores of keys first .. first+n-1, and what fills them up to `padded`. */
static void hide_unseen(const attention_tile *t, int32_t first, int32_t n, int32_t padded)
{
    const bool seen = t->all.begin <= first && first + n <= t->all.end;
    for (int32_t i = 0; i < t->n; i++) {
        float *row = t->scores + i * KB;
        if (!seen) {
            const int32_t begin = clamp(t->span[i].begin - first, 0, n);
            hide(row, 0, begin);
            hide(row, clamp(t->span[i].end - first, begin, n), n);
        }
        hide(row, n, padded);
    }
}

/* Keys at .. at+n-1 of a segment, which are number `first` of all keys. */
static void attend_block(const attention_job *job, const attention_tile *t, attention_part part,
                         const vact_cpu_kv_head *kv, int32_t at, int32_t n, int32_t first, bool fresh)
{
    const vact_kernels *k = job->cpu->k;
    const size_t hd = (size_t)job->head_dim, width = (size_t)job->width;
    const int32_t padded = vact_ceil_div(n, LANES) * LANES;
    float f[QB];
    k->gemm(t->scores, KB, t->q, hd, kv->keys + (size_t)at * hd, kv->key_panel, hd, t->n, vact_ceil_div(n, VACT_PANEL),
            false);
    hide_unseen(t, first, n, padded);
    k->softmax(t->scores, KB, t->n, (size_t)padded, job->args->scale, part.max, part.sum, f);
    for (int32_t i = 0; i < t->n && !fresh; i++)
        if (f[i] != 1)
            k->scale(part.out + (size_t)i * width, f[i], width);
    k->gemm(part.out, width, t->scores, KB, kv->values + (size_t)at * VACT_PANEL, kv->value_panel, (size_t)n, t->n,
            job->width / VACT_PANEL, !fresh);
}

static void attend_split(const attention_job *job, const attention_tile *t, int32_t split, attention_part part)
{
    const vact_attention_args *args = job->args;
    int32_t block = 0, first = 0;
    bool fresh = true;
    for (int32_t i = 0; i < t->n; i++) {
        part.max[i] = -INFINITY;
        part.sum[i] = 0;
    }
    for (int i = 0; i < VACT_ATTENTION_SEGMENTS && args->segments[i].keys; first += args->segments[i++].keys) {
        const vact_cpu_kv_head kv = vact_cpu_kv_at(job->cpu, &args->segments[i].kv, t->group, t->kv_head);
        for (int32_t at = 0; at < args->segments[i].keys; at += KB, block++) {
            const int32_t begin = vact_max_i32(at, (t->any.begin - first) / VACT_PANEL * VACT_PANEL);
            const int32_t most = vact_min_i32(at + KB, args->segments[i].keys);
            const int32_t end = vact_min_i32(most, t->any.end - first);
            if (block / SPLIT_BLOCKS != split || begin >= end)
                continue;
            attend_block(job, t, part, &kv, begin, end - begin, first + begin, fresh);
            fresh = false;
        }
    }
    if (fresh)
        memset(part.out, 0, (size_t)t->n * (size_t)job->width * sizeof *part.out);
}

/* ---- all splits ---- */

/* The weights of two parts are a softmax of their maxima. */
static void merge(const attention_job *job, int32_t n, attention_part into, attention_part from)
{
    const vact_kernels *k = job->cpu->k;
    const size_t width = (size_t)job->width;
    for (int32_t i = 0; i < n; i++) {
        float weights[2] = { into.max[i], from.max[i] }, max = -INFINITY, sum = 0, f;
        k->softmax(weights, 2, 1, 2, 1, &max, &sum, &f);
        into.max[i] = max;
        into.sum[i] = into.sum[i] * weights[0] + from.sum[i] * weights[1];
        k->scale(into.out + (size_t)i * width, weights[0], width);
        k->axpy(into.out + (size_t)i * width, weights[1], from.out + (size_t)i * width, width);
    }
}

static void finish(const attention_job *job, const attention_tile *t, attention_part part)
{
    const size_t hd = (size_t)job->head_dim;
    for (int32_t i = 0; i < t->n; i++) {
        float *y = vact_cpu_row(job->cpu, job->args->y, row_of(job, t, i)) + head_of(job, t, i);
        memcpy(y, part.out + i * job->width, hd * sizeof *y);
        job->cpu->k->scale(y, part.sum[i] == 0 ? 0 : 1 / part.sum[i], hd); /* the sum may be NaN, and so is y then */
    }
}

/* A tile does all splits of a block of queries. */
static void attend_tile(void *context, int tile, int thread)
{
    const attention_job *job = context;
    float *memory = vact_cpu_scratch(job->cpu, thread);
    const attention_tile t = make_tile(job, tile, memory);
    memory += QB * (job->head_dim + KB);
    const attention_part all = part_in(memory), part = part_in(memory + part_floats(job));
    attend_split(job, &t, 0, all);
    for (int32_t split = 1; split < job->splits; split++) {
        attend_split(job, &t, split, part);
        merge(job, t.n, all, part);
    }
    finish(job, &t, all);
}

static attention_part shared_part(const attention_job *job, int32_t number, int32_t split)
{
    return part_in(job->cpu->shared + (size_t)(number * job->splits + split) * part_floats(job));
}

/* A tile does one split of a block of queries. */
static void split_tile(void *context, int tile, int thread)
{
    const attention_job *job = context;
    const int32_t number = tile / job->splits, split = tile % job->splits;
    const attention_tile t = make_tile(job, number, vact_cpu_scratch(job->cpu, thread));
    attend_split(job, &t, split, shared_part(job, number, split));
}

static void merge_tile(void *context, int number, int thread)
{
    const attention_job *job = context;
    const attention_tile t = make_tile(job, number, vact_cpu_scratch(job->cpu, thread));
    const attention_part all = shared_part(job, number, 0);
    for (int32_t split = 1; split < job->splits; split++)
        merge(job, t.n, all, shared_part(job, number, split));
    finish(job, &t, all);
}

void vact_cpu_attention(vact_cpu *cpu, const vact_attention_args *attention)
{
    attention_job job = make_job(cpu, attention);
    const int32_t tiles = job.groups * job.kv_heads * job.blocks;
    if (job.blocks <= FEW && job.splits > 1) {
        vact_pool_run(cpu->pool, split_tile, &job, tiles * job.splits);
        vact_pool_run(cpu->pool, merge_tile, &job, tiles);
    } else {
        vact_pool_run(cpu->pool, attend_tile, &job, tiles);
    }
}
