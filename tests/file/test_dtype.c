#include "file/dtype.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_names_and_ids_round_trip(void **state)
{
    (void)state;
    int known = 0;
    for (uint32_t id = 0; id < 100; id++) {
        const vact_dtype_info *info = vact_dtype_get(id);
        if (!info)
            continue;
        known++;
        assert_int_equal(vact_dtype_from_name(info->name), id);
        assert_true(info->block > 0 && info->block_bytes > 0);
    }
    assert_int_equal(known, 35);
    assert_int_equal(vact_dtype_from_name("bf16"), VACT_DTYPE_BF16);
    assert_int_equal(vact_dtype_from_name("q8_0"), VACT_DTYPE_Q8_0);
    assert_int_equal(vact_dtype_from_name("Q8_0"), -1);
    assert_int_equal(vact_dtype_from_name(""), -1);
}

static void test_withdrawn_and_future_ids_are_unknown(void **state)
{
    (void)state;
    static const uint32_t unknown[] = { 4, 5, 31, 32, 33, 36, 37, 38, 43, 63, 64, 1000, UINT32_MAX };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_null(vact_dtype_get(unknown[i]));
}

/* Bits of a value in total: what each format's blocks hold, counted from its fields. */
static void test_block_sizes_are_those_of_their_fields(void **state)
{
    (void)state;
    enum { HALF = 2 };
    static const struct {
        const char *name;
        uint32_t block, bytes;
    } formats[] = {
        { "f32", 1, 4 },
        { "f16", 1, 2 },
        { "bf16", 1, 2 },
        { "f64", 1, 8 },
        { "i8", 1, 1 },
        { "i64", 1, 8 },
        { "q4_0", 32, HALF + 32 / 2 },
        { "q4_1", 32, 2 * HALF + 32 / 2 },
        { "q5_0", 32, HALF + 4 + 32 / 2 },
        { "q5_1", 32, 2 * HALF + 4 + 32 / 2 },
        { "q8_0", 32, HALF + 32 },
        { "q8_1", 32, 2 * HALF + 32 },
        { "q2_k", 256, 2 * HALF + 256 / 16 + 256 / 4 },
        { "q3_k", 256, HALF + 256 / 8 + 256 / 4 + 12 },
        { "q4_k", 256, 2 * HALF + 12 + 256 / 2 },
        { "q5_k", 256, 2 * HALF + 12 + 256 / 8 + 256 / 2 },
        { "q6_k", 256, HALF + 256 / 2 + 256 / 4 + 256 / 16 },
        { "q8_k", 256, 4 + 256 + 256 / 16 * 2 },
        { "iq1_s", 256, HALF + 256 / 8 + 256 / 32 * 2 },
        { "iq1_m", 256, 256 / 8 + 256 / 16 + 256 / 32 },
        { "iq2_xxs", 256, HALF + 256 / 8 * 2 },
        { "iq2_xs", 256, HALF + 256 / 8 * 2 + 256 / 32 },
        { "iq2_s", 256, HALF + 256 / 4 + 256 / 32 + 256 / 32 },
        { "iq3_xxs", 256, HALF + 3 * 256 / 8 },
        { "iq3_s", 256, HALF + 256 / 4 + 256 / 32 + 256 / 8 + 256 / 64 },
        { "iq4_nl", 32, HALF + 32 / 2 },
        { "iq4_xs", 256, HALF + 2 + 256 / 64 + 256 / 2 },
        { "tq1_0", 256, HALF + 240 / 5 + 16 / 4 },
        { "tq2_0", 256, HALF + 256 / 4 },
        { "mxfp4", 32, 1 + 32 / 2 },
        { "nvfp4", 64, 64 / 16 + 64 / 2 },
        { "q1_0", 128, HALF + 128 / 8 },
        { "q2_0", 64, HALF + 64 / 4 },
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const int id = vact_dtype_from_name(formats[i].name);
        assert_true(id >= 0);
        assert_int_equal(vact_dtype_get((uint32_t)id)->block, formats[i].block);
        assert_int_equal(vact_dtype_get((uint32_t)id)->block_bytes, formats[i].bytes);
        assert_int_equal(vact_dtype_bytes((uint32_t)id, 3 * formats[i].block), 3 * formats[i].bytes);
    }
}

static void test_shapes_give_bytes_or_a_reason(void **state)
{
    (void)state;
    char why[160] = "";
    uint64_t bytes = 0;
    assert_true(vact_dtype_shape_bytes(VACT_DTYPE_Q4_0, 3, (uint64_t[]){ 64, 3, 5 }, &bytes, why, sizeof why));
    assert_int_equal(bytes, 2 * 18 * 15);
    assert_true(vact_dtype_shape_bytes(24, 1, (uint64_t[]){ INT64_MAX }, &bytes, why, sizeof why));
    assert_int_equal(bytes, INT64_MAX);
    assert_string_equal(why, "");
    assert_false(vact_dtype_shape_bytes(VACT_DTYPE_Q4_0, 2, (uint64_t[]){ 16, 2 }, &bytes, why, sizeof why));
    assert_string_equal(why, "found rows of 16 values, expected a multiple of 32 for q4_0");
    assert_int_equal(bytes, INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_ids_round_trip),
        cmocka_unit_test(test_withdrawn_and_future_ids_are_unknown),
        cmocka_unit_test(test_block_sizes_are_those_of_their_fields),
        cmocka_unit_test(test_shapes_give_bytes_or_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
