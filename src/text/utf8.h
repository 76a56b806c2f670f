/* Is it UTF-8, and what is white? */
#ifndef VACT_TEXT_UTF8_H
#define VACT_TEXT_UTF8_H

#include <stddef.h>

/* Bytes of text[0..length) before the first that belongs to no valid sequence; length if there is none. */
size_t vact_utf8_valid(const char *text, size_t length);

/* Unicode's White_Space: R(first, last) of each range, in hexadecimal digits. */
#define VACT_WHITE(R)                                                                                                  \
    R(9, D)                                                                                                            \
    R(20, 20) R(85, 85) R(A0, A0) R(1680, 1680) R(2000, 200A) R(2028, 2029) R(202F, 202F) R(205F, 205F) R(3000, 3000)

#endif
