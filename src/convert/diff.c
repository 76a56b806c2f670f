/* two views of checkpoints -> key by key and tensor by tensor, what is the same and by how much the rest differs */
#include "convert/diff.h"
#include "base/arena.h"
#include "base/error.h"
#include "kernels/kernels.h"
#include <math.h>
#include <string.h>

enum {
    PIECE = 1 << 21, /* values read before they are forgotten. Whole blocks of any type */
    CHUNK = 1 << 14  /* values decoded at a time, of a piece */
};

typedef struct differ {
    const vact_gguf *a, *b;
    const vact_diff_listener *listener;
    vact_kernels kernels;
    float *values_a, *values_b; /* [CHUNK] */
    uint64_t done, total;       /* values of `a` */
    vact_diff_summary *summary;
} differ;

/* ---- keys ---- */

static uint64_t first_different(const vact_gguf_value *a, const vact_gguf_value *b)
{
    if (a->type != VACT_GGUF_ARRAY || b->type != a->type || a->element != b->element || a->count != b->count)
        return 0;
    uint64_t i = 0;
    if (a->element == VACT_GGUF_STRING) {
        vact_gguf_texts texts_a = vact_gguf_texts_begin(a), texts_b = vact_gguf_texts_begin(b);
        vact_gguf_text text_a, text_b;
        while (vact_gguf_texts_next(&texts_a, &text_a) && vact_gguf_texts_next(&texts_b, &text_b) &&
               text_a.length == text_b.length && memcmp(text_a.data, text_b.data, text_a.length) == 0)
            i++;
        return i;
    }
    const uint64_t width = vact_gguf_type_bytes(a->element);
    while (i < a->count && memcmp(a->data + i * width, b->data + i * width, width) == 0)
        i++;
    return i;
}

static void tell_key(differ *d, const vact_gguf_value *a, const vact_gguf_value *b)
{
    if (vact_gguf_is_layout(a ? a->key : b->key))
        return;
    vact_diff_key key = { .a = a, .b = b, .same = a && b && vact_gguf_same_value(a, b) };
    if (a && b && !key.same)
        key.at = first_different(a, b);
    d->summary->n_keys++;
    d->summary->n_keys_different += !key.same;
    d->listener->key(d->listener->user, &key);
}

static void compare_keys(differ *d)
{
    for (uint64_t i = 0; i < d->a->n_values; i++)
        tell_key(d, &d->a->values[i], vact_gguf_find(d->b, d->a->values[i].key));
    for (uint64_t i = 0; i < d->b->n_values; i++)
        if (!vact_gguf_find(d->a, d->b->values[i].key))
            tell_key(d, NULL, &d->b->values[i]);
}

/* ---- values ---- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The end of the piece that starts at value `at`. */
static uint64_t piece_end(uint64_t at, uint64_t count)
{
    return at + smaller(count - at, PIECE);
}

static void forget_to(const differ *d, const vact_diff_tensor *t, uint64_t end)
{
    vact_gguf_forget(d->a, t->a->data, vact_dtype_bytes(t->a->dtype, end));
    vact_gguf_forget(d->b, t->b->data, vact_dtype_bytes(t->b->dtype, end));
}

static bool same_bytes(differ *d, const vact_diff_tensor *t)
{
    const uint64_t count = vact_gguf_count(t->a);
    bool same = t->a->dtype == t->b->dtype;
    for (uint64_t at = 0; at < count && same; at = piece_end(at, count)) {
        const uint64_t end = piece_end(at, count);
        const uint64_t from = vact_dtype_bytes(t->a->dtype, at), to = vact_dtype_bytes(t->a->dtype, end);
        same = memcmp(t->a->data + from, t->b->data + from, (size_t)(to - from)) == 0;
        forget_to(d, t, end);
    }
    return same;
}

typedef struct sums {
    double error, a; /* of squares */
} sums;

/* |a - b|; infinite where one of them is no number. */
static double error_of(float a, float b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    const double error = fabs((double)a - (double)b);
    return isnan(error) ? (double)INFINITY : error;
}

