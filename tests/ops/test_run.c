/* A run's stack, errors, traces and progress; what the cost device counts. */
#include "harness.h"

#include "ops/cost/cost.h"
#include "ops/cpu/cpu.h"
#include "ops/reference/reference.h"
#include <string.h>

/* ---- a device that only takes notes ---- */

typedef struct notebook {
    vact_device device;
    int ops, fail_at; /* the op number that fails, from 1 */
    vact_op_kind last;
    float values[4];
} notebook;

static vact_status note(vact_device *device, const vact_op *op, vact_error *err)
{
    notebook *book = (notebook *)device;
    book->last = op->kind;
    if (++book->ops != book->fail_at)
        return VACT_OK;
    err->code = VACT_EDEVICE;
    return VACT_EDEVICE;
}

static void read_note(vact_device *device, vact_buf buf, float *values)
{
    memcpy(values, ((notebook *)device)->values, (size_t)buf.rows * (size_t)buf.cols * sizeof *values);
}

static size_t kv_of_seven(const vact_device *device, const vact_kv *kv)
{
    (void)device, (void)kv;
    return 7;
}

static notebook book;
static vact_error err;

static vact_run start(void)
{
    book = (notebook){ .device = { .name = "notebook", .run = note, .read = read_note, .kv_floats = kv_of_seven } };
    err = (vact_error){ 0 };
    return (vact_run){ .device = &book.device, .err = &err };
}

static void test_buffers_start_a_cache_line_and_are_a_stack(void **state)
{
    (void)state;
    vact_run r = start();
    const vact_buf a = vact_tmp(&r, 1, 1), b = vact_tmp(&r, 3, 17);
    assert_int_equal(a.at, 0);
    assert_int_equal(b.at, 16);
    assert_int_equal(b.stride, 17);
    assert_int_equal(vact_row_stride(255), 255);
    assert_int_equal(vact_row_stride(256), 272); /* 17 cache lines, not 16 */
    assert_int_equal(vact_row_stride(720), 720); /* 45 */
    assert_int_equal(vact_row_stride(3072), 3088);
    const size_t mark = vact_mark(&r);
    assert_int_equal(mark, 16 + 64); /* 51 floats, rounded up */
    assert_int_equal(vact_tmp_kv(&r, 1, 2, 3, 4).at, mark);
    assert_int_equal(vact_tmp(&r, 0, 5).at, mark + 16);
    vact_release(&r, mark);
    assert_int_equal(vact_tmp(&r, 1, 1).at, mark);
    assert_int_equal(r.peak, mark + 16);
    const vact_buf rows = vact_rows(b, 1, 2);
    assert_int_equal(rows.at, 16 + 17);
    assert_int_equal(rows.rows, 2);
}

static void test_a_failed_run_does_nothing_more(void **state)
{
    (void)state;
    vact_run r = start();
    const vact_buf x = vact_tmp(&r, 2, 2);
    book.fail_at = 2;
    vact_copy(&r, x, x, 2);
    vact_axpy(&r, x, 2, x);
    assert_int_equal(r.status, VACT_EDEVICE);
    vact_copy(&r, x, x, 2);
    assert_int_equal(book.ops, 2);
    assert_int_equal(book.last, VACT_OP_AXPY);
    vact_run_fail(&r, VACT_ENOMEM, "later");
    assert_int_equal(r.status, VACT_EDEVICE);
    assert_string_equal(err.text, "");
}

static void test_a_run_keeps_its_first_failure(void **state)
{
    (void)state;
    vact_run r = start();
    vact_run_fail(&r, VACT_EMODEL, "layer %d", 3);
    vact_run_fail(&r, VACT_ENOMEM, "later");
    assert_int_equal(r.status, VACT_EMODEL);
    assert_int_equal(err.code, VACT_EMODEL);
    assert_string_equal(err.text, "layer 3");
}

static void test_host_memory_that_is_not_there_fails_the_run(void **state)
{
    (void)state;
    vact_arena arena = { 0 };
    vact_run r = start();
    r.arena = &arena;
    const char *taken = vact_host(&r, 3, 5);
    assert_non_null(taken);
    for (int i = 0; i < 15; i++)
        assert_int_equal(taken[i], 0);
    assert_null(vact_host(&r, SIZE_MAX, 2));
    assert_int_equal(r.status, VACT_ENOMEM);
    assert_string_equal(err.text, "out of memory while preparing the session");
    vact_arena_free(&arena);
}

static struct {
    char name[64];
    int32_t rows, cols, calls;
    float first;
} heard;

static void hear(void *user, const char *name, const float *values, int32_t rows, int32_t cols)
{
    assert_ptr_equal(user, &heard);
    strcpy(heard.name, name);
    heard.rows = rows;
    heard.cols = cols;
    heard.first = values[0];
    heard.calls++;
}

