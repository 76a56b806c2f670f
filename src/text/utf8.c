#include "text/utf8.h"

#include <utf8proc.h>

size_t vact_utf8_valid(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length) {
        utf8proc_int32_t point;
        const utf8proc_ssize_t left = (utf8proc_ssize_t)(length - at);
        const utf8proc_ssize_t bytes = utf8proc_iterate((const utf8proc_uint8_t *)text + at, left, &point);
        if (bytes < 1)
            break;
        at += (size_t)bytes;
    }
    return at;
}
