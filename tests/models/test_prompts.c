/* What the policies' own processors make of instructions. pi0.5's bins are numpy's:
 *     np.digitize(np.float32 values, np.linspace(-1, 1, 257)[:-1]) - 1     (huggingface/lerobot, processor_pi05.py) */
#include "models/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *arch, const char *text, const float *state, int32_t n, const char *want)
{
    char out[2048];
    const vact_arch *a = vact_arch_find(arch, strlen(arch));
    assert_non_null(a);
    const int length = a->prompt(out, sizeof out, &(vact_prompt){ text, state, n });
    assert_string_equal(out, want);
    assert_int_equal(length, strlen(want));
}

static void test_a_line_ends_in_one_line_feed(void **state)
{
    (void)state;
    static const char *const archs[] = { "smolvla", "pi0" };
    for (int i = 0; i < 2; i++) {
        check(archs[i], "pick up the bowl", NULL, 0, "pick up the bowl\n");
        check(archs[i], "pick up the bowl\n", NULL, 0, "pick up the bowl\n");
        check(archs[i], " a_b\n\n", NULL, 0, " a_b\n\n");
        check(archs[i], "", NULL, 0, "\n");
    }
}

static void test_a_state_becomes_text(void **state)
{
    (void)state;
    static const float values[] = { -1.5f,   -1.0000001f, -1,          -0.99999994f, -0.9921875f, -0.99218756f,
                                    -0.5f,   -1e-9f,      0,           1e-9f,        0.0078125f,  0.00781249f,
                                    0.4999f, 0.9921875f,  0.99218744f, 0.9999f,      1,           1.3f,
                                    7 };
    check("pi05", "pick up_the bowl", values, sizeof values / sizeof *values,
          "Task: pick up the bowl, State: -1 -1 0 0 1 0 64 127 128 128 129 128 191 255 254 255 255 255 255;\nAction: ");
    check("pi05", " \n fold\nthe towel\t\n", values + 8, 1, "Task: fold the towel, State: 128;\nAction: ");
    check("pi05", "\n", values + 8, 2, "Task: , State: 128 128;\nAction: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_ends_in_one_line_feed),
        cmocka_unit_test(test_a_state_becomes_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
