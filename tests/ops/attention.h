/* One attention with random inputs: keys lie in one or two segments of caches with room to spare, written in two
 * parts; q, k and v are views of columns. */
#ifndef TESTS_OPS_ATTENTION_H
#define TESTS_OPS_ATTENTION_H

#include "harness.h"

typedef enum span_rule {
    SPAN_ALL,    /* no spans given */
    SPAN_CAUSAL, /* every row one key more than the one before, the last row all */
    SPAN_LAST,   /* the last row sees all keys, the others all but one */
    SPAN_NONE,   /* a third of the rows sees nothing */
    SPAN_WINDOW, /* any interval */
    SPAN_LATE,   /* any interval that begins in the last third */
    SPAN_RULES
} span_rule;

typedef struct attention_case {
    int32_t groups, rows, heads, kv_heads, head_dim; /* rows: of each group */
    int32_t keys[VACT_ATTENTION_SEGMENTS];
    float scale;
    span_rule rule;
    bool in_place;        /* y is q */
    bool backwards;       /* the second part of the keys is written first */
    int32_t first, count; /* rows that are computed, of the only group; 0: all */

    /* made by attention_make */
    int32_t capacity[VACT_ATTENTION_SEGMENTS], split[VACT_ATTENTION_SEGMENTS]; /* split: keys of the first write */
    const float *q, *kv[VACT_ATTENTION_SEGMENTS]; /* [groups * rows, q width + 1]; [groups * keys, k | v] */
    vact_span *spans;                             /* [groups * rows] or NULL */
    float *out;                                   /* [groups * rows, heads * head_dim] */
} attention_case;

int32_t attention_keys(const attention_case *c);    /* of all segments */
size_t attention_values(const attention_case *c);   /* in out */
double attention_products(const attention_case *c); /* about as many multiply-adds */
void attention_make(attention_case *c);
void attention_run(attention_case *c, const ops_target *target);

#endif
