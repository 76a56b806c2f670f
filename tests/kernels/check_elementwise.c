/* Arithmetic agrees to the bit between levels; activations are checked against long double at every level. */
#include "check.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef void arithmetic(const vact_kernels *k, float *y, const float *x, float a, size_t n);

static void run_scale(const vact_kernels *k, float *y, const float *x, float a, size_t n)
{
    (void)x;
    k->scale(y, a, n);
}

static void run_add(const vact_kernels *k, float *y, const float *x, float a, size_t n)
{
    (void)a;
    k->add(y, x, n);
}

static void run_mul(const vact_kernels *k, float *y, const float *x, float a, size_t n)
{
    (void)a;
    k->mul(y, x, n);
}

static void run_axpy(const vact_kernels *k, float *y, const float *x, float a, size_t n)
{
    k->axpy(y, a, x, n);
}

static void check_one_arithmetic(int level, const char *name, arithmetic *run)
{
    for (int i = 0; i < CHECK_CASES; i++) {
        const size_t n = check_range(0, 100);
        check_begin(level, "%s n=%zu", name, n);
        const float *x = check_floats(n, check_any_fill(), 4 * check_range(0, 7));
        const float *y = check_floats(n, check_any_fill(), 0), a = check_value(check_any_fill());
        float *want = check_copy(y, n, 0), *got = check_copy(y, n, 4 * check_range(0, 7));
        run(check_level(0), want, x, a, n);
        run(check_level(level), got, x, a, n);
        check_same(want, got, n);
        check_end();
    }
    float *x = check_floats(1024, CHECK_ZERO, 0), *y = check_floats(1024, CHECK_NORMAL, 0);
    CHECK_BENCH(level, name, run(check_level(0), y, x, 1.0f, 1024), run(check_level(level), y, x, 1.0f, 1024));
    check_end();
}

void check_arithmetic(void **state)
{
    (void)state;
    for (int level = 1; level < check_levels(); level++) {
        if (CHECK_CHANGED(level, scale))
            check_one_arithmetic(level, "scale", run_scale);
        if (CHECK_CHANGED(level, add))
            check_one_arithmetic(level, "add", run_add);
        if (CHECK_CHANGED(level, mul))
            check_one_arithmetic(level, "mul", run_mul);
        if (CHECK_CHANGED(level, axpy))
            check_one_arithmetic(level, "axpy", run_axpy);
    }
}

/* ---- activations ---- */

typedef void (*activation)(float *x, size_t n);

enum { ACTIVATIONS = 3 };

static const char *const activation_names[ACTIVATIONS] = { "gelu_erf", "gelu_tanh", "silu" };

static activation get_activation(int level, int which)
{
    const vact_kernels *k = check_level(level);
    const activation all[ACTIVATIONS] = { k->gelu_erf, k->gelu_tanh, k->silu };
    return all[which];
}

static double exact_activation(int which, float x)
{
    const long double u = x;

    if (which == 0)
        return (double)(0.5L * u * erfcl(-u * 0.707106781186547524400845L));
    if (which == 1)
        return (double)(0.5L * u * (1.0L + tanhl(0.797884560802865355879892L * (u + 0.044715L * u * u * u))));
    return (double)(u / (1.0L + expl(-u)));
}

enum { SWEEP = 4096 };

/* SWEEP floats from bit pattern `bits` on, not finite ones replaced by 0. */
static void sweep(float *x, uint32_t bits, uint32_t stride)
{
    for (size_t i = 0; i < SWEEP; i++, bits += stride) {
        memcpy(x + i, &bits, sizeof *x);
        if (!isfinite(x[i]))
            x[i] = 0.0f;
    }
}

static void bench_activation(int which)
{
    for (int level = 1; level < check_levels(); level++) {
        const activation f = get_activation(level, which), scalar = get_activation(0, which);
        const float *x = check_floats(1024, CHECK_NORMAL, 0);
        float *y = check_output(1024, 0);
        CHECK_BENCH(level, activation_names[which], scalar(memcpy(y, x, 4096), 1024), f(memcpy(y, x, 4096), 1024));
        check_end();
    }
}

/* The bound is the one kernels.h promises. An odd stride over all bit patterns meets every exponent and sign. */
void test_activations_are_within_2e7_of_long_double(void **state)
{
    const uint32_t stride = 4099;

    (void)state;
    for (int which = 0; which < ACTIVATIONS; which++) {
        for (uint64_t bits = 0; bits < 0x100000000; bits += (uint64_t)stride * SWEEP) {
            float *x = check_output(SWEEP, 0);
            double *want = check_doubles(SWEEP), *bound = check_doubles(SWEEP);
            sweep(x, (uint32_t)bits, stride);
            for (size_t i = 0; i < SWEEP; i++) {
                want[i] = exact_activation(which, x[i]);
                bound[i] = 2e-7 * fmax(1.0, fabs(want[i]));
            }
            for (int level = 0; level < check_levels(); level++) {
                float *y = check_copy(x, SWEEP, 0);
                check_begin(level, "%s from bits %#x", activation_names[which], (unsigned)bits);
                get_activation(level, which)(y, SWEEP);
                check_near(want, bound, y, SWEEP);
            }
            check_end();
        }
        bench_activation(which);
    }
}

