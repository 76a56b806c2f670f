/* bytes or a file -> its format by the first bytes -> that format's decoder -> VACT_RGB_U8 pixels */
#include "image/decode.h"
#include "base/error.h"
#include "base/mapping.h"
#include "file/line.h"
#include <stdlib.h>
#include <string.h>

/* Formats are told by what stands at `offset`; those without a decoder are there to be named in a message. */
static const struct format {
    const char *name, *magic;
    size_t offset, length;
    vact_decode_fn decode;
} formats[] = {
    { "JPEG", "\xff\xd8\xff", 0, 3, vact_jpeg_decode },
    { "PNG", "\x89PNG\r\n\x1a\n", 0, 8, vact_png_decode },
    { "GIF", "GIF8", 0, 4, NULL },
    { "WebP", "WEBP", 8, 4, NULL },
    { "BMP", "BM", 0, 2, NULL },
    { "TIFF", "II*\0", 0, 4, NULL },
    { "TIFF", "MM\0*", 0, 4, NULL },
    { "JPEG 2000", "jP  ", 4, 4, NULL },
    { "HEIF or AVIF", "ftyp", 4, 4, NULL },
};
enum { FORMATS = sizeof formats / sizeof *formats };

static const struct format *format_of(const uint8_t *bytes, size_t size)
{
    for (int i = 0; i < FORMATS; i++) {
        const struct format *f = &formats[i];
        if (size >= f->offset + f->length && memcmp(bytes + f->offset, f->magic, f->length) == 0)
            return f;
    }
    return NULL;
}

static vact_status decode(vact_image *image, const char *name, const uint8_t *bytes, size_t size, vact_error *err)
{
    static const char expected[] = "expected a JPEG or PNG file";
    char start[64];
    if (size == 0)
        return vact_fail(err, VACT_EINPUT, "%s: found no bytes, %s", name, expected);
    const struct format *format = format_of(bytes, size);
    if (!format)
        return vact_fail(err, VACT_EINPUT, "%s: found a file that starts with \"%s\", %s", name,
                         vact_printable(start, sizeof start, (const char *)bytes, size < 16 ? size : 16), expected);
    if (!format->decode)
        return vact_fail(err, VACT_EINPUT, "%s: found a %s file, %s", name, format->name, expected);
    const vact_status status = format->decode(image, name, bytes, size, err);
    if (status != VACT_OK)
        vact_image_free(image);
    return status;
}

vact_status vact_image_decode(vact_image *image, const char *name, const void *bytes, size_t size, vact_error *err)
{
    vact_error_clear(err);
    if (!image || !name || (!bytes && size > 0))
        return vact_fail(err, VACT_EARG, "vact_image_decode: image, name or bytes is NULL");
    *image = (vact_image){ 0 };
    return decode(image, vact_path_end(name), bytes, size, err);
}

vact_status vact_image_load(vact_image *image, const char *path, vact_error *err)
{
    enum { MOST_BYTES = 1 << 30 }; /* VACT_MAX_PIXELS of 16-bit RGBA, uncompressed, are half of it */
    vact_mapping file;
    vact_error_clear(err);
    if (!image || !path)
        return vact_fail(err, VACT_EARG, "vact_image_load: %s is NULL", image ? "path" : "image");
    *image = (vact_image){ 0 };
    vact_status status = vact_mapping_copy(&file, path, MOST_BYTES, err); /* cameras write over pictures */
    if (status == VACT_OK)
        status = decode(image, vact_path_end(path), file.data, file.size, err);
    vact_mapping_close(&file);
    return status;
}

void vact_image_free(vact_image *image)
{
    if (!image)
        return;
    free((void *)(uintptr_t)image->data);
    *image = (vact_image){ 0 };
}

vact_status vact_image_take(vact_image *image, const char *name, uint32_t width, uint32_t height, vact_error *err)
{
    const uint64_t pixels = (uint64_t)width * height;
    if (pixels == 0 || width > VACT_MAX_SIDE || height > VACT_MAX_SIDE || pixels > VACT_MAX_PIXELS)
        return vact_fail(err, VACT_EINPUT, "%s: found %u x %u pixels, expected sides of 1 to %d and at most %d pixels",
                         name, width, height, VACT_MAX_SIDE, VACT_MAX_PIXELS);
    void *data = malloc(3 * (size_t)pixels);
    if (!data)
        return vact_fail(err, VACT_ENOMEM, "%s: out of memory for %u x %u pixels", name, width, height);
    *image = (vact_image){ .data = data, .width = (int32_t)width, .height = (int32_t)height, .format = VACT_RGB_U8 };
    return VACT_OK;
}

/* a * b / 255, rounded. */
static uint8_t scale(unsigned a, unsigned b)
{
    return (uint8_t)((a * b + 127) / 255);
}

void vact_image_put_row(const vact_image *image, const vact_grid *grid, int32_t y, const uint8_t *row, int32_t n,
                        int samples)
{
    uint8_t *to = (uint8_t *)(uintptr_t)image->data + 3 * (grid->origin + y * grid->step_y);
    for (int32_t x = 0; x < n; x++, row += samples, to += 3 * grid->step_x)
        for (int c = 0; c < 3; c++)
            to[c] = scale(row[c], samples == 4 ? row[3] : 255);
}
