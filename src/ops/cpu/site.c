/* norm -> GEMM over one or more weights -> epilogue.
 *
 * Rows are normed once into shared scratch. Then tiles of up to 64 output channels by up to 512 rows are claimed by
 * threads. A tile takes its weights 16 channels at a time: they are packed into a panel [k][16] of float32, from
 * whatever type they have, and multiplied with all its rows, while the next 16 are fetched from memory: few rows leave
 * no other time for that. Then the tile's products get their epilogue, still in the second-level cache. */
#include "ops/cpu/parts.h"

#include <string.h>

enum {
    NB = 64,   /* most output channels of a tile */
    MB = 512,  /* most rows of a tile */
    TILES = 8, /* for each thread, or tiles get smaller: threads should end together */
    LINE = 64,
    NORM_ROWS = 8,
};

typedef struct site_job {
    vact_cpu *cpu;
    const vact_site_args *args;
    const float *a; /* normed rows, or x itself */
    size_t lda;
    int32_t channels; /* of a tile, whole panels */
    int32_t row_chunks;
} site_job;

vact_scratch vact_cpu_site_scratch(const vact_site_args *site)
{
    const size_t normed =
        site->norm.kind == VACT_NORM_NONE ? 0 : (size_t)site->x.rows * (size_t)vact_row_stride(site->x.cols);
    const size_t products = (site->gated ? 2 : 1) * (size_t)vact_min_i32(MB, site->x.rows) * NB;
    return (vact_scratch){ normed, (size_t)site->x.cols * VACT_PANEL + products };
}

static void norm_tile(void *context, int tile, int thread)
{
    (void)thread;
    const site_job *job = context;
    const vact_site_args *site = job->args;
    const int32_t end = vact_min_i32((tile + 1) * NORM_ROWS, site->x.rows);
    for (int32_t row = tile * NORM_ROWS; row < end; row++)
        vact_cpu_norm(job->cpu->k, &site->norm, job->cpu->shared + (size_t)row * job->lda,
                      vact_cpu_row(job->cpu, site->x, row), (size_t)site->x.cols);
}

static void activate(const vact_kernels *k, vact_act act, float *x, size_t n)
{
    if (act == VACT_ACT_GELU_ERF)
        k->gelu_erf(x, n);
    else if (act == VACT_ACT_GELU_TANH)
        k->gelu_tanh(x, n);
    else if (act == VACT_ACT_SILU)
        k->silu(x, n);
}

/* Rows row .. row+n-1 of an output, channels first .. first+width-1, from the products of one weight and, gated, of the
 * other. */
static void finish(const site_job *job, int o, int32_t row, int32_t n, int32_t first, size_t width, float *products,
                   float *others)
{
    const vact_site_args *site = job->args;
    const vact_kernels *k = job->cpu->k;
    const bool replaced = site->bias_row.rows && o == 0;
    const float *bias = replaced ? vact_cpu_row(job->cpu, site->bias_row, 0) : site->out[o].w->bias;
    for (int32_t i = 0; i < n; i++) {
        float *v = products + i * job->channels, *y = vact_cpu_row(job->cpu, site->out[o].y, row + i) + first;
        if (bias)
            k->add(v, bias + first, width);
        activate(k, site->act, v, width);
        if (site->gated) {
            float *up = others + i * job->channels;
            if (site->out[1].w->bias)
                k->add(up, site->out[1].w->bias + first, width);
            k->mul(v, up, width);
        }
        if (site->add)
            k->add(y, v, width);
        else
            memcpy(y, v, width * sizeof *y);
    }
}

/* The 16 channels from `first` on; NULL: fewer are left. */
static const uint8_t *whole_panel(const vact_weight *w, int32_t first)
{
    return first + VACT_PANEL <= w->rows ? vact_weight_row(w, first) : NULL;
}

static void fetch(const uint8_t *data, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch(data + at, 0, 2);
}

