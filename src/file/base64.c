#include "file/base64.h"

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool vact_base64_decode(uint8_t *out, size_t *size, const char *text, size_t length, size_t *at)
{
    size_t padding = 0;
    while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
        padding++;
    *size = 0;
    *at = length;
    if (length % 4)
        return false;
    uint32_t bits = 0;
    for (size_t i = 0; i < length; i++) {
        const int d = i < length - padding ? digit(text[i]) : 0;
        if (d < 0) {
            *at = i;
            return false;
        }
        bits = bits << 6 | (uint32_t)d;
        if (i % 4 == 3) {
            for (int j = 16; j >= 0 && *size < vact_base64_room(length) - padding; j -= 8)
                out[(*size)++] = (uint8_t)(bits >> j);
            bits = 0;
        }
    }
    return true;
}
