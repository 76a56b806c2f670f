/* Other people's products, found when the program runs or is configured; the build needs none of them.
 *
 * All compute y [m, n] = x [m, k] w^T in f32, with w [n, k] as a checkpoint stores it. */
#ifndef BENCH_RIVALS_H
#define BENCH_RIVALS_H

#include <stdbool.h>

typedef struct rival rival;
struct rival {
    const char *name;
    bool packed; /* weights are turned once into a layout of the library's own, out of the measured time */
    /* False: a message of why not is in `missing`. Once, before the rest. */
    bool (*open)(rival *r, int threads);
    char missing[512];
    /* A product to run again and again. False: the library refused. */
    bool (*prepare)(rival *r, int m, int n, int k, float *y, float *x, float *w);
    bool (*run)(rival *r);
    void (*finish)(rival *r);
    void *library, *state; /* its own */
    int m, n, k;
    float *y, *x, *w;
};

enum { BENCH_RIVALS = 4 };
extern rival bench_rivals[BENCH_RIVALS];

/* rivals_onednn.c; without the library, rivals_none.c */
bool onednn_open(rival *r, int threads);
bool onednn_prepare(rival *r, int m, int n, int k, float *y, float *x, float *w);
bool onednn_run(rival *r);
void onednn_finish(rival *r);

#endif
