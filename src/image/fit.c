/* a picture of any size -> a square of the model's size, as a policy's training did it
 *
 * Sides and source positions are computed in the types that Python and PyTorch use, double and float32, in their
 * order; so sides are floored alike, and a picture of just the model's size comes out to the bit. */
#include "image/image.h"
#include <string.h>

/* A position between two pixels of a line: (1 - weight) * lo + weight * hi. */
typedef struct tap {
    int32_t lo, hi;
    float weight;
} tap;

/* Output pixel `i` on a line of n pixels, scale = n / output pixels; its centre, less half a pixel. */
static tap tap_at(int32_t i, float scale, int32_t n)
{
    float at = scale * ((float)i + 0.5f) - 0.5f;
    at = at > 0 ? at : 0;
    const int32_t lo = (int32_t)at; /* < n: at is n - 0.5 at most, and float32 is good to 1e-3 up to VACT_MAX_SIDE */
    return (tap){ lo, lo + 1 < n ? lo + 1 : lo, at - (float)lo };
}

static float mix(float lo, float hi, float weight)
{
    return (1 - weight) * lo + weight * hi;
}

static int32_t shrunk(int32_t side, double ratio)
{
    const int32_t n = (int32_t)(side / ratio);
    return n > 0 ? n : 1;
}

/* What resizing reads: units[v] is byte v in [0, 1], as dividing it there would give it. */
typedef struct source {
    const vact_image *picture;
    float units[256];
} source;

static float value(const source *s, size_t i)
{
    const void *data = s->picture->data;
    return s->picture->format == VACT_RGB_U8 ? s->units[((const uint8_t *)data)[i]] : ((const float *)data)[i];
}

/* Channel c between two pixels of the row that starts at value `row`. */
static float across(const source *s, size_t row, const tap *x, size_t c)
{
    return mix(value(s, row + 3 * (size_t)x->lo + c), value(s, row + 3 * (size_t)x->hi + c), x->weight);
}

/* Bilinear, half-pixel centres: dst [height, width, 3] with rows of `stride` values. */
static void resize(float *dst, size_t stride, int32_t width, int32_t height, const source *s)
{
    const vact_image *picture = s->picture;
    const float scale_x = (float)picture->width / (float)width, scale_y = (float)picture->height / (float)height;
    const size_t row = 3 * (size_t)picture->width;
    for (int32_t j = 0; j < height; j++, dst += stride) {
        const tap y = tap_at(j, scale_y, picture->height);
        for (int32_t i = 0; i < width; i++) {
            const tap x = tap_at(i, scale_x, picture->width);
            for (size_t c = 0; c < 3; c++)
                dst[3 * (size_t)i + c] =
                    mix(across(s, (size_t)y.lo * row, &x, c), across(s, (size_t)y.hi * row, &x, c), y.weight);
        }
    }
}

void vact_fit_pad_left_top(float *dst, int32_t size, const vact_image *picture)
{
    const double ratio_x = (double)picture->width / size, ratio_y = (double)picture->height / size;
    const double ratio = ratio_x > ratio_y ? ratio_x : ratio_y;
    const int32_t width = shrunk(picture->width, ratio), height = shrunk(picture->height, ratio);
    const size_t stride = 3 * (size_t)size;
    source s = { .picture = picture };
    for (int v = 0; v < 256; v++)
        s.units[v] = (float)v / 255.0f;
    memset(dst, 0, stride * (size_t)size * sizeof *dst);
    resize(dst + stride * (size_t)(size - height) + 3 * (size_t)(size - width), stride, width, height, &s);
}

const char *vact_fit_name(vact_fit_fn fit)
{
    static const struct {
        vact_fit_fn fit;
        const char *name;
    } known[] = { { vact_fit_pad_left_top, "pad_left_top" } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].fit == fit)
            return known[i].name;
    return "unknown";
}
