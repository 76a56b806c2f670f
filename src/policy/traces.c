#include "policy/traces.h"

#include "base/error.h"
#include "base/grow.h"
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

vact_status vact_traces_open(vact_traces *traces, const char *const *patterns, vact_error *err)
{
    size_t n = 0;
    while (patterns[n])
        n++;
    *traces = (vact_traces){ .patterns = patterns };
    traces->matched = vact_arena_take(&traces->arena, n, sizeof *traces->matched);
    return traces->matched ? VACT_OK : vact_fail(err, VACT_ENOMEM, "out of memory for traces");
}

void vact_traces_keep(void *traces, const char *name, const float *values, int32_t rows, int32_t cols)
{
    vact_traces *t = traces;
    bool wanted = false;
    for (size_t i = 0; t->patterns[i]; i++)
        if (fnmatch(t->patterns[i], name, 0) == 0)
            wanted = t->matched[i] = true;
    if (!wanted || t->out_of_memory)
        return;
    const size_t count = (size_t)rows * (size_t)cols;
    float *copy = vact_arena_take(&t->arena, count, sizeof *copy);
    const char *kept = vact_arena_text(&t->arena, name, strlen(name));
    vact_traced *list = vact_grown(t->list, &t->room, t->n + 1, sizeof *list);
    t->list = list ? list : t->list;
    if (!copy || !kept || !list) {
        t->out_of_memory = true;
        return;
    }
    memcpy(copy, values, count * sizeof *copy);
    t->list[t->n++] = (vact_traced){ kept, copy, rows, cols };
}

vact_status vact_traces_check(const vact_traces *traces, vact_error *err)
{
    if (traces->out_of_memory)
        return vact_fail(err, VACT_ENOMEM, "out of memory for traces");
    for (size_t i = 0; traces->patterns[i]; i++)
        if (!traces->matched[i])
            return vact_fail(err, VACT_EINPUT, "no intermediate matches the trace pattern \"%.64s\"",
                             traces->patterns[i]);
    return VACT_OK;
}

void vact_traces_close(vact_traces *traces)
{
    vact_arena_free(&traces->arena);
    free(traces->list);
    *traces = (vact_traces){ 0 };
}
