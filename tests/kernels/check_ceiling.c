/* The ceilings' loops do every step to every value, as their rates count them. That no product is made once for all steps
 * is not seen here but in rates that a processor can have. */
#include "check.h"

void test_ceilings_do_the_work_they_count(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        const vact_kernels *k = check_level(level);
        for (int steps = 0; steps <= 12; steps++) {
            check_begin(level, "ceilings, %d steps", steps);
            float *fma = check_output(VACT_CEILING, 4 * check_range(0, 7)), want[VACT_CEILING];
            int32_t *dot = check_bytes(VACT_CEILING * sizeof *dot, 4 * check_range(0, 7));
            for (int i = 0; i < VACT_CEILING; i++) {
                fma[i] = (float)i;
                want[i] = (float)i + 1.5f * (float)steps; /* exact */
                dot[i] = i;
            }
            k->fma_ceiling(fma, (size_t)steps);
            k->dot_ceiling(dot, (size_t)steps);
            check_same(want, fma, VACT_CEILING);
            for (int i = 0; i < VACT_CEILING; i++)
                check_true(dot[i] == i - 24 * steps, "dot_ceiling subtracts 4 * 3 * 2 in each step");
            check_end();
        }
    }
}
