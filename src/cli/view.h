/* A demo's table in the terminal, redrawn in place as it moves: coloured half blocks, or coloured spaces where the
 * user's locale isn't UTF-8. The terminal's modes stay as they are, and every line ends in its own colours. */
#ifndef VACT_CLI_VIEW_H
#define VACT_CLI_VIEW_H

#include "demo/table.h"
#include <stdio.h>

typedef struct cli_view {
    FILE *out;
    bool half_blocks;   /* two pixels above each other in a column; else one in two columns */
    bool true_colour;   /* else the 256-colour cube */
    int columns, lines; /* of the terminal, when it was drawn last */
    int drawn;          /* lines of the picture to draw over */
} cli_view;

/* NULL, or what stands against drawing on `out`: "the output is not a terminal". `out` is borrowed. */
const char *cli_view_open(cli_view *view, FILE *out);

/* As large as fits, at most DEMO_SIDE pixels; below it, one line: the step and the caption, any text, as in
 * vact_printable. The cursor is left below. */
void cli_view_draw(cli_view *view, const demo_table *table, const char *caption, int step);

/* Leaves the picture standing; the next one comes below. */
void cli_view_close(cli_view *view);

#endif
