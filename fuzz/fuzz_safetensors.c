/* any bytes -> the safetensors reader, or the reader of a shards' index if they begin as JSON: a status and one line of
 * text, or views that can all be read */
#include "file/safetensors_parts.h"
#include <stdlib.h>
#include <string.h>

#include "../tests/file/safetensors_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_failure(vact_status status, const vact_error *err)
{
    if (err->code != status || !err->text[0] || strchr(err->text, '\n'))
        abort();
}

static void read_file(const uint8_t *data, size_t size)
{
    vact_safetensors *set = NULL;
    vact_error err = { 0 };
    uint64_t sum = 0;
    const vact_status status = vact_safetensors_parse(&set, "fuzz", data, size, &err);
    if (status != VACT_OK)
        check_failure(status, &err);
    if (status == VACT_OK ? !walk_safetensors(set, true, &sum) : set != NULL)
        abort();
    vact_safetensors_close(&set);
}

/* Shards are files beside the index, each once and in order. */
static void read_index(const char *text, size_t length)
{
    vact_shard_index index;
    vact_error err = { 0 };
    const vact_status status = vact_shard_index_read(&index, "fuzz", text, length, &err);
    if (status != VACT_OK)
        check_failure(status, &err);
    if (status == VACT_OK ? index.n_shards < 1 : index.root || index.shards)
        abort();
    for (size_t i = 0; i < index.n_shards; i++)
        if (strchr(index.shards[i], '/') || (i > 0 && strcmp(index.shards[i - 1], index.shards[i]) >= 0))
            abort();
    vact_shard_index_free(&index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1); /* to size, so that a read beyond it is seen */
    if (!copy)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    if (size > 8 && copy[0] == '{' && copy[7] != 0) /* a header of less than 2^56 bytes has a zero there */
        read_index((const char *)copy, size);
    else
        read_file(copy, size);
    free(copy);
    return 0;
}
