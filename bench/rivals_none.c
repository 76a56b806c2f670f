/* oneDNN, where there was none when this was configured. */
#include "rivals.h"

#include <stdio.h>

bool onednn_open(rival *r, int threads)
{
    (void)threads;
    snprintf(r->missing, sizeof r->missing, "dnnl.h of version 2 was not there when this was configured");
    return false;
}

bool onednn_prepare(rival *r, int m, int n, int k, float *y, float *x, float *w)
{
    (void)r, (void)m, (void)n, (void)k, (void)y, (void)x, (void)w;
    return false;
}

bool onednn_run(rival *r)
{
    (void)r;
    return false;
}

void onednn_finish(rival *r)
{
    (void)r;
}
