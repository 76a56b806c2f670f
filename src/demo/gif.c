/* pictures -> changed rectangles, palettes -> giflib -> bytes */
#include "demo/gif.h"
#include "base/grow.h"

#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>

enum { COLOURS = 256, START_ROOM = 1 << 16 };

struct demo_gif {
    GifFileType *encoder;
    int width, height, pictures;
    uint8_t *bytes; /* what the encoder has written */
    size_t used, room;
    bool no_memory;   /* the encoder doesn't tell each time */
    uint8_t *shown;   /* [height, width, 3], the picture before */
    uint8_t *indices; /* [height, width] at most: a rectangle's colours in the palette */
    GifColorType palette[COLOURS];
    int colours;
};

/* ---- bytes ---- */

static int write_bytes(GifFileType *encoder, const GifByteType *bytes, int n)
{
    demo_gif *gif = encoder->UserData;
    const size_t need = gif->used + (size_t)n;
    uint8_t *grown =
        gif->no_memory ? NULL : vact_grown(gif->bytes, &gif->room, need > START_ROOM ? need : START_ROOM, 1);
    gif->no_memory = !grown;
    if (!grown)
        return 0;
    memcpy(grown + gif->used, bytes, (size_t)n);
    gif->bytes = grown;
    gif->used = need;
    return n;
}

static bool write_header(demo_gif *gif)
{
    static const uint8_t for_ever[] = { 1, 0, 0 };
    GifFileType *e = gif->encoder;
    EGifSetGifVersion(e, true);
    return EGifPutScreenDesc(e, gif->width, gif->height, 8, 0, NULL) &&
           EGifPutExtensionLeader(e, APPLICATION_EXT_FUNC_CODE) && EGifPutExtensionBlock(e, 11, "NETSCAPE2.0") &&
           EGifPutExtensionBlock(e, sizeof for_ever, for_ever) && EGifPutExtensionTrailer(e);
}

demo_gif *demo_gif_open(int width, int height)
{
    demo_gif *gif = calloc(1, sizeof *gif);
    if (!gif)
        return NULL;
    gif->width = width;
    gif->height = height;
    gif->shown = malloc(3 * (size_t)width * (size_t)height);
    gif->indices = malloc((size_t)width * (size_t)height);
    gif->encoder = EGifOpen(gif, write_bytes, NULL);
    if (!gif->shown || !gif->indices || !gif->encoder || !write_header(gif))
        demo_gif_close(&gif);
    return gif;
}

bool demo_gif_finish(demo_gif *gif, const uint8_t **bytes, size_t *size)
{
    GifFileType *encoder = gif->encoder;
    gif->encoder = NULL;
    EGifCloseFile(encoder, NULL);
    *bytes = gif->bytes;
    *size = gif->used;
    return !gif->no_memory;
}

void demo_gif_close(demo_gif **gif)
{
    if (!gif || !*gif)
        return;
    demo_gif *old = *gif;
    *gif = NULL;
    if (old->encoder)
        EGifCloseFile(old->encoder, NULL);
    free(old->bytes);
    free(old->shown);
    free(old->indices);
    free(old);
}

/* ---- pictures ---- */

typedef struct area {
    int left, top, right, bottom; /* the last two: the first outside */
} area;

/* What differs from the picture before; one pixel if nothing does, for a frame has to have one. */
static area changed(const demo_gif *gif, const uint8_t *rgb)
{
    area a = { gif->width, gif->height, 0, 0 };
    if (gif->pictures == 0)
        return (area){ 0, 0, gif->width, gif->height };
    for (int y = 0; y < gif->height; y++)
        for (int x = 0; x < gif->width; x++) {
            const size_t at = 3 * ((size_t)y * (size_t)gif->width + (size_t)x);
            if (memcmp(rgb + at, gif->shown + at, 3) == 0)
                continue;
            a.left = x < a.left ? x : a.left;
            a.right = x >= a.right ? x + 1 : a.right;
            a.top = y < a.top ? y : a.top;
            a.bottom = y + 1;
        }
    return a.right > 0 ? a : (area){ 0, 0, 1, 1 };
}

static int squared(int a, int b)
{
    return (a - b) * (a - b);
}

/* The palette's index of a colour, which joins it if there is room, else of the nearest. */
static int index_of(demo_gif *gif, const uint8_t *rgb)
{
    int best = 0, least = -1;
    for (int i = 0; i < gif->colours && least != 0; i++) {
        const GifColorType *c = &gif->palette[i];
        const int far = squared(c->Red, rgb[0]) + squared(c->Green, rgb[1]) + squared(c->Blue, rgb[2]);
        if (least < 0 || far < least) {
            least = far;
            best = i;
        }
    }
    if (least == 0 || gif->colours == COLOURS)
        return best;
    gif->palette[gif->colours] = (GifColorType){ rgb[0], rgb[1], rgb[2] };
    return gif->colours++;
}

static void index_area(demo_gif *gif, const area *a, const uint8_t *rgb)
{
    const int width = a->right - a->left;
    uint8_t *out = gif->indices;
    gif->colours = 0;
    for (int y = a->top; y < a->bottom; y++) {
        const uint8_t *at = rgb + 3 * ((size_t)y * (size_t)gif->width + (size_t)a->left);
        for (int x = 0; x < width; x++, at += 3, out++)
            *out = x > 0 && memcmp(at, at - 3, 3) == 0 ? out[-1] : (uint8_t)index_of(gif, at);
    }
}

static bool write_control(demo_gif *gif, int hundredths)
{
    const GraphicsControlBlock how = { .DisposalMode = DISPOSE_DO_NOT,
                                       .DelayTime = hundredths,
                                       .TransparentColor = NO_TRANSPARENT_COLOR };
    GifByteType block[4];
    return EGifPutExtension(gif->encoder, GRAPHICS_EXT_FUNC_CODE, (int)EGifGCBToExtension(&how, block), block);
}

static bool write_area(demo_gif *gif, const area *a)
{
    const int width = a->right - a->left, height = a->bottom - a->top;
    ColorMapObject *map = GifMakeMapObject(1 << GifBitSize(gif->colours), NULL);
    if (!map)
        return false;
    memcpy(map->Colors, gif->palette, (size_t)gif->colours * sizeof *gif->palette);
    bool done = EGifPutImageDesc(gif->encoder, a->left, a->top, width, height, false, map);
    GifFreeMapObject(map);
    for (int y = 0; done && y < height; y++)
        done = EGifPutLine(gif->encoder, gif->indices + y * width, width);
    return done;
}

bool demo_gif_add(demo_gif *gif, const uint8_t *rgb, int hundredths)
{
    const area a = changed(gif, rgb);
    index_area(gif, &a, rgb);
    if (!write_control(gif, hundredths) || !write_area(gif, &a))
        return false;
    memcpy(gif->shown, rgb, 3 * (size_t)gif->width * (size_t)gif->height);
    gif->pictures++;
    return !gif->no_memory;
}
