/* Kernel tests: [--bench] [--seed N]. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TESTS(X)                                                                                                       \
    X(check_decode)                                                                                                    \
    X(test_quant_blocks_decode_to_golden_hashes)                                                                       \
    X(test_every_f16_and_bf16_decodes_to_its_value)                                                                    \
    X(check_pack)                                                                                                      \
    X(check_gemm)                                                                                                      \
    X(test_gemm_is_within_k_roundings_of_double)                                                                       \
    X(test_gemm_row_does_not_depend_on_other_rows)                                                                     \
    X(test_gemm_add_continues_the_chain)                                                                               \
    X(check_quantize)                                                                                                  \
    X(test_quantize_by_hand)                                                                                           \
    X(check_gemm_int8)                                                                                                 \
    X(test_rows_without_a_scale)                                                                                       \
    X(check_int8_error)                                                                                                \
    X(check_arithmetic)                                                                                                \
    X(test_activations_are_within_2e7_of_long_double)                                                                  \
    X(test_elements_do_not_depend_on_position_or_count)                                                                \
    X(test_activations_keep_nan_and_zero)                                                                              \
    X(check_pixels)                                                                                                    \
    X(test_pixels_are_planar_and_centred)                                                                              \
    X(test_layer_norm_is_near_double)                                                                                  \
    X(test_rms_norm_is_near_double)                                                                                    \
    X(test_norms_keep_nan)                                                                                             \
    X(check_rope)                                                                                                      \
    X(test_rope_is_near_double)                                                                                        \
    X(test_softmax_is_near_double)                                                                                     \
    X(test_softmax_row_does_not_depend_on_other_rows)                                                                  \
    X(test_softmax_exponential_is_within_one_ulp)                                                                      \
    X(test_softmax_survives_huge_scores)                                                                               \
    X(test_softmax_in_blocks_equals_one_pass)                                                                          \
    X(test_softmax_hidden_keys_count_for_nothing)                                                                      \
    X(test_softmax_keeps_nan)                                                                                          \
    X(test_ceilings_do_the_work_they_count)

#define DECLARE(name) void name(void **state);
TESTS(DECLARE)

int main(int argc, char **argv)
{
#define ENTRY(name) cmocka_unit_test_setup_teardown(name, check_setup, check_teardown),
    const struct CMUnitTest tests[] = { TESTS(ENTRY) };

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--bench") == 0) {
            check_bench = true;
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            check_seed = strtoull(argv[++i], NULL, 0);
        } else {
            fprintf(stderr, "usage: %s [--bench] [--seed N]\n", argv[0]);
            return 2;
        }
    }
    const int levels = check_levels();
    printf("seed %llu, levels:", (unsigned long long)check_seed);
    for (int level = 0; level < levels; level++)
        printf("%s %s", level ? "," : "", check_level_name(level));
    printf("\n");
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
