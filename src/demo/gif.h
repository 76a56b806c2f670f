/* Pictures that follow each other -> the bytes of an animated GIF, which loops for ever. A picture is stored as the
 * rectangle that differs from the one before, with the very colours that are in it; of more than 256 in one rectangle,
 * the first 256 stand for the others. */
#ifndef VACT_DEMO_GIF_H
#define VACT_DEMO_GIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct demo_gif demo_gif;

/* Each may fail for want of memory alone: NULL, false. */

demo_gif *demo_gif_open(int width, int height);
bool demo_gif_add(demo_gif *gif, const uint8_t *rgb, int hundredths);     /* [height, width, 3], shown for so long */
bool demo_gif_finish(demo_gif *gif, const uint8_t **bytes, size_t *size); /* at least one was added; the gif's own */
void demo_gif_close(demo_gif **gif);                                      /* accepts NULL and a pointer to NULL */

#endif
