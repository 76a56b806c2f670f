/* A checkpoint with its large matrices stored as another type. */
#ifndef VACT_CONVERT_QUANTIZE_H
#define VACT_CONVERT_QUANTIZE_H

#include "file/dtype.h"
#include "vact.h"

/* Writes the checkpoint `in` to `out` with its large matrices stored as `type`, f32, f16, bf16, q8_0 or q4_0; keys and
 * all other tensors byte for byte. Tensor by tensor: little memory, whatever the file's size. `out` appears whole or not
 * at all, and may not be `in`.
 *
 * Which matrices: two-dimensional ones of f32, f16 or bf16 whose rows are whole blocks of the type. Kept as they are,
 * because policies suffer from their rounding or because they are small: embeddings, vision, the action expert,
 * projections of state, actions and time.
 * EARG: the type is none of these, or out is in. EMODEL, also: no matrix qualifies. EFORMAT, also: a value that the type
 * can't hold. Else what vact_model_open and writing a file fail with. */
vact_status vact_quantize(const char *in, const char *out, vact_dtype type, vact_error *err);

#endif
