/* Base64, RFC 4648 section 4, padding required. */
#ifndef VACT_FILE_BASE64_H
#define VACT_FILE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that a text of this length decodes to at most. */
static inline size_t vact_base64_room(size_t length)
{
    return length / 4 * 3;
}

/* Decodes into out (vact_base64_room bytes). False: a character, the length or the padding is wrong; *at is where. */
bool vact_base64_decode(uint8_t *out, size_t *size, const char *text, size_t length, size_t *at);

#endif
