/* Safetensors files by hand: the header's text and how many bytes of data -> bytes. Byte i of the data is i + 1. */
#ifndef TESTS_FILE_SAFETENSORS_BYTES_H
#define TESTS_FILE_SAFETENSORS_BYTES_H

#include "gguf_bytes.h"

static inline void bytes_add_safetensors(struct bytes *b, const char *header, size_t data)
{
    const uint64_t length = strlen(header);
    bytes_add(b, &length, sizeof length);
    bytes_add(b, header, length);
    for (size_t i = 0; i < data; i++)
        bytes_add(b, &(uint8_t){ (uint8_t)(i + 1) }, 1);
}

#endif
