#include "convert/convert.h"

#include "base/error.h"
#include "convert/quantize.h"
#include "convert/rewrite.h"
#include "origin/names.h"
#include "policy/model.h"
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct choosing {
    const vact_model *model;
    vact_dtype type;
    uint32_t *types;
} choosing;

/* What is in f32 in every file the tables make up in f32. */
static bool choose(void *user, const char *name, const vact_row *row, const vact_table *table, int layer)
{
    (void)table, (void)layer;
    const choosing *c = user;
    const vact_gguf *in = c->model->gguf;
    const vact_gguf_tensor *t = vact_gguf_find_tensor(in, name);
    if (!t) /* it may be missing */
        return true;
    const bool blocks = c->type == VACT_DTYPE_Q8_0 || c->type == VACT_DTYPE_Q4_0;
    uint32_t *type = &c->types[t - in->tensors];
    if (blocks && vact_quantize_rule(t) && vact_quantize_fits(t, row, c->type))
        *type = (uint32_t)c->type;
    else if (c->type == VACT_DTYPE_F32 || row->made.dtype == VACT_DTYPE_F32)
        *type = VACT_DTYPE_F32;
    else if (c->type != VACT_DTYPE_END && row->kind != VACT_ROW_VECTOR && row->kind != VACT_ROW_VECTOR_PLUS_1)
        *type = VACT_DTYPE_BF16;
    return true;
}

static vact_status put_tokenizer(const void *model, vact_gguf_writer *w, vact_error *err)
{
    const vact_tokenizer *tokenizer = ((const vact_model *)model)->tokenizer;
    return tokenizer ? vact_tokenizer_put(tokenizer, w, err) : VACT_OK;
}

static vact_status convert(const vact_model *model, const char *out, const vact_conversion *how, vact_arena *arena,
                           vact_error *err)
{
    const vact_gguf *in = model->gguf;
    vact_gguf_value names[2];
    size_t n_names = 0;
    choosing c = { model, how->type, vact_arena_take(arena, (size_t)in->n_tensors, sizeof *c.types) };
    if (!c.types)
        return vact_fail(err, VACT_ENOMEM, "%s: out of memory", in->path);
    if (how->dataset_info) {
        const vact_status status =
            vact_dataset_names(names, &n_names, arena, how->dataset_info, (size_t)model->info.state_dim,
                               (size_t)model->info.action_dim, err);
        if (status != VACT_OK)
            return status;
    }
    for (uint64_t i = 0; i < in->n_tensors; i++) /* a GGUF file may hold some that no table asks for */
        c.types[i] = in->tensors[i].dtype;
    vact_schema_walk(&model->arch->schema, model->bound, choose, &c);
    const vact_rewrite rewrite = { .in = in,
                                   .types = c.types,
                                   .dropped = "tokenizer.ggml.",
                                   .values = names,
                                   .n_values = n_names,
                                   .put = put_tokenizer,
                                   .user = model,
                                   .progress = how->progress,
                                   .progress_user = how->user };
    return vact_rewrite_to(&rewrite, out, err);
}

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* A file that stands in the directory `in` and that is read from there. */
static bool is_part(const char *in, const char *out)
{
    struct stat directory, parent;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", out);
    return (ends_in(out, ".json") || ends_in(out, ".safetensors")) && stat(in, &directory) == 0 &&
           stat(dirname(path), &parent) == 0 && directory.st_dev == parent.st_dev && directory.st_ino == parent.st_ino;
}

vact_status vact_convert(const char *in, const char *out, const vact_conversion *how, vact_converted *made,
                         vact_error *err)
{
    vact_arena arena = { 0 };
    vact_model *model = NULL;
    const vact_settings settings = { .tokenizer = how->tokenizer };
    vact_error_clear(err);
    if (how->type != VACT_DTYPE_END && how->type != VACT_DTYPE_BF16 && how->type != VACT_DTYPE_F32 &&
        how->type != VACT_DTYPE_Q8_0 && how->type != VACT_DTYPE_Q4_0)
        return vact_fail(err, VACT_EARG, "checkpoints cannot be stored as type %d, expected bf16, f32, q8_0 or q4_0",
                         (int)how->type);
    if (is_part(in, out))
        return vact_fail(err, VACT_EARG, "%s: is a file of the checkpoint itself, expected another to write",
                         vact_path_end(out));
    vact_status status = vact_refuse_same_file(in, out, err);
    if (status == VACT_OK && how->tokenizer)
        status = vact_refuse_same_file(how->tokenizer, out, err);
    if (status == VACT_OK && how->dataset_info)
        status = vact_refuse_same_file(how->dataset_info, out, err);
    if (status == VACT_OK)
        status = vact_model_open(&model, in, &settings, err);
    if (status == VACT_OK)
        status = convert(model, out, how, &arena, err);
    if (status == VACT_OK)
        *made = (vact_converted){ model->info.arch, model->info.parameters, vact_written_bytes(out),
                                  model->tokenizer != NULL };
    vact_arena_free(&arena);
    vact_model_close(&model);
    return status;
}
