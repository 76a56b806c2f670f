/* Intermediates that a request asks for by name patterns ("prefix.*.k"), collected during a prediction. */
#ifndef VACT_POLICY_TRACES_H
#define VACT_POLICY_TRACES_H

#include "base/arena.h"
#include "vact.h"

typedef struct vact_traced {
    const char *name;
    const float *values; /* [rows, cols] */
    int32_t rows, cols;
} vact_traced;

typedef struct vact_traces {
    const char *const *patterns; /* borrowed; NULL ends */
    vact_arena arena;
    bool *matched; /* of each pattern */
    vact_traced *list;
    size_t n, room;
    bool out_of_memory;
} vact_traces;

vact_status vact_traces_open(vact_traces *traces, const char *const *patterns, vact_error *err);

/* A vact_trace_fn: keeps a copy of what matches. */
void vact_traces_keep(void *traces, const char *name, const float *values, int32_t rows, int32_t cols);

/* After a prediction: EINPUT names a pattern that nothing matched, ENOMEM says that a copy is missing. */
vact_status vact_traces_check(const vact_traces *traces, vact_error *err);

void vact_traces_close(vact_traces *traces);

#endif
