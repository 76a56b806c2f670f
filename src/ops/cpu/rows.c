/* What works row by row: each thread claims a few rows at a time. */
#include "ops/cpu/parts.h"

#include <assert.h>
#include <string.h>

enum { ROWS = 8 };

static void upload_row(const vact_cpu *cpu, const vact_op *op, int32_t row)
{
    const vact_buf y = op->upload.y;
    memcpy(vact_cpu_row(cpu, y, row), op->upload.values + (size_t)row * (size_t)y.cols, (size_t)y.cols * sizeof(float));
}

static void patchify_row(const vact_cpu *cpu, const vact_op *op, int32_t row)
{
    const vact_image *image = op->patchify.image;
    const int32_t patch = op->patchify.patch, across = image->width / patch;
    const size_t n = 3 * (size_t)patch, plane = (size_t)patch * (size_t)patch;
    float *y = vact_cpu_row(cpu, op->patchify.y, row);
    for (int32_t i = 0; i < patch; i++, y += patch) {
        const size_t at =
            3 * ((size_t)(row / across * patch + i) * (size_t)image->width + (size_t)(row % across * patch));
        if (image->format == VACT_RGB_U8)
            cpu->k->pixels_u8(y, plane, (const unsigned char *)image->data + at, n);
        else
            cpu->k->pixels_f32(y, plane, (const float *)image->data + at, n);
    }
}

static void embed_row(const vact_cpu *cpu, const vact_op *op, int32_t row)
{
    const vact_weight *table = op->embed.table;
    float *y = vact_cpu_row(cpu, op->embed.y, row);
    cpu->k->decode[table->dtype](y, vact_weight_row(table, op->embed.ids[row]), (size_t)table->cols);
    cpu->k->scale(y, op->embed.scale, (size_t)table->cols);
}

static void norm_row(const vact_cpu *cpu, const vact_op *op, int32_t row)
{
    vact_cpu_norm(cpu, &op->norm.norm, vact_cpu_row(cpu, op->norm.y, row), vact_cpu_row(cpu, op->norm.x, row),
                  (size_t)op->norm.x.cols);
}

static void add_table_row(const vact_cpu *cpu, const vact_op *op, int32_t row)
{
    enum { CHUNK = 256 }; /* a multiple of every block */
    const vact_weight *table = op->add_table.table;
    const vact_weight one_row = { vact_weight_row(table, row % table->rows), table->dtype, 1, table->cols, 0 };
    float decoded[CHUNK];
    for (int32_t at = 0; at < table->cols; at += CHUNK) {
        const int32_t n = vact_min_i32(CHUNK, table->cols - at);
        cpu->k->decode[table->dtype](decoded, vact_weight_cols(one_row, at, n).data, (size_t)n);
        cpu->k->add(vact_cpu_row(cpu, op->add_table.y, row) + at, decoded, (size_t)n);
    }
}

static void rope_row(const vact_cpu *cpu, const vact_op *op, int32_t row)
{
    const vact_rope_table *table = &op->rope.table;
    const int32_t hd = table->cos.cols;
    cpu->k->rope(vact_cpu_row(cpu, op->rope.x, row), vact_cpu_row(cpu, table->cos, row),
                 vact_cpu_row(cpu, table->sin, row), (size_t)(op->rope.x.cols / hd), (size_t)hd);
}

static void copy_row(const vact_cpu *cpu, const vact_op *op, int32_t row)
{
    float *y = vact_cpu_row(cpu, op->copy.y, row);
    memcpy(y, vact_cpu_row(cpu, op->copy.x, row), (size_t)op->copy.y.cols * sizeof *y);
    cpu->k->scale(y, op->copy.scale, (size_t)op->copy.y.cols);
}

static void shuffle_row(const vact_cpu *cpu, const vact_op *op, int32_t row)
{
    const vact_buf x = op->shuffle.x;
    const int32_t grid = op->shuffle.grid, f = op->shuffle.factor, coarse = grid / f;
    const int32_t group = row / (coarse * coarse), token = row % (coarse * coarse);
    float *y = vact_cpu_row(cpu, op->shuffle.y, row);
    for (int32_t i = 0; i < f; i++)
        for (int32_t j = 0; j < f; j++, y += x.cols) {
            const int32_t from = (token / coarse * f + i) * grid + token % coarse * f + j;
            memcpy(y, vact_cpu_row(cpu, x, group * grid * grid + from), (size_t)x.cols * sizeof *y);
        }
}

static void axpy_row(const vact_cpu *cpu, const vact_op *op, int32_t row)
{
    cpu->k->axpy(vact_cpu_row(cpu, op->axpy.y, row), op->axpy.a, vact_cpu_row(cpu, op->axpy.x, row),
                 (size_t)op->axpy.y.cols);
}

static const struct {
    void (*row)(const vact_cpu *cpu, const vact_op *op, int32_t row);
    size_t y; /* of the vact_buf in the op whose rows are made */
} row_ops[VACT_OP_KINDS] = {
    [VACT_OP_UPLOAD] = { upload_row, offsetof(vact_op, upload.y) },
    [VACT_OP_PATCHIFY] = { patchify_row, offsetof(vact_op, patchify.y) },
    [VACT_OP_EMBED] = { embed_row, offsetof(vact_op, embed.y) },
    [VACT_OP_NORM] = { norm_row, offsetof(vact_op, norm.y) },
    [VACT_OP_ADD_TABLE] = { add_table_row, offsetof(vact_op, add_table.y) },
    [VACT_OP_ROPE] = { rope_row, offsetof(vact_op, rope.x) },
    [VACT_OP_COPY] = { copy_row, offsetof(vact_op, copy.y) },
    [VACT_OP_AXPY] = { axpy_row, offsetof(vact_op, axpy.y) },
    [VACT_OP_PIXEL_SHUFFLE] = { shuffle_row, offsetof(vact_op, shuffle.y) },
};

typedef struct row_job {
    const vact_cpu *cpu;
    const vact_op *op;
    int32_t rows;
} row_job;

static void rows_tile(void *context, int tile, int thread)
{
    (void)thread;
    const row_job *job = context;
    const int32_t end = vact_min_i32((tile + 1) * ROWS, job->rows);
    for (int32_t row = tile * ROWS; row < end; row++)
        row_ops[job->op->kind].row(job->cpu, job->op, row);
}

void vact_cpu_rows(vact_cpu *cpu, const vact_op *op)
{
    assert(row_ops[op->kind].row);
    const vact_buf *y = (const vact_buf *)(const void *)((const char *)op + row_ops[op->kind].y);
    row_job job = { cpu, op, y->rows };
    vact_pool_run(cpu->pool, rows_tile, &job, vact_ceil_div(job.rows, ROWS));
}
