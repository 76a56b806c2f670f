/* What the view writes to a terminal, a pseudo-terminal here, is drawn by a small terminal of the test's own; its
 * cells have to be the pixels of demo_table_render. */
#include "cli/view.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a terminal ---- */

enum { MOST_COLUMNS = 200, MOST_LINES = 70, PLAIN = -1, CUBE = 1 << 24 /* + index */, HALF = 0x2580 };

struct cell {
    int letter, ink, paper; /* code point; 0xRRGGBB, CUBE + index or PLAIN */
};

struct terminal {
    int master;
    FILE *out;
    pthread_t reader;
    char bytes[1 << 20];
    size_t used;

    int columns, lines, x, y, scrolled;
    struct cell pen, cells[MOST_LINES][MOST_COLUMNS];
};

static struct terminal terminal;

/* A pseudo-terminal's buffer is small: what is written has to be read meanwhile. */
static void *read_all(void *user)
{
    struct terminal *t = user;
    for (ssize_t n; (n = read(t->master, t->bytes + t->used, sizeof t->bytes - t->used)) > 0;)
        t->used += (size_t)n;
    return NULL;
}

static void resize(struct terminal *t, int columns, int lines)
{
    const struct winsize size = { .ws_col = (unsigned short)columns, .ws_row = (unsigned short)lines };
    assert_int_equal(ioctl(t->master, TIOCSWINSZ, &size), 0);
}