static void compare_chunk(const differ *d, vact_diff_tensor *t, uint64_t at, size_t n, sums *s)
{
    for (size_t i = 0; i < n; i++) {
        const float a = d->values_a[i], b = d->values_b[i];
        const double error = error_of(a, b);
        t->n_different += error > 0;
        if (error > t->largest) {
            t->largest = error;
            t->at = at + i;
            t->at_a = a;
            t->at_b = b;
        }
        s->error += error * error;
        s->a += isfinite(a) ? (double)a * (double)a : 0;
    }
}

static void compare_values(differ *d, vact_diff_tensor *t)
{
    const uint64_t count = vact_gguf_count(t->a);
    sums s = { 0 };
    for (uint64_t at = 0; at < count;) {
        const uint64_t end = piece_end(at, count);
        for (; at < end; at += smaller(end - at, CHUNK)) {
            const size_t n = (size_t)smaller(end - at, CHUNK);
            d->kernels.decode[t->a->dtype](d->values_a, t->a->data + vact_dtype_bytes(t->a->dtype, at), n);
            d->kernels.decode[t->b->dtype](d->values_b, t->b->data + vact_dtype_bytes(t->b->dtype, at), n);
            compare_chunk(d, t, at, n, &s);
        }
        forget_to(d, t, end);
        if (d->listener->progress)
            d->listener->progress(d->listener->progress_user, (double)(d->done + end) / (double)d->total);
    }
    t->relative = s.error == 0 ? 0 : sqrt(s.error / s.a);
}

/* ---- tensors ---- */

static void tell_tensor(differ *d, const vact_gguf_tensor *a, const vact_gguf_tensor *b)
{
    vact_diff_tensor t = { .a = a, .b = b };
    t.same_shape = a && b && a->n_dims == b->n_dims && memcmp(a->ne, b->ne, sizeof a->ne) == 0;
    t.compared = t.same_shape && d->kernels.decode[a->dtype] && d->kernels.decode[b->dtype];
    t.same = t.same_shape && same_bytes(d, &t);
    if (t.compared && !t.same)
        compare_values(d, &t);
    vact_diff_summary *all = d->summary;
    all->n_tensors++;
    all->n_tensors_different += !t.same;
    all->largest = fmax(all->largest, t.largest);
    all->relative = fmax(all->relative, t.relative);
    d->listener->tensor(d->listener->user, &t);
    d->done += a ? vact_gguf_count(a) : 0;
    if (d->listener->progress && a)
        d->listener->progress(d->listener->progress_user, (double)d->done / (double)d->total);
}

static void compare_tensors(differ *d)
{
    for (uint64_t i = 0; i < d->a->n_tensors; i++)
        d->total += vact_gguf_count(&d->a->tensors[i]);
    for (uint64_t i = 0; i < d->a->n_tensors; i++)
        tell_tensor(d, &d->a->tensors[i], vact_gguf_find_tensor(d->b, d->a->tensors[i].name));
    for (uint64_t i = 0; i < d->b->n_tensors; i++)
        if (!vact_gguf_find_tensor(d->a, d->b->tensors[i].name))
            tell_tensor(d, NULL, &d->b->tensors[i]);
}

/* ---- the whole ---- */

vact_status vact_diff(const vact_gguf *a, const vact_gguf *b, const vact_diff_listener *listener,
                      vact_diff_summary *summary, vact_error *err)
{
    vact_arena arena = { 0 };
    differ d = { .a = a, .b = b, .listener = listener, .summary = summary };
    vact_status status = VACT_OK;
    *summary = (vact_diff_summary){ 0 };
    vact_kernels_init(&d.kernels, vact_cpu_isa());
    d.values_a = vact_arena_take(&arena, CHUNK, sizeof *d.values_a);
    d.values_b = vact_arena_take(&arena, CHUNK, sizeof *d.values_b);
    if (d.values_a && d.values_b) {
        compare_keys(&d);
        compare_tensors(&d);
    } else
        status = vact_fail(err, VACT_ENOMEM, "out of memory");
    vact_arena_free(&arena);
    return status;
}
