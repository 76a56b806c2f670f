/* One site with random inputs: x and y lie in wider buffers, as views of columns. */
#ifndef TESTS_OPS_SITE_H
#define TESTS_OPS_SITE_H

#include "harness.h"

typedef enum site_bias { SITE_NO_BIAS, SITE_BIAS, SITE_BIAS_ROW } site_bias;

typedef struct site_case {
    int32_t rows, cols, channels[VACT_SITE_OUTPUTS]; /* 0: no such output */
    vact_dtype dtype;
    const vact_dtype *dtypes;            /* one for each output, in place of dtype; or NULL */
    bool gated, add, adaptive, gate_row; /* adaptive: the norm's weight and bias are rows of a buffer */
    vact_act act;
    site_bias bias;
    vact_norm norm;
    int32_t first, count; /* rows that are computed; 0: all */

    /* made by site_make */
    vact_linear w[VACT_SITE_OUTPUTS];
    float *x; /* [rows, before | cols | behind] */
    const float *y, *bias_row, *gate_values, *norm_rows;
    int32_t outputs, width; /* linear maps; columns of the buffer that y is a part of */
    float *out;             /* [rows, width] */
} site_case;

enum { SITE_BEFORE = 2, SITE_BEHIND = 3 }; /* columns around x and y */

/* Fills in what the shape needs: inputs, weights, room for the result. */
void site_make(site_case *c, vact_norm_kind norm);

/* Runs it; the result is in c->out, and columns that no output has are checked to be as before. */
void site_run(site_case *c, const ops_target *target);

#endif
