/* PNG bytes -> libpng's rows of RGBA -> pixels
 *
 * libpng brings every kind to 8-bit RGBA: palettes and small greys are expanded, 16 bits are scaled and rounded, a
 * transparent colour becomes alpha. Alpha is composited on black in plain 8-bit arithmetic. Interlaced files are read
 * as what they are, seven pictures on coarser grids, so one row is all the memory beside the pixels.
 * All other chunks, gamma and colour profiles among them, are skipped unread; checksums are checked in all.
 *
 * Time: with the last row libpng unpacks all that follows it, a thousand bytes for each in the file, so no row is fed
 * with much more than the bytes it may have. */
#include "base/error.h"
#include "image/decode.h"
#include <assert.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

enum { SLACK = 16384 }; /* bytes that a row may be fed with beside its own: libpng's buffer, what encoders leave */

typedef struct job {
    png_structp png;
    png_infop info;
    jmp_buf failed;
    const char *name;
    const uint8_t *bytes;
    size_t left;
    uint8_t *row;
    size_t fed, most_fed; /* packed bytes since this row began */
    bool no_memory;       /* the last allocation failed */
    vact_error *err;
    vact_status status; /* once it failed */
} job;

/* ---- what libpng calls ---- */

static _Noreturn void on_error(png_structp png, const char *words)
{
    job *j = png_get_error_ptr(png);
    j->status = j->no_memory ? VACT_ENOMEM : VACT_EINPUT;
    vact_fail(j->err, j->status, "%s: cannot decode this PNG: %s", j->name, j->no_memory ? "out of memory" : words);
    longjmp(j->failed, 1);
}

/* Of what doesn't matter to the pixels. */
static void on_warning(png_structp png, const char *words)
{
    (void)png;
    (void)words;
}

static void *take(png_structp png, png_alloc_size_t size)
{
    job *j = png_get_mem_ptr(png);
    void *memory = malloc(size);
    j->no_memory = !memory;
    return memory;
}

static void give(png_structp png, void *memory)
{
    (void)png;
    free(memory);
}

static bool is_pixel_data(png_structp png)
{
    return png_get_io_chunk_type(png) == 0x49444154 /* IDAT */ && (png_get_io_state(png) & PNG_IO_CHUNK_DATA);
}

static void read_bytes(png_structp png, png_bytep out, size_t n)
{
    job *j = png_get_io_ptr(png);
    if (n > j->left)
        png_error(png, "premature end of file");
    if (is_pixel_data(png) && (j->fed += n) > j->most_fed)
        png_error(png, "more data than pixels");
    memcpy(out, j->bytes, n);
    j->bytes += n;
    j->left -= n;
}

/* ---- decoding ---- */

static void ask_for_rgba(png_structp png)
{
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
}

static void read_rows(job *j, const vact_image *image, const vact_grid *grid, int32_t width, int32_t height)
{
    for (int32_t y = 0; y < height; y++) {
        j->fed = 0;
        png_read_row(j->png, j->row, NULL);
        vact_image_put_row(image, grid, y, j->row, width, 4);
    }
}

static void read_passes(job *j, const vact_image *image)
{
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++) {
        const int32_t width = PNG_PASS_COLS(image->width, pass), height = PNG_PASS_ROWS(image->height, pass);
        const vact_grid grid = {
            .origin = PNG_PASS_START_ROW(pass) * image->width + PNG_PASS_START_COL(pass),
            .step_x = PNG_PASS_COL_OFFSET(pass),
            .step_y = PNG_PASS_ROW_OFFSET(pass) * image->width,
        };
        if (width > 0) /* a pass without columns has no rows in the file */
            read_rows(j, image, &grid, width, height);
    }
}

static vact_status decode(job *j, vact_image *image)
{
    if (setjmp(j->failed) != 0)
        return j->status;
    j->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, j, on_error, on_warning, j, take, give);
    j->info = j->png ? png_create_info_struct(j->png) : NULL;
    if (!j->info)
        return vact_fail(j->err, VACT_ENOMEM, "%s: out of memory", j->name);
    png_structp png = j->png;
    png_set_read_fn(png, j, read_bytes);
    png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* ours are checked below */
    png_read_info(png, j->info);

    const uint32_t width = png_get_image_width(png, j->info), height = png_get_image_height(png, j->info);
    const vact_status status = vact_image_take(image, j->name, width, height, j->err);
    if (status != VACT_OK)
        return status;
    j->most_fed = 8 * (size_t)width + SLACK; /* 16-bit RGBA */
    ask_for_rgba(png);
    png_read_update_info(png, j->info);
    assert(png_get_rowbytes(png, j->info) == 4 * (size_t)width);
    j->row = malloc(4 * (size_t)width);
    if (!j->row)
        return vact_fail(j->err, VACT_ENOMEM, "%s: out of memory", j->name);

    if (png_get_interlace_type(png, j->info) == PNG_INTERLACE_ADAM7)
        read_passes(j, image);
    else
        read_rows(j, image, &(vact_grid){ .step_x = 1, .step_y = image->width }, image->width, image->height);
    png_read_end(png, NULL);
    return VACT_OK;
}

vact_status vact_png_decode(vact_image *image, const char *name, const uint8_t *bytes, size_t size, vact_error *err)
{
    job j = { .name = name, .bytes = bytes, .left = size, .err = err };
    const vact_status status = decode(&j, image);
    png_destroy_read_struct(&j.png, &j.info, NULL);
    free(j.row);
    return status;
}
