/* Types of blocks as tests make them up: any bytes are codes, so only the half-precision scales need care. */
#ifndef TESTS_QUANTS_H
#define TESTS_QUANTS_H

#include "file/dtype.h"
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct quant_type {
    vact_dtype type;
    size_t block, bytes;
    size_t d, m;      /* where the scale and the minimum are; m 0: it has none */
    float m_per_d;    /* the minimum that leaves random codes a mean of about 0 */
    double deviation; /* of what random codes then decode to with a scale of 1 */
} quant_type;

static const quant_type quant_types[] = {
    { VACT_DTYPE_Q8_0, 32, 34, 0, 0, 0, 73.9 },      { VACT_DTYPE_Q4_0, 32, 18, 0, 0, 0, 4.6 },
    { VACT_DTYPE_Q4_1, 32, 20, 0, 2, -7.5f, 4.6 },   { VACT_DTYPE_Q5_0, 32, 22, 0, 0, 0, 9.2 },
    { VACT_DTYPE_Q5_1, 32, 24, 0, 2, -15.5f, 9.2 },  { VACT_DTYPE_Q2_K, 256, 84, 80, 82, 1.5f, 13.9 },
    { VACT_DTYPE_Q3_K, 256, 110, 108, 0, 0, 43.3 },  { VACT_DTYPE_Q4_K, 256, 144, 0, 2, 7.5f, 258 },
    { VACT_DTYPE_Q5_K, 256, 176, 0, 2, 15.5f, 527 }, { VACT_DTYPE_Q6_K, 256, 210, 208, 0, 0, 1366 },
};
enum { QUANT_TYPES = sizeof quant_types / sizeof *quant_types };

/* NULL: not one of them. */
static inline const quant_type *quant_find(uint32_t type)
{
    for (int i = 0; i < QUANT_TYPES; i++)
        if ((uint32_t)quant_types[i].type == type)
            return &quant_types[i];
    return NULL;
}

/* Nearest even; for what half precision can hold. */
static inline uint16_t quant_half(float x)
{
    const unsigned sign = signbit(x) ? 0x8000u : 0;
    int exponent;
    const float fraction = frexpf(fabsf(x), &exponent); /* [0.5, 1) */
    if (exponent + 14 <= 0)
        return (uint16_t)(sign | (unsigned)rintf(ldexpf(fabsf(x), 24)));
    return (uint16_t)(sign | (((unsigned)(exponent + 14) << 10) + (unsigned)rintf((2 * fraction - 1) * 1024)));
}

/* A block of random bytes whose values have about that deviation and the mean 0. */
static inline void quant_fill(uint8_t *to, const quant_type *q, double deviation, uint32_t (*next)(void))
{
    for (size_t i = 0; i < q->bytes; i++)
        to[i] = (uint8_t)(next() >> 24);
    const float d = (float)(deviation / q->deviation);
    uint16_t bits = quant_half(d);
    memcpy(to + q->d, &bits, sizeof bits);
    if (q->m) {
        bits = quant_half(d * q->m_per_d);
        memcpy(to + q->m, &bits, sizeof bits);
    }
}

#endif
