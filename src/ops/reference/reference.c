#include "ops/reference/reference.h"

#include "base/error.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct reference_device {
    vact_device device;
    const vact_kernels *k;
    float *memory;
    float *scratch; /* a normed row, then a decoded weight row; or a row of scores as doubles */
} reference_device;

static float *row_of(const reference_device *d, vact_buf buf, int32_t row)
{
    return d->memory + buf.at + (size_t)row * (size_t)buf.stride;
}

/* K then V, each [group][capacity][heads * head_dim]. */
static size_t kv_half(const vact_kv *kv)
{
    return (size_t)kv->groups * (size_t)kv->capacity * (size_t)(kv->heads * kv->head_dim);
}

static float *kv_row(const reference_device *d, const vact_kv *kv, int32_t group, int32_t key, bool value)
{
    return d->memory + kv->at + (value ? kv_half(kv) : 0) +
           (size_t)(group * kv->capacity + key) * (size_t)(kv->heads * kv->head_dim);
}

static size_t kv_floats(const vact_device *device, const vact_kv *kv)
{
    (void)device;
    return 2 * kv_half(kv);
}

static vact_scratch scratch(const vact_device *device, const vact_op *op)
{
    (void)device;
    size_t floats = 0;
    if (op->kind == VACT_OP_SITE)
        floats = 2 * (size_t)op->site.x.cols;
    else if (op->kind == VACT_OP_ADD_TABLE)
        floats = (size_t)op->add_table.table->cols;
    else if (op->kind == VACT_OP_ATTENTION)
        for (int i = 0; i < VACT_ATTENTION_SEGMENTS; i++)
            floats += (size_t)op->attention.segments[i].keys * sizeof(double) / sizeof(float);
    return (vact_scratch){ floats, 0 };
}

static vact_status reserve(vact_device *device, size_t slab, vact_scratch need, vact_error *err)
{
    reference_device *d = (reference_device *)device;
    slab += slab % 2; /* the scratch may hold doubles */
    d->memory = calloc(slab + need.shared + 1, sizeof *d->memory);
    if (!d->memory)
        return vact_fail(err, VACT_ENOMEM, "out of memory: a session needs %zu bytes",
                         (slab + need.shared) * sizeof *d->memory);
    d->scratch = d->memory + slab;
    return VACT_OK;
}

static void norm_row(const reference_device *d, float *y, const float *x, const vact_norm *norm, int32_t n)
{
    const float *weight = norm->weight_row.rows ? row_of(d, norm->weight_row, 0) : norm->weight;
    const float *bias = norm->bias_row.rows ? row_of(d, norm->bias_row, 0) : norm->bias;
    double mean = 0, square = 0;
    for (int32_t i = 0; i < n && norm->kind == VACT_NORM_LAYER; i++)
        mean += (double)x[i] / n;
    for (int32_t i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean) / n;
    const double inverse = 1.0 / sqrt(square + (double)norm->eps);
    for (int32_t i = 0; i < n; i++)
        y[i] = (float)((x[i] - mean) * inverse * (double)weight[i] + (bias ? (double)bias[i] : 0));
}

static double activated(vact_act act, double u)
{
    if (act == VACT_ACT_GELU_ERF)
        return 0.5 * u * erfc(-u * 0.70710678118654752440);
    if (act == VACT_ACT_GELU_TANH)
        return 0.5 * u * (1 + tanh(0.79788456080286536 * (u + 0.044715 * u * u * u)));
    return act == VACT_ACT_SILU ? u / (1 + exp(-u)) : u;
}

/* One value of a linear map before the activation. */
static double linear_value(const reference_device *d, const vact_linear *w, const float *bias, int32_t channel,
                           const float *x, float *decoded)
{
    d->k->decode[w->w.dtype](decoded, vact_weight_row(&w->w, channel), (size_t)w->w.cols);
    double sum = 0;
    for (int32_t i = 0; i < w->w.cols; i++)
        sum += (double)decoded[i] * (double)x[i];
    return sum + (bias ? (double)bias[channel] : 0);
}

static void run_site(const reference_device *d, const vact_site_args *site)
{
    float *decoded = d->scratch, *normed = d->scratch + site->x.cols;
    for (int32_t row = 0; row < site->x.rows; row++) {
        const float *x = row_of(d, site->x, row);
        if (site->norm.kind != VACT_NORM_NONE) {
            norm_row(d, normed, x, &site->norm, site->x.cols);
            x = normed;
        }
        for (int o = 0; o < (site->gated ? 1 : VACT_SITE_OUTPUTS) && site->out[o].w; o++) {
            const vact_linear *w = site->out[o].w, *up = site->out[1].w;
            const float *bias = site->bias_row.rows && o == 0 ? row_of(d, site->bias_row, 0) : w->bias;
            float *y = row_of(d, site->out[o].y, row);
            for (int32_t c = 0; c < w->w.rows; c++) {
                double v = activated(site->act, linear_value(d, w, bias, c, x, decoded));
                if (site->gated)
                    v *= linear_value(d, up, up->bias, c, x, decoded);
                if (site->gate_row.rows)
                    v *= (double)row_of(d, site->gate_row, 0)[c];
                y[c] = (float)(site->add ? y[c] + v : v);
            }
        }
    }
}

