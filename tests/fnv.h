/* FNV-1a of 64 bits, of the tests' own: what it checks has one in src. */
#ifndef TESTS_FNV_H
#define TESTS_FNV_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t fnv1a64(const void *data, size_t size)
{
    const uint8_t *bytes = data;
    uint64_t hash = 0xCBF29CE484222325;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001B3;
    return hash;
}

#endif
