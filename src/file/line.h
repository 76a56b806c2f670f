/* One line of text in the caller's buffer, safe to print whatever a file held: pieces go in whole until the
 * first that doesn't fit, then the line ends in "...". */
#ifndef VACT_FILE_LINE_H
#define VACT_FILE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vact_line {
    char *out; /* always closed by a NUL; size 0 takes nothing */
    size_t size, used;
    size_t mark; /* where "..." would still fit */
    bool cut;    /* full: further pieces are dropped */
} vact_line;

void vact_line_begin(vact_line *line, char *out, size_t size);
void vact_line_put(vact_line *line, const char *piece);

/* Text of any origin: printable ASCII as it is, \n \t \r \" \\ and \xNN for the rest. */
void vact_line_text(vact_line *line, const char *text, uint64_t length);

/* vact_line_text over a buffer of its own; returns out. */
const char *vact_printable(char *out, size_t size, const char *text, uint64_t length);

#endif
