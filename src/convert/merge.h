/* A language model and its vision tower, two files of llama.cpp's, as one. */
#ifndef VACT_CONVERT_MERGE_H
#define VACT_CONVERT_MERGE_H

#include "file/gguf.h"
#include "vact.h"

typedef struct vact_merge_options {
    void (*left_out)(void *user, const vact_gguf_value *value); /* each key that is; NULL: nobody listens */
    void *left_out_user;
    vact_progress_fn progress; /* NULL: nobody listens */
    void *progress_user;
} vact_merge_options;

typedef struct vact_merge_report {
    uint64_t bytes_after; /* of the file */
    uint64_t n_values, n_left_out, n_tensors[2];
} vact_merge_report;

/* Writes `out`: keys and tensors of `first`, then those of `second`, byte for byte and in little memory. A key that
 * both have is the first's; where its value differs, only if it says what the file is (general.*), and then the
 * second's is left out. `out` appears whole or not at all, and may be neither of the two. `report` may be NULL.
 * EARG: out is one of them. EMODEL: `first` is the vision tower (general.architecture is "clip"), a key of another kind
 * has two values, or both have a tensor of one name. Else what reading and writing files fail with. */
vact_status vact_merge(const char *first, const char *second, const char *out, const vact_merge_options *options,
                       vact_merge_report *report, vact_error *err);

#endif
