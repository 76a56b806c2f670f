/* any bytes -> the GGUF reader: a status and one line of text, or a file whose every view can be read */
#include <stdlib.h>
#include <string.h>

#include "../tests/file/gguf_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vact_gguf *gguf = NULL;
    vact_error err = { 0 };
    uint64_t sum = 0;
    uint8_t *copy = malloc(size > 0 ? size : 1); /* aligned, as the reader asks */
    if (!copy)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    const vact_status status = vact_gguf_parse(&gguf, "fuzz", copy, size, &err);
    if (status == VACT_OK ? !walk_gguf(gguf, &sum) : gguf || err.code != status || strchr(err.text, '\n'))
        abort();
    vact_gguf_close(&gguf);
    free(copy);
    return 0;
}
