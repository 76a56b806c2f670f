/* oneDNN's matmul primitive, with weights as they are or in a layout of its choice. */
#include "rivals.h"

#include <dnnl.h>
#include <omp.h>
#include <stdlib.h>

typedef struct product {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    dnnl_memory_t x, w, packed, y; /* packed: NULL unless the rival is */
} product;

bool onednn_open(rival *r, int threads)
{
    (void)r;
    omp_set_num_threads(threads); /* the library as Debian builds it has OpenMP's */
    return true;
}

/* The matmul's own layout of the weights, filled from the checkpoint's. */
static bool pack(product *p, const dnnl_memory_desc_t *stored, const dnnl_memory_desc_t *chosen)
{
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t reorder = NULL;
    bool ok = dnnl_memory_create(&p->packed, chosen, p->engine, DNNL_MEMORY_ALLOCATE) == dnnl_success &&
              dnnl_reorder_primitive_desc_create(&desc, stored, p->engine, chosen, p->engine, NULL) == dnnl_success &&
              dnnl_primitive_create(&reorder, desc) == dnnl_success;
    const dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, p->w }, { DNNL_ARG_TO, p->packed } };
    ok = ok && dnnl_primitive_execute(reorder, p->stream, 2, args) == dnnl_success &&
         dnnl_stream_wait(p->stream) == dnnl_success;
    dnnl_primitive_destroy(reorder);
    dnnl_primitive_desc_destroy(desc);
    return ok;
}

static bool create(rival *r, product *p)
{
    dnnl_memory_desc_t x, w, any, y;
    dnnl_matmul_desc_t matmul;
    dnnl_primitive_desc_t desc = NULL;
    const dnnl_dims_t x_dims = { r->m, r->k }, w_dims = { r->k, r->n }, y_dims = { r->m, r->n };
    bool ok = dnnl_engine_create(&p->engine, dnnl_cpu, 0) == dnnl_success &&
              dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags) == dnnl_success &&
              dnnl_memory_desc_init_by_tag(&x, 2, x_dims, dnnl_f32, dnnl_ab) == dnnl_success &&
              dnnl_memory_desc_init_by_tag(&w, 2, w_dims, dnnl_f32, dnnl_ba) == dnnl_success &&
              dnnl_memory_desc_init_by_tag(&any, 2, w_dims, dnnl_f32, dnnl_format_tag_any) == dnnl_success &&
              dnnl_memory_desc_init_by_tag(&y, 2, y_dims, dnnl_f32, dnnl_ab) == dnnl_success &&
              dnnl_matmul_desc_init(&matmul, &x, r->packed ? &any : &w, NULL, &y) == dnnl_success &&
              dnnl_primitive_desc_create(&desc, &matmul, NULL, p->engine, NULL) == dnnl_success &&
              dnnl_primitive_create(&p->primitive, desc) == dnnl_success &&
              dnnl_memory_create(&p->x, &x, p->engine, r->x) == dnnl_success &&
              dnnl_memory_create(&p->w, &w, p->engine, r->w) == dnnl_success &&
              dnnl_memory_create(&p->y, &y, p->engine, r->y) == dnnl_success;
    if (ok && r->packed)
        ok = pack(p, &w, dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0));
    dnnl_primitive_desc_destroy(desc);
    return ok;
}

bool onednn_prepare(rival *r, int m, int n, int k, float *y, float *x, float *w)
{
    r->m = m;
    r->n = n;
    r->k = k;
    r->y = y;
    r->x = x;
    r->w = w;
    r->state = calloc(1, sizeof(product));
    if (r->state && create(r, r->state))
        return true;
    onednn_finish(r);
    return false;
}

bool onednn_run(rival *r)
{
    const product *p = r->state;
    const dnnl_exec_arg_t args[] = { { DNNL_ARG_SRC, p->x },
                                     { DNNL_ARG_WEIGHTS, p->packed ? p->packed : p->w },
                                     { DNNL_ARG_DST, p->y } };
    return dnnl_primitive_execute(p->primitive, p->stream, 3, args) == dnnl_success &&
           dnnl_stream_wait(p->stream) == dnnl_success;
}

void onednn_finish(rival *r)
{
    product *p = r->state;
    if (!p)
        return;
    dnnl_memory_destroy(p->x);
    dnnl_memory_destroy(p->w);
    dnnl_memory_destroy(p->packed);
    dnnl_memory_destroy(p->y);
    dnnl_primitive_destroy(p->primitive);
    dnnl_stream_destroy(p->stream);
    dnnl_engine_destroy(p->engine);
    free(p);
    r->state = NULL;
}
