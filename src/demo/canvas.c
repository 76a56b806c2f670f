/* tables, boxes, text -> pixels */
#include "demo/canvas.h"
#include "demo/font.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char DOTS[] = "...";

bool demo_canvas_open(demo_canvas *c, int width, int height, int side)
{
    const size_t pixels = (size_t)width * (size_t)height, table = (size_t)side * (size_t)side;
    *c = (demo_canvas){ .width = width, .height = height, .side = side };
    c->rgb = malloc(3 * (pixels + table));
    if (!c->rgb)
        return false;
    c->table = c->rgb + 3 * pixels;
    memset(c->rgb, 255, 3 * pixels);
    return true;
}

void demo_canvas_close(demo_canvas *c)
{
    free(c->rgb);
    *c = (demo_canvas){ 0 };
}

static uint8_t *pixel(const demo_canvas *c, int x, int y)
{
    return c->rgb + 3 * ((size_t)y * (size_t)c->width + (size_t)x);
}

static void put(const demo_canvas *c, int x, int y, demo_rgb colour)
{
    uint8_t *at = pixel(c, x, y);
    at[0] = (uint8_t)(colour >> 16);
    at[1] = (uint8_t)(colour >> 8);
    at[2] = (uint8_t)colour;
}

void demo_canvas_fill(demo_canvas *c, demo_box box, demo_rgb colour)
{
    assert(box.x >= 0 && box.y >= 0 && box.x + box.width <= c->width && box.y + box.height <= c->height);
    for (int y = box.y; y < box.y + box.height; y++)
        for (int x = box.x; x < box.x + box.width; x++)
            put(c, x, y, colour);
}

void demo_canvas_table(demo_canvas *c, int x, int y, const demo_table *table)
{
    const size_t row = 3 * (size_t)c->side;
    assert(x >= 0 && y >= 0 && x + c->side <= c->width && y + c->side <= c->height);
    demo_table_render(table, c->side, c->table);
    for (int i = 0; i < c->side; i++)
        memcpy(pixel(c, x, y + i), c->table + (size_t)i * row, row);
}

/* ---- text ---- */

static void put_char(const demo_canvas *c, int x, int y, demo_rgb colour, char letter)
{
    const unsigned char code = (unsigned char)letter;
    const bool known = code >= DEMO_FONT_FIRST && code <= DEMO_FONT_LAST;
    const uint16_t *rows = demo_font[(known ? code : '?') - DEMO_FONT_FIRST];
    for (int row = 0; row < DEMO_FONT_HEIGHT; row++)
        for (int col = 0; col < DEMO_FONT_WIDTH; col++)
            if (rows[row] >> (DEMO_FONT_WIDTH - 1 - col) & 1)
                put(c, x + col, y + row, colour);
}

static void put_line(const demo_canvas *c, int x, int y, demo_rgb colour, const char *text, int n)
{
    for (int i = 0; i < n; i++)
        put_char(c, x + i * DEMO_FONT_WIDTH, y, colour, text[i]);
}

/* Length of text[0..n) without the spaces at its end. */
static int trimmed(const char *text, int n)
{
    while (n > 0 && text[n - 1] == ' ')
        n--;
    return n;
}

/* Bytes of text, which is longer than a line, that go on it: up to the last space, or a full line of a long word. */
static int line_of(const char *text, int columns)
{
    int n = columns;
    while (n > 0 && text[n] != ' ')
        n--;
    return n > 0 ? n : columns;
}

void demo_canvas_text(demo_canvas *c, demo_box box, demo_rgb colour, const char *text)
{
    const int columns = box.width / DEMO_FONT_WIDTH, lines = box.height / DEMO_FONT_HEIGHT;
    const int dots = sizeof DOTS - 1;
    assert(box.x >= 0 && box.y >= 0 && box.x + box.width <= c->width && box.y + box.height <= c->height);
    for (int line = 0; line < lines; line++) {
        text += strspn(text, " ");
        const bool rest_fits = strlen(text) <= (size_t)columns, cut = !rest_fits && line == lines - 1;
        assert(!cut || columns > dots);
        const int n = rest_fits ? (int)strlen(text) : cut ? trimmed(text, columns - dots) : line_of(text, columns);
        put_line(c, box.x, box.y + line * DEMO_FONT_HEIGHT, colour, text, n);
        if (cut)
            put_line(c, box.x + n * DEMO_FONT_WIDTH, box.y + line * DEMO_FONT_HEIGHT, colour, DOTS, dots);
        text += n;
    }
}
