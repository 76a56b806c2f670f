/* views of checkpoints -> one checkpoint: values, descriptions, then tensor after tensor, a piece at a time */
#include "convert/rewrite.h"
#include "base/arena.h"
#include "base/error.h"
#include "file/line.h"
#include "kernels/kernels.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum {
    PIECE = 1 << 21, /* values read before they are forgotten: 8 MiB of floats. Whole blocks of any type */
    CHUNK = 1 << 14, /* values encoded at a time, of a piece */
    SHOWN = 100
};

typedef struct rewriter {
    const vact_rewrite *what;
    const vact_gguf *in;
    vact_kernels kernels;
    vact_arena arena;
    float *values, *again; /* [CHUNK]: as the file has them, and as the new one will give them back */
    void *bytes;           /* [CHUNK] of the new type */
    vact_gguf_writer *writer;
    uint64_t done, total; /* bytes of tensors in `in` */
    vact_error *err;
} rewriter;

static uint32_t type_of(const rewriter *r, uint64_t i)
{
    return r->what->types ? r->what->types[i] : r->in->tensors[i].dtype;
}

/* ---- declarations ---- */

static bool is_kept(const vact_rewrite *what, const char *key)
{
    for (size_t i = 0; i < what->n_values; i++)
        if (strcmp(key, what->values[i].key) == 0)
            return false;
    return (!what->dropped || strncmp(key, what->dropped, strlen(what->dropped)) != 0) && !vact_gguf_is_layout(key);
}

static vact_status put_values(rewriter *r)
{
    vact_status status = VACT_OK;
    for (uint64_t i = 0; i < r->in->n_values && status == VACT_OK; i++)
        if (is_kept(r->what, r->in->values[i].key))
            status = vact_gguf_put_value(r->writer, &r->in->values[i], r->err);
    for (size_t i = 0; i < r->what->n_values && status == VACT_OK; i++)
        status = vact_gguf_put_value(r->writer, &r->what->values[i], r->err);
    if (status == VACT_OK && r->what->put)
        status = r->what->put(r->what->user, r->writer, r->err);
    return status;
}

static vact_status check_types(const rewriter *r, const vact_gguf_tensor *t, uint32_t type)
{
    char name[SHOWN];
    if (t->dtype == type)
        return VACT_OK;
    if (!r->kernels.decode[t->dtype])
        return vact_fail(r->err, VACT_EARG, "%s: tensor %s: is %s, which cannot be stored as another type", r->in->path,
                         vact_printable(name, sizeof name, t->name, strlen(t->name)), vact_dtype_get(t->dtype)->name);
    return vact_refuse_type(type, r->err);
}

static vact_status put_tensors(rewriter *r)
{
    vact_status status = VACT_OK;
    for (uint64_t i = 0; i < r->in->n_tensors && status == VACT_OK; i++) {
        const vact_gguf_tensor *t = &r->in->tensors[i];
        status = check_types(r, t, type_of(r, i));
        if (status == VACT_OK)
            status = vact_gguf_put_tensor(r->writer, t->name, type_of(r, i), t->n_dims, t->ne, r->err);
        r->total += t->bytes;
    }
    return status;
}

/* ---- data ---- */

/* Value i of those from `at` on is lost, or the largest of its block, whose scale all of the block need. */
static vact_status cannot_hold(const rewriter *r, const vact_gguf_tensor *t, uint32_t type, uint64_t at, size_t i)
{
    char name[SHOWN];
    const size_t block = vact_dtype_get(type)->block, end = i - i % block + block;
    size_t worst = i;
    for (size_t j = i - i % block; j < end && isfinite(r->values[worst]); j++)
        if (!(fabsf(r->values[j]) <= fabsf(r->values[worst])))
            worst = j;
    return vact_fail(r->err, VACT_EFORMAT, "%s: tensor %s: value %" PRIu64 " is %g, which %s cannot hold", r->in->path,
                     vact_printable(name, sizeof name, t->name, strlen(t->name)), at + worst, (double)r->values[worst],
                     vact_dtype_get(type)->name);
}

