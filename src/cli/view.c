#include "cli/view.h"
#include "file/line.h"

#include <assert.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LEAST_SIDE = 16, BELOW = 2 /* lines: the caption, the cursor's */ };

/* ---- what the terminal can do ---- */

static bool has_utf8(void)
{
    const locale_t user = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (!user)
        return false;
    const bool utf8 = strcmp(nl_langinfo_l(CODESET, user), "UTF-8") == 0;
    freelocale(user);
    return utf8;
}

static bool has_true_colour(void)
{
    const char *colours = getenv("COLORTERM");
    return colours && (strcmp(colours, "truecolor") == 0 || strcmp(colours, "24bit") == 0);
}

/* A terminal that doesn't know its size gets what all had once. */
static void measure(cli_view *view)
{
    struct winsize size;
    const bool known = ioctl(fileno(view->out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    view->columns = known ? size.ws_col : 80;
    view->lines = known ? size.ws_row : 24;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Of the picture, in pixels. The last column stays free: terminals differ in what follows it. */
static int side_for(const cli_view *view)
{
    const int wide = view->columns - 1, high = view->lines - BELOW;
    return view->half_blocks ? least(least(wide, 2 * high) & ~1, DEMO_SIDE) : least(least(wide / 2, high), DEMO_SIDE);
}

const char *cli_view_open(cli_view *view, FILE *out)
{
    const char *type = getenv("TERM");
    *view = (cli_view){ .out = out, .half_blocks = has_utf8(), .true_colour = has_true_colour() };
    if (!isatty(fileno(out)))
        return "the output is not a terminal";
    if (!type || !*type || strcmp(type, "dumb") == 0)
        return "TERM names no terminal that can draw";
    measure(view);
    if (side_for(view) >= LEAST_SIDE)
        return NULL;
    return view->half_blocks ? "the terminal is too small, expected at least 17 columns and 10 lines"
                             : "the terminal is too small, expected at least 33 columns and 18 lines";
}

void cli_view_close(cli_view *view)
{
    view->drawn = 0;
}

/* ---- drawing ---- */

/* A frame's text, and the colours that are set in it. */
typedef struct frame {
    char text[1 << 17]; /* the largest picture, each pixel of another colour, takes less than 90,000 bytes */
    size_t used;
    bool true_colour;
    int ink, paper; /* 0xRRGGBB or an index, -1: the terminal's own */
} frame;

__attribute__((format(printf, 2, 3))) static void put(frame *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    f->used += (size_t)vsnprintf(f->text + f->used, sizeof f->text - f->used, format, args);
    va_end(args);
    assert(f->used < sizeof f->text);
}

/* Nearest of the cube's six levels: 0, 95, 135, ... 255. */
static int level(uint8_t v)
{
    return v < 48 ? 0 : v < 115 ? 1 : (v - 35) / 40;
}

/* layer: 38 for ink, 48 for paper. */
static void set_colour(frame *f, int layer, const uint8_t *rgb)
{
    int *current = layer == 38 ? &f->ink : &f->paper;
    const int colour = f->true_colour ? rgb[0] << 16 | rgb[1] << 8 | rgb[2]
                                      : 16 + 36 * level(rgb[0]) + 6 * level(rgb[1]) + level(rgb[2]);
    if (colour == *current)
        return;
    *current = colour;
    if (f->true_colour)
        put(f, "\033[%d;2;%d;%d;%dm", layer, rgb[0], rgb[1], rgb[2]);
    else
        put(f, "\033[%d;5;%dm", layer, colour);
}

/* Plain colours, to the line's end as well. */
static void end_line(frame *f)
{
    put(f, "\033[0m\033[K\n");
    f->ink = f->paper = -1;
}

static void put_half_blocks(frame *f, const uint8_t *rgb, int side)
{
    for (int y = 0; y < side; y += 2) {
        const uint8_t *upper = rgb + 3 * y * side, *lower = upper + 3 * side;
        for (int x = 0; x < side; x++) {
            set_colour(f, 38, upper + 3 * x);
            set_colour(f, 48, lower + 3 * x);
            put(f, "\u2580");
        }
        end_line(f);
    }
}

static void put_spaces(frame *f, const uint8_t *rgb, int side)
{
    for (int y = 0; y < side; y++) {
        for (int x = 0; x < side; x++) {
            set_colour(f, 48, rgb + 3 * (y * side + x));
            put(f, "  ");
        }
        end_line(f);
    }
}

static void put_caption(frame *f, int columns, int step, const char *caption)
{
    char text[256], counted[24];
    vact_line line;
    snprintf(counted, sizeof counted, "step %d  ", step);
    vact_line_begin(&line, text, (size_t)least(columns, sizeof text));
    vact_line_put(&line, counted);
    vact_line_text(&line, caption, strlen(caption));
    put(f, "%s", text);
    end_line(f);
}

/* In one piece, for no half of a picture to be seen. What a terminal that is gone misses is no loss. */
static void write_out(FILE *out, const char *text, size_t size)
{
    fflush(out);
    while (size > 0) {
        const ssize_t n = write(fileno(out), text, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        text += n;
        size -= (size_t)n;
    }
}

void cli_view_draw(cli_view *view, const demo_table *table, const char *caption, int step)
{
    uint8_t rgb[DEMO_SIDE * DEMO_SIDE * 3];
    const int columns = view->columns, lines = view->lines;
    frame f = { .used = 0, .true_colour = view->true_colour, .ink = -1, .paper = -1 };
    measure(view);
    if (columns != view->columns || lines != view->lines) /* where the picture is now, nobody knows */
        view->drawn = 0;
    const int side = side_for(view);
    if (side < LEAST_SIDE)
        return;
    demo_table_render(table, side, rgb);
    if (view->drawn > 0)
        put(&f, "\r\033[%dA", view->drawn);
    if (view->half_blocks)
        put_half_blocks(&f, rgb, side);
    else
        put_spaces(&f, rgb, side);
    put_caption(&f, view->columns, step, caption);
    write_out(view->out, f.text, f.used);
    view->drawn = (view->half_blocks ? side / 2 : side) + 1;
}
