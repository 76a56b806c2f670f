/* norm -> GEMM over one or more weights -> epilogue.
 *
 * Rows are normed once into shared scratch. Then tiles of up to 64 output channels by up to 512 rows are claimed by
 * threads: a tile packs its weights into panels [k][16] of float32, from whatever type they have, multiplies a few dozen
 * rows at a time and finishes those while they are in the first-level cache. */
#include "ops/cpu/parts.h"

#include <string.h>

enum {
    NB = 64,            /* most output channels of a tile */
    PANELS = 64 * 1024, /* most floats in a tile's panels, but for a single one: they stay in the second-level cache */
    MB = 512,           /* most rows of a tile: packing costs them 1 %, and they are read from the cache */
    RB = 48,            /* most rows between two epilogues */
    NORM_ROWS = 8,
};

typedef struct site_job {
    vact_cpu *cpu;
    const vact_site_args *args;
    const float *a; /* normed rows, or x itself */
    size_t lda;
    int32_t channels; /* of a tile */
    int row_chunks;
} site_job;

/* Output channels of a tile, whole panels. */
static int32_t tile_channels(const vact_site_args *site)
{
    const int32_t weights = site->gated ? 2 : 1, fit = PANELS / weights / site->x.cols / VACT_PANEL * VACT_PANEL;
    return fit < VACT_PANEL ? VACT_PANEL : vact_min_i32(NB, fit);
}

vact_scratch vact_cpu_site_scratch(const vact_site_args *site)
{
    const size_t weights = site->gated ? 2 : 1, channels = (size_t)tile_channels(site);
    const size_t normed = site->norm.kind == VACT_NORM_NONE ? 0 : (size_t)site->x.rows * (size_t)site->x.cols;
    return (vact_scratch){ normed, weights * channels * ((size_t)site->x.cols + RB) };
}

static void norm_tile(void *context, int tile, int thread)
{
    (void)thread;
    const site_job *job = context;
    const vact_site_args *site = job->args;
    const size_t cols = (size_t)site->x.cols;
    const int32_t end = vact_min_i32((tile + 1) * NORM_ROWS, site->x.rows);
    for (int32_t row = tile * NORM_ROWS; row < end; row++)
        vact_cpu_norm(job->cpu->k, &site->norm, job->cpu->shared + (size_t)row * cols,
                      vact_cpu_row(job->cpu, site->x, row), cols);
}

/* Panels [n / 16][k][16] of n output channels. */
static void pack_weights(const vact_kernels *k, float *panels, const vact_weight *w, int32_t first, int32_t n)
{
    for (int32_t p = 0; p < n; p += VACT_PANEL, panels += (size_t)w->cols * VACT_PANEL)
        k->pack[w->dtype](panels, vact_weight_row(w, first + p), w->row_bytes, vact_min_i32(VACT_PANEL, n - p),
                          (size_t)w->cols);
}

static void activate(const vact_kernels *k, vact_act act, float *x, size_t n)
{
    if (act == VACT_ACT_GELU_TANH)
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

/* The i-th of n nearly equal parts of a whole starts here. */
static int32_t part(int32_t whole, int32_t i, int32_t n)
{
    return (int32_t)((int64_t)whole * i / n);
}

static void site_tile(void *context, int tile, int thread)
{
    const site_job *job = context;
    const vact_site_args *site = job->args;
    const vact_kernels *k = job->cpu->k;
    const int32_t channels = job->channels, chunk = tile % job->row_chunks;
    int32_t block = tile / job->row_chunks;
    int o = 0;
    while (block >= vact_ceil_div(site->out[o].w->w.rows, channels))
        block -= vact_ceil_div(site->out[o++].w->w.rows, channels);
    const vact_weight *w = &site->out[o].w->w;
    const int32_t first = block * channels, n = vact_min_i32(channels, w->rows - first);
    const int panels = vact_ceil_div(n, VACT_PANEL);
    const size_t cols = (size_t)site->x.cols, ldb = cols * VACT_PANEL, ldc = (size_t)channels;

    float *b = vact_cpu_scratch(job->cpu, thread), *v = b + ldc * cols, *up_b = NULL, *up = NULL;
    pack_weights(k, b, w, first, n);
    if (site->gated) {
        up_b = v + RB * ldc;
        up = up_b + ldc * cols;
        pack_weights(k, up_b, &site->out[1].w->w, first, n);
    }

    const int32_t begin = part(site->x.rows, chunk, job->row_chunks);
    const int32_t rows = part(site->x.rows, chunk + 1, job->row_chunks) - begin, blocks = vact_ceil_div(rows, RB);
    for (int32_t i = 0; i < blocks; i++) {
        const int32_t row = begin + part(rows, i, blocks), live = begin + part(rows, i + 1, blocks) - row;
        const float *a = job->a + (size_t)row * job->lda;
        k->gemm(v, ldc, a, job->lda, b, ldb, cols, live, panels, false);
        if (site->gated)
            k->gemm(up, ldc, a, job->lda, up_b, ldb, cols, live, panels, false);
        finish(job, o, row, live, first, (size_t)n, v, up);
    }
}

void vact_cpu_site(vact_cpu *cpu, const vact_site_args *site)
{
    site_job job = { cpu, site, vact_cpu_row(cpu, site->x, 0), (size_t)site->x.stride, tile_channels(site), 0 };
    if (site->norm.kind != VACT_NORM_NONE) {
        vact_pool_run(cpu->pool, norm_tile, &job, vact_ceil_div(site->x.rows, NORM_ROWS));
        job.a = cpu->shared;
        job.lda = (size_t)site->x.cols;
    }
    int32_t blocks = 0;
    for (int o = 0; o < (site->gated ? 1 : VACT_SITE_OUTPUTS) && site->out[o].w; o++)
        blocks += vact_ceil_div(site->out[o].w->w.rows, job.channels);
    job.row_chunks = vact_ceil_div(site->x.rows, MB);
    vact_pool_run(cpu->pool, site_tile, &job, blocks * job.row_chunks);
}
