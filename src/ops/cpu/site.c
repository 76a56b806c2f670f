/* norm -> GEMM over one or more weights -> epilogue.
 *
 * Rows are normed once into shared scratch, or quantized, or both, as the weights need them. Then tiles of up to 64
 * output channels by up to 512 rows are claimed by threads. A tile takes its weights 16 channels at a time: they are
 * packed into a panel, [k][16] of float32 from whatever type they have or, for products of integers, their own codes in
 * the level's order, and multiplied with all its rows, while the next 16 are fetched from memory: few rows leave no
 * other time for that. Then the tile's products get their epilogue, still in the second-level cache. */
#include "ops/cpu/parts.h"

#include <string.h>

enum {
    MOST_CHANNELS = 64, /* of a tile */
    MOST_ROWS = 512,    /* of a tile */
    TILES = 8,          /* for each thread, or tiles get smaller: threads should end together */
    LINE = 64,
    FEW_ROWS = 8, /* that a thread prepares at a time */
};

typedef struct site_job {
    vact_cpu *cpu;
    const vact_site_args *args;
    const float *a; /* normed rows, or x itself */
    size_t lda;
    /* In shared scratch; NULL: no output needs them. */
    float *normed;
    int8_t *q; /* rows as integers, as vact_int8_rows has them */
    float *scales;
    int16_t *sums;
    size_t ldq, ldsums;
    size_t panel_floats;
    int32_t channels; /* of a tile, whole panels */
    int32_t blocks;   /* of channels, of all outputs: a chunk of rows meets them all before the next */
    int32_t row_chunks;
} site_job;

/* Types that have products of integers have blocks of VACT_INT8_BLOCK, so rows are whole. */
static bool on_integers(const vact_cpu *cpu, const vact_weight *w)
{
    return cpu->int8 && cpu->k->gemm_int8[w->dtype];
}

static bool any_output(const vact_cpu *cpu, const vact_site_args *site, bool integers)
{
    for (int o = 0; o < VACT_SITE_OUTPUTS && site->out[o].w; o++)
        if (on_integers(cpu, &site->out[o].w->w) == integers)
            return true;
    return false;
}

/* Shared scratch, in floats: what comes first needs whole cache lines, and is made of them. */
typedef struct site_layout {
    size_t ldq; /* bytes */
    size_t q, normed, scales, sums;
} site_layout;

static site_layout lay_out(const vact_cpu *cpu, const vact_site_args *site)
{
    const size_t rows = (size_t)site->x.rows, cols = (size_t)site->x.cols;
    site_layout l = { .ldq = (size_t)vact_odd_lines(site->x.cols, LINE) };
    if (site->norm.kind != VACT_NORM_NONE && any_output(cpu, site, false))
        l.normed = rows * (size_t)vact_row_stride(site->x.cols);
    if (any_output(cpu, site, true)) {
        l.q = rows * l.ldq / sizeof(float);
        l.scales = rows;
        l.sums = (rows * (cols / VACT_INT8_BLOCK) * sizeof(int16_t) + sizeof(float) - 1) / sizeof(float);
    }
    return l;
}

static size_t panel_floats(const vact_cpu *cpu, const vact_weight *w)
{
    const size_t cols = (size_t)w->cols;
    return on_integers(cpu, w) ? vact_int8_panel_bytes(w->dtype, cols) / sizeof(float) : cols * VACT_PANEL;
}

/* Of the widest output; whole cache lines. */
static size_t most_panel_floats(const vact_cpu *cpu, const vact_site_args *site)
{
    size_t most = 0;
    for (int o = 0; o < VACT_SITE_OUTPUTS && site->out[o].w; o++) {
        const size_t floats = panel_floats(cpu, &site->out[o].w->w);
        most = floats > most ? floats : most;
    }
    return most;
}

vact_scratch vact_cpu_site_scratch(const vact_cpu *cpu, const vact_site_args *site)
{
    const site_layout l = lay_out(cpu, site);
    const size_t products = (site->gated ? 2 : 1) * (size_t)vact_min_i32(MOST_ROWS, site->x.rows) * MOST_CHANNELS;
    return (vact_scratch){ l.q + l.normed + l.scales + l.sums, most_panel_floats(cpu, site) + products };
}

