/* What works row by row, on random shapes: the cpu against the reference in double precision, on 1 to 7 threads. */
#include "harness.h"

#include <math.h>
#include <string.h>

enum { CASES = 40 };

/* A value in two to four roundings, norms of at most 300 columns; the worst seen is 5e-7. */
#define NEAR 2e-6

typedef struct row_case {
    int32_t rows, cols, heads, grid, factor, patch, width, height;
    vact_norm norm;
    vact_weight table;
    const float *x, *y, *cosines, *sines;
    int32_t *ids;
    vact_image image;
    float scale;
    float *out;
    size_t values; /* in out */
} row_case;

static void take_out(row_case *c, int32_t rows, int32_t cols)
{
    c->values = (size_t)rows * (size_t)cols;
    c->out = ops_take(c->values, sizeof *c->out);
}

static void compare(row_case *c, ops_fn fn)
{
    static const int32_t threads[] = { 1, 2, 3, 7 };
    float *want = ops_take(c->values, sizeof *want);
    ops_target cpus[OPS_CPUS];
    ops_run(&ops_reference, fn, c);
    memcpy(want, c->out, c->values * sizeof *want);
    for (size_t i = 0, n = ops_cpus(cpus, ops_pick(threads, COUNT(threads))); i < n; i++) {
        ops_run(&cpus[i], fn, c);
        ops_near(&cpus[i], want, c->out, c->values, NEAR);
    }
}

/* x [rows, cols] as a view of wider rows, y [rows, cols] likewise. */
static void make(row_case *c)
{
    const size_t n = (size_t)c->rows * (size_t)(c->cols + 3);
    c->x = ops_normal(n);
    c->y = ops_normal(n);
    c->scale = (float)ops_range(-20, 20) / 7;
    take_out(c, c->rows, c->cols + 3);
}

static vact_buf put_view(vact_run *r, const row_case *c, const float *values, vact_buf *view)
{
    const vact_buf whole = ops_put(r, values, c->rows, c->cols + 3);
    *view = ops_cols(whole, 1, c->cols);
    return whole;
}

static void norm(vact_run *r, void *user)
{
    const row_case *c = user;
    vact_buf x, y;
    put_view(r, c, c->x, &x);
    const vact_buf whole = put_view(r, c, c->y, &y);
    vact_norm_rows(r, y, x, c->norm);
    ops_get(r, whole, c->out);
}

static void test_norms_equal_the_reference(void **state)
{
    (void)state;
    ops_seed(1);
    for (int i = 0; i < CASES; i++) {
        ops_begin("norm %d", i);
        row_case c = { .rows = ops_range(1, 70), .cols = ops_range(1, 300) };
        make(&c);
        c.norm = (vact_norm){ .kind = i % 2 ? VACT_NORM_LAYER : VACT_NORM_RMS,
                              .weight = ops_normal((size_t)c.cols),
                              .bias = i % 2 ? ops_normal((size_t)c.cols) : NULL,
                              .eps = i % 4 < 2 ? 1e-5f : 0.5f };
        compare(&c, norm);
    }
}

static void copy(vact_run *r, void *user)
{
    const row_case *c = user;
    vact_buf x, y;
    put_view(r, c, c->x, &x);
    const vact_buf whole = put_view(r, c, c->y, &y);
    vact_copy(r, y, x, c->scale);
    ops_get(r, whole, c->out);
}

static void axpy(vact_run *r, void *user)
{
    const row_case *c = user;
    vact_buf x, y;
    put_view(r, c, c->x, &x);
    const vact_buf whole = put_view(r, c, c->y, &y);
    vact_axpy(r, y, c->scale, x);
    ops_get(r, whole, c->out);
}

static void test_copy_and_axpy_equal_the_reference(void **state)
{
    (void)state;
    ops_seed(2);
    for (int i = 0; i < CASES; i++) {
        ops_begin("%s %d", i % 2 ? "copy" : "axpy", i);
        row_case c = { .rows = ops_range(1, 70), .cols = ops_range(1, 100) };
        make(&c);
        compare(&c, i % 2 ? copy : axpy);
    }
}

static void rope(vact_run *r, void *user)
{
    const row_case *c = user;
    const int32_t dim = c->cols / c->heads;
    vact_buf x;
    const vact_buf whole = put_view(r, c, c->x, &x);
    /* The rows of a longer table, as stages use it. */
    const vact_buf cosines = vact_rows(ops_put(r, c->cosines, c->rows + 3, dim), 3, c->rows);
    const vact_buf sines = vact_rows(ops_put(r, c->sines, c->rows + 3, dim), 3, c->rows);
    vact_rope(r, x, (vact_rope_table){ cosines, sines });
    ops_get(r, whole, c->out);
}

static void test_rope_equals_the_reference(void **state)
{
    (void)state;
    static const int32_t dims[] = { 2, 4, 16, 18, 48, 64, 72, 128 };
    ops_seed(3);
    for (int i = 0; i < CASES; i++) {
        ops_begin("rope %d", i);
        row_case c = { .rows = ops_range(1, 40), .heads = ops_range(1, 5) };
        const int32_t dim = ops_pick(dims, COUNT(dims));
        c.cols = c.heads * dim;
        make(&c);
        c.cosines = ops_normal((size_t)(c.rows + 3) * (size_t)dim);
        c.sines = ops_normal((size_t)(c.rows + 3) * (size_t)dim);
        compare(&c, rope);
    }
}

/* ---- tables ---- */

static void embed(vact_run *r, void *user)
{
    const row_case *c = user;
    vact_buf y;
    const vact_buf whole = put_view(r, c, c->y, &y);
    vact_embed(r, y, &c->table, c->ids, c->scale);
    ops_get(r, whole, c->out);
}

