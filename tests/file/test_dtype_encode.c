/* Encoders against ggml's reference encoders and Python's gguf package 0.19.0 (hashes of what they gave), and what
 * rounding to nearest means. kernels/test_quants.c has the package's blocks of hard values. */
#include "file/dtype.h"
#include "fnv.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static uint32_t next(uint32_t *s)
{
    return *s = *s * 1664525 + 1013904223;
}

static uint64_t hash_of(vact_dtype type, const float *x, size_t n)
{
    static unsigned char bytes[8192 * sizeof(float)];
    vact_dtype_encoder(type)(bytes, x, n);
    return fnv1a64(bytes, vact_dtype_bytes(type, n));
}

/* ---- ggml ---- */

static void test_blocks_hash_as_ggml_makes_them(void **state)
{
    (void)state;
    enum { N = 4096 };
    static float x[N];
    uint32_t s = 0x1234567;
    for (int i = 0; i < N; i++)
        x[i] = ((float)(next(&s) >> 8 & 0xffff) / 65535.0f * 2 - 1) * (float)(1 << (i / 512)) * 0.01f;
    for (int i = 64; i < 96; i++)
        x[i] = 0;
    for (int i = 96; i < 128; i++)
        x[i] = 1;
    x[130] = -5;
    x[131] = 5;
    assert_true(fnv1a64(x, sizeof x) == 0x83a1c58ccea475c9);
    assert_true(hash_of(VACT_DTYPE_Q8_0, x, N) == 0x7b0edeb7be5a351e);
    assert_true(hash_of(VACT_DTYPE_Q4_0, x, N) == 0xbecb1b183fb8c696);
}

/* ---- the gguf package ---- */

/* Exponents of 2^-87 to 2^79, within 2^7 of one another in a block: scales that f16 can't hold at either end. */
static void test_all_magnitudes_hash_as_the_gguf_package_makes_them(void **state)
{
    (void)state;
    enum { N = 8192 };
    static float x[N];
    uint32_t s = 0x1234567;
    for (int i = 0; i < N; i++) {
        const uint32_t r = next(&s), exponent = 40 + (uint32_t)i / 32 % 160 + (r >> 28 & 7);
        const uint32_t bits = (r & 0x80000000) | exponent << 23 | (r >> 5 & 0x7fffff);
        memcpy(&x[i], &bits, sizeof bits);
    }
    assert_true(fnv1a64(x, sizeof x) == 0xdcec714420b9bbfc);
    assert_true(hash_of(VACT_DTYPE_F32, x, N) == 0xdcec714420b9bbfc);
    assert_true(hash_of(VACT_DTYPE_F16, x, N) == 0x616eb48efd49e4c6);
    assert_true(hash_of(VACT_DTYPE_BF16, x, N) == 0x9a45f42093ee80e2);
    assert_true(hash_of(VACT_DTYPE_Q8_0, x, N) == 0x030be56a5cdbd922);
    assert_true(hash_of(VACT_DTYPE_Q4_0, x, N) == 0xee76b4b1c3cca47c);
}

/* ---- rounding ---- */

/* Value of a 16-bit float with `fraction` bits of fraction and exponent bias `bias`, as if there were no infinity. */
static double value16(unsigned half, int fraction, int bias)
{
    const int exponent = (int)half >> fraction, low = (int)half & ((1 << fraction) - 1);
    return exponent ? ldexp((1 << fraction) + low, exponent - bias - fraction) : ldexp(low, 1 - bias - fraction);
}

static unsigned encode16(vact_dtype type, float x)
{
    uint16_t half;
    vact_dtype_encoder(type)(&half, &x, 1);
    return half;
}

/* From every value to the next, the last one to where the next would be: infinity. */
static void check_rounding(vact_dtype type, unsigned infinity, int fraction, int bias)
{
    for (unsigned h = 0; h < infinity; h++) {
        const double low = value16(h, fraction, bias), high = value16(h + 1, fraction, bias);
        const float exact = (float)low, middle = (float)((low + high) / 2);
        assert_true(exact == low && middle == (low + high) / 2);
        assert_int_equal(encode16(type, exact), h);
        assert_int_equal(encode16(type, -exact), h | 0x8000);
        assert_int_equal(encode16(type, middle), h + h % 2);
        assert_int_equal(encode16(type, -middle), (h + h % 2) | 0x8000);
        assert_int_equal(encode16(type, nextafterf(middle, 0)), h);
        assert_int_equal(encode16(type, nextafterf(middle, INFINITY)), h + 1);
    }
    assert_int_equal(encode16(type, INFINITY), infinity);
    assert_int_equal(encode16(type, -INFINITY), infinity | 0x8000);
}

static void test_halves_round_to_nearest_even(void **state)
{
    (void)state;
    check_rounding(VACT_DTYPE_F16, 0x7c00, 10, 15);
    check_rounding(VACT_DTYPE_BF16, 0x7f80, 7, 127);
    assert_int_equal(encode16(VACT_DTYPE_F16, 1e30f), 0x7c00);
}

/* ggml's formula for bf16; F16C's rule for f16. */
static void test_nans_stay_nans_and_become_quiet(void **state)
{
    (void)state;
    static const struct {
        uint32_t bits;
        unsigned f16, bf16;
    } nans[] = {
        { 0x7f800001, 0x7e00, 0x7fc0 },
        { 0xffffffff, 0xffff, 0xffff },
        { 0x7fa00000, 0x7f00, 0x7fe0 },
        { 0x7fc02000, 0x7e01, 0x7fc0 },
    };
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        float x;
        memcpy(&x, &nans[i].bits, sizeof x);
        assert_int_equal(encode16(VACT_DTYPE_F16, x), nans[i].f16);
        assert_int_equal(encode16(VACT_DTYPE_BF16, x), nans[i].bf16);
    }
}

static void test_what_is_no_number_has_code_0(void **state)
{
    (void)state;
    const float x[32] = { NAN, INFINITY, 1, -INFINITY };
    unsigned char bytes[34];
    vact_dtype_encoder(VACT_DTYPE_Q8_0)(bytes, x, 32);
    for (int i = 2; i < 34; i++)
        assert_int_equal(bytes[i], 0);
    vact_dtype_encoder(VACT_DTYPE_Q4_0)(bytes, x, 32);
    assert_int_equal(bytes[2] & 15, 0);
}

static void test_other_types_have_no_encoder(void **state)
{
    (void)state;
    int found = 0;
    for (uint32_t id = 0; id < 100; id++)
        found += vact_dtype_encoder(id) != NULL;
    assert_int_equal(found, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_hash_as_ggml_makes_them),
        cmocka_unit_test(test_all_magnitudes_hash_as_the_gguf_package_makes_them),
        cmocka_unit_test(test_halves_round_to_nearest_even),
        cmocka_unit_test(test_nans_stay_nans_and_become_quiet),
        cmocka_unit_test(test_what_is_no_number_has_code_0),
        cmocka_unit_test(test_other_types_have_no_encoder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
