#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

#define Z95 1.959963984540054 /* 97.5% of a normal distribution lies below */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double vact_quantile(double *values, size_t n, double q)
{
    qsort(values, n, sizeof *values, ascending);
    const size_t rank = (size_t)(q * (double)n + 0.9999999); /* up, but 0.9 * 30 is 27 */
    return values[rank > 0 ? rank - 1 : 0];
}

vact_interval vact_wilson(int64_t k, int64_t n)
{
    const double count = (double)n, p = (double)k / count, z2 = Z95 * Z95;
    const double middle = (p + z2 / (2 * count)) / (1 + z2 / count);
    const double half = Z95 * sqrt(p * (1 - p) / count + z2 / (4 * count * count)) / (1 + z2 / count);
    return (vact_interval){ k == 0 ? 0 : middle - half, k == n ? 1 : middle + half };
}

double vact_mcnemar(int64_t a, int64_t b)
{
    const int64_t n = a + b, fewer = a < b ? a : b;
    if (2 * fewer >= n - 1) /* half of them or next to it */
        return 1;
    /* Binomial coefficients as shares of the middle one: none overflows, and those that vanish don't matter. */
    double all = n % 2 ? 2 : 1, tail = 0, share = 1;
    for (int64_t i = n / 2; i > 0 && share > 0; i--) {
        share *= (double)i / (double)(n - i + 1);
        all += 2 * share;
        if (i - 1 <= fewer)
            tail += 2 * share;
    }
    return tail / all;
}

vact_interval vact_paired_difference(int64_t a, int64_t b, int64_t n)
{
    const double count = (double)n + 2, difference = (double)(b - a) / count;
    const double half = Z95 * sqrt((double)(a + b + 1) / count - difference * difference) / sqrt(count);
    return (vact_interval){ fmax(difference - half, -1), fmin(difference + half, 1) };
}
