/* norm -> GEMM over one or more weights -> epilogue.
 *
 * Rows are normed once into shared scratch. Then tiles of 64 output channels by up to 512 rows are claimed by
 * threads: a tile decodes and packs its weights into panels [k][16] (any type, at a cost that the rows amortise),
 * multiplies 6 rows at a time and finishes those rows while they are in the first-level cache. */
#include "ops/cpu/parts.h"

#include <string.h>

enum {
    NB = 64,  /* output channels of a tile */
    MB = 512, /* rows of a tile */
    KB = 64,  /* values of a weight row decoded at a time; a multiple of every block */
    NORM_ROWS = 8,
};

typedef struct site_job {
    vact_cpu *cpu;
    const vact_site_args *args;
    const float *a; /* normed rows, or x itself */
    size_t lda;
    int row_chunks;
} site_job;

static size_t panel_floats(const vact_site_args *site)
{
    return (size_t)site->x.cols * NB;
}

vact_scratch vact_cpu_site_scratch(const vact_site_args *site)
{
    const size_t weights = site->gated ? 2 : 1;
    const size_t normed = site->norm.kind == VACT_NORM_NONE ? 0 : (size_t)site->x.rows * (size_t)site->x.cols;
    return (vact_scratch){ normed, weights * (panel_floats(site) + VACT_GEMM_ROWS * NB) + VACT_PANEL * KB };
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

/* Panels [n / 16][k][16] of n output channels; missing channels of the last panel are zero. */
static void pack_weights(const vact_kernels *k, float *panels, const vact_weight *w, int32_t first, int32_t n,
                         float *rows)
{
    for (int32_t p = 0; p < n; p += VACT_PANEL, panels += (size_t)w->cols * VACT_PANEL) {
        const int32_t live = vact_min_i32(VACT_PANEL, n - p);
        if (live < VACT_PANEL)
            memset(rows + live * KB, 0, (size_t)(VACT_PANEL - live) * KB * sizeof(float));
        for (int32_t at = 0; at < w->cols; at += KB) {
            const int32_t count = vact_min_i32(KB, w->cols - at);
            const vact_weight part = vact_weight_cols(*w, at, count);
            for (int32_t i = 0; i < live; i++)
                k->decode[w->dtype](rows + i * KB, vact_weight_row(&part, first + p + i), (size_t)count);
            k->pack(panels + (size_t)at * VACT_PANEL, rows, KB, (size_t)count);
        }
    }
}

/* acc[rows][NB] = rows of a times n channels of panels. */
static void multiply(const site_job *job, float *acc, int32_t row, int rows, const float *panels, int32_t n)
{
    const size_t cols = (size_t)job->args->x.cols;
    for (int32_t p = 0; p < n; p += VACT_PANEL, panels += cols * VACT_PANEL)
        job->cpu->k->gemm(acc + p, NB, job->a + (size_t)row * job->lda, job->lda, panels, cols, rows, false);
}

static void activate(const vact_kernels *k, vact_act act, float *x, size_t n)
{
    if (act == VACT_ACT_GELU_TANH)
        k->gelu_tanh(x, n);
    else if (act == VACT_ACT_SILU)
        k->silu(x, n);
}

static void site_tile(void *context, int tile, int thread)
{
    const site_job *job = context;
    const vact_site_args *site = job->args;
    const vact_cpu *cpu = job->cpu;
    const vact_kernels *k = cpu->k;
    const int32_t chunk = tile % job->row_chunks;
    int32_t block = tile / job->row_chunks;
    int o = 0;
    while (block >= vact_ceil_div(site->out[o].w->w.rows, NB))
        block -= vact_ceil_div(site->out[o++].w->w.rows, NB);
    const vact_linear *w = site->out[o].w;
    const vact_linear *up = site->gated ? site->out[1].w : NULL;
    const int32_t first = block * NB, n = vact_min_i32(NB, w->w.rows - first);
    const size_t width = (size_t)n;

    float *rows = vact_cpu_scratch(cpu, thread), *acc = rows + VACT_PANEL * KB, *up_acc = acc + VACT_GEMM_ROWS * NB;
    float *panels = up ? up_acc + VACT_GEMM_ROWS * NB : up_acc, *up_panels = panels + panel_floats(site);
    pack_weights(k, panels, &w->w, first, n, rows);
    if (up)
        pack_weights(k, up_panels, &up->w, first, n, rows);

    const float *bias = site->bias_row.rows && o == 0 ? vact_cpu_row(cpu, site->bias_row, 0) : w->bias;
    const int32_t end = vact_min_i32((chunk + 1) * MB, site->x.rows);
    for (int32_t row = chunk * MB; row < end; row += VACT_GEMM_ROWS) {
        const int live = vact_min_i32(VACT_GEMM_ROWS, end - row);
        multiply(job, acc, row, live, panels, n);
        if (up)
            multiply(job, up_acc, row, live, up_panels, n);
        for (int i = 0; i < live; i++) {
            float *v = acc + i * NB, *y = vact_cpu_row(cpu, site->out[o].y, row + i) + first;
            if (bias)
                k->add(v, bias + first, width);
            activate(k, site->act, v, width);
            if (up) {
                if (up->bias)
                    k->add(up_acc + i * NB, up->bias + first, width);
                k->mul(v, up_acc + i * NB, width);
            }
            if (site->add)
                k->add(y, v, width);
            else
                memcpy(y, v, width * sizeof *y);
        }
    }
}

void vact_cpu_site(vact_cpu *cpu, const vact_site_args *site)
{
    site_job job = { cpu, site, vact_cpu_row(cpu, site->x, 0), (size_t)site->x.stride, 0 };
    if (site->norm.kind != VACT_NORM_NONE) {
        vact_pool_run(cpu->pool, norm_tile, &job, vact_ceil_div(site->x.rows, NORM_ROWS));
        job.a = cpu->shared;
        job.lda = (size_t)site->x.cols;
    }
    int32_t blocks = 0;
    for (int o = 0; o < (site->gated ? 1 : VACT_SITE_OUTPUTS) && site->out[o].w; o++)
        blocks += vact_ceil_div(site->out[o].w->w.rows, NB);
    job.row_chunks = vact_ceil_div(site->x.rows, MB);
    vact_pool_run(cpu->pool, site_tile, &job, blocks * job.row_chunks);
}
