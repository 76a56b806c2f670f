/* JPEG bytes -> libjpeg's rows of RGB or CMYK -> pixels, upright
 *
 * Settings are those of libjpeg's defaults, exact integer DCT and smooth upsampling: other readers' pixels to the bit
 * where they use libjpeg-turbo. A warning is a failure: libjpeg would fill what a damaged file lacks with grey.
 * Samples of CMYK and YCCK are taken as inverted (0 is full ink), with and without Adobe's marker: that is what
 * programs write. What follows the last row is not read: cameras leave things there.
 *
 * Memory: the pixels, and for progressive files two bytes per sample, both bounded by VACT_MAX_PIXELS; APP1 segments,
 * bounded by the file. Time: each scan visits all blocks, so their number is limited. */
#include "base/error.h"
#include "image/decode.h"
#include <setjmp.h>
#include <stdio.h>

#include <jerror.h>
#include <jpeglib.h>

enum { MAX_SCANS = 100 }; /* encoders write about ten */

typedef struct job {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    const char *name;
    vact_error *err;
    vact_status status; /* once it failed */
} job;

/* ---- what libjpeg calls ---- */

static _Noreturn void on_error(j_common_ptr jpeg)
{
    job *j = jpeg->client_data;
    char words[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, words);
    j->status = jpeg->err->msg_code == JERR_OUT_OF_MEMORY ? VACT_ENOMEM : VACT_EINPUT;
    vact_fail(j->err, j->status, "%s: cannot decode this JPEG: %s", j->name, words);
    longjmp(j->failed, 1);
}

/* Level -1 is a warning, others are traces. */
static void on_message(j_common_ptr jpeg, int level)
{
    if (level < 0)
        on_error(jpeg);
}

static void on_progress(j_common_ptr jpeg)
{
    job *j = jpeg->client_data;
    if (j->jpeg.input_scan_number <= MAX_SCANS)
        return;
    j->status = vact_fail(j->err, VACT_EINPUT, "%s: found a JPEG of more than %d scans, expected at most %d", j->name,
                          MAX_SCANS, MAX_SCANS);
    longjmp(j->failed, 1);
}

/* ---- decoding ---- */

static int orientation_of(const struct jpeg_decompress_struct *jpeg)
{
    int orientation = 0;
    for (jpeg_saved_marker_ptr m = jpeg->marker_list; m && orientation == 0; m = m->next)
        orientation = vact_exif_orientation(m->data, m->data_length);
    return orientation ? orientation : 1;
}

/* Scans may be missing from a file that is whole otherwise; libjpeg takes that for grey. */
static vact_status check_components(const job *j)
{
    for (int i = 0; i < j->jpeg.num_components; i++)
        if (!j->jpeg.comp_info[i].quant_table)
            return vact_fail(j->err, VACT_EINPUT, "%s: found a JPEG without data of component %d, expected all %d",
                             j->name, i, j->jpeg.num_components);
    return VACT_OK;
}

static vact_status decode(job *j, vact_image *image, const uint8_t *bytes, size_t size)
{
    struct jpeg_decompress_struct *jpeg = &j->jpeg;
    if (setjmp(j->failed) != 0)
        return j->status;
    jpeg_create_decompress(jpeg);
    jpeg->progress = &j->progress;
    jpeg_mem_src(jpeg, bytes, size);
    jpeg_save_markers(jpeg, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(jpeg, TRUE);

    const int orientation = orientation_of(jpeg);
    const bool swapped = orientation > 4;
    vact_status status = vact_image_take(image, j->name, swapped ? jpeg->image_height : jpeg->image_width,
                                         swapped ? jpeg->image_width : jpeg->image_height, j->err);
    if (status != VACT_OK)
        return status;
    if (jpeg->out_color_space != JCS_CMYK)
        jpeg->out_color_space = JCS_RGB;
    jpeg_start_decompress(jpeg);
    status = check_components(j);
    if (status != VACT_OK)
        return status;

    const int32_t width = (int32_t)jpeg->output_width, height = (int32_t)jpeg->output_height;
    const int samples = jpeg->output_components;
    const vact_grid grid = vact_exif_grid(orientation, width, height);
    JSAMPARRAY row = jpeg->mem->alloc_sarray((j_common_ptr)jpeg, JPOOL_IMAGE, (JDIMENSION)(width * samples), 1);
    for (int32_t y = 0; y < height; y++) {
        jpeg_read_scanlines(jpeg, row, 1);
        vact_image_put_row(image, &grid, y, row[0], width, samples);
    }
    return VACT_OK;
}

vact_status vact_jpeg_decode(vact_image *image, const char *name, const uint8_t *bytes, size_t size, vact_error *err)
{
    job j = { .name = name, .err = err };
    j.jpeg.err = jpeg_std_error(&j.errors);
    j.jpeg.client_data = &j;
    j.errors.error_exit = on_error;
    j.errors.emit_message = on_message;
    j.progress.progress_monitor = on_progress;
    const vact_status status = decode(&j, image, bytes, size);
    jpeg_destroy_decompress(&j.jpeg);
    return status;
}
