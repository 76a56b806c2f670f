/* FNV-1a of 64 bits. Its values are part of what the synthetic weights are: they don't change. */
#ifndef VACT_BASE_HASH_H
#define VACT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define VACT_HASH_START UINT64_C(0xCBF29CE484222325)

/* The hash of some text, from VACT_HASH_START -> that of the text with `more` behind it. */
static inline uint64_t vact_hash(uint64_t hash, const char *more, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)more[i]) * UINT64_C(0x100000001B3);
    return hash;
}

#endif
