/* A pool whose tiles are claimed: a thread that loses its core delays its own tile only.
 * Results never depend on who runs a tile, so they don't depend on the number of threads. */
#ifndef VACT_BASE_THREADS_H
#define VACT_BASE_THREADS_H

#include "vact.h"

typedef struct vact_pool vact_pool;

/* Work on tile 0..tiles-1; `thread` is 0..threads-1 and unique among those running (for scratch). */
typedef void (*vact_tile_fn)(void *context, int tile, int thread);

/* threads >= 1; the caller of vact_pool_run is thread 0, so threads - 1 are started. */
vact_status vact_pool_open(vact_pool **out, int threads, vact_error *err);
void vact_pool_close(vact_pool **pool);
int vact_pool_threads(const vact_pool *pool);

/* Runs fn on every tile and returns when all are done. One caller at a time. Allocates nothing. */
void vact_pool_run(vact_pool *pool, vact_tile_fn fn, void *context, int tiles);

#endif
