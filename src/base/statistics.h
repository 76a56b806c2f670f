/* Figures of merit and how far they can be trusted. */
#ifndef VACT_BASE_STATISTICS_H
#define VACT_BASE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/* The least of n > 0 values that at least a share q, 0..1, of them doesn't exceed (nearest rank); sorts them. */
double vact_quantile(double *values, size_t n, double q);

typedef struct vact_interval {
    double low, high;
} vact_interval;

/* Wilson's 95% interval of a probability, from k of n > 0. */
vact_interval vact_wilson(int64_t k, int64_t n);

/* McNemar's exact test, two-sided: the probability that of a + b pairs that differ, all by chance, so many or more fall
 * on one side. 1 where no pair differs. */
double vact_mcnemar(int64_t a, int64_t b);

/* The 95% interval of the difference of two probabilities, second less first, from n > 0 pairs of which `a` succeeded
 * only the first time and `b` only the second. A. Agresti and Y. Min, Statistics in Medicine 24 (2005) 729-740: Wald's
 * interval, with half a pair more of each of the four kinds. */
vact_interval vact_paired_difference(int64_t a, int64_t b, int64_t n);

#endif
