/* any bytes -> a file -> its architecture's schema, keys and tensors: one line for every fault, or a model whose
 * statistics can be read */
#include "kernels/kernels.h"
#include "models/registry.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile float last; /* keeps the reads below */

static void check_line(const char *line)
{
    if (!line[0])
        abort();
    for (; *line; line++)
        if (*line < ' ' || *line > '~')
            abort();
}

static void check_fault(void *user, const char *line)
{
    (void)user;
    check_line(line);
}

static void read_statistics(const vact_statistics *s)
{
    for (int32_t i = 0; i < s->n; i++)
        last = s->mean[i] + s->std[i];
}

static void read_model(const vact_gguf *gguf, const vact_arch *arch)
{
    vact_arena arena = { 0 };
    vact_faults faults = { .report = check_fault };
    vact_kernels kernels;
    vact_model_info info = { 0 };
    vact_policy_statistics statistics;
    vact_error err = { 0 };
    vact_kernels_init(&kernels, VACT_ISA_SCALAR);
    void *model = vact_arena_take(&arena, 1, arch->schema.model_bytes);
    if (!model)
        return;
    vact_schema_read(&arch->schema, gguf, model, &faults);
    if (faults.count == 0 &&
        vact_schema_bind(&arch->schema, gguf, model, kernels.decode, &arena, &faults, &err) == VACT_OK &&
        faults.count == 0) {
        arch->describe(model, &info, &statistics);
        read_statistics(&statistics.state);
        read_statistics(&statistics.action);
    }
    vact_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vact_gguf *gguf = NULL;
    const vact_arch *arch;
    vact_error err = { 0 };
    uint8_t *copy = malloc(size > 0 ? size : 1); /* aligned, as the reader asks */
    if (!copy)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    if (vact_gguf_parse(&gguf, "fuzz", copy, size, &err) == VACT_OK && vact_arch_detect(&arch, gguf, &err) == VACT_OK)
        read_model(gguf, arch);
    else
        check_line(err.text);
    vact_gguf_close(&gguf);
    free(copy);
    return 0;
}
