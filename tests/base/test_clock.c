#include "base/clock.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_sleep_lasts_and_takes_no_cpu(void **state)
{
    (void)state;
    const double wall = vact_clock_ms(), cpu = vact_clock_cpu_ms();
    vact_clock_sleep_ms(60);
    assert_true(vact_clock_ms() - wall >= 59.9);
    assert_true(vact_clock_cpu_ms() - cpu < 40);
}

static void test_senseless_sleeps_return_at_once(void **state)
{
    (void)state;
    const double wall = vact_clock_ms();
    vact_clock_sleep_ms(0);
    vact_clock_sleep_ms(-1e300);
    assert_true(vact_clock_ms() - wall < 5000);
}

static void test_peak_memory_sees_what_was_touched(void **state)
{
    (void)state;
    const size_t size = (size_t)64 << 20;
    volatile char *p = malloc(size);
    assert_non_null(p);
    for (size_t i = 0; i < size; i += 1024)
        p[i] = 1;
    const uint64_t peak = vact_peak_resident_bytes();
    assert_true(peak == 0 || peak >= size);
    free((void *)p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sleep_lasts_and_takes_no_cpu),
        cmocka_unit_test(test_senseless_sleeps_return_at_once),
        cmocka_unit_test(test_peak_memory_sees_what_was_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
