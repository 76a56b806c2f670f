/* a checkpoint -> what each of its tensors is to be stored as -> the checkpoint written anew */
#include "convert/quantize.h"

#include "base/error.h"
#include "convert/names.h"
#include "convert/rewrite.h"
#include "file/line.h"
#include "policy/model.h"
#include <inttypes.h>
#include <string.h>

typedef struct quantizer {
    const vact_quantize_options *options;
    const vact_gguf *in;
    vact_arena arena;
    vact_kernels kernels;
    vact_names only, keep;
    bool *fit;                   /* [n_tensors]: those that can be stored as the type */
    const vact_gguf_tensor *one; /* the first of them */
    uint32_t *types;             /* [n_tensors]: what they will be stored as */
    uint64_t n_chosen, n_kept;   /* n_kept: would be chosen but for `keep` */
    vact_quantize_report report;
    vact_error *err;
} quantizer;

/* ---- which ---- */

/* Parts of names. VinRobotics/vla.cpp, scripts/quantize_gguf.py without --vision, in the version that leaves action
 * experts (aex.) alone; older ones packed them. */
static const char *const sensitive[] = {
    "token_embd", "tok_embd", "output.weight", "patch_embd", "norm",   "pos",       "embed",    "cls",
    "action",     "state",    "aex.",          "ah.",        "act.",   "octo.head", "dit",      "adaln",
    "ada_",       "time",     "vit",           "vision",     "vis.d.", "vis.s.",    "octo.obs", NULL,
};

bool vact_quantize_rule(const vact_gguf_tensor *tensor)
{
    for (int i = 0; sensitive[i]; i++)
        if (strstr(tensor->name, sensitive[i]))
            return false;
    return true;
}

bool vact_quantize_fits(const vact_gguf_tensor *tensor, const vact_row *row, vact_dtype type)
{
    return (row->kind == VACT_ROW_MATRIX ||
            (row->kind == VACT_ROW_FLOAT_MATRIX && vact_dtype_is_float((uint32_t)type))) &&
           tensor->n_dims == 2 && tensor->ne[0] % vact_dtype_get(type)->block == 0;
}

static bool mark_fit(void *user, const char *name, const vact_row *row, const vact_table *table, int layer)
{
    (void)table, (void)layer;
    quantizer *q = user;
    const vact_gguf_tensor *t = vact_gguf_find_tensor(q->in, name);
    if (!t) /* it may be missing */
        return true;
    q->fit[t - q->in->tensors] = q->kernels.decode[t->dtype] && vact_quantize_fits(t, row, q->options->type);
    return true;
}

static vact_status choose_one(quantizer *q, uint64_t i)
{
    const vact_gguf_tensor *t = &q->in->tensors[i];
    bool wanted = vact_dtype_is_float(t->dtype) && vact_quantize_rule(t), kept = false;
    vact_status status = VACT_OK;
    if (q->options->only)
        status = vact_names_match(&q->only, t->name, &wanted, q->err);
    if (status == VACT_OK && wanted)
        status = vact_names_match(&q->keep, t->name, &kept, q->err);
    q->types[i] = t->dtype;
    if (status != VACT_OK || !wanted)
        return status;
    if (!q->fit[i]) {
        if (q->options->only && !kept && q->report.n_unfit++ == 0)
            vact_printable(q->report.unfit, sizeof q->report.unfit, t->name, strlen(t->name));
        return VACT_OK;
    }
    q->n_kept += kept;
    q->n_chosen += !kept;
    if (!kept)
        q->types[i] = (uint32_t)q->options->type;
    q->report.n_changed += q->types[i] != t->dtype;
    return VACT_OK;
}

static vact_status nothing_chosen(const quantizer *q)
{
    char pattern[100], example[100];
    const vact_dtype_info *type = vact_dtype_get(q->options->type);
    if (q->n_kept > 0)
        return vact_fail(q->err, VACT_EARG, "%s: the pattern \"%s\" keeps all %" PRIu64 " matrices to store as %s",
                         q->in->path, vact_printable(pattern, sizeof pattern, q->keep.pattern, strlen(q->keep.pattern)),
                         q->n_kept, type->name);
    if (q->options->only && q->one)
        return vact_fail(
            q->err, VACT_EARG,
            "%s: the pattern \"%s\" matches no matrix that can be stored as %s, expected one for names like "
            "%s",
            q->in->path, vact_printable(pattern, sizeof pattern, q->only.pattern, strlen(q->only.pattern)), type->name,
            vact_printable(example, sizeof example, q->one->name, strlen(q->one->name)));
    return vact_fail(
        q->err, VACT_EMODEL,
        "%s: has no matrix to store as %s, expected one in floating point with rows of whole blocks of %" PRIu32,
        q->in->path, type->name, type->block);
}

static vact_status choose(quantizer *q, const vact_model *model)
{
    const size_t n = (size_t)q->in->n_tensors;
    q->fit = vact_arena_take(&q->arena, n, sizeof *q->fit);
    q->types = vact_arena_take(&q->arena, n, sizeof *q->types);
    if (!q->fit || !q->types)
        return vact_fail(q->err, VACT_ENOMEM, "%s: out of memory", q->in->path);
    vact_kernels_init(&q->kernels, VACT_ISA_SCALAR); /* asked which types it knows */
    vact_schema_walk(&model->arch->schema, model->bound, mark_fit, q);
    vact_status status = VACT_OK;
    for (uint64_t i = 0; i < n && status == VACT_OK; i++) {
        if (q->fit[i] && !q->one)
            q->one = &q->in->tensors[i];
        status = choose_one(q, i);
    }
    return status == VACT_OK && q->n_chosen == 0 ? nothing_chosen(q) : status;
}

/* ---- the whole ---- */

static vact_status write_out(quantizer *q, const char *out)
{
    const vact_rewrite rewrite = {
        .in = q->in,
        .types = q->types,
        .progress = q->options->progress,
        .progress_user = q->options->progress_user,
    };
    const vact_status status = vact_rewrite_to(&rewrite, out, q->err);
    if (status != VACT_OK)
        return status;
    q->report.n_tensors = q->in->n_tensors;
    q->report.bytes_before = q->in->size;
    q->report.bytes_after = vact_written_bytes(out);
    return VACT_OK;
}

vact_status vact_quantize(const char *in, const char *out, const vact_quantize_options *options,
                          vact_quantize_report *report, vact_error *err)
{
    vact_model *model = NULL;
    quantizer q = { .options = options, .err = err };
    vact_error_clear(err);
    vact_status status = vact_refuse_type((uint32_t)options->type, err);
    if (status == VACT_OK)
        status = vact_names_open(&q.only, options->only, err);
    if (status == VACT_OK)
        status = vact_names_open(&q.keep, options->keep, err);
    if (status == VACT_OK)
        status = vact_refuse_same_file(in, out, err);
    if (status == VACT_OK)
        status = vact_model_open(&model, in, NULL, err);
    if (status == VACT_OK && !model->gguf->version)
        status = vact_fail(err, VACT_EARG, "%s: is a directory, expected a GGUF file, which vact convert makes",
                           model->gguf->path);
    if (status == VACT_OK) {
        q.in = model->gguf;
        status = choose(&q, model);
    }
    if (status == VACT_OK)
        status = write_out(&q, out);
    if (status == VACT_OK && report)
        *report = q.report;
    vact_names_close(&q.only);
    vact_names_close(&q.keep);
    vact_arena_free(&q.arena);
    vact_model_close(&model);
    return status;
}
