/* Strips are read back by vact_image_load, animations by giflib. What is in them: tables as demo_table_render draws
 * them, at places counted by hand, and letters typed from the font. */
#include "allocations.h"
#include "base/error.h"
#include "demo/film.h"
#include "demo/font.h"
#include "demo/gif.h"
#include "fnv.h"
#include "folder.h"

#include <gif_lib.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- letters ---- */

struct letter {
    char letter;
    const char *rows[20];
};

/* As Pillow's reader of PCF files has them, in 10x20-ISO8859-1.pcf.gz. */
/* clang-format off */
static const struct letter letters[] = {
    { 'b',
      {"          ",
        "          ",
        "          ",
        " ##       ",
        " ##       ",
        " ##       ",
        " ##       ",
        " ##       ",
        " ## ###   ",
        " ###  ##  ",
        " ##    ## ",
        " ##    ## ",
        " ##    ## ",
        " ##    ## ",
        " ###  ##  ",
        " ## ###   ",
        "          ",
        "          ",
        "          ",
        "          " } },
    { 'g',
      {"          ",
        "          ",
        "          ",
        "          ",
        "          ",
        "          ",
        "          ",
        "          ",
        "  ##### # ",
        " ##   ### ",
        " ##   ##  ",
        " ##   ##  ",
        " ##   ##  ",
        "  #####   ",
        " ##       ",
        "  ######  ",
        " ##    ## ",
        " ##    ## ",
        " ##    ## ",
        "  ######  " } },
    { '?',
      {"          ",
        "          ",
        "          ",
        "   ####   ",
        "  ##  ##  ",
        " ##    ## ",
        " ##    ## ",
        " ##    ## ",
        "      ##  ",
        "     ##   ",
        "    ##    ",
        "    ##    ",
        "    ##    ",
        "          ",
        "    ##    ",
        "    ##    ",
        "          ",
        "          ",
        "          ",
        "          " } },
    { '.',
      {"          ",
        "          ",
        "          ",
        "          ",
        "          ",
        "          ",
        "          ",
        "          ",
        "          ",
        "          ",
        "          ",
        "          ",
        "          ",
        "    ###   ",
        "    ###   ",
        "    ###   ",
        "          ",
        "          ",
        "          ",
        "          " } },
    { '0',
      {"          ",
        "          ",
        "          ",
        "    ##    ",
        "   ####   ",
        "  ##  ##  ",
        "  ##  ##  ",
        " ##    ## ",
        " ##    ## ",
        " ##    ## ",
        " ##    ## ",
        " ##    ## ",
        "  ##  ##  ",
        "  ##  ##  ",
        "   ####   ",
        "    ##    ",
        "          ",
        "          ",
        "          ",
        "          " } },
    { '7',
      {"          ",
        "          ",
        "          ",
        " ######## ",
        "       ## ",
        "       ## ",
        "      ##  ",
        "      ##  ",
        "     ##   ",
        "     ##   ",
        "    ##    ",
        "    ##    ",
        "   ##     ",
        "   ##     ",
        "  ##      ",
        "  ##      ",
        "          ",
        "          ",
        "          ",
        "          " } },
};
/* clang-format on */

struct picture {
    int width, height;
    const uint8_t *rgb;
};

static const uint8_t *pixel(const struct picture *p, int x, int y)
{
    assert_true(x >= 0 && y >= 0 && x < p->width && y < p->height);
    return p->rgb + 3 * (y * p->width + x);
}

static int colour_at(const struct picture *p, int x, int y)
{
    const uint8_t *rgb = pixel(p, x, y);
    return rgb[0] << 16 | rgb[1] << 8 | rgb[2];
}

/* That the cell with that corner shows the letter and nothing else, on white. */
static void check_letter(const struct picture *p, int x, int y, char letter, int colour)
{
    const struct letter *found = letters;
    while (found->letter != letter)
        assert_true(++found < letters + sizeof letters / sizeof *letters);
    for (int row = 0; row < 20; row++)
        for (int col = 0; col < 10; col++)
            assert_int_equal(colour_at(p, x + col, y + row), found->rows[row][col] == '#' ? colour : 0xFFFFFF);
}

