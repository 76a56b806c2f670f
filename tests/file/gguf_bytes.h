/* Files by hand: a line of tokens -> bytes.
 *
 *   4:7  8:0x10  1:-1   a little-endian integer of so many bytes
 *   f:0.5  d:0.5        float32, float64
 *   s:text              a length of 8 bytes, then the text
 *   r:text              the text alone
 *   z:5                 zero bytes
 *   a:32                zero bytes up to a multiple of so many
 *
 * In texts %xx is the byte xx; tokens are parted by spaces. */
#ifndef TESTS_FILE_GGUF_BYTES_H
#define TESTS_FILE_GGUF_BYTES_H

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    uint8_t *data; /* malloc'd */
    size_t size;
};

static inline void bytes_add(struct bytes *b, const void *data, size_t size)
{
    if (size == 0)
        return;
    b->data = realloc(b->data, b->size + size);
    assert(b->data);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static inline void bytes_add_text(struct bytes *b, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char byte = text[i];
        if (byte == '%') {
            const char hex[3] = { text[i + 1], text[i + 2], '\0' };
            byte = (char)strtoul(hex, NULL, 16);
            i += 2;
        }
        bytes_add(b, &byte, 1);
    }
}

static inline void bytes_add_zeros(struct bytes *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes_add(b, "", 1);
}

static inline void bytes_add_token(struct bytes *b, const char *token, size_t length)
{
    const char *text = token + 2;
    const uint64_t number = strtoull(text, NULL, 0);
    const double real = strtod(text, NULL);
    const float single = (float)real;
    const size_t n = length - 2;
    assert(length >= 2 && token[1] == ':');
    switch (token[0]) {
    case 's': {
        struct bytes raw = { 0 };
        bytes_add_text(&raw, text, n);
        bytes_add(b, &(uint64_t){ raw.size }, 8);
        bytes_add(b, raw.data, raw.size);
        free(raw.data);
        break;
    }
    case 'r':
        bytes_add_text(b, text, n);
        break;
    case 'f':
        bytes_add(b, &single, sizeof single);
        break;
    case 'd':
        bytes_add(b, &real, sizeof real);
        break;
    case 'z':
        bytes_add_zeros(b, number);
        break;
    case 'a':
        bytes_add_zeros(b, (number - b->size % number) % number);
        break;
    default:
        assert(token[0] == '1' || token[0] == '2' || token[0] == '4' || token[0] == '8');
        bytes_add(b, &number, (size_t)(token[0] - '0'));
    }
}

/* Appends, so long files can be made in parts. */
static inline void bytes_build(struct bytes *b, const char *tokens)
{
    while (*tokens) {
        const size_t length = strcspn(tokens, " ");
        if (length > 0)
            bytes_add_token(b, tokens, length);
        tokens += length + (tokens[length] == ' ');
    }
}

static inline void bytes_free(struct bytes *b)
{
    free(b->data);
    *b = (struct bytes){ 0 };
}

#endif