/* Scores of one query row over all its keys; softmax; values. */
static void attend(const reference_device *d, const vact_attention_args *a, int32_t row, int32_t head, int32_t group)
{
    const int32_t hd = a->q.cols / a->heads;
    const float *q = row_of(d, a->q, row) + head * hd;
    float *y = row_of(d, a->y, row) + head * hd;
    double *scores = (double *)(void *)d->scratch, max = -INFINITY, sum = 0;
    int32_t keys = 0;
    for (int s = 0; s < VACT_ATTENTION_SEGMENTS; s++) {
        const vact_kv *kv = &a->segments[s].kv;
        for (int32_t i = 0; i < a->segments[s].keys; i++, keys++) {
            const float *k = kv_row(d, kv, group, i, false) + head / (a->heads / kv->heads) * hd;
            double dot = 0;
            for (int32_t j = 0; j < hd; j++)
                dot += (double)q[j] * (double)k[j];
            const bool seen = !a->spans || (keys >= a->spans[row].begin && keys < a->spans[row].end);
            scores[keys] = seen ? dot * (double)a->scale : -INFINITY;
            max = scores[keys] > max ? scores[keys] : max;
        }
    }
    for (int32_t i = 0; i < keys; i++) {
        scores[i] = scores[i] == -INFINITY ? 0 : exp(scores[i] - max);
        sum += scores[i];
    }
    for (int32_t j = 0; j < hd; j++) {
        double value = 0;
        keys = 0;
        for (int s = 0; s < VACT_ATTENTION_SEGMENTS; s++) {
            const vact_kv *kv = &a->segments[s].kv;
            for (int32_t i = 0; i < a->segments[s].keys; i++, keys++)
                if (scores[keys] > 0)
                    value +=
                        scores[keys] * (double)kv_row(d, kv, group, i, true)[head / (a->heads / kv->heads) * hd + j];
        }
        y[j] = (float)(sum == 0 ? 0 : value / sum);
    }
}

static void run_attention(const reference_device *d, const vact_attention_args *a)
{
    const int32_t groups = a->segments[0].keys ? a->segments[0].kv.groups : 1;
    for (int32_t row = 0; row < a->q.rows; row++)
        for (int32_t head = 0; head < a->heads; head++)
            attend(d, a, row, head, row / (a->q.rows / groups));
}

static void run_kv_write(const reference_device *d, const vact_op *op)
{
    const vact_kv *kv = &op->kv_write.kv;
    const vact_buf k = op->kv_write.k, v = op->kv_write.v;
    const int32_t n = k.rows / kv->groups;
    for (int32_t row = 0; row < k.rows; row++) {
        const int32_t key = op->kv_write.first + row % n;
        memcpy(kv_row(d, kv, row / n, key, false), row_of(d, k, row), (size_t)k.cols * sizeof(float));
        memcpy(kv_row(d, kv, row / n, key, true), row_of(d, v, row), (size_t)v.cols * sizeof(float));
    }
}

static void run_patchify(const reference_device *d, const vact_op *op)
{
    const vact_image *image = op->patchify.image;
    const int32_t p = op->patchify.patch, across = image->width / p;
    for (int32_t row = 0; row < op->patchify.y.rows; row++)
        for (int32_t c = 0; c < 3 * p * p; c++) {
            const int32_t y = row / across * p + c / p % p, x = row % across * p + c % p;
            const size_t at = 3 * ((size_t)y * (size_t)image->width + (size_t)x) + (size_t)(c / (p * p));
            const double v = image->format == VACT_RGB_U8 ? ((const unsigned char *)image->data)[at] / 255.0
                                                          : (double)((const float *)image->data)[at];
            row_of(d, op->patchify.y, row)[c] = (float)(2 * v - 1);
        }
}

static void run_rope(const reference_device *d, const vact_op *op)
{
    const int32_t hd = op->rope.table.cos.cols, half = hd / 2;
    for (int32_t row = 0; row < op->rope.x.rows; row++) {
        const float *cosine = row_of(d, op->rope.table.cos, row), *sine = row_of(d, op->rope.table.sin, row);
        for (float *x = row_of(d, op->rope.x, row), *end = x + op->rope.x.cols; x < end; x += hd)
            for (int32_t i = 0; i < half; i++) {
                const double a = (double)x[i], b = (double)x[i + half];
                x[i] = (float)(a * (double)cosine[i] - b * (double)sine[i]);
                x[i + half] = (float)(b * (double)cosine[i + half] + a * (double)sine[i + half]);
            }
    }
}