static void test_intermediates_go_to_the_listener_while_all_is_well(void **state)
{
    (void)state;
    vact_run r = start();
    const vact_buf x = vact_tmp(&r, 1, 4);
    memset(&heard, 0, sizeof heard);
    vact_emit(&r, x, "nobody listens");
    r.trace = hear;
    r.trace_user = &heard;
    book.values[0] = 1.5f;
    vact_emit(&r, x, "step.%d.%s", 7, "x");
    assert_string_equal(heard.name, "step.7.x");
    assert_int_equal(heard.rows, 1);
    assert_int_equal(heard.cols, 4);
    assert_true(heard.first == 1.5f);
    vact_run_fail(&r, VACT_EDEVICE, "broken");
    vact_emit(&r, x, "after a failure");
    assert_int_equal(heard.calls, 1);
}

static void see_progress(void *user, double done)
{
    *(double *)user = done;
}

static const vact_linear linear = { { NULL, VACT_DTYPE_F32, 3, 2, 8 }, NULL };

static void test_progress_is_the_share_of_operations_done(void **state)
{
    (void)state;
    double done = -1;
    vact_run r = start();
    const vact_buf x = vact_tmp(&r, 5, 2), y = vact_tmp(&r, 5, 3);
    r.progress = see_progress;
    r.progress_user = &done;
    r.all_flops = 120;
    vact_site(&r, .x = x, .out = { { y, &linear } }); /* 2 * 5 * 3 * 2 = 60 */
    assert_true(done == 0.5);
    vact_site(&r, .x = x, .out = { { y, &linear } });
    assert_true(done == 1);
    vact_site(&r, .x = x, .out = { { y, &linear } }); /* more than was expected */
    assert_true(done == 1);
}

static void test_every_op_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < VACT_OP_KINDS; i++) {
        assert_non_null(vact_op_name((vact_op_kind)i));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(vact_op_name((vact_op_kind)i), vact_op_name((vact_op_kind)j));
    }
    assert_string_equal(vact_op_name(VACT_OP_PIXEL_SHUFFLE), "pixel_shuffle");
}

/* ---- the cost device ---- */

static vact_kernels kernels;
static vact_device *target, *cost;

static int open_cost(void **state)
{
    (void)state;
    vact_kernels_init(&kernels, VACT_ISA_SCALAR);
    err = (vact_error){ 0 };
    return vact_cpu_open(&target, &kernels, 2, false, &err) == VACT_OK && vact_cost_open(&cost, target, &err) == VACT_OK
               ? 0
               : -1;
}

static int close_cost(void **state)
{
    (void)state;
    cost->close(cost);
    target->close(target);
    return 0;
}

static vact_linear weights(vact_dtype dtype, int32_t rows, int32_t cols)
{
    return (vact_linear){ { NULL, dtype, rows, cols, vact_dtype_bytes(dtype, (uint64_t)cols) }, NULL };
}

static void test_cost_of_a_site_is_two_per_product(void **state)
{
    (void)state;
    const vact_linear q = weights(VACT_DTYPE_Q8_0, 64, 32), k = weights(VACT_DTYPE_BF16, 7, 32);
    vact_run r = { .device = cost, .err = &err };
    const vact_buf x = vact_tmp(&r, 5, 32), y = vact_tmp(&r, 5, 64), z = vact_tmp(&r, 5, 7);
    vact_site(&r, .x = x, .out = { { y, &q }, { z, &k } });
    assert_true(vact_cost_get(cost)->flops == 2.0 * 5 * 32 * (64 + 7));
    assert_true(vact_cost_get(cost)->weight_bytes == 64 * 34 + 7 * 64);
    assert_true(vact_cost_get(cost)->site_flops[VACT_DTYPE_Q8_0] == 2.0 * 5 * 32 * 64);
    assert_true(vact_cost_get(cost)->site_flops[VACT_DTYPE_BF16] == 2.0 * 5 * 32 * 7);

    vact_site(&r, .x = x, .out = { { y, &q }, { .w = &q } }, .gated = true);
    assert_true(vact_cost_get(cost)->flops == 2.0 * 5 * 32 * (64 + 7 + 128));
    assert_true(vact_cost_get(cost)->weight_bytes == 64 * 34 + 7 * 64 + 128 * 34);
}

