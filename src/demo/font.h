/* A bitmap font: printable ASCII, one cell for all. */
#ifndef VACT_DEMO_FONT_H
#define VACT_DEMO_FONT_H

#include <stdint.h>

enum {
    DEMO_FONT_WIDTH = 10, /* of the cell, in pixels */
    DEMO_FONT_HEIGHT = 20,
    DEMO_FONT_FIRST = ' ',
    DEMO_FONT_LAST = '~'
};

/* Rows from the top; the highest of DEMO_FONT_WIDTH bits is the leftmost pixel, 1 is ink. */
extern const uint16_t demo_font[DEMO_FONT_LAST - DEMO_FONT_FIRST + 1][DEMO_FONT_HEIGHT];

#endif
