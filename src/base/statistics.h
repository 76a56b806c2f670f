/* Figures of merit and how far they can be trusted. */
#ifndef VACT_BASE_STATISTICS_H
#define VACT_BASE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/* The value below which a share q of the n > 0 values lies, interpolated; sorts them. */
double vact_quantile(double *values, size_t n, double q);

typedef struct vact_interval {
    double low, high;
} vact_interval;

/* Wilson's 95% interval of a probability, from k of n > 0. */
vact_interval vact_wilson(int64_t k, int64_t n);

/* McNemar's exact test, two-sided: the probability that of a + b pairs that differ, all by chance, so many fall on one
 * side. */
double vact_mcnemar(int64_t a, int64_t b);

#endif