static struct terminal *open_terminal(int columns, int lines)
{
    struct terminal *t = &terminal;
    t->used = 0;
    t->master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(t->master >= 0 && grantpt(t->master) == 0 && unlockpt(t->master) == 0);
    const int slave = open(ptsname(t->master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    t->out = fdopen(slave, "w");
    assert_true(t->out && setvbuf(t->out, NULL, _IOFBF, BUFSIZ) == 0);
    resize(t, columns, lines);
    assert_int_equal(pthread_create(&t->reader, NULL, read_all, t), 0);
    return t;
}

static void close_terminal(struct terminal *t)
{
    assert_int_equal(fclose(t->out), 0);
    assert_int_equal(pthread_join(t->reader, NULL), 0);
    close(t->master);
}

static void clear_cells(struct cell *cells, int n)
{
    for (int i = 0; i < n; i++)
        cells[i] = (struct cell){ ' ', PLAIN, PLAIN };
}

static void line_feed(struct terminal *t)
{
    if (++t->y < t->lines)
        return;
    t->y--;
    t->scrolled++;
    memmove(t->cells[0], t->cells[1], (size_t)(t->lines - 1) * sizeof t->cells[0]);
    clear_cells(t->cells[t->y], MOST_COLUMNS);
}

/* SGR: 0, or any of 38 and 48 with 2;r;g;b or 5;n. */
static void set_pen(struct cell *pen, const int *n, int count)
{
    if (count == 1 && n[0] == 0) {
        pen->ink = pen->paper = PLAIN;
        return;
    }
    for (int i = 0; i < count;) {
        int *colour = n[i] == 38 ? &pen->ink : n[i] == 48 ? &pen->paper : NULL;
        assert_non_null(colour);
        const bool rgb = i + 4 < count && n[i + 1] == 2, index = i + 2 < count && n[i + 1] == 5;
        assert_true(rgb || index);
        *colour = rgb ? n[i + 2] << 16 | n[i + 3] << 8 | n[i + 4] : CUBE + n[i + 2];
        i += rgb ? 5 : 3;
    }
}

/* What follows ESC [; returns what follows that. */
static const char *sequence(struct terminal *t, const char *at)
{
    int numbers[16] = { 0 }, count = 0;
    while (*at >= '0' && *at <= '9') {
        char *end;
        assert_true(count < 16);
        numbers[count++] = (int)strtol(at, &end, 10);
        at = end + (*end == ';');
    }
    switch (*at) {
    case 'A':
        assert_true(count == 1 && numbers[0] > 0 && numbers[0] <= t->y);
        t->y -= numbers[0];
        break;
    case 'K':
        assert_int_equal(count, 0);
        clear_cells(t->cells[t->y] + t->x, MOST_COLUMNS - t->x);
        break;
    case 'm':
        set_pen(&t->pen, numbers, count);
        break;
    default:
        fail_msg("unknown sequence ending in \\x%02x", (unsigned char)*at);
    }
    return at + 1;
}

static void put_letter(struct terminal *t, int letter)
{
    assert_true(t->x < t->columns - 1); /* the last column stays free */
    t->cells[t->y][t->x] = t->pen;
    t->cells[t->y][t->x++].letter = letter;
}

/* All that was written so far, on a screen whose cursor waits in the bottom line, as after much work. */
static void interpret(struct terminal *t, int columns, int lines)
{
    t->columns = columns;
    t->lines = lines;
    t->x = t->scrolled = 0;
    t->y = lines - 1;
    t->pen = (struct cell){ ' ', PLAIN, PLAIN };
    clear_cells(t->cells[0], MOST_LINES * MOST_COLUMNS);
    t->bytes[t->used] = 0;
    for (const char *at = t->bytes; at < t->bytes + t->used;) {
        const unsigned char c = (unsigned char)*at++;
        if (c == '\r')
            t->x = 0;
        else if (c == '\n') {
            assert_true(t->pen.ink == PLAIN && t->pen.paper == PLAIN);
            line_feed(t);
        } else if (c == 0x1B && *at == '[')
            at = sequence(t, at + 1);
        else if (c >= 0x20 && c < 0x7F)
            put_letter(t, c);
        else if (c == 0xE2 && memcmp(at, "\x96\x80", 2) == 0) {
            put_letter(t, HALF);
            at += 2;
        } else
            fail_msg("unknown byte \\x%02x", c);
    }
}

/* ---- a table, and what it looks like ---- */

static demo_table moved(int steps)
{
    demo_table table;
    demo_table_reset(&table, 7);
    for (int i = 0; i < steps; i++) {
        double action[DEMO_ACTION];
        demo_table_expert(&table, action);
        demo_table_step(&table, action);
    }
    return table;
}

static int far(const uint8_t *rgb, int r, int g, int b)
{
    return (rgb[0] - r) * (rgb[0] - r) + (rgb[1] - g) * (rgb[1] - g) + (rgb[2] - b) * (rgb[2] - b);
}

/* How far the cube's entry is: xterm's, six levels of each of red, green and blue, from 16 on. */
static int far_from_entry(const uint8_t *rgb, int entry)
{
    static const int levels[] = { 0, 95, 135, 175, 215, 255 };
    return far(rgb, levels[(entry - 16) / 36], levels[(entry - 16) / 6 % 6], levels[(entry - 16) % 6]);
}

static void check_colour(int got, const uint8_t *rgb, bool true_colour)
{
    if (true_colour) {
        assert_int_equal(got, rgb[0] << 16 | rgb[1] << 8 | rgb[2]);
        return;
    }
    assert_in_range(got, CUBE + 16, CUBE + 231);
    const int distance = far_from_entry(rgb, got - CUBE);
    for (int entry = 16; entry <= 231; entry++)
        assert_true(distance <= far_from_entry(rgb, entry));
}

/* The text from there on, then nothing. */
static void check_plain(const struct terminal *t, int y, int from, const char *text)
{
    for (int x = from; x < t->columns; x++) {
        const struct cell *c = &t->cells[y][x];
        assert_int_equal(c->letter, *text ? *text++ : ' ');
        assert_true(c->ink == PLAIN && c->paper == PLAIN);
    }
}

/* The picture whose first line is `top`; right of it there is nothing. */
static void check_half_blocks(const struct terminal *t, int top, const demo_table *table, int side, bool true_colour)
{
    uint8_t rgb[64 * 64 * 3];
    demo_table_render(table, side, rgb);
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            const struct cell *c = &t->cells[top + y / 2][x];
            assert_int_equal(c->letter, HALF);
            check_colour(y % 2 == 0 ? c->ink : c->paper, rgb + 3 * (y * side + x), true_colour);
        }
    for (int line = 0; line < side / 2; line++)
        check_plain(t, top + line, side, "");
}

static void check_spaces(const struct terminal *t, int top, const demo_table *table, int side, bool true_colour)
{
    uint8_t rgb[64 * 64 * 3];
    demo_table_render(table, side, rgb);
    for (int y = 0; y < side; y++) {
        for (int x = 0; x < 2 * side; x++) {
            assert_int_equal(t->cells[top + y][x].letter, ' ');
            check_colour(t->cells[top + y][x].paper, rgb + 3 * (y * side + x / 2), true_colour);
        }
        check_plain(t, top + y, 2 * side, "");
    }
}

static void set_environment(const char *term, const char *colours, const char *locale)
{
    assert_int_equal(term ? setenv("TERM", term, 1) : unsetenv("TERM"), 0);
    assert_int_equal(colours ? setenv("COLORTERM", colours, 1) : unsetenv("COLORTERM"), 0);
    assert_int_equal(setenv("LC_ALL", locale, 1), 0);
}

/* ---- tests ---- */

/* Draws steps 0, 3 and 6 and closes the terminal. */
static void draw_three(struct terminal *t)
{
    cli_view view;
    assert_null(cli_view_open(&view, t->out));
    for (int step = 0; step <= 6; step += 3) {
        const demo_table table = moved(step);
        cli_view_draw(&view, &table, "move the red block to the left", step);
    }
    cli_view_close(&view);
    close_terminal(t);
}

static void test_80_by_24_is_redrawn_in_place(void **state)
{
    (void)state;
    static const char *const colours[] = { "truecolor", "24bit", NULL, "yes" };
    const demo_table last = moved(6);
    for (int i = 0; i < 4; i++) {
        set_environment("xterm-256color", colours[i], "C.UTF-8");
        struct terminal *t = open_terminal(80, 24);
        draw_three(t);
        interpret(t, 80, 24);
        check_half_blocks(t, 0, &last, 44, i < 2);
        check_plain(t, 22, 0, "step 6  move the red block to the left");
        check_plain(t, 23, 0, "");
        assert_true(t->x == 0 && t->y == 23 && t->scrolled == 23); /* the first picture alone scrolls */
    }
}

static void test_without_utf8_pixels_are_spaces(void **state)
{
    (void)state;
    const demo_table last = moved(6);
    for (int i = 0; i < 2; i++) {
        set_environment("xterm", i == 0 ? "truecolor" : NULL, "C");
        struct terminal *t = open_terminal(80, 24);
        draw_three(t);
        interpret(t, 80, 24);
        check_spaces(t, 0, &last, 22, i == 0);
        check_plain(t, 22, 0, "step 6  move the red block to the left");
        assert_true(t->x == 0 && t->y == 23 && t->scrolled == 23);
    }
}

static void test_the_picture_fits_the_terminal(void **state)
{
    (void)state;
    static const struct {
        int columns, lines, half_blocks, spaces; /* the sides of pictures; 0: too small */
    } cases[] = {
        { 200, 70, 64, 64 }, { 65, 34, 64, 32 }, { 64, 34, 62, 31 }, { 65, 33, 62, 31 },
        { 33, 18, 32, 16 },  { 32, 18, 30, 0 },  { 33, 17, 30, 0 },  { 17, 10, 16, 0 },
        { 16, 10, 0, 0 },    { 17, 9, 0, 0 },    { 1, 1, 0, 0 },
    };
    const demo_table table = moved(2);
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const bool half_blocks = i % 2 == 0;
        const int columns = cases[i / 2].columns, lines = cases[i / 2].lines;
        const int side = half_blocks ? cases[i / 2].half_blocks : cases[i / 2].spaces;
        set_environment("xterm", "truecolor", half_blocks ? "C.UTF-8" : "C");
        struct terminal *t = open_terminal(columns, lines);
        cli_view view;
        const char *why = cli_view_open(&view, t->out);
        if (side == 0)
            assert_string_equal(why, half_blocks
                                         ? "the terminal is too small, expected at least 17 columns and 10 lines"
                                         : "the terminal is too small, expected at least 33 columns and 18 lines");
        else
            cli_view_draw(&view, &table, "", 2);
        close_terminal(t);
        interpret(t, columns, lines);
        if (side > 0 && half_blocks)
            check_half_blocks(t, lines - 2 - side / 2, &table, side, true);
        else if (side > 0)
            check_spaces(t, lines - 2 - side, &table, side, true);
        else
            assert_int_equal(t->used, 0);
    }
}