/* Rows in the forms that products read. A row that is only quantized is normed where the thread's panel will be. */
static void prepare_tile(void *context, int tile, int thread)
{
    const site_job *job = context;
    const vact_site_args *site = job->args;
    const vact_kernels *k = job->cpu->k;
    const size_t cols = (size_t)site->x.cols, end = (size_t)vact_min_i32((tile + 1) * FEW_ROWS, site->x.rows);
    for (size_t row = (size_t)tile * FEW_ROWS; row < end; row++) {
        const float *x = vact_cpu_row(job->cpu, site->x, (int32_t)row);
        if (site->norm.kind != VACT_NORM_NONE) {
            float *y = job->normed ? job->normed + row * job->lda : vact_cpu_scratch(job->cpu, thread);
            vact_cpu_norm(job->cpu, &site->norm, y, x, cols);
            x = y;
        }
        if (job->q)
            k->quantize(job->q + row * job->ldq, job->sums + row * job->ldsums, job->scales + row, x, cols);
    }
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
        if (site->gate_row.rows)
            k->mul(v, vact_cpu_row(job->cpu, site->gate_row, 0) + first, width);
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

/* c[rows][channels] = rows begin .. begin+rows-1 times the 16 channels of w from `first` on; `next` has as many channels,
 * or is NULL. */
static void multiply(const site_job *job, float *c, int32_t begin, int32_t rows, float *panel, const vact_weight *w,
                     int32_t first, const uint8_t *next)
{
    const vact_kernels *k = job->cpu->k;
    const bool integers = on_integers(job->cpu, w);
    const size_t cols = (size_t)w->cols, ldc = (size_t)job->channels;
    const int32_t live = vact_min_i32(VACT_PANEL, w->rows - first);
    if (integers)
        k->pack_int8[w->dtype](panel, vact_weight_row(w, first), w->row_bytes, live, cols);
    else
        k->pack[w->dtype](panel, vact_weight_row(w, first), w->row_bytes, live, cols);

    const int32_t bytes = (int32_t)w->row_bytes * VACT_PANEL;
    const int32_t groups = vact_ceil_div(rows, integers ? k->int8_rows : k->gemm_rows);
    for (int32_t i = 0; i < groups; i++) {
        const int32_t from = vact_part(bytes, i, groups), row = vact_part(rows, i, groups);
        const int32_t n = vact_part(rows, i + 1, groups) - row;
        const size_t at = (size_t)(begin + row);
        if (next)
            fetch(next + from, (size_t)(vact_part(bytes, i + 1, groups) - from));
        if (integers) {
            const vact_int8_rows a = { job->q + at * job->ldq, job->sums + at * job->ldsums, job->scales + at, job->ldq,
                                       job->ldsums };
            k->gemm_int8[w->dtype](c + row * job->channels, ldc, &a, panel, 0, cols, n, 1);
        } else {
            k->gemm(c + row * job->channels, ldc, job->a + at * job->lda, job->lda, panel, 0, cols, n, 1, false);
        }
    }
}

static void site_tile(void *context, int tile, int thread)
{
    const site_job *job = context;
    const vact_site_args *site = job->args;
    const int32_t channels = job->channels, chunk = tile / job->blocks;
    int32_t block = tile % job->blocks;
    int o = 0;
    while (block >= vact_ceil_div(site->out[o].w->w.rows, channels))
        block -= vact_ceil_div(site->out[o++].w->w.rows, channels);
    const vact_weight *w = &site->out[o].w->w, *other = site->gated ? &site->out[1].w->w : NULL;
    const int32_t begin = vact_part(site->x.rows, chunk, job->row_chunks);
    const int32_t rows = vact_part(site->x.rows, chunk + 1, job->row_chunks) - begin;
    const int32_t first = block * channels, end = vact_min_i32(first + channels, w->rows);

    float *panel = vact_cpu_scratch(job->cpu, thread), *products = panel + job->panel_floats;
    float *others = other ? products + rows * channels : NULL;
    for (int32_t at = first; at < end; at += VACT_PANEL) {
        /* Behind the tile's own panels, those of a tile that this thread may well claim next. */
        const int32_t behind = at + VACT_PANEL < end ? at + VACT_PANEL : end + (job->cpu->threads - 1) * channels;
        const uint8_t *next = whole_panel(w, behind);
        multiply(job, products + (at - first), begin, rows, panel, w, at, other ? whole_panel(other, at) : next);
        if (other)
            multiply(job, others + (at - first), begin, rows, panel, other, at, next);
    }
    finish(job, o, begin, rows, first, (size_t)(end - first), products, others);
}

/* Of so many channels, in all outputs. */
static int32_t count_blocks(const site_job *job, int32_t channels)
{
    const vact_site_args *site = job->args;
    int32_t blocks = 0;
    for (int o = 0; o < (site->gated ? 1 : VACT_SITE_OUTPUTS) && site->out[o].w; o++)
        blocks += vact_ceil_div(site->out[o].w->w.rows, channels);
    return blocks;
}

void vact_cpu_site(vact_cpu *cpu, const vact_site_args *site)
{
    const site_layout l = lay_out(cpu, site);
    site_job job = { .cpu = cpu,
                     .args = site,
                     .a = vact_cpu_row(cpu, site->x, 0),
                     .lda = (size_t)site->x.stride,
                     .ldq = l.ldq,
                     .ldsums = (size_t)site->x.cols / VACT_INT8_BLOCK,
                     .panel_floats = most_panel_floats(cpu, site),
                     .channels = MOST_CHANNELS };
    if (l.normed) {
        job.a = job.normed = cpu->shared + l.q;
        job.lda = (size_t)vact_row_stride(site->x.cols);
    }
    if (l.q) {
        job.q = (int8_t *)cpu->shared;
        job.scales = cpu->shared + l.q + l.normed;
        job.sums = (int16_t *)(void *)(job.scales + l.scales);
    }
    if (job.normed || job.q)
        vact_pool_run(cpu->pool, prepare_tile, &job, vact_ceil_div(site->x.rows, FEW_ROWS));
    job.row_chunks = vact_ceil_div(site->x.rows, MOST_ROWS);
    job.blocks = count_blocks(&job, job.channels);
    while (job.channels > VACT_PANEL && job.blocks * job.row_chunks < TILES * cpu->threads) {
        job.channels /= 2;
        job.blocks = count_blocks(&job, job.channels);
    }
    vact_pool_run(cpu->pool, site_tile, &job, job.blocks * job.row_chunks);
}
