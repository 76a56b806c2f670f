/* OpenBLAS and BLIS: both export cblas_sgemm, so each is loaded on its own and asked for its symbol. */
#include "rivals.h"

#include <dlfcn.h>
#include <stdio.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
typedef void sgemm_fn(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                      const float *b, int ldb, float beta, float *c, int ldc);

/* dlsym's pointer to a function, which C only lets us copy. */
#define TAKE(library, fn, name) (*(void **)(void *)&(fn) = dlsym((library), (name)))

static bool load(rival *r, const char *file)
{
    r->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!r->library)
        snprintf(r->missing, sizeof r->missing, "%s", dlerror());
    return r->library != NULL;
}

static bool take_sgemm(rival *r)
{
    r->state = dlsym(r->library, "cblas_sgemm");
    if (!r->state)
        snprintf(r->missing, sizeof r->missing, "it has no cblas_sgemm");
    return r->state != NULL;
}

static bool openblas_open(rival *r, int threads)
{
    void (*set_threads)(int) = NULL;
    if (!load(r, "libopenblas.so.0") || !take_sgemm(r))
        return false;
    if (!TAKE(r->library, set_threads, "openblas_set_num_threads"))
        return snprintf(r->missing, sizeof r->missing, "it has no openblas_set_num_threads"), false;
    set_threads(threads);
    return true;
}

static bool blis_open(rival *r, int threads)
{
    void (*set_threads)(long) = NULL;
    if (!load(r, "libblis.so.4") || !take_sgemm(r))
        return false;
    if (!TAKE(r->library, set_threads, "bli_thread_set_num_threads"))
        return snprintf(r->missing, sizeof r->missing, "it has no bli_thread_set_num_threads"), false;
    set_threads(threads);
    return true;
}

static bool blas_prepare(rival *r, int m, int n, int k, float *y, float *x, float *w)
{
    r->m = m;
    r->n = n;
    r->k = k;
    r->y = y;
    r->x = x;
    r->w = w;
    return true;
}

static bool blas_run(rival *r)
{
    sgemm_fn *sgemm = NULL;
    *(void **)(void *)&sgemm = r->state;
    sgemm(ROW_MAJOR, NO_TRANS, TRANS, r->m, r->n, r->k, 1, r->x, r->k, r->w, r->k, 0, r->y, r->n);
    return true;
}

static void blas_finish(rival *r)
{
    (void)r;
}

rival bench_rivals[BENCH_RIVALS] = {
    { .name = "OpenBLAS", .open = openblas_open, .prepare = blas_prepare, .run = blas_run, .finish = blas_finish },
    { .name = "BLIS", .open = blis_open, .prepare = blas_prepare, .run = blas_run, .finish = blas_finish },
    { .name = "oneDNN", .open = onednn_open, .prepare = onednn_prepare, .run = onednn_run, .finish = onednn_finish },
    { .name = "oneDNN packed",
      .packed = true,
      .open = onednn_open,
      .prepare = onednn_prepare,
      .run = onednn_run,
      .finish = onednn_finish },
};
