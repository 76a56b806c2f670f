/* Is it UTF-8? */
#ifndef VACT_TEXT_UTF8_H
#define VACT_TEXT_UTF8_H

#include <stddef.h>

/* Bytes of text[0..length) before the first that belongs to no valid sequence; length if there is none. */
size_t vact_utf8_valid(const char *text, size_t length);

#endif