void test_elements_do_not_depend_on_position_or_count(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        for (int which = 0; which < ACTIVATIONS; which++) {
            for (int i = 0; i < CHECK_CASES; i++) {
                const size_t n = check_range(1, 40);
                check_begin(level, "%s at every position, n=%zu", activation_names[which], n);
                float value = check_value(check_any_fill());
                float *x = check_copy(check_floats(n, CHECK_NORMAL, 0), n, 4 * check_range(0, 7));
                const size_t at = check_range(0, n - 1);
                x[at] = value;
                get_activation(level, which)(x, n);
                get_activation(level, which)(&value, 1);
                check_same(&value, x + at, 1);
                check_end();
            }
        }
    }
}

void test_activations_keep_nan_and_zero(void **state)
{
    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        for (int which = 0; which < ACTIVATIONS; which++) {
            float x[9] = { NAN, 0.0f, -0.0f, -FLT_MAX, FLT_MAX, INFINITY, 1e30f, -1e30f, NAN };
            check_begin(level, "%s of special values", activation_names[which]);
            get_activation(level, which)(x, 9);
            check_true(isnan(x[0]) && isnan(x[8]), "NaN was lost");
            check_true(x[1] == 0.0f && x[2] == 0.0f && x[3] == 0.0f && x[7] == 0.0f, "limit 0 was missed");
            check_true(x[4] == FLT_MAX && x[5] == INFINITY && x[6] == 1e30f, "limit u was missed");
        }
    }
}

/* ---- pixels ---- */

void check_pixels(void **state)
{
    enum { PIXELS = 70 };

    (void)state;
    for (int level = 1; level < check_levels(); level++) {
        const vact_kernels *scalar = check_level(0), *fast = check_level(level);
        if (!CHECK_CHANGED(level, pixels_u8) || !CHECK_CHANGED(level, pixels_f32))
            continue;
        for (int i = 0; i < CHECK_CASES; i++) {
            const size_t pixels = check_range(0, PIXELS), plane = pixels + check_range(0, 3), n = 3 * pixels;
            check_begin(level, "pixels n=%zu plane=%zu", n, plane);
            const unsigned char *u8 = check_bytes(n, check_range(0, 7));
            const float *f32 = check_floats(n, check_any_fill(), 4 * check_range(0, 7));
            const float *before = check_floats(3 * plane, CHECK_NORMAL, 0);
            float *want = check_copy(before, 3 * plane, 0), *got = check_copy(before, 3 * plane, 4 * check_range(0, 7));
            scalar->pixels_u8(want, plane, u8, n);
            fast->pixels_u8(got, plane, u8, n);
            check_same(want, got, 3 * plane);
            scalar->pixels_f32(want, plane, f32, n);
            fast->pixels_f32(got, plane, f32, n);
            check_same(want, got, 3 * plane);
            check_end();
        }
        const unsigned char *u8 = check_bytes(48, 0);
        const float *f32 = check_floats(48, CHECK_NORMAL, 0);
        float *y = check_output(3 * 256, 0);
        CHECK_BENCH(level, "pixels_u8 16", scalar->pixels_u8(y, 256, u8, 48), fast->pixels_u8(y, 256, u8, 48));
        CHECK_BENCH(level, "pixels_f32 16", scalar->pixels_f32(y, 256, f32, 48), fast->pixels_f32(y, 256, f32, 48));
        check_end();
    }
}

void test_pixels_are_planar_and_centred(void **state)
{
    enum { PIXELS = 21, PLANE = 25 };

    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        const unsigned char *u8 = check_bytes(3 * PIXELS, 0);
        const float *f32 = check_floats(3 * PIXELS, CHECK_NORMAL, 0);
        float *from_u8 = check_output(3 * PLANE, 0), *from_f32 = check_output(3 * PLANE, 0);
        const float ends[2] = { -1.0f, 1.0f };
        float got[2 * 3];

        memset(from_u8, 0, sizeof(float) * 3 * PLANE);
        check_level(level)->pixels_u8(from_u8, PLANE, u8, 3 * PIXELS);
        check_level(level)->pixels_f32(from_f32, PLANE, f32, 3 * PIXELS);
        check_begin(level, "pixels");
        for (size_t i = 0; i < PIXELS; i++) {
            for (size_t c = 0; c < 3; c++) {
                /* u8: three roundings of values up to 2; f32: one of the result */
                const double want[2] = { u8[3 * i + c] / 127.5 - 1.0, 2.0 * f32[3 * i + c] - 1.0 };
                const double bound[2] = { 4.0 * CHECK_UNIT, CHECK_UNIT * fabs(want[1]) };
                check_near(want, bound, from_u8 + c * PLANE + i, 1);
                check_near(want + 1, bound + 1, from_f32 + c * PLANE + i, 1);
            }
        }
        for (size_t c = 0; c < 3; c++)
            for (size_t i = PIXELS; i < PLANE; i++)
                check_true(from_u8[c * PLANE + i] == 0.0f, "wrote between the planes");
        check_level(level)->pixels_u8(got, 2, (const unsigned char[6]){ 0, 0, 0, 255, 255, 255 }, 6);
        for (size_t c = 0; c < 3; c++)
            check_same(ends, got + 2 * c, 2);
        check_end();
    }
}
