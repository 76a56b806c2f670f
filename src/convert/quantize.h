/* A checkpoint with its large matrices stored as another type. */
#ifndef VACT_CONVERT_QUANTIZE_H
#define VACT_CONVERT_QUANTIZE_H

#include "file/dtype.h"
#include "tensor/schema.h"
#include "vact.h"

typedef struct vact_quantize_options {
    vact_dtype type;  /* f32, f16, bf16, q8_0 or q4_0 */
    const char *only; /* a regular expression (convert/names.h): what to store, in place of the rule; NULL: the rule */
    const char *keep; /* another: what stays as it is all the same; NULL: nothing */
    vact_progress_fn progress; /* NULL: nobody listens */
    void *progress_user;
} vact_quantize_options;

typedef struct vact_quantize_report {
    uint64_t bytes_before, bytes_after; /* of the files */
    uint64_t n_tensors, n_changed;      /* n_changed: of another type now */
    uint64_t n_unfit;                   /* named by `only`, and kept because they cannot be stored so */
    char unfit[100];                    /* the first of them, printable */
} vact_quantize_report;

/* Writes the checkpoint `in` to `out` with its large matrices stored as another type; keys and all other tensors byte
 * for byte. Tensor by tensor: little memory, whatever the file's size. `out` appears whole or not at all, and may not
 * be `in`. `report` may be NULL.
 *
 * Which matrices can be: those of two dimensions that the architecture reads in any type (or, if the type is a
 * float one, in any float type), with rows of whole blocks of the type. The rule takes of them those in f32, f16 or
 * bf16, but for what policies suffer from or is small: embeddings, vision, the action expert, projections of state,
 * actions and time. `only` takes of them those that it matches, also quantized ones.
 * EARG: the type is none of these, a pattern is none, matches no name or keeps all, or out is in. EMODEL, also: no
 * matrix qualifies. EFORMAT, also: a value that the type can't hold. Else what vact_model_open and writing a file fail
 * with. */
vact_status vact_quantize(const char *in, const char *out, const vact_quantize_options *options,
                          vact_quantize_report *report, vact_error *err);

/* Whether a tensor that a row of the tables describes can be stored as the type, and whether the rule would. */
bool vact_quantize_fits(const vact_gguf_tensor *tensor, const vact_row *row, vact_dtype type);
bool vact_quantize_rule(const vact_gguf_tensor *tensor);

#endif
