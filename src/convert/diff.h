/* What two checkpoints differ in: keys, and tensors down to their values. */
#ifndef VACT_CONVERT_DIFF_H
#define VACT_CONVERT_DIFF_H

#include "file/gguf.h"
#include "vact.h"

typedef struct vact_diff_key {
    const vact_gguf_value *a, *b; /* NULL where there is none */
    bool same;
    uint64_t at; /* of two different arrays of one type and length: the first element that differs; else 0 */
} vact_diff_key;

typedef struct vact_diff_tensor {
    const vact_gguf_tensor *a, *b; /* NULL where there is none */
    bool same;                     /* of the same shape and type, and to the byte the same */
    bool same_shape;               /* false too where one is missing */
    bool compared; /* the shape is the same and both types can be decoded: what follows counts. All 0 if `same` */
    /* Of decoded values. A NaN differs from everything but another NaN, infinitely. */
    uint64_t n_different; /* values that are not equal */
    double largest;       /* |a - b|, the largest, and where it is first */
    uint64_t at;
    float at_a, at_b;
    double relative; /* rms(a - b) / rms(a); 0 if a = b; infinite if a is 0, or the largest is */
} vact_diff_tensor;

typedef struct vact_diff_summary {
    uint64_t n_keys, n_keys_different; /* of either file */
    uint64_t n_tensors, n_tensors_different;
    double largest, relative; /* of all tensors that were compared */
} vact_diff_summary;

typedef struct vact_diff_listener {
    void (*key)(void *user, const vact_diff_key *key);
    void (*tensor)(void *user, const vact_diff_tensor *tensor);
    void *user;
    vact_progress_fn progress; /* NULL: nobody listens */
    void *progress_user;
} vact_diff_listener;

/* Tells the listener of every key and then of every tensor, same or not: those of `a` in its order, then those that
 * only `b` has. What the files do not mean is not compared: order, alignment, padding, version. Little memory, whatever
 * the files' size. ENOMEM, before the first is told. */
vact_status vact_diff(const vact_gguf *a, const vact_gguf *b, const vact_diff_listener *listener,
                      vact_diff_summary *summary, vact_error *err);

#endif