/* Values [at, end) of the tensor as the new type. */
static vact_status write_anew(rewriter *r, const vact_gguf_tensor *t, uint32_t type, uint64_t at, uint64_t end)
{
    vact_status status = VACT_OK;
    for (; at < end && status == VACT_OK; at += CHUNK) {
        const size_t n = end - at < CHUNK ? (size_t)(end - at) : CHUNK;
        r->kernels.decode[t->dtype](r->values, t->data + vact_dtype_bytes(t->dtype, at), n);
        vact_dtype_encoder(type)(r->bytes, r->values, n);
        r->kernels.decode[type](r->again, r->bytes, n);
        for (size_t i = 0; i < n; i++)
            if (!isfinite(r->values[i]) || !isfinite(r->again[i]))
                return cannot_hold(r, t, type, at, i);
        status = vact_gguf_write_data(r->writer, r->bytes, (size_t)vact_dtype_bytes(type, n), r->err);
    }
    return status;
}

static vact_status write_tensor(rewriter *r, const vact_gguf_tensor *t, uint32_t type)
{
    const uint64_t count = vact_gguf_count(t);
    vact_status status = VACT_OK;
    for (uint64_t at = 0; at < count && status == VACT_OK; at += PIECE) {
        const uint64_t end = count - at < PIECE ? count : at + PIECE;
        const uint64_t from = vact_dtype_bytes(t->dtype, at), to = vact_dtype_bytes(t->dtype, end);
        status = t->dtype == type ? vact_gguf_write_data(r->writer, t->data + from, (size_t)(to - from), r->err)
                                  : write_anew(r, t, type, at, end);
        vact_gguf_forget(r->in, t->data, to); /* from its start: reading a page maps some before it */
        r->done += to - from;
        if (r->what->progress)
            r->what->progress(r->what->progress_user, (double)r->done / (double)r->total);
    }
    return status;
}

/* ---- the whole ---- */

static vact_status set_up(rewriter *r)
{
    vact_kernels_init(&r->kernels, vact_cpu_isa());
    r->values = vact_arena_take(&r->arena, CHUNK, sizeof *r->values);
    r->again = vact_arena_take(&r->arena, CHUNK, sizeof *r->again);
    r->bytes = vact_arena_take(&r->arena, CHUNK, sizeof(float)); /* no type takes more for a value */
    return r->values && r->again && r->bytes ? VACT_OK
                                             : vact_fail(r->err, VACT_ENOMEM, "%s: out of memory", r->in->path);
}

vact_status vact_rewrite_to(const vact_rewrite *rewrite, const char *path, vact_error *err)
{
    rewriter r = { .what = rewrite, .in = rewrite->in, .err = err };
    vact_status status = set_up(&r);
    if (status == VACT_OK)
        status = vact_gguf_writer_open(&r.writer, path, err);
    if (status == VACT_OK)
        status = put_values(&r);
    if (status == VACT_OK)
        status = put_tensors(&r);
    for (uint64_t i = 0; i < r.in->n_tensors && status == VACT_OK; i++)
        status = write_tensor(&r, &r.in->tensors[i], type_of(&r, i));
    if (status == VACT_OK)
        status = vact_gguf_writer_finish(r.writer, err);
    vact_gguf_writer_close(&r.writer);
    vact_arena_free(&r.arena);
    return status;
}

vact_status vact_refuse_type(uint32_t type, vact_error *err)
{
    static const char right[] = "f32, f16, bf16, q8_0 or q4_0";
    if (vact_dtype_encoder(type))
        return VACT_OK;
    const vact_dtype_info *info = vact_dtype_get(type);
    return info ? vact_fail(err, VACT_EARG, "tensors cannot be stored as %s, expected %s", info->name, right)
                : vact_fail(err, VACT_EARG, "tensors cannot be stored as type %" PRIu32 ", expected %s", type, right);
}

uint64_t vact_written_bytes(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

vact_status vact_refuse_same_file(const char *in, const char *out, vact_error *err)
{
    struct stat a, b;
    if (stat(in, &a) == 0 && stat(out, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        return vact_fail(err, VACT_EARG, "%s: is the file to read and to write, expected two", vact_path_end(in));
    return VACT_OK;
}
