/* What the decoders share: a file's bytes -> the pixels of a vact_image, row by row.
 *
 *   decode.c   looks at the first bytes, opens files
 *   jpeg.c     libjpeg's rows, turned upright as exif.c says
 *   png.c      libpng's rows, pass by pass, composited on black
 *
 * A decoder reads the header, takes the pixels' memory, and puts each pixel where it stays. */
#ifndef VACT_IMAGE_DECODE_H
#define VACT_IMAGE_DECODE_H

#include "vact.h"

/* `name` as messages show it. After a failure image->data may be taken already: vact_image_decode frees it. */
typedef vact_status (*vact_decode_fn)(vact_image *image, const char *name, const uint8_t *bytes, size_t size,
                                      vact_error *err);

vact_status vact_jpeg_decode(vact_image *image, const char *name, const uint8_t *bytes, size_t size, vact_error *err);
vact_status vact_png_decode(vact_image *image, const char *name, const uint8_t *bytes, size_t size, vact_error *err);

/* Sides as a header gives them, and room for that many pixels. EINPUT: out of range. ENOMEM. */
vact_status vact_image_take(vact_image *image, const char *name, uint32_t width, uint32_t height, vact_error *err);

/* Where the pixels of a stored picture, or of one on a coarser grid of it, go: pixel (x, y) to
 * origin + x * step_x + y * step_y. */
typedef struct vact_grid {
    ptrdiff_t origin, step_x, step_y;
} vact_grid;

/* Writes row y, n pixels of 3 or 4 samples. The fourth scales the others: alpha over black, or inverted black ink. */
void vact_image_put_row(const vact_image *image, const vact_grid *grid, int32_t y, const uint8_t *row, int32_t n,
                        int samples);

/* EXIF's orientation, 1..8, of an APP1 segment's payload; 0: not EXIF. 1 (upright) where it has none or is damaged:
 * viewers show such pictures as they are stored. */
int vact_exif_orientation(const uint8_t *segment, size_t size);

/* For a stored picture of that size. Orientations 5 to 8 turn its rows into columns. */
vact_grid vact_exif_grid(int orientation, int32_t width, int32_t height);

#endif