static void check_white(const struct picture *p, int x, int y, int width, int height)
{
    for (int row = 0; row < height; row++)
        for (int col = 0; col < width; col++)
            assert_int_equal(colour_at(p, x + col, y + row), 0xFFFFFF);
}

static void check_table(const struct picture *p, int x, int y, const demo_table *table, int side)
{
    static uint8_t want[240 * 240 * 3];
    demo_table_render(table, side, want);
    for (int row = 0; row < side; row++)
        assert_memory_equal(pixel(p, x, y + row), want + 3 * row * side, 3 * (size_t)side);
}

/* ---- reels ---- */

enum { INK = 0x24292F, FAINT = 0x6E7781, EDGE = 0xAFB8C1, GREEN = 0x1A7F37, RED = 0xCF222E };

/* An episode of the expert, cut or lengthened to n tables. */
static demo_reel make_reel(uint64_t seed, demo_table *tables, int n, bool good)
{
    demo_table_reset(&tables[0], seed);
    for (int i = 1; i < n; i++) {
        double action[DEMO_ACTION];
        tables[i] = tables[i - 1];
        demo_table_expert(&tables[i], action);
        demo_table_step(&tables[i], action);
    }
    return (demo_reel){ tables, n, "g", good ? "b" : "g", good };
}

static struct picture load(vact_image *image)
{
    vact_error err = { 0 };
    if (vact_image_load(image, path, &err) != VACT_OK)
        fail_msg("%s", err.text);
    return (struct picture){ image->width, image->height, image->data };
}

/* One reel -> its strip, or the first picture of its animation. */
static struct picture strip_of(const demo_reel *reels, int n, vact_image *image)
{
    vact_error err = { 0 };
    if (demo_film_png(path, reels, n, &err) != VACT_OK)
        fail_msg("%s", err.text);
    const struct picture p = load(image);
    assert_int_equal(unlink(path), 0);
    return p;
}

/* ---- the font ---- */

static void test_the_font_is_the_one_of_the_file(void **state)
{
    (void)state;
    assert_int_equal(fnv1a64(demo_font, sizeof demo_font), 0xa4babc1e4e83f1e0); /* Pillow's, as uint16_t */
}

/* ---- strips ---- */

enum { ROW_TOP = 14, ROW_STEP = 182, TABLE_TOP = 26, STRIP = 916 };

static void test_a_strip_has_a_row_of_frames_for_each_reel(void **state)
{
    (void)state;
    static const struct {
        int n, frames, steps[7];
    } rows[] = {
        { 14, 7, { 0, 2, 4, 7, 9, 11, 13 } }, /* of 13 / 6 = 2.17 steps each */
        { 81, 7, { 0, 13, 27, 40, 53, 67, 80 } },
        { 8, 7, { 0, 1, 2, 4, 5, 6, 7 } },
        { 7, 7, { 0, 1, 2, 3, 4, 5, 6 } },
        { 4, 4, { 0, 1, 2, 3 } },
        { 1, 1, { 0 } },
    };
    static demo_table tables[6][81];
    demo_reel reels[6];
    for (int i = 0; i < 6; i++)
        reels[i] = make_reel((uint64_t)i, tables[i], rows[i].n, i % 2 == 0);
    vact_image image;
    const struct picture p = strip_of(reels, 6, &image);
    assert_int_equal(p.width, STRIP);
    assert_int_equal(p.height, ROW_TOP + 6 * ROW_STEP);
    for (int i = 0; i < 6; i++) {
        const int top = ROW_TOP + i * ROW_STEP + TABLE_TOP, verdict = i % 2 == 0 ? GREEN : RED;
        for (int f = 0; f < rows[i].frames; f++) {
            const int x = 14 + f * 128;
            check_table(&p, x, top, &tables[i][rows[i].steps[f]], 120);
            assert_int_equal(colour_at(&p, x - 1, top - 1), f == rows[i].frames - 1 ? verdict : EDGE);
            assert_int_equal(colour_at(&p, x + 120, top + 120), f == rows[i].frames - 1 ? verdict : EDGE);
        }
        if (rows[i].frames < 7)
            check_white(&p, 14 + rows[i].frames * 128, top - 1, 128, 144);
    }
    vact_image_free(&image);
}

