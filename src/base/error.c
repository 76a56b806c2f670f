/* code + format + values -> one line of text in the caller's vact_error. */
#include "base/error.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Marks a text that was cut, without leaving half of a UTF-8 character before the dots. */
static void end_with_dots(char *text, size_t size)
{
    size_t at = size - sizeof "...";
    while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80)
        at--;
    memcpy(text + at, "...", sizeof "...");
}

vact_status vact_fail(vact_error *err, vact_status code, const char *format, ...)
{
    assert(code != VACT_OK);
    if (!err || err->code != VACT_OK)
        return code;
    err->code = code;
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (length < 0)
        snprintf(err->text, sizeof err->text, "%s", vact_status_text(code));
    else if ((size_t)length >= sizeof err->text)
        end_with_dots(err->text, sizeof err->text);
    /* Names come from files and peers: no line breaks or terminal codes may pass through, nor those that UTF-8 has at
     * U+0080 to U+009F. */
    for (unsigned char *c = (unsigned char *)err->text; *c; c++) {
        if (*c < 0x20 || *c == 0x7F)
            *c = '?';
        if (*c == 0xC2 && c[1] >= 0x80 && c[1] <= 0x9F)
            c[0] = c[1] = '?';
    }
    return code;
}

const char *vact_status_text(vact_status status)
{
    switch (status) {
#define STATUS_CASE(name, text)                                                                                        \
    case VACT_##name:                                                                                                  \
        return text;
        VACT_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

const char *vact_version(void)
{
    return VACT_VERSION;
}

const char *vact_path_end(const char *path)
{
    const size_t n = strlen(path);
    return n > 200 ? path + n - 200 : path;
}