static void test_cost_of_attention_counts_the_keys_that_are_seen(void **state)
{
    (void)state;
    static const vact_span spans[] = { { 0, 3 }, { 2, 2 }, { 1, 6 } };
    vact_run r = { .device = cost, .err = &err };
    const vact_buf q = vact_tmp(&r, 3, 32);
    const vact_kv kv = vact_tmp_kv(&r, 1, 10, 1, 16), more = vact_tmp_kv(&r, 1, 10, 1, 16);
    vact_attention(&r, .y = q, .q = q, .heads = 2, .scale = 1, .segments = { { kv, 6 } }, .spans = spans);
    assert_true(vact_cost_get(cost)->flops == 4.0 * 32 * (3 + 0 + 5)); /* q k and p v, 2 each */
    vact_attention(&r, .y = q, .q = q, .heads = 2, .scale = 1, .segments = { { kv, 6 }, { more, 4 } });
    assert_true(vact_cost_get(cost)->flops == 4.0 * 32 * (8 + 3 * 10));
    assert_true(vact_cost_get(cost)->weight_bytes == 0);
}

static void test_cost_of_tables_is_the_rows_that_are_read(void **state)
{
    (void)state;
    const vact_weight table = weights(VACT_DTYPE_Q4_0, 100, 64).w;
    static const int32_t ids[] = { 9, 9, 9 };
    vact_run r = { .device = cost, .err = &err };
    vact_embed(&r, vact_tmp(&r, 3, 64), &table, ids, 1);
    assert_true(vact_cost_get(cost)->weight_bytes == 3 * 36);
    vact_add_table(&r, vact_tmp(&r, 200, 64), &table);
    assert_true(vact_cost_get(cost)->weight_bytes == 103 * 36);
    assert_true(vact_cost_get(cost)->flops == 0);
}

static void test_cost_scratch_is_the_largest_of_any_op(void **state)
{
    (void)state;
    static const float ones[64];
    const vact_linear wide = weights(VACT_DTYPE_F32, 64, 640), tall = weights(VACT_DTYPE_F32, 64, 8);
    vact_run r = { .device = cost, .err = &err };
    const vact_site_args many_columns = { .x = vact_tmp(&r, 2, 640), .out = { { vact_tmp(&r, 2, 64), &wide } } };
    const vact_site_args many_rows = { .x = vact_tmp(&r, 90, 8),
                                       .norm = VACT_RMS_NORM(ones, 0),
                                       .out = { { vact_tmp(&r, 90, 64), &tall } } };
    const vact_scratch a = target->scratch(target, &(vact_op){ VACT_OP_SITE, .site = many_columns });
    const vact_scratch b = target->scratch(target, &(vact_op){ VACT_OP_SITE, .site = many_rows });
    assert_true(a.per_thread > b.per_thread && a.shared < b.shared);
    assert_true(b.shared >= 90 * 8); /* the normed rows */
    for (int i = 0; i < 2; i++) {    /* in either order */
        vact_site_run(&r, i ? &many_rows : &many_columns);
        vact_site_run(&r, i ? &many_columns : &many_rows);
        assert_int_equal(vact_cost_get(cost)->scratch.shared, b.shared);
        assert_int_equal(vact_cost_get(cost)->scratch.per_thread, a.per_thread);
    }
}

static void test_cost_takes_caches_from_the_device_it_counts_for(void **state)
{
    (void)state;
    vact_device *reference = NULL, *for_reference = NULL;
    const vact_kv kv = { 0, 3, 17, 2, 20 };
    assert_int_equal(vact_reference_open(&reference, &kernels, &err), VACT_OK);
    assert_int_equal(vact_cost_open(&for_reference, reference, &err), VACT_OK);
    assert_int_equal(cost->kv_floats(cost, &kv), 2 * 3 * 2 * 32 * 32); /* whole panels of 16 */
    assert_int_equal(for_reference->kv_floats(for_reference, &kv), 2 * 3 * 17 * 2 * 20);
    float untouched = 5;
    cost->read(cost, (vact_buf){ 0, 1, 1, 1 }, &untouched);
    assert_true(untouched == 5);
    for_reference->close(for_reference);
    reference->close(reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buffers_start_a_cache_line_and_are_a_stack),
        cmocka_unit_test(test_a_failed_run_does_nothing_more),
        cmocka_unit_test(test_a_run_keeps_its_first_failure),
        cmocka_unit_test(test_host_memory_that_is_not_there_fails_the_run),
        cmocka_unit_test(test_intermediates_go_to_the_listener_while_all_is_well),
        cmocka_unit_test(test_progress_is_the_share_of_operations_done),
        cmocka_unit_test(test_every_op_has_a_name),
        cmocka_unit_test_setup_teardown(test_cost_of_a_site_is_two_per_product, open_cost, close_cost),
        cmocka_unit_test_setup_teardown(test_cost_of_attention_counts_the_keys_that_are_seen, open_cost, close_cost),
        cmocka_unit_test_setup_teardown(test_cost_of_tables_is_the_rows_that_are_read, open_cost, close_cost),
        cmocka_unit_test_setup_teardown(test_cost_scratch_is_the_largest_of_any_op, open_cost, close_cost),
        cmocka_unit_test_setup_teardown(test_cost_takes_caches_from_the_device_it_counts_for, open_cost, close_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