static void add_table(vact_run *r, void *user)
{
    const row_case *c = user;
    vact_buf y;
    const vact_buf whole = put_view(r, c, c->y, &y);
    vact_add_table(r, y, &c->table);
    ops_get(r, whole, c->out);
}

static void test_tables_of_every_type_equal_the_reference(void **state)
{
    (void)state;
    static const vact_dtype dtypes[] = { VACT_DTYPE_F32,  VACT_DTYPE_BF16, VACT_DTYPE_F16,  VACT_DTYPE_Q8_0,
                                         VACT_DTYPE_Q4_0, VACT_DTYPE_Q4_1, VACT_DTYPE_Q5_0, VACT_DTYPE_Q5_1,
                                         VACT_DTYPE_Q2_K, VACT_DTYPE_Q3_K, VACT_DTYPE_Q4_K, VACT_DTYPE_Q5_K,
                                         VACT_DTYPE_Q6_K };
    ops_seed(4);
    for (int i = 0; i < CASES; i++) {
        const vact_dtype dtype = dtypes[i % (int)COUNT(dtypes)];
        const int32_t block = (int32_t)vact_dtype_get(dtype)->block;
        ops_begin("table %d of %s", i, vact_dtype_get(dtype)->name);
        const int32_t height = ops_range(1, 20), repeats = ops_range(1, 4);
        row_case c = { .rows = height * repeats, .cols = block > 1 ? block * ops_range(1, 5) : ops_range(1, 150) };
        make(&c);
        c.table = ops_weight(dtype, height, c.cols);
        c.ids = ops_take((size_t)c.rows, sizeof *c.ids);
        for (int32_t row = 0; row < c.rows; row++)
            c.ids[row] = ops_range(0, height - 1);
        compare(&c, embed);
        compare(&c, add_table);
    }
}

/* ---- pixels ---- */

static void shuffle(vact_run *r, void *user)
{
    const row_case *c = user;
    const int32_t area = c->factor * c->factor;
    vact_buf x;
    put_view(r, c, c->x, &x);
    const vact_buf y = vact_tmp(r, c->rows / area, c->cols * area);
    vact_pixel_shuffle(r, y, x, c->grid, c->factor);
    ops_get(r, y, c->out);
}

static void test_pixel_shuffle_equals_the_reference(void **state)
{
    (void)state;
    ops_seed(5);
    for (int i = 0; i < CASES; i++) {
        ops_begin("pixel shuffle %d", i);
        row_case c = { .factor = ops_range(1, 4), .cols = ops_range(1, 40) };
        c.grid = c.factor * ops_range(1, 3);
        c.rows = c.grid * c.grid * ops_range(1, 3);
        make(&c);
        take_out(&c, c.rows, c.cols);
        compare(&c, shuffle);
    }
}

static void patchify(vact_run *r, void *user)
{
    const row_case *c = user;
    const vact_buf y = vact_tmp(r, c->width * c->height, 3 * c->patch * c->patch);
    vact_patchify(r, y, &c->image, c->patch);
    ops_get(r, y, c->out);
}

static void test_patchify_equals_the_reference(void **state)
{
    (void)state;
    ops_seed(6);
    for (int i = 0; i < CASES; i++) {
        ops_begin("patchify %d", i);
        row_case c = { .patch = ops_range(1, 17), .width = ops_range(1, 4), .height = ops_range(1, 4) };
        const int32_t width = c.width * c.patch, height = c.height * c.patch;
        const size_t n = 3 * (size_t)width * (size_t)height;
        uint8_t *bytes = ops_take(n, 1);
        float *floats = ops_take(n, sizeof *floats);
        for (size_t at = 0; at < n; at++) {
            bytes[at] = (uint8_t)ops_range(0, 255);
            floats[at] = (float)ops_range(0, 1000) / 1000;
        }
        c.image = (vact_image){ .data = i % 2 ? (const void *)bytes : floats,
                                .width = width,
                                .height = height,
                                .format = i % 2 ? VACT_RGB_U8 : VACT_RGB_F32 };
        take_out(&c, width * height, 3);
        compare(&c, patchify);
    }
}

/* More rows than a thread claims at a time, so that every thread has some. */
static void test_bits_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    static const ops_fn programs[] = { norm, copy, axpy, add_table, embed };
    static const int32_t threads[] = { 2, 3, 7 };
    ops_seed(7);
    for (size_t p = 0; p < COUNT(programs); p++) {
        ops_begin("program %zu", p);
        row_case c = { .rows = 130, .cols = 64 };
        make(&c);
        c.norm = VACT_LAYER_NORM(ops_normal(64), ops_normal(64), 1e-5f);
        c.table = ops_weight(VACT_DTYPE_Q8_0, 130, 64);
        c.ids = ops_take(130, sizeof *c.ids);
        float *want = ops_take(c.values, sizeof *want);
        ops_target cpus[OPS_CPUS];
        for (size_t i = 0, n = ops_cpus(cpus, 1); i < n; i++) {
            ops_run(&cpus[i], programs[p], &c);
            memcpy(want, c.out, c.values * sizeof *want);
            for (size_t t = 0; t < COUNT(threads); t++) {
                cpus[i].threads = threads[t];
                ops_run(&cpus[i], programs[p], &c);
                ops_same(&cpus[i], want, c.out, c.values);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norms_equal_the_reference),
        cmocka_unit_test(test_copy_and_axpy_equal_the_reference),
        cmocka_unit_test(test_rope_equals_the_reference),
        cmocka_unit_test(test_tables_of_every_type_equal_the_reference),
        cmocka_unit_test(test_pixel_shuffle_equals_the_reference),
        cmocka_unit_test(test_patchify_equals_the_reference),
        cmocka_unit_test(test_bits_do_not_depend_on_the_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, ops_teardown);
}