static void run_shuffle(const reference_device *d, const vact_op *op)
{
    const int32_t grid = op->shuffle.grid, f = op->shuffle.factor, c = op->shuffle.x.cols;
    const int32_t coarse = grid / f;
    for (int32_t row = 0; row < op->shuffle.x.rows; row++) {
        const int32_t group = row / (grid * grid), y = row / grid % grid, x = row % grid;
        const int32_t to = group * coarse * coarse + y / f * coarse + x / f;
        memcpy(row_of(d, op->shuffle.y, to) + (y % f * f + x % f) * c, row_of(d, op->shuffle.x, row),
               (size_t)c * sizeof(float));
    }
}

static void run_upload(const reference_device *d, const vact_op *op)
{
    const vact_buf y = op->upload.y;
    for (int32_t row = 0; row < y.rows; row++)
        for (int32_t i = 0; i < y.cols; i++)
            row_of(d, y, row)[i] = op->upload.values[(size_t)row * (size_t)y.cols + (size_t)i];
}

static void run_embed(const reference_device *d, const vact_op *op)
{
    const vact_buf y = op->embed.y;
    const vact_weight *table = op->embed.table;
    for (int32_t row = 0; row < y.rows; row++) {
        d->k->decode[table->dtype](row_of(d, y, row), vact_weight_row(table, op->embed.ids[row]), (size_t)y.cols);
        for (int32_t i = 0; i < y.cols; i++)
            row_of(d, y, row)[i] *= op->embed.scale;
    }
}

static void run_add_table(const reference_device *d, const vact_op *op)
{
    const vact_buf y = op->add_table.y;
    const vact_weight *table = op->add_table.table;
    for (int32_t row = 0; row < y.rows; row++) {
        d->k->decode[table->dtype](d->scratch, vact_weight_row(table, row % table->rows), (size_t)y.cols);
        for (int32_t i = 0; i < y.cols; i++)
            row_of(d, y, row)[i] += d->scratch[i];
    }
}

/* y = keep * y + a * x */
static void combine(const reference_device *d, vact_buf y, double keep, double a, vact_buf x)
{
    for (int32_t row = 0; row < y.rows; row++)
        for (int32_t i = 0; i < y.cols; i++) {
            const double old = keep != 0 ? keep * (double)row_of(d, y, row)[i] : 0;
            row_of(d, y, row)[i] = (float)(old + a * (double)row_of(d, x, row)[i]);
        }
}

static vact_status run(vact_device *device, const vact_op *op, vact_error *err)
{
    const reference_device *d = (const reference_device *)device;
    switch (op->kind) {
    case VACT_OP_SITE:
        run_site(d, &op->site);
        break;
    case VACT_OP_ATTENTION:
        run_attention(d, &op->attention);
        break;
    case VACT_OP_KV_WRITE:
        run_kv_write(d, op);
        break;
    case VACT_OP_PATCHIFY:
        run_patchify(d, op);
        break;
    case VACT_OP_ROPE:
        run_rope(d, op);
        break;
    case VACT_OP_PIXEL_SHUFFLE:
        run_shuffle(d, op);
        break;
    case VACT_OP_NORM:
        for (int32_t row = 0; row < op->norm.y.rows; row++)
            norm_row(d, row_of(d, op->norm.y, row), row_of(d, op->norm.x, row), &op->norm.norm, op->norm.x.cols);
        break;
    case VACT_OP_UPLOAD:
        run_upload(d, op);
        break;
    case VACT_OP_EMBED:
        run_embed(d, op);
        break;
    case VACT_OP_ADD_TABLE:
        run_add_table(d, op);
        break;
    case VACT_OP_COPY:
        combine(d, op->copy.y, 0, (double)op->copy.scale, op->copy.x);
        break;
    case VACT_OP_AXPY:
        combine(d, op->axpy.y, 1, (double)op->axpy.a, op->axpy.x);
        break;
    default:
        return vact_fail(err, VACT_EDEVICE, "the reference device lacks the op %s", vact_op_name(op->kind));
    }
    return VACT_OK;
}

static void read_values(vact_device *device, vact_buf buf, float *values)
{
    for (int32_t row = 0; row < buf.rows; row++)
        memcpy(values + (size_t)row * (size_t)buf.cols, row_of((const reference_device *)device, buf, row),
               (size_t)buf.cols * sizeof *values);
}

static void close_device(vact_device *device)
{
    free(((reference_device *)device)->memory);
    free(device);
}

vact_status vact_reference_open(vact_device **out, const vact_kernels *kernels, vact_error *err)
{
    reference_device *d = calloc(1, sizeof *d);
    if (!d)
        return vact_fail(err, VACT_ENOMEM, "out of memory");
    d->device = (vact_device){ "reference", false, kv_floats, scratch, reserve, run, read_values, close_device };
    d->k = kernels;
    *out = &d->device;
    return VACT_OK;
}
