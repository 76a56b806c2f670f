/* any bytes -> the picture decoders, then the resize: a status and one line, or pixels that can all be read */
#include "image/image.h"
#include <stdlib.h>
#include <string.h>

enum { SIZE = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pixels(const vact_image *image)
{
    float out[3 * SIZE * SIZE];
    const size_t n = 3 * (size_t)image->width * (size_t)image->height;
    const uint8_t *bytes = image->data;
    if (image->format != VACT_RGB_U8 || image->width < 1 || image->width > VACT_MAX_SIDE || image->height < 1 ||
        image->height > VACT_MAX_SIDE || n / 3 > VACT_MAX_PIXELS)
        abort();
    volatile uint8_t last = bytes[0];
    last = bytes[n - 1];
    (void)last;
    vact_fit_pad_left_top(out, SIZE, image);
    for (int i = 0; i < 3 * SIZE * SIZE; i++)
        if (!(out[i] >= 0 && out[i] <= 1.000001f)) /* weights of a mean sum to 1 but for rounding */
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vact_image image;
    vact_error err;
    uint8_t *copy = malloc(size > 0 ? size : 1); /* to size, so that a read beyond it is seen */
    if (!copy)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    const vact_status status = vact_image_decode(&image, "fuzz", copy, size, &err);
    if (status == VACT_OK)
        check_pixels(&image);
    else if (image.data || err.code != status || !err.text[0] || strchr(err.text, '\n'))
        abort();
    vact_image_free(&image);
    free(copy);
    return 0;
}