static void test_a_strip_is_captioned(void **state)
{
    (void)state;
    demo_table tables[8];
    demo_reel reels[] = { make_reel(1, tables, 8, true), make_reel(1, tables, 8, false) };
    reels[0].caption = "gb.b \xc3\xa9\n?0";
    reels[0].outcome = "0b";
    vact_image image;
    const struct picture p = strip_of(reels, 2, &image);
    static const char shown[] = "gb.b ????0";
    for (int i = 0; i < 10; i++)
        if (shown[i] != ' ')
            check_letter(&p, 14 + 10 * i, ROW_TOP, shown[i], INK);
    check_white(&p, 14 + 40, ROW_TOP, 10, 20);
    check_white(&p, 14 + 100, ROW_TOP, 768, 20);
    check_letter(&p, 882, ROW_TOP, '0', GREEN);
    check_letter(&p, 892, ROW_TOP, 'b', GREEN);
    check_letter(&p, 892, ROW_TOP + ROW_STEP, 'g', RED);
    check_letter(&p, 14 + 55, ROW_TOP + TABLE_TOP + 122, '0', FAINT); /* under the middle of the first frame */
    check_letter(&p, 14 + 6 * 128 + 55, ROW_TOP + TABLE_TOP + 122, '7', FAINT);
    vact_image_free(&image);
}

