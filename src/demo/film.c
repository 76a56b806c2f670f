/* reels -> canvases -> PNG, GIF */
#include "demo/film.h"
#include "base/error.h"
#include "base/replace.h"
#include "demo/canvas.h"
#include "demo/font.h"
#include "demo/gif.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

enum { LETTER = DEMO_FONT_WIDTH, LINE = DEMO_FONT_HEIGHT };

static const demo_rgb INK = 0x24292F, FAINT = 0x6E7781, EDGE = 0xAFB8C1, GREEN = 0x1A7F37, RED = 0xCF222E;

/* ---- what both share ---- */

static vact_status check(const char *path, const demo_reel *reels, int32_t n, vact_error *err)
{
    if (!path || !*path || !reels)
        return vact_fail(err, VACT_EARG, "a film needs a path and reels");
    if (n < 1 || n > DEMO_MOST_REELS)
        return vact_fail(err, VACT_EARG, "found %d reels of a film, expected 1 to %d", (int)n, DEMO_MOST_REELS);
    for (int32_t i = 0; i < n; i++)
        if (!reels[i].tables || reels[i].n < 1 || !reels[i].caption || !reels[i].outcome)
            return vact_fail(err, VACT_EARG, "reel %d of a film lacks tables or texts", (int)i);
    return VACT_OK;
}

static vact_status no_memory(const char *path, vact_error *err)
{
    return vact_fail(err, VACT_ENOMEM, "%s: no memory to draw it", vact_path_end(path));
}

static vact_status save(const char *path, const void *bytes, size_t size, vact_error *err)
{
    vact_replacement file;
    vact_status status = vact_replacement_open(&file, path, err);
    if (status == VACT_OK && fwrite(bytes, 1, size, file.file) != size)
        status = vact_fail(err, VACT_EIO, "%s: cannot write: %s", vact_path_end(path), strerror(errno));
    if (status == VACT_OK)
        status = vact_replacement_finish(&file, err);
    vact_replacement_close(&file);
    return status;
}

/* A table with a thin edge around. */
static void draw_frame(demo_canvas *c, int x, int y, const demo_table *table, demo_rgb edge)
{
    demo_canvas_fill(c, (demo_box){ x - 1, y - 1, c->side + 2, c->side + 2 }, edge);
    demo_canvas_table(c, x, y, table);
}

/* ---- film strip ---- */

enum {
    FRAMES = 7, /* of a row, at most */
    SIDE = 120,
    GAP = 8,     /* between frames */
    MARGIN = 14, /* at the strip's edges and between rows */
    CAPTION = LINE + 6,
    NUMBER = LINE + 2, /* under a frame */
    ROW = CAPTION + SIDE + NUMBER,
    STRIP = FRAMES * SIDE + (FRAMES - 1) * GAP
};

/* The table that frame i of k shows. */
static int32_t frame_step(int32_t n, int32_t i, int32_t k)
{
    return k == 1 ? 0 : (int32_t)(((int64_t)i * (n - 1) + (k - 1) / 2) / (k - 1));
}

static void draw_number(demo_canvas *c, int x, int y, int32_t step)
{
    char text[16];
    const int width = snprintf(text, sizeof text, "%d", (int)step) * LETTER;
    demo_canvas_text(c, (demo_box){ x + (SIDE - width) / 2, y, width, LINE }, FAINT, text);
}

static void draw_row(demo_canvas *c, int top, const demo_reel *reel)
{
    const size_t length = strlen(reel->outcome), most = STRIP / 2 / LETTER;
    const int outcome = (int)(length < most ? length : most) * LETTER;
    const int32_t frames = reel->n < FRAMES ? reel->n : FRAMES;
    const demo_rgb verdict = reel->good ? GREEN : RED;
    demo_canvas_text(c, (demo_box){ MARGIN, top, STRIP - outcome - 2 * LETTER, LINE }, INK, reel->caption);
    demo_canvas_text(c, (demo_box){ MARGIN + STRIP - outcome, top, outcome, LINE }, verdict, reel->outcome);
    for (int32_t i = 0; i < frames; i++) {
        const int32_t step = frame_step(reel->n, i, frames);
        const int x = MARGIN + i * (SIDE + GAP), y = top + CAPTION;
        draw_frame(c, x, y, &reel->tables[step], step == reel->n - 1 ? verdict : EDGE);
        draw_number(c, x, y + SIDE + NUMBER - LINE, step);
    }
}