static void test_a_terminal_of_no_size_is_80_by_24(void **state)
{
    (void)state;
    const demo_table last = moved(6);
    set_environment("xterm", "truecolor", "C.UTF-8");
    struct terminal *t = open_terminal(0, 0);
    draw_three(t);
    interpret(t, 80, 24);
    check_half_blocks(t, 0, &last, 44, true);
}

static void test_a_new_size_and_a_close_start_a_new_picture(void **state)
{
    (void)state;
    const demo_table first = moved(1), second = moved(5), third = moved(9);
    set_environment("xterm", "truecolor", "C.UTF-8");
    struct terminal *t = open_terminal(80, 12);
    cli_view view;
    assert_null(cli_view_open(&view, t->out));
    cli_view_draw(&view, &first, "", 1);
    resize(t, 15, 12);
    cli_view_draw(&view, &second, "", 4); /* has no room */
    resize(t, 80, 13);
    cli_view_draw(&view, &second, "", 5);
    cli_view_close(&view);
    fputs("solved\n", t->out);
    cli_view_draw(&view, &third, "", 9);
    close_terminal(t);
    interpret(t, 80, 70);
    check_plain(t, 69 - 12, 79, "");
    check_half_blocks(t, 69 - 12, &third, 22, true);
    check_plain(t, 69 - 13, 0, "solved");
    check_plain(t, 69 - 14, 0, "step 5");
    check_half_blocks(t, 69 - 14 - 11, &second, 22, true);
    check_plain(t, 69 - 14 - 12, 0, "step 1");
    check_half_blocks(t, 69 - 14 - 12 - 10, &first, 20, true);
}

