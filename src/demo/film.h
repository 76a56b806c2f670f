/* Pictures of episodes, for people. */
#ifndef VACT_DEMO_FILM_H
#define VACT_DEMO_FILM_H

#include "demo/table.h"
#include "vact.h"

enum { DEMO_MOST_REELS = 64 };

/* An episode to draw. Bytes of its texts that are not printable ASCII are drawn as '?'; what has no room ends in "...". */
typedef struct demo_reel {
    const demo_table *tables; /* [n], from the start on, one a step */
    int32_t n;                /* 1 or more */
    const char *caption;      /* the sentence */
    const char *outcome;      /* "solved in 12 steps" */
    bool good;                /* the outcome is written in green, else in red */
} demo_reel;

/* n: 1..DEMO_MOST_REELS, EARG otherwise. EIO, ENOMEM: what was at the path is as before. */

/* A film strip, PNG: a row for each reel, frames from its start to its end side by side. */
vact_status demo_film_png(const char *path, const demo_reel *reels, int32_t n, vact_error *err);

/* An animation that loops, GIF: the reels one after the other, a step a frame, a pause at each end. */
vact_status demo_film_gif(const char *path, const demo_reel *reels, int32_t n, vact_error *err);

#endif