static vact_status write_png(const char *path, const demo_canvas *c, vact_error *err)
{
    png_image image = { .version = PNG_IMAGE_VERSION,
                        .width = (png_uint_32)c->width,
                        .height = (png_uint_32)c->height,
                        .format = PNG_FORMAT_RGB };
    size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    uint8_t *bytes = malloc(size);
    const bool done = bytes && png_image_write_to_memory(&image, bytes, &size, 0, c->rgb, 0, NULL);
    const vact_status status = done ? save(path, bytes, size, err) : no_memory(path, err);
    free(bytes);
    return status;
}

vact_status demo_film_png(const char *path, const demo_reel *reels, int32_t n, vact_error *err)
{
    vact_status status = check(path, reels, n, err);
    if (status != VACT_OK)
        return status;
    demo_canvas c;
    if (!demo_canvas_open(&c, STRIP + 2 * MARGIN, MARGIN + n * (ROW + MARGIN), SIDE))
        return no_memory(path, err);
    for (int32_t i = 0; i < n; i++)
        draw_row(&c, MARGIN + i * (ROW + MARGIN), &reels[i]);
    status = write_png(path, &c, err);
    demo_canvas_close(&c);
    return status;
}

/* ---- animation ---- */

enum {
    GIF_SIDE = 240,
    GIF_MARGIN = 8,
    GIF_WIDTH = GIF_SIDE + 2 * GIF_MARGIN,
    GIF_CAPTION = 2 * LINE,
    GIF_TABLE = GIF_MARGIN + GIF_CAPTION + GIF_MARGIN, /* its top */
    GIF_STATUS = GIF_TABLE + GIF_SIDE + GIF_MARGIN,    /* top of the line that ends the picture */
    GIF_HEIGHT = GIF_STATUS + LINE + GIF_MARGIN,
    STEP_TIME = 10, /* hundredths of a second */
    END_TIME = 120
};

/* Under the table: the step, at the end the outcome. */
static void draw_scene(demo_canvas *c, const demo_reel *reel, int32_t step)
{
    const bool last = step == reel->n - 1;
    const demo_rgb verdict = reel->good ? GREEN : RED;
    char counted[24];
    snprintf(counted, sizeof counted, "step %d", (int)step);
    demo_canvas_fill(c, (demo_box){ 0, 0, GIF_WIDTH, GIF_HEIGHT }, 0xFFFFFF);
    demo_canvas_text(c, (demo_box){ GIF_MARGIN, GIF_MARGIN, GIF_SIDE, GIF_CAPTION }, INK, reel->caption);
    draw_frame(c, GIF_MARGIN, GIF_TABLE, &reel->tables[step], last ? verdict : EDGE);
    demo_canvas_text(c, (demo_box){ GIF_MARGIN, GIF_STATUS, GIF_SIDE, LINE }, last ? verdict : FAINT,
                     last ? reel->outcome : counted);
}

static bool animate(demo_gif *gif, demo_canvas *c, const demo_reel *reels, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        for (int32_t step = 0; step < reels[i].n; step++) {
            draw_scene(c, &reels[i], step);
            if (!demo_gif_add(gif, c->rgb, step == reels[i].n - 1 ? END_TIME : STEP_TIME))
                return false;
        }
    return true;
}

vact_status demo_film_gif(const char *path, const demo_reel *reels, int32_t n, vact_error *err)
{
    vact_status status = check(path, reels, n, err);
    if (status != VACT_OK)
        return status;
    demo_canvas c = { 0 };
    demo_gif *gif = demo_gif_open(GIF_WIDTH, GIF_HEIGHT);
    const uint8_t *bytes;
    size_t size;
    if (gif && demo_canvas_open(&c, GIF_WIDTH, GIF_HEIGHT, GIF_SIDE) && animate(gif, &c, reels, n) &&
        demo_gif_finish(gif, &bytes, &size))
        status = save(path, bytes, size, err);
    else
        status = no_memory(path, err);
    demo_gif_close(&gif);
    demo_canvas_close(&c);
    return status;
}
