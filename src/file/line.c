/* pieces of text -> one printable line, cut to the buffer */
#include "file/line.h"
#include <stdio.h>
#include <string.h>

static const char DOTS[] = "...";

void vact_line_begin(vact_line *line, char *out, size_t size)
{
    *line = (vact_line){ .out = out, .size = size };
    if (size > 0)
        out[0] = '\0';
}

static void cut(vact_line *line)
{
    const size_t room = line->size - 1 - line->mark;
    const size_t n = room < sizeof DOTS - 1 ? room : sizeof DOTS - 1;
    memcpy(line->out + line->mark, DOTS, n);
    line->used = line->mark + n;
    line->out[line->used] = '\0';
    line->cut = true;
}

void vact_line_put(vact_line *line, const char *piece)
{
    const size_t n = strlen(piece);
    if (line->size == 0 || line->cut)
        return;
    if (n > line->size - 1 - line->used) {
        cut(line);
        return;
    }
    memcpy(line->out + line->used, piece, n + 1);
    line->used += n;
    if (line->used + sizeof DOTS <= line->size)
        line->mark = line->used;
}

static void put_char(vact_line *line, unsigned char c)
{
    char piece[5];
    switch (c) {
    case '\n':
        vact_line_put(line, "\\n");
        return;
    case '\t':
        vact_line_put(line, "\\t");
        return;
    case '\r':
        vact_line_put(line, "\\r");
        return;
    case '"':
        vact_line_put(line, "\\\"");
        return;
    case '\\':
        vact_line_put(line, "\\\\");
        return;
    default:
        snprintf(piece, sizeof piece, c >= 0x20 && c < 0x7f ? "%c" : "\\x%02x", c);
        vact_line_put(line, piece);
    }
}

void vact_line_text(vact_line *line, const char *text, uint64_t length)
{
    for (uint64_t i = 0; i < length && !line->cut && line->size > 0; i++)
        put_char(line, (unsigned char)text[i]);
}

const char *vact_printable(char *out, size_t size, const char *text, uint64_t length)
{
    vact_line line;
    vact_line_begin(&line, out, size);
    vact_line_text(&line, text, length);
    return out;
}
