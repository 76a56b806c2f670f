/* A checkpoint as its project saved it -> one GGUF file that has all a robot needs. */
#ifndef VACT_CONVERT_CONVERT_H
#define VACT_CONVERT_CONVERT_H

#include "file/dtype.h"
#include "vact.h"

typedef struct vact_conversion {
    /* VACT_DTYPE_END: tensors as they are, but in f32 what VinRobotics/vla.cpp has in f32 in every file (projections,
     * what is small in the vision tower). bf16: the other matrices in bf16; q8_0, q4_0: as bf16, but what
     * vact_quantize's rule stores as that type. f32: everything. */
    vact_dtype type;
    const char *tokenizer;    /* a tokenizer.json to put in; NULL: the one that came along, if any */
    const char *dataset_info; /* a LeRobot data set's meta/info.json, which names state and action values; NULL: none */
    vact_progress_fn progress; /* NULL: nobody listens */
    void *user;                /* progress's */
} vact_conversion;

typedef struct vact_converted {
    const char *arch;
    int64_t parameters;
    uint64_t bytes; /* of the file */
    bool tokenizer; /* one is in the file */
} vact_converted;

/* Writes the checkpoint `in`, a directory or a GGUF file, to `out`, which appears whole or not at all. Reads each byte
 * once and holds little of it. The result names are those of VinRobotics/vla.cpp, scripts/convert_*_to_gguf.py.
 * EARG: out is, or would be in place of, a file that is read, or another type is asked for. EFORMAT, also: a value that
 * the type can't hold; names that are not as many as the policy's values. Else what vact_model_open and writing a file fail with. */
vact_status vact_convert(const char *in, const char *out, const vact_conversion *conversion, vact_converted *made,
                         vact_error *err);

#endif
