#include "models/rewrite.h"

#include "kernels/kernels.h"
#include "quants.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static vact_kernels kernels;

static const rewrite_edit *find(const rewrite_edit *edits, const char *name)
{
    for (; edits && edits->kind != REWRITE_END; edits++)
        if (strcmp(edits->name, name) == 0)
            return edits;
    return NULL;
}

static void check(vact_status status, const vact_error *err)
{
    if (status != VACT_OK)
        fail_msg("%s", err->text);
}

static void copy_key(vact_gguf_writer *w, const vact_gguf_value *v, vact_error *err)
{
    if (v->type == VACT_GGUF_U32) {
        check(vact_gguf_put_u32(w, v->key, (uint32_t)vact_gguf_get_uint(v, 0), err), err);
    } else if (v->type == VACT_GGUF_F32) {
        check(vact_gguf_put_f32(w, v->key, (float)vact_gguf_get_float(v, 0), err), err);
    } else if (v->type == VACT_GGUF_F64) {
        check(vact_gguf_put_f64(w, v->key, vact_gguf_get_float(v, 0), err), err);
    } else {
        const vact_gguf_text text = vact_gguf_get_text(v, 0);
        char copy[64] = "";
        assert_true(v->type == VACT_GGUF_STRING && text.length < sizeof copy);
        memcpy(copy, text.data, (size_t)text.length);
        check(vact_gguf_put_text(w, v->key, copy, err), err);
    }
}

static void put_edit(vact_gguf_writer *w, const rewrite_edit *e, vact_error *err)
{
    if (e->kind == REWRITE_KEY_U32)
        check(vact_gguf_put_u32(w, e->name, (uint32_t)e->number, err), err);
    else if (e->kind == REWRITE_KEY_F32)
        check(vact_gguf_put_f32(w, e->name, (float)e->number, err), err);
    else if (e->kind == REWRITE_KEY_F64)
        check(vact_gguf_put_f64(w, e->name, e->number, err), err);
    else if (e->kind == REWRITE_KEY_TEXT)
        check(vact_gguf_put_text(w, e->name, e->text, err), err);
}

/* ---- values ---- */

static void encode_block(uint8_t *out, const float *x, uint32_t type)
{
    float most = 0;
    for (int i = 0; i < 32; i++)
        most = fmaxf(most, fabsf(x[i]));
    const float levels = type == VACT_DTYPE_Q8_0 ? 127.0f : 7.0f, d = most / levels;
    const uint16_t bits = quant_half(d);
    memcpy(out, &bits, sizeof bits);
    for (int i = 0; i < 32; i++) {
        const int code = d > 0 ? (int)roundf(x[i] / d) : 0;
        if (type == VACT_DTYPE_Q8_0)
            out[2 + i] = (uint8_t)(int8_t)code;
        else if (i < 16)
            out[2 + i] = (uint8_t)(code + 8);
        else
            out[2 + i - 16] = (uint8_t)(out[2 + i - 16] | (code + 8) << 4);
    }
}

static uint32_t random_state; /* from one tensor to the next */

static uint32_t next(void)
{
    return random_state = random_state * 1664525 + 1013904223;
}

static void encode(uint8_t *out, const float *x, size_t n, uint32_t type)
{
    const vact_dtype_info *t = vact_dtype_get(type);
    const quant_type *quant = vact_dtype_encoder(type) ? NULL : quant_find(type);
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (double)x[i] * (double)x[i];
    for (size_t i = 0; i < n; i += t->block, out += t->block_bytes) {
        const uint16_t half = type == VACT_DTYPE_F16 ? quant_half(x[i]) : 0;
        if (quant)
            quant_fill(out, quant, sqrt(squares / (double)n), next);
        else if (type == VACT_DTYPE_F32)
            memcpy(out, &x[i], sizeof x[i]);
        else if (type == VACT_DTYPE_F16)
            memcpy(out, &half, sizeof half);
        else
            encode_block(out, x + i, type);
    }
}

/* The bytes to write for a tensor, and in *stored the type that they have. */
static uint8_t *tensor_bytes(const vact_gguf_tensor *t, const rewrite_edit *edit, uint32_t type, bool decoded,
                             uint32_t *stored, size_t *size)
{
    const size_t n = (size_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
    float *values = malloc(n * sizeof *values);
    uint8_t *bytes = malloc(n * sizeof *values);
    assert_true(values && bytes && kernels.decode[t->dtype]);
    if (type == t->dtype) {
        *stored = t->dtype;
        *size = (size_t)t->bytes;
        memcpy(bytes, t->data, *size);
    } else {
        kernels.decode[t->dtype](values, t->data, n);
        encode(bytes, values, n, type);
        if (decoded) {
            kernels.decode[type](values, bytes, n);
            memcpy(bytes, values, n * sizeof *values);
        }
        *stored = decoded ? VACT_DTYPE_F32 : type;
        *size = (size_t)vact_dtype_bytes(*stored, n);
    }
    if (edit && edit->kind == REWRITE_SET_VALUE) {
        const float value = (float)edit->number;
        assert_int_equal(*stored, VACT_DTYPE_F32);
        memcpy(bytes, &value, sizeof value);
    }
    free(values);
    return bytes;
}

static void put_tensor(vact_gguf_writer *w, const vact_gguf_tensor *t, const rewrite_edit *edit, uint32_t stored,
                       vact_error *err)
{
    const char *name = edit && edit->kind == REWRITE_RENAME_TENSOR ? edit->text : t->name;
    uint64_t ne[4];
    memcpy(ne, t->ne, sizeof ne);
    uint32_t n_dims = t->n_dims;
    if (edit && edit->kind == REWRITE_FLATTEN_TENSOR) {
        ne[0] *= ne[1];
        n_dims = 1;
    }
    check(vact_gguf_put_tensor(w, name, stored, n_dims, ne, err), err);
}

int rewrite_gguf(const char *in, const char *out, const rewrite_edit *edits, rewrite_type_fn type, bool decoded)
{
    vact_error err = { 0 };
    vact_gguf *gguf = NULL;
    vact_gguf_writer *w = NULL;
    int changed = 0;
    random_state = 1;
    vact_kernels_init(&kernels, VACT_ISA_SCALAR);
    check(vact_gguf_open(&gguf, in, &err), &err);
    check(vact_gguf_writer_open(&w, out, &err), &err);
    for (uint64_t i = 0; i < gguf->n_values; i++)
        if (!find(edits, gguf->values[i].key))
            copy_key(w, &gguf->values[i], &err);
    for (const rewrite_edit *e = edits; e && e->kind != REWRITE_END; e++)
        put_edit(w, e, &err);
    for (int writing = 0; writing < 2; writing++)
        for (uint64_t i = 0; i < gguf->n_tensors; i++) {
            const vact_gguf_tensor *t = &gguf->tensors[i];
            const rewrite_edit *edit = find(edits, t->name);
            uint32_t stored;
            size_t size;
            if (edit && edit->kind == REWRITE_DROP_TENSOR)
                continue;
            changed += writing && type && type(t) != t->dtype;
            uint8_t *bytes = tensor_bytes(t, edit, type ? type(t) : t->dtype, decoded, &stored, &size);
            if (writing)
                check(vact_gguf_write_data(w, bytes, size, &err), &err);
            else
                put_tensor(w, t, edit, stored, &err);
            free(bytes);
        }
    check(vact_gguf_writer_finish(w, &err), &err);
    vact_gguf_writer_close(&w);
    vact_gguf_close(&gguf);
    return changed;
}
