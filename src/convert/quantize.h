/* Checkpoints with smaller weights. */
#ifndef VACT_CONVERT_QUANTIZE_H
#define VACT_CONVERT_QUANTIZE_H

#include "file/dtype.h"
#include "vact.h"

/* Writes the checkpoint `in` to `out` with its large matrices stored as `type`, f32, f16, bf16, q8_0 or q4_0; keys and
 * all other tensors byte for byte. Tensor by tensor: little memory, whatever the file's size. `out` appears whole or not
 * at all, and may not be `in`.
 *
 * Which matrices: those of two dimensions and floating point whose rows are whole blocks, but for what policies are
 * known to suffer from or that is small: embeddings, vision, the action expert, projections of state, actions and time.
 * EARG: a type that is read only; out is in. EMODEL, too: no matrix can be stored so. EFORMAT, too: a value that the
 * type can't hold. Else what vact_model_open and writing fail with. */
vact_status vact_quantize(const char *in, const char *out, vact_dtype type, vact_error *err);

#endif
