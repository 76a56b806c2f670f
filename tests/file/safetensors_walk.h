/* Touches all that an opened file or checkpoint hands out, so that a sanitizer sees a view that leaves the file. */
#ifndef TESTS_FILE_SAFETENSORS_WALK_H
#define TESTS_FILE_SAFETENSORS_WALK_H

#include "file/safetensors.h"
#include <string.h>

/* False if a tensor can't be found by its name, its bytes are not what shape and type ask for, or, in a set of one
 * file, data are not end to end. */
static inline bool walk_safetensors(const vact_safetensors *set, bool one_file, uint64_t *sum)
{
    const uint8_t *end = NULL;
    for (uint64_t i = 0; i < set->n_tensors; i++) {
        const vact_safetensor *t = &set->tensors[i];
        uint64_t values = 1;
        for (uint32_t k = 0; k < VACT_SAFETENSOR_DIMS; k++)
            values *= t->dims[k];
        if (vact_safetensors_find(set, t->name) != t || t->n_dims > VACT_SAFETENSOR_DIMS || !t->type_name || !t->file)
            return false;
        if (t->dtype != UINT32_MAX && t->bytes != vact_dtype_bytes(t->dtype, values))
            return false;
        if (one_file && end && t->data != end)
            return false;
        end = t->data + t->bytes;
        for (uint64_t k = 0; k < t->bytes; k++)
            *sum += t->data[k];
        vact_safetensors_forget(set, t->data, t->bytes);
    }
    for (uint64_t i = 1; i < set->n_tensors; i++)
        if (strcmp(set->by_name[i - 1]->name, set->by_name[i]->name) >= 0)
            return false;
    for (uint64_t i = 0; i < set->n_metadata; i++) {
        const char *text = vact_safetensors_metadata(set, set->metadata[i].key);
        if (!text || (one_file && text != set->metadata[i].text))
            return false;
        *sum += strlen(text);
    }
    return true;
}

#endif