static void test_captions_are_plain_and_end_in_the_line(void **state)
{
    (void)state;
    char longest[8193];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    const struct {
        const char *caption, *shown;
    } cases[] = {
        { "to the left\033[2J\r\n\a\x9b\xc3\xa9", "step 80  to the left\\x1b[2J\\r\\n\\x07..." },
        { longest, "step 80  xxxxxxxxxxxxxxxxxxxxxxxxxxx..." },
        { "123456789012345678901234567890", "step 80  123456789012345678901234567890" },
    };
    const demo_table table = moved(2);
    set_environment("xterm", "truecolor", "C.UTF-8");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct terminal *t = open_terminal(40, 24);
        cli_view view;
        assert_null(cli_view_open(&view, t->out));
        cli_view_draw(&view, &table, cases[i].caption, 80);
        close_terminal(t);
        interpret(t, 40, 24);
        check_plain(t, 22, 0, cases[i].shown);
    }
}

static void check_refused(FILE *out, const char *want)
{
    cli_view view;
    assert_string_equal(cli_view_open(&view, out), want);
}

static void test_where_it_cannot_be_drawn(void **state)
{
    (void)state;
    int ends[2];
    set_environment("xterm", "truecolor", "C.UTF-8");
    assert_int_equal(pipe(ends), 0);
    FILE *out = fdopen(ends[1], "w");
    assert_non_null(out);
    check_refused(out, "the output is not a terminal");
    fclose(out);
    close(ends[0]);

    static const char *const types[] = { "dumb", "", NULL };
    struct terminal *t = open_terminal(80, 24);
    for (int i = 0; i < 3; i++) {
        set_environment(types[i], "truecolor", "C.UTF-8");
        check_refused(t->out, "TERM names no terminal that can draw");
    }
    close_terminal(t);
    assert_int_equal(t->used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_80_by_24_is_redrawn_in_place),
        cmocka_unit_test(test_without_utf8_pixels_are_spaces),
        cmocka_unit_test(test_the_picture_fits_the_terminal),
        cmocka_unit_test(test_a_terminal_of_no_size_is_80_by_24),
        cmocka_unit_test(test_a_new_size_and_a_close_start_a_new_picture),
        cmocka_unit_test(test_captions_are_plain_and_end_in_the_line),
        cmocka_unit_test(test_where_it_cannot_be_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