/* c[rows][channels] = rows of a times the 16 channels of w from `first` on; `next` has as many channels, or is NULL. */
static void multiply(const site_job *job, float *c, const float *a, int32_t rows, float *panel, const vact_weight *w,
                     int32_t first, const uint8_t *next)
{
    const vact_kernels *k = job->cpu->k;
    const size_t cols = (size_t)w->cols;
    const int32_t live = vact_min_i32(VACT_PANEL, w->rows - first);
    k->pack[w->dtype](panel, vact_weight_row(w, first), w->row_bytes, live, cols);

    const int32_t bytes = (int32_t)w->row_bytes * VACT_PANEL, groups = vact_ceil_div(rows, k->gemm_rows);
    for (int32_t i = 0; i < groups; i++) {
        const int32_t from = vact_part(bytes, i, groups), row = vact_part(rows, i, groups);
        if (next)
            fetch(next + from, (size_t)(vact_part(bytes, i + 1, groups) - from));
        k->gemm(c + row * job->channels, (size_t)job->channels, a + (size_t)row * job->lda, job->lda, panel, 0, cols,
                vact_part(rows, i + 1, groups) - row, 1, false);
    }
}

static void site_tile(void *context, int tile, int thread)
{
    const site_job *job = context;
    const vact_site_args *site = job->args;
    const int32_t channels = job->channels, chunk = tile % job->row_chunks;
    int32_t block = tile / job->row_chunks;
    int o = 0;
    while (block >= vact_ceil_div(site->out[o].w->w.rows, channels))
        block -= vact_ceil_div(site->out[o++].w->w.rows, channels);
    const vact_weight *w = &site->out[o].w->w, *other = site->gated ? &site->out[1].w->w : NULL;
    const int32_t begin = vact_part(site->x.rows, chunk, job->row_chunks);
    const int32_t rows = vact_part(site->x.rows, chunk + 1, job->row_chunks) - begin;
    const int32_t first = block * channels, end = vact_min_i32(first + channels, w->rows);
    const float *a = job->a + (size_t)begin * job->lda;

    float *panel = vact_cpu_scratch(job->cpu, thread), *products = panel + (size_t)site->x.cols * VACT_PANEL;
    float *others = other ? products + rows * channels : NULL;
    for (int32_t at = first; at < end; at += VACT_PANEL) {
        /* Behind the tile's own panels, those of a tile that this thread may well claim next. */
        const int32_t behind = at + VACT_PANEL < end ? at + VACT_PANEL : end + (job->cpu->threads - 1) * channels;
        const uint8_t *next = whole_panel(w, behind);
        multiply(job, products + (at - first), a, rows, panel, w, at, other ? whole_panel(other, at) : next);
        if (other)
            multiply(job, others + (at - first), a, rows, panel, other, at, next);
    }
    finish(job, o, begin, rows, first, (size_t)(end - first), products, others);
}

/* Tiles of so many channels. */
static int32_t count_tiles(const site_job *job, int32_t channels)
{
    const vact_site_args *site = job->args;
    int32_t blocks = 0;
    for (int o = 0; o < (site->gated ? 1 : VACT_SITE_OUTPUTS) && site->out[o].w; o++)
        blocks += vact_ceil_div(site->out[o].w->w.rows, channels);
    return blocks * job->row_chunks;
}

void vact_cpu_site(vact_cpu *cpu, const vact_site_args *site)
{
    site_job job = { cpu, site, vact_cpu_row(cpu, site->x, 0), (size_t)site->x.stride, NB, 0 };
    if (site->norm.kind != VACT_NORM_NONE) {
        job.a = cpu->shared;
        job.lda = (size_t)vact_row_stride(site->x.cols);
        vact_pool_run(cpu->pool, norm_tile, &job, vact_ceil_div(site->x.rows, NORM_ROWS));
    }
    job.row_chunks = vact_ceil_div(site->x.rows, MB);
    while (job.channels > VACT_PANEL && count_tiles(&job, job.channels) < TILES * cpu->threads)
        job.channels /= 2;
    vact_pool_run(cpu->pool, site_tile, &job, count_tiles(&job, job.channels));
}
