/* two files' values and tensors -> one view over both -> one file */
#include "convert/merge.h"
#include "base/arena.h"
#include "base/error.h"
#include "convert/rewrite.h"
#include "file/line.h"
#include <string.h>

enum { SHOWN = 60 }; /* of a name or value in an error: its text is short and has three of them */

typedef struct merger {
    vact_gguf whole; /* first: its functions find the rest */
    const vact_gguf *parts[2];
    vact_arena arena;
    vact_gguf_value *values;
    vact_gguf_tensor *tensors;
    const vact_merge_options *options;
    vact_merge_report report;
    vact_error *err;
} merger;

static void forget(const vact_gguf *whole, const void *data, size_t bytes)
{
    const merger *m = (const merger *)whole;
    for (int i = 0; i < 2; i++)
        vact_gguf_forget(m->parts[i], data, bytes); /* does nothing but in its own mapping */
}

static vact_status refuse_towers(const merger *m)
{
    const vact_gguf_value *v = vact_gguf_find(m->parts[0], "general.architecture");
    const vact_gguf_text text = v && v->type == VACT_GGUF_STRING ? vact_gguf_get_text(v, 0) : (vact_gguf_text){ 0 };
    if (text.length != 4 || memcmp(text.data, "clip", 4) != 0)
        return VACT_OK;
    return vact_fail(m->err, VACT_EMODEL,
                     "%s: is a vision tower (general.architecture is \"clip\"), expected the "
                     "language model first",
                     m->parts[0]->path);
}

/* A value of the second file, which has the key too. */
static vact_status meet(merger *m, const vact_gguf_value *a, const vact_gguf_value *b)
{
    char key[SHOWN], one[SHOWN], other[SHOWN];
    if (vact_gguf_same_value(a, b))
        return VACT_OK;
    if (strncmp(b->key, "general.", strlen("general.")) == 0) {
        m->report.n_left_out++;
        if (m->options->left_out)
            m->options->left_out(m->options->left_out_user, b);
        return VACT_OK;
    }
    vact_gguf_format_value(a, one, sizeof one);
    vact_gguf_format_value(b, other, sizeof other);
    return vact_fail(m->err, VACT_EMODEL, "%s: key %s: found %s %s, expected %s %s, as in %s", m->parts[1]->path,
                     vact_printable(key, sizeof key, b->key, strlen(b->key)), vact_gguf_type_name(b->element), other,
                     vact_gguf_type_name(a->element), one, m->parts[0]->path);
}

static vact_status join_values(merger *m)
{
    vact_status status = VACT_OK;
    for (int part = 0; part < 2; part++)
        for (uint64_t i = 0; i < m->parts[part]->n_values && status == VACT_OK; i++) {
            const vact_gguf_value *v = &m->parts[part]->values[i];
            const vact_gguf_value *there = part == 1 ? vact_gguf_find(m->parts[0], v->key) : NULL;
            if (vact_gguf_is_layout(v->key))
                continue;
            if (there)
                status = meet(m, there, v);
            else
                m->values[m->whole.n_values++] = *v;
        }
    return status;
}

static vact_status join_tensors(merger *m)
{
    char name[SHOWN];
    for (int part = 0; part < 2; part++) {
        const vact_gguf *from = m->parts[part];
        for (uint64_t i = 0; i < from->n_tensors; i++) {
            if (part == 1 && vact_gguf_find_tensor(m->parts[0], from->tensors[i].name))
                return vact_fail(
                    m->err, VACT_EMODEL, "%s: tensor %s: is in %s too, expected in one of them", from->path,
                    vact_printable(name, sizeof name, from->tensors[i].name, strlen(from->tensors[i].name)),
                    m->parts[0]->path);
            m->tensors[m->whole.n_tensors++] = from->tensors[i];
        }
        m->report.n_tensors[part] = from->n_tensors;
    }
    return VACT_OK;
}

static vact_status join(merger *m)
{
    const vact_gguf *a = m->parts[0], *b = m->parts[1];
    m->values = vact_arena_take(&m->arena, (size_t)(a->n_values + b->n_values), sizeof *m->values);
    m->tensors = vact_arena_take(&m->arena, (size_t)(a->n_tensors + b->n_tensors), sizeof *m->tensors);
    if (!m->values || !m->tensors)
        return vact_fail(m->err, VACT_ENOMEM, "%s: out of memory", a->path);
    m->whole = (vact_gguf){ .path = a->path, .values = m->values, .tensors = m->tensors, .forget = forget };
    vact_status status = refuse_towers(m);
    if (status == VACT_OK)
        status = join_values(m);
    if (status == VACT_OK)
        status = join_tensors(m);
    return status;
}

static vact_status write_out(merger *m, const char *out)
{
    const vact_rewrite rewrite = {
        .in = &m->whole,
        .progress = m->options->progress,
        .progress_user = m->options->progress_user,
    };
    const vact_status status = vact_rewrite_to(&rewrite, out, m->err);
    m->report.n_values = m->whole.n_values;
    m->report.bytes_after = status == VACT_OK ? vact_written_bytes(out) : 0;
    return status;
}

vact_status vact_merge(const char *first, const char *second, const char *out, const vact_merge_options *options,
                       vact_merge_report *report, vact_error *err)
{
    const char *const paths[] = { first, second };
    vact_gguf *parts[2] = { NULL, NULL };
    merger m = { .options = options, .err = err };
    vact_status status = VACT_OK;
    vact_error_clear(err);
    for (int i = 0; i < 2 && status == VACT_OK; i++)
        status = vact_refuse_same_file(paths[i], out, err);
    for (int i = 0; i < 2 && status == VACT_OK; i++) {
        status = vact_gguf_open(&parts[i], paths[i], err);
        m.parts[i] = parts[i];
    }
    if (status == VACT_OK)
        status = join(&m);
    if (status == VACT_OK)
        status = write_out(&m, out);
    if (status == VACT_OK && report)
        *report = m.report;
    vact_arena_free(&m.arena);
    vact_gguf_close(&parts[0]);
    vact_gguf_close(&parts[1]);
    return status;
}