/* 888 pixels, 88 columns: an outcome gets half at most, a caption what is left but for two. */
static void test_long_captions_of_a_strip_are_cut(void **state)
{
    (void)state;
    char longest[8193];
    memset(longest, 'g', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    demo_table tables[2];
    demo_reel reels[3];
    for (int i = 0; i < 3; i++)
        reels[i] = make_reel(1, tables, 2, true);
    reels[0].caption = longest;
    reels[1].caption = longest + 8192 - 85; /* just fits */
    reels[2].caption = "gb";
    reels[2].outcome = longest;
    vact_image image;
    const struct picture p = strip_of(reels, 3, &image);
    for (int i = 0; i < 85; i++)
        check_letter(&p, 14 + 10 * i, ROW_TOP, i < 82 ? 'g' : '.', INK);
    check_white(&p, 14 + 850, ROW_TOP, 20, 20);
    for (int i = 0; i < 85; i++)
        check_letter(&p, 14 + 10 * i, ROW_TOP + ROW_STEP, 'g', INK);
    for (int i = 0; i < 44; i++)
        check_letter(&p, 14 + 448 + 10 * i, ROW_TOP + 2 * ROW_STEP, i < 41 ? 'g' : '.', GREEN);
    check_letter(&p, 24, ROW_TOP + 2 * ROW_STEP, 'b', INK);
    vact_image_free(&image);
}

/* ---- animations ---- */

static uint8_t screen[332 * 256 * 3]; /* as composited so far */
static const struct picture shown = { 256, 332, screen };

static GifFileType *read_gif(const char *file)
{
    GifFileType *gif = DGifOpenFileName(file, NULL);
    assert_non_null(gif);
    assert_int_equal(DGifSlurp(gif), GIF_OK);
    return gif;
}

/* Puts frame i on a picture of the animation's size. */
static void composite(const GifFileType *gif, int i, uint8_t *rgb)
{
    const SavedImage *frame = &gif->SavedImages[i];
    const GifImageDesc *d = &frame->ImageDesc;
    assert_non_null(d->ColorMap);
    for (int y = 0; y < d->Height; y++)
        for (int x = 0; x < d->Width; x++) {
            const int index = frame->RasterBits[y * d->Width + x];
            assert_true(index < d->ColorMap->ColorCount);
            const GifColorType *c = &d->ColorMap->Colors[index];
            uint8_t *at = rgb + 3 * ((d->Top + y) * gif->SWidth + d->Left + x);
            at[0] = c->Red;
            at[1] = c->Green;
            at[2] = c->Blue;
        }
}

/* Netscape's extension in front of the first frame: 1, and 0 for no end. */
static void check_loops(const GifFileType *gif)
{
    const SavedImage *first = gif->SavedImages;
    assert_true(first->ExtensionBlockCount >= 2);
    const ExtensionBlock *name = first->ExtensionBlocks, *count = name + 1;
    assert_int_equal(name->Function, APPLICATION_EXT_FUNC_CODE);
    assert_int_equal(name->ByteCount, 11);
    assert_memory_equal(name->Bytes, "NETSCAPE2.0", 11);
    assert_int_equal(count->Function, CONTINUE_EXT_FUNC_CODE);
    assert_int_equal(count->ByteCount, 3);
    assert_memory_equal(count->Bytes, "\1\0\0", 3);
}

static void check_frame(GifFileType *gif, int i, int hundredths)
{
    GraphicsControlBlock how;
    assert_int_equal(DGifSavedExtensionToGCB(gif, i, &how), GIF_OK);
    assert_int_equal(how.DelayTime, hundredths);
    assert_int_equal(how.DisposalMode, DISPOSE_DO_NOT);
    assert_int_equal(how.TransparentColor, NO_TRANSPARENT_COLOR);
    composite(gif, i, screen);
}

static GifFileType *animation_of(const demo_reel *reels, int n)
{
    vact_error err = { 0 };
    if (demo_film_gif(path, reels, n, &err) != VACT_OK)
        fail_msg("%s", err.text);
    GifFileType *gif = read_gif(path);
    memset(screen, 0, sizeof screen);
    assert_int_equal(gif->SWidth, 256);
    assert_int_equal(gif->SHeight, 332);
    return gif;
}

static void test_an_animation_shows_every_step(void **state)
{
    (void)state;
    static demo_table tables[6][19];
    demo_reel reels[6];
    for (int r = 0; r < 6; r++)
        reels[r] = make_reel((uint64_t)r, tables[r], r == 3 ? 1 : 19, r != 2);
    GifFileType *gif = animation_of(reels, 6);
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    assert_in_range(file.st_size, 1, 200000);
    assert_int_equal(gif->ImageCount, 5 * 19 + 1);
    check_loops(gif);
    for (int r = 0, i = 0; r < 6; r++)
        for (int step = 0; step < reels[r].n; step++, i++) {
            const bool last = step == reels[r].n - 1;
            check_frame(gif, i, last ? 120 : 10);
            check_table(&shown, 8, 56, &tables[r][step], 240);
            assert_int_equal(colour_at(&shown, 7, 55), !last ? EDGE : r != 2 ? GREEN : RED);
            check_letter(&shown, 8, 8, 'g', INK);
            if (last)
                check_letter(&shown, 8, 304, r != 2 ? 'b' : 'g', r != 2 ? GREEN : RED);
            else if (step == 0 || step == 7 || step == 10) /* "step 10" */
                check_letter(&shown, step == 10 ? 68 : 58, 304, step == 7 ? '7' : '0', FAINT);
        }
    assert_int_equal(DGifCloseFile(gif, NULL), GIF_OK);
    assert_int_equal(unlink(path), 0);
}

/* 24 columns. */
static void test_captions_of_an_animation_are_wrapped(void **state)
{
    (void)state;
    static const struct {
        const char *caption, *lines[2];
    } cases[] = {
        { "gggggggggggggggggggggggg", { "gggggggggggggggggggggggg", "" } },
        { "gg ggggggggg gggggggggg bb", { "gg ggggggggg gggggggggg", "bb" } },
        { "gg ggggggggg ggggggggggg bb", { "gg ggggggggg ggggggggggg", "bb" } },
        { "gg ggggggggg gggggggggggg bb", { "gg ggggggggg", "gggggggggggg bb" } },
        { "gggggggggggggggggggggggggbb", { "gggggggggggggggggggggggg", "gbb" } },
        { "bb  ggggggggggggggggggggggggbb", { "bb", "ggggggggggggggggggggg..." } },
        { "bb ggggggggggggggggggggggg bbbbbbbbbbbb bbbbbbbbb b", { "bb", "ggggggggggggggggggggg..." } },
        { "gg ggggggggg ggggggggggg bbbbbbbbbbbb bbbbbbb  bbbbbbb",
          { "gg ggggggggg ggggggggggg", "bbbbbbbbbbbb bbbbbbb..." } },
        { "  gggggggggggggggggggggggg  bb ", { "gggggggggggggggggggggggg", "bb" } },
        { "   ", { "", "" } },
        { "", { "", "" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        demo_table table;
        demo_reel reel = make_reel(1, &table, 1, true);
        reel.caption = cases[i].caption;
        GifFileType *gif = animation_of(&reel, 1);
        composite(gif, 0, screen);
        for (int line = 0; line < 2; line++) {
            const int n = (int)strlen(cases[i].lines[line]), y = 8 + 20 * line;
            for (int c = 0; c < n; c++)
                if (cases[i].lines[line][c] != ' ')
                    check_letter(&shown, 8 + 10 * c, y, cases[i].lines[line][c], INK);
                else
                    check_white(&shown, 8 + 10 * c, y, 10, 20);
            check_white(&shown, 8 + 10 * n, y, 248 - 10 * n, 20);
        }
        assert_int_equal(DGifCloseFile(gif, NULL), GIF_OK);
    }
    assert_int_equal(unlink(path), 0);
}

/* ---- the encoder ---- */

enum { SIDE = 32 };

static GifFileType *encode(const uint8_t (*pictures)[SIDE * SIDE * 3], int n)
{
    demo_gif *gif = demo_gif_open(SIDE, SIDE);
    const uint8_t *bytes;
    size_t size;
    assert_non_null(gif);
    for (int i = 0; i < n; i++)
        assert_true(demo_gif_add(gif, pictures[i], 5));
    assert_true(demo_gif_finish(gif, &bytes, &size));
    folder_put(bytes, size);
    demo_gif_close(&gif);
    GifFileType *read = read_gif(path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(read->ImageCount, n);
    return read;
}

static void check_area(const GifFileType *gif, int i, int left, int top, int width, int height)
{
    const GifImageDesc *d = &gif->SavedImages[i].ImageDesc;
    assert_int_equal(d->Left, left);
    assert_int_equal(d->Top, top);
    assert_int_equal(d->Width, width);
    assert_int_equal(d->Height, height);
}

static void test_a_frame_is_what_changed(void **state)
{
    (void)state;
    static uint8_t pictures[4][SIDE * SIDE * 3], got[SIDE * SIDE * 3];
    memset(pictures, 9, sizeof pictures);
    for (int i = 2; i < 4; i++) {
        pictures[i][3 * (5 * SIDE + 20)] = 200; /* red of x 20, y 5 */
        pictures[i][3 * (8 * SIDE + 7) + 2] = 100;
    }
    pictures[3][sizeof pictures[3] - 1] = 1;
    GifFileType *gif = encode(pictures, 4);
    check_area(gif, 0, 0, 0, SIDE, SIDE);
    check_area(gif, 1, 0, 0, 1, 1); /* nothing changed, but it takes its time */
    check_area(gif, 2, 7, 5, 14, 4);
    check_area(gif, 3, SIDE - 1, SIDE - 1, 1, 1);
    for (int i = 0; i < 4; i++) {
        composite(gif, i, got);
        assert_memory_equal(got, pictures[i], sizeof got);
    }
    DGifCloseFile(gif, NULL);
}

static int far(const uint8_t *rgb, const GifColorType *c)
{
    const int r = rgb[0] - c->Red, g = rgb[1] - c->Green, b = rgb[2] - c->Blue;
    return r * r + g * g + b * b;
}

static void test_256_colours_are_exact_and_more_are_near(void **state)
{
    (void)state;
    static uint8_t pictures[2][SIDE * SIDE * 3], got[SIDE * SIDE * 3];
    for (int i = 0; i < SIDE * SIDE; i++) {
        pictures[0][3 * i] = (uint8_t)(i % 256);
        pictures[0][3 * i + 1] = (uint8_t)(i * 7 % 256);
        memcpy(pictures[1] + 3 * i, (uint8_t[]){ (uint8_t)(i * 37), (uint8_t)(i / 4), (uint8_t)(i * 91) }, 3);
    }
    GifFileType *gif = encode(pictures, 2);
    composite(gif, 0, got);
    assert_memory_equal(got, pictures[0], sizeof got);
    composite(gif, 1, got);
    const ColorMapObject *map = gif->SavedImages[1].ImageDesc.ColorMap;
    assert_int_equal(map->ColorCount, 256);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const uint8_t *want = pictures[1] + 3 * i, *is = got + 3 * i;
        const int distance = far(want, &(GifColorType){ is[0], is[1], is[2] });
        assert_true(i >= 256 || distance == 0);
        for (int k = 0; k < 256; k++)
            assert_true(distance <= far(want, &map->Colors[k]));
    }
    DGifCloseFile(gif, NULL);
}

/* ---- refusals ---- */

typedef vact_status (*film)(const char *path, const demo_reel *reels, int32_t n, vact_error *err);
static const film films[] = { demo_film_png, demo_film_gif };

static void check_refused(film make, const char *to, const demo_reel *reels, int32_t n, vact_status want,
                          const char *words)
{
    vact_error err = { 0 };
    assert_int_equal(make(to, reels, n, &err), want);
    assert_int_equal(err.code, want);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" lacks \"%s\"", err.text, words);
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(make(to, reels, n, NULL), want);
}

static void test_nothing_to_draw_is_earg(void **state)
{
    (void)state;
    demo_table table;
    const demo_reel good = make_reel(1, &table, 1, true);
    const demo_reel bad[] = { { NULL, 1, "", "", true },
                              { &table, 0, "", "", true },
                              { &table, 1, NULL, "", true },
                              { &table, 1, "", NULL, true } };
    for (int f = 0; f < 2; f++) {
        check_refused(films[f], path, &good, 0, VACT_EARG, "found 0 reels of a film, expected 1 to 64");
        check_refused(films[f], path, &good, -1, VACT_EARG, "found -1 reels of a film, expected 1 to 64");
        check_refused(films[f], path, &good, 65, VACT_EARG, "found 65 reels of a film, expected 1 to 64");
        check_refused(films[f], path, NULL, 1, VACT_EARG, "a film needs a path and reels");
        check_refused(films[f], NULL, &good, 1, VACT_EARG, "a film needs a path and reels");
        check_refused(films[f], "", &good, 1, VACT_EARG, "a film needs a path and reels");
        for (int i = 0; i < 4; i++)
            check_refused(films[f], path, (demo_reel[]){ good, bad[i] }, 2, VACT_EARG,
                          "reel 1 of a film lacks tables or texts");
    }
}

static void test_the_most_reels_are_drawn(void **state)
{
    (void)state;
    demo_table table;
    demo_reel reels[DEMO_MOST_REELS];
    for (int i = 0; i < DEMO_MOST_REELS; i++)
        reels[i] = make_reel(1, &table, 1, true);
    vact_image image;
    assert_int_equal(strip_of(reels, DEMO_MOST_REELS, &image).height, ROW_TOP + 64 * ROW_STEP);
    vact_image_free(&image);
}

static void test_a_path_that_takes_no_file_is_eio(void **state)
{
    (void)state;
    demo_table table;
    const demo_reel reel = make_reel(1, &table, 1, true);
    char missing[80];
    snprintf(missing, sizeof missing, "%s/none/film", folder);
    for (int f = 0; f < 2; f++) {
        check_refused(films[f], missing, &reel, 1, VACT_EIO,
                      "/none/film: cannot create a temporary file beside it: No such file or directory");
        check_refused(films[f], folder, &reel, 1, VACT_EIO, ": is a directory, expected a file");
        check_refused(films[f], "/dev/null", &reel, 1, VACT_EIO, "/dev/null: is not a regular file");
    }
}

/* A file of at most 1000 bytes stands for a full disk. */
static void test_a_full_disk_is_eio_and_leaves_the_old_file(void **state)
{
    (void)state;
    static demo_table tables[19];
    const demo_reel reel = make_reel(1, tables, 19, true);
    struct rlimit before, full;
    folder_put("old", 3);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    full = before;
    full.rlim_cur = 1000;
    for (int f = 0; f < 2; f++) {
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
        check_refused(films[f], path, &reel, 1, VACT_EIO, "/film: cannot write: File too large");
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        folder_check("old", 3);
    }
    for (int f = 0; f < 2; f++) { /* and is replaced when there is room */
        assert_int_equal(films[f](path, &reel, 1, NULL), VACT_OK);
        FILE *file = fopen(path, "rb");
        char start[4];
        assert_non_null(file);
        assert_int_equal(fread(start, 1, 4, file), 4);
        assert_memory_equal(start, f == 0 ? "\x89PNG" : "GIF8", 4);
        fclose(file);
    }
    assert_int_equal(unlink(path), 0);
}

/* ---- memory ---- */

static film scarce; /* what is made without memory */

static vact_status make_scarce(double *answer, vact_error *err)
{
    demo_table tables[2];
    const demo_reel reel = make_reel(1, tables, 2, true);
    const vact_status status = scarce(path, &reel, 1, err);
    struct stat file;
    assert_int_equal(stat(path, &file), status == VACT_OK ? 0 : -1);
    *answer = status == VACT_OK ? (double)file.st_size : 0;
    unlink(path);
    return status;
}

/* So many colours that the bytes outgrow their first room. */
static vact_status encode_scarce(double *answer, vact_error *err)
{
    demo_gif *gif = demo_gif_open(SIDE, SIDE);
    const uint8_t *bytes;
    size_t size = 0;
    bool done = gif != NULL;
    for (uint32_t i = 0, noise = 1; done && i < 40; i++) {
        uint8_t picture[SIDE * SIDE * 3];
        for (int k = 0; k < SIDE * SIDE * 3; k++)
            picture[k] = (uint8_t)((noise = noise * 1664525 + 1013904223) >> 24);
        done = demo_gif_add(gif, picture, 5);
    }
    done = done && demo_gif_finish(gif, &bytes, &size);
    *answer = done ? (double)fnv1a64(bytes, size) : 0;
    assert_true(!done || size > 1 << 16);
    demo_gif_close(&gif);
    return done ? VACT_OK : vact_fail(err, VACT_ENOMEM, "no memory");
}

static void test_memory_that_is_not_there_is_enomem(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        scarce = films[f];
        memory_check(make_scarce);
    }
    memory_check(encode_scarce);
}

static int set_up(void **state)
{
    (void)state;
    return folder_make("film");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_font_is_the_one_of_the_file),
        cmocka_unit_test(test_a_strip_has_a_row_of_frames_for_each_reel),
        cmocka_unit_test(test_a_strip_is_captioned),
        cmocka_unit_test(test_long_captions_of_a_strip_are_cut),
        cmocka_unit_test(test_an_animation_shows_every_step),
        cmocka_unit_test(test_captions_of_an_animation_are_wrapped),
        cmocka_unit_test(test_a_frame_is_what_changed),
        cmocka_unit_test(test_256_colours_are_exact_and_more_are_near),
        cmocka_unit_test(test_nothing_to_draw_is_earg),
        cmocka_unit_test(test_the_most_reels_are_drawn),
        cmocka_unit_test(test_a_path_that_takes_no_file_is_eio),
        cmocka_unit_test(test_a_full_disk_is_eio_and_leaves_the_old_file),
        cmocka_unit_test(test_memory_that_is_not_there_is_enomem),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
