/* a checkpoint -> the same with some matrices of another type: keys, descriptions, then tensor after tensor */
#include "convert/quantize.h"

#include "base/error.h"
#include "policy/model.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK = 1 << 14 }; /* values encoded at a time: whole blocks of any type */

typedef struct quantizer {
    const vact_model *model;
    const vact_gguf *in;
    vact_arena arena;
    bool *taken; /* [n_tensors]: those that change their type */
    uint64_t n_taken;
    vact_dtype type;
    vact_encode_fn encode;
    vact_kernels kernels;
    float *values, *again; /* [CHUNK]: as the file has them, and as the new one will give them back */
    void *bytes;           /* [CHUNK] of the new type */
    vact_gguf_writer *writer;
    vact_error *err;
} quantizer;

/* ---- which ---- */

/* Parts of names. VinRobotics/vla.cpp, scripts/quantize_gguf.py without --vision. */
static const char *const kept[] = {
    "token_embd", "tok_embd", "output.weight", "patch_embd", "norm",   "pos",       "embed",    "cls",
    "action",     "state",    "aex.",          "ah.",        "act.",   "octo.head", "dit",      "adaln",
    "ada_",       "time",     "vit",           "vision",     "vis.d.", "vis.s.",    "octo.obs", NULL,
};

static bool is_kept(const char *name)
{
    for (int i = 0; kept[i]; i++)
        if (strstr(name, kept[i]))
            return true;
    return false;
}

static bool is_float(uint32_t dtype)
{
    return dtype == VACT_DTYPE_F32 || dtype == VACT_DTYPE_F16 || dtype == VACT_DTYPE_BF16;
}

static bool choose(void *user, const char *name, const vact_row *row, const vact_table *table, int layer)
{
    (void)table, (void)layer;
    quantizer *q = user;
    const vact_gguf_tensor *t = vact_gguf_find_tensor(q->in, name);
    if (row->kind == VACT_ROW_MATRIX && t->n_dims == 2 && is_float(t->dtype) && !is_kept(name) &&
        t->ne[0] % vact_dtype_get(q->type)->block == 0) {
        q->taken[t - q->in->tensors] = true;
        q->n_taken++;
    }
    return true;
}

/* ---- writing ---- */

static vact_status declare(quantizer *q)
{
    vact_status status = VACT_OK;
    for (uint64_t i = 0; i < q->in->n_values && status == VACT_OK; i++)
        if (strcmp(q->in->values[i].key, "general.alignment") != 0) /* the writer's own */
            status = vact_gguf_put_value(q->writer, &q->in->values[i], q->err);
    for (uint64_t i = 0; i < q->in->n_tensors && status == VACT_OK; i++) {
        const vact_gguf_tensor *t = &q->in->tensors[i];
        status = vact_gguf_put_tensor(q->writer, t->name, q->taken[i] ? (uint32_t)q->type : t->dtype, t->n_dims, t->ne,
                                      q->err);
    }
    return status;
}

/* Value i of those from `at` on is lost, or the largest of its block, whose scale all of the block need. */
static vact_status cannot_hold(const quantizer *q, const vact_gguf_tensor *t, uint64_t at, size_t i)
{
    const size_t block = vact_dtype_get(q->type)->block, end = i - i % block + block;
    size_t worst = i;
    for (size_t j = i - i % block; j < end && isfinite(q->values[worst]); j++)
        if (!(fabsf(q->values[j]) <= fabsf(q->values[worst])))
            worst = j;
    return vact_fail(q->err, VACT_EFORMAT, "%s: tensor %s: value %" PRIu64 " is %g, which %s cannot hold", q->in->path,
                     t->name, at + worst, (double)q->values[worst], vact_dtype_get(q->type)->name);
}

static vact_status write_anew(quantizer *q, const vact_gguf_tensor *t)
{
    const uint64_t count = t->ne[0] * t->ne[1];
    vact_status status = VACT_OK;
    for (uint64_t at = 0; at < count && status == VACT_OK; at += CHUNK) {
        const size_t n = count - at < CHUNK ? (size_t)(count - at) : CHUNK;
        q->kernels.decode[t->dtype](q->values, t->data + vact_dtype_bytes(t->dtype, at), n);
        q->encode(q->bytes, q->values, n);
        q->kernels.decode[q->type](q->again, q->bytes, n);
        for (size_t i = 0; i < n; i++)
            if (!isfinite(q->values[i]) || !isfinite(q->again[i]))
                return cannot_hold(q, t, at, i);
        status = vact_gguf_write_data(q->writer, q->bytes, (size_t)vact_dtype_bytes(q->type, n), q->err);
    }
    return status;
}

static vact_status write_tensors(quantizer *q)
{
    vact_status status = VACT_OK;
    for (uint64_t i = 0; i < q->in->n_tensors && status == VACT_OK; i++) {
        const vact_gguf_tensor *t = &q->in->tensors[i];
        status = q->taken[i] ? write_anew(q, t) : vact_gguf_write_data(q->writer, t->data, t->bytes, q->err);
    }
    return status;
}

/* ---- the whole ---- */

static bool same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static vact_status set_up(quantizer *q)
{
    q->taken = vact_arena_take(&q->arena, (size_t)q->in->n_tensors, sizeof *q->taken);
    q->values = vact_arena_take(&q->arena, CHUNK, sizeof *q->values);
    q->again = vact_arena_take(&q->arena, CHUNK, sizeof *q->again);
    q->bytes = vact_arena_take(&q->arena, 1, (size_t)vact_dtype_bytes(q->type, CHUNK));
    if (!q->taken || !q->values || !q->again || !q->bytes)
        return vact_fail(q->err, VACT_ENOMEM, "%s: out of memory", q->in->path);
    vact_kernels_init(&q->kernels, vact_cpu_isa());
    vact_schema_walk(&q->model->arch->schema, q->model->bound, choose, q);
    if (q->n_taken == 0)
        return vact_fail(q->err, VACT_EMODEL,
                         "%s: has no matrix to store as %s, expected one in floating point with "
                         "rows of whole blocks of %" PRIu32,
                         q->in->path, vact_dtype_get(q->type)->name, vact_dtype_get(q->type)->block);
    return VACT_OK;
}

vact_status vact_quantize(const char *in, const char *out, vact_dtype type, vact_error *err)
{
    vact_model *model = NULL;
    quantizer q = { .type = type, .encode = vact_dtype_encoder(type), .err = err };
    vact_error_clear(err);
    if (!q.encode)
        return vact_fail(err, VACT_EARG, "tensors cannot be stored as type %d, expected f32, f16, bf16, q8_0 or q4_0",
                         (int)type);
    if (same_file(in, out))
        return vact_fail(err, VACT_EARG, "%s: is the file to read and to write, expected two", vact_path_end(in));
    vact_status status = vact_model_open(&model, in, NULL, err);
    if (status == VACT_OK) {
        q.model = model;
        q.in = model->gguf;
        status = set_up(&q);
    }
    if (status == VACT_OK)
        status = vact_gguf_writer_open(&q.writer, out, err);
    if (status == VACT_OK)
        status = declare(&q);
    if (status == VACT_OK)
        status = write_tensors(&q);
    if (status == VACT_OK)
        status = vact_gguf_writer_finish(q.writer, err);
    vact_gguf_writer_close(&q.writer);
    vact_arena_free(&q.arena);
    vact_model_close(&model);
    return status;
}
