/* A picture that tables, boxes and text are drawn on. */
#ifndef VACT_DEMO_CANVAS_H
#define VACT_DEMO_CANVAS_H

#include "demo/table.h"

typedef struct demo_canvas {
    int width, height;
    uint8_t *rgb;   /* [height, width, 3]; NULL: nothing was opened */
    uint8_t *table; /* [side, side, 3]: a table before it is copied into place */
    int side;
} demo_canvas;

typedef uint32_t demo_rgb; /* 0xRRGGBB */

typedef struct demo_box {
    int x, y, width, height;
} demo_box;

/* White, and with room for tables of that side. False: no memory. */
bool demo_canvas_open(demo_canvas *canvas, int width, int height, int side);
void demo_canvas_close(demo_canvas *canvas);

/* What is drawn has to lie on the canvas. */

void demo_canvas_fill(demo_canvas *canvas, demo_box box, demo_rgb colour);
void demo_canvas_table(demo_canvas *canvas, int x, int y, const demo_table *table);

/* As many lines as fit in the box, broken between words; should the text be longer, it ends in "...". Bytes that are
 * not printable ASCII are drawn as '?'. */
void demo_canvas_text(demo_canvas *canvas, demo_box box, demo_rgb colour, const char *text);

#endif
