/* Attention on every device: the cpu against the reference in double precision, bits against thread counts, rows and
 * groups. */
#include "attention.h"

#include <math.h>
#include <string.h>

static const int32_t threads[] = { 1, 2, 3, 7 };

/* Scores of up to 15 in float; the worst seen is 5e-6. */
#define NEAR 1.5e-5

static void check_case(attention_case *c, int32_t n)
{
    const size_t values = attention_values(c);
    float *want = ops_take(values, sizeof *want);
    ops_target cpus[OPS_CPUS];
    attention_run(c, &ops_reference);
    memcpy(want, c->out, values * sizeof *want);
    for (size_t i = 0, count = ops_cpus(cpus, n); i < count; i++) {
        if (cpus[i].isa == VACT_ISA_SCALAR && attention_products(c) > 1e6 && count > 1)
            continue; /* fmaf by a function call: small shapes have met all that is scalar */
        attention_run(c, &cpus[i]);
        ops_near(&cpus[i], want, c->out, values, NEAR);
    }
}

static void begin_case(const attention_case *c)
{
    ops_begin("attention, %d groups of %d rows, %d heads over %d of %d, %d + %d keys, rule %d%s", c->groups, c->rows,
              c->heads, c->kv_heads, c->head_dim, c->keys[0], c->keys[1], (int)c->rule,
              c->in_place ? ", in place" : "");
}

static const int32_t row_counts[] = { 1, 1, 2, 5, 6, 7, 12, 23, 24, 25, 49, 70 };
static const int32_t key_counts[] = { 1, 2, 15, 16, 17, 48, 100, 127, 129, 255, 256, 257, 273, 300 };

/* Heads over key heads. */
static void pick_heads(attention_case *c)
{
    static const int32_t key_heads[] = { 1, 1, 2, 3 };
    static const int32_t shared[] = { 1, 1, 2, 3 };
    c->kv_heads = ops_pick(key_heads, COUNT(key_heads));
    c->heads = c->kv_heads * ops_pick(shared, COUNT(shared));
}

static void check_rule(span_rule rule, int cases)
{
    static const int32_t dims[] = { 16, 48, 64, 72, 112, 128, 256, 10, 40 };
    ops_seed(rule + 100);
    for (int i = 0; i < cases; i++) {
        attention_case c = { .groups = 1 + i % 3, .rule = rule, .in_place = i % 2 };
        c.rows = ops_pick(row_counts, COUNT(row_counts));
        c.head_dim = dims[(size_t)i % COUNT(dims)];
        c.scale = (ops_range(0, 1) ? 1.0f : 3.0f) / sqrtf((float)c.head_dim);
        c.keys[0] = ops_pick(key_counts, COUNT(key_counts));
        c.keys[1] = i % 2 ? 0 : ops_pick(key_counts, COUNT(key_counts));
        pick_heads(&c);
        if (attention_products(&c) > 1e7)
            c.rows = 7;
        if (rule == SPAN_CAUSAL && i % 4 == 0)
            c.keys[1] = c.rows; /* a chunk behind its prefix */
        begin_case(&c);
        attention_make(&c);
        check_case(&c, ops_pick(threads, COUNT(threads)));
    }
}

static void test_attention_to_all_keys_equals_the_reference(void **state)
{
    (void)state;
    check_rule(SPAN_ALL, 45);
}

static void test_causal_attention_equals_the_reference(void **state)
{
    (void)state;
    check_rule(SPAN_CAUSAL, 28);
}

static void test_a_last_row_that_sees_more_equals_the_reference(void **state)
{
    (void)state;
    check_rule(SPAN_LAST, 28);
}

static void test_intervals_of_keys_equal_the_reference(void **state)
{
    (void)state;
    check_rule(SPAN_WINDOW, 28);
    check_rule(SPAN_LATE, 28);
}

static void test_a_row_that_sees_nothing_is_zero(void **state)
{
    (void)state;
    check_rule(SPAN_NONE, 28);
    for (int nothing_at_all = 0; nothing_at_all < 2; nothing_at_all++) {
        attention_case c = { .groups = 2, .rows = 28, .heads = 2, .kv_heads = 1, .head_dim = 48, .scale = 1 };
        c.keys[0] = 150;
        c.rule = SPAN_NONE;
        begin_case(&c);
        attention_make(&c);
        ops_target all[OPS_CPUS + 1];
        for (int32_t row = 0; row < 56 && nothing_at_all; row++)
            c.spans[row] = (vact_span){ row, row };
        const float *zeros = ops_take(96, sizeof *zeros);
        for (size_t i = 0, n = ops_all(all); i < n; i++) {
            attention_run(&c, &all[i]);
            for (int32_t row = 0; row < 56; row++)
                if (nothing_at_all || row % 28 % 3 == 1)
                    ops_same(&all[i], zeros, c.out + row * 96, 96);
        }
    }
}

/* One segment of every length around the blocks of 256 keys and the panels of 16. */
static void test_any_number_of_keys_equals_the_reference(void **state)
{
    (void)state;
    ops_seed(1);
    for (int32_t keys = 1; keys <= 300; keys += keys % 16 == 1 || keys > 250 ? 7 : 1) {
        attention_case c = { .groups = 1, .rows = 3, .heads = 1, .kv_heads = 1, .head_dim = 16, .scale = 0.5f };
        c.keys[0] = keys;
        begin_case(&c);
        attention_make(&c);
        check_case(&c, 1);
    }
}

/* Splits of 1024 keys: up to 96 queries of a key head, whose splits are tiles of their own, and more. */
static void test_splits_of_many_keys_equal_the_reference(void **state)
{
    static const int32_t rows[] = { 1, 1, 2, 8, 36 }, dims[] = { 16, 40, 64 };
    (void)state;
    ops_seed(6);
    for (int i = 0; i < 8 * SPAN_RULES; i++) {
        attention_case c = { .groups = 1 + i % 2, .rule = (span_rule)(i / 8), .in_place = i % 2 };
        c.rows = ops_pick(rows, COUNT(rows));
        c.head_dim = ops_pick(dims, COUNT(dims));
        c.scale = 1 / sqrtf((float)c.head_dim);
        c.keys[0] = ops_range(1, 3000);
        c.keys[1] = i % 4 < 2 ? 0 : ops_range(1, 1500);
        pick_heads(&c);
        begin_case(&c);
        attention_make(&c);
        check_case(&c, ops_pick(threads, COUNT(threads)));
    }
}

/* The first and last numbers of keys that take one split, two and three. */
static void test_keys_around_the_ends_of_splits_equal_the_reference(void **state)
{
    static const int32_t keys[] = { 1023, 1024, 1025, 1281, 2047, 2048, 2049 };
    (void)state;
    ops_seed(7);
    for (size_t i = 0; i < 2 * COUNT(keys); i++) {
        attention_case c = { .groups = 1, .rows = i % 2 ? 97 : 2, .heads = 1, .kv_heads = 1, .head_dim = 16 };
        c.scale = 0.25f;
        c.keys[0] = keys[i / 2];
        begin_case(&c);
        attention_make(&c);
        check_case(&c, 2);
    }
}

/* ---- bits ---- */

/* The bits that every number of threads gives. */
static void check_threads(attention_case *c)
{
    begin_case(c);
    attention_make(c);
    const size_t values = attention_values(c);
    float *want = ops_take(values, sizeof *want);
    ops_target cpus[OPS_CPUS];
    for (size_t k = 0, n = ops_cpus(cpus, 1); k < n; k++) {
        attention_run(c, &cpus[k]);
        memcpy(want, c->out, values * sizeof *want);
        for (size_t t = 1; t < COUNT(threads); t++) {
            cpus[k].threads = threads[t];
            attention_run(c, &cpus[k]);
            ops_same(&cpus[k], want, c->out, values);
        }
    }
}

static void test_bits_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    ops_seed(2);
    for (int i = 0; i < SPAN_RULES; i++) {
        attention_case c = { .groups = 2, .rows = 50, .heads = 4, .kv_heads = 2, .head_dim = 16, .scale = 0.25f };
        c.keys[0] = 140;
        c.keys[1] = 50;
        c.rule = (span_rule)i;
        c.in_place = i % 2;
        check_threads(&c);
        c.rows = 3;
        c.keys[0] = 2300;
        check_threads(&c);
    }
}

/* A few of the rows alone, on two threads: where there are many keys, the splits of these few are tiles. */
static void check_some_rows(attention_case *c, int32_t most)
{
    begin_case(c);
    attention_make(c);
    const size_t values = attention_values(c), width = (size_t)(c->heads * c->head_dim);
    float *want = ops_take(values, sizeof *want);
    ops_target cpus[OPS_CPUS];
    for (size_t k = 0, n = ops_cpus(cpus, 2); k < n; k++) {
        c->first = c->count = 0;
        attention_run(c, &cpus[k]);
        memcpy(want, c->out, values * sizeof *want);
        c->count = ops_range(1, most);
        c->first = ops_range(0, c->rows - c->count);
        attention_run(c, &cpus[k]);
        const size_t at = (size_t)c->first * width;
        ops_same(&cpus[k], want + at, c->out + at, (size_t)c->count * width);
    }
}

static void test_a_row_has_the_same_bits_whatever_is_computed_beside_it(void **state)
{
    (void)state;
    ops_seed(3);
    for (int i = 0; i < 4 * SPAN_RULES; i++) {
        attention_case c = { .groups = 1, .rows = 70, .heads = 2, .kv_heads = 1, .head_dim = 48, .scale = 0.3f };
        c.keys[0] = 130;
        c.keys[1] = 70;
        c.rule = (span_rule)(i % SPAN_RULES);
        check_some_rows(&c, i % 2 ? 6 : 40);
    }
    for (int i = 0; i < 2 * SPAN_RULES; i++) {
        attention_case c = { .groups = 1, .rows = 50, .heads = 2, .kv_heads = 1, .head_dim = 16, .scale = 0.3f };
        c.keys[0] = 1500;
        c.keys[1] = 700;
        c.rule = (span_rule)(i % SPAN_RULES);
        check_some_rows(&c, i % 2 ? 3 : 40);
    }
}

/* Camera views in one pass or one by one. */
static void test_a_group_has_the_same_bits_alone(void **state)
{
    (void)state;
    ops_seed(4);
    for (int i = 0; i < SPAN_RULES; i++) {
        attention_case c = { .groups = 3, .rows = 25, .heads = 2, .kv_heads = 2, .head_dim = 72, .scale = 0.2f };
        c.keys[0] = 129;
        c.keys[1] = 9;
        c.rule = (span_rule)i;
        begin_case(&c);
        attention_make(&c);
        const size_t values = attention_values(&c) / 3, row = (size_t)c.kv_heads * (size_t)c.head_dim;
        ops_target cpus[OPS_CPUS];
        for (size_t k = 0, n = ops_cpus(cpus, 1); k < n; k++) {
            attention_run(&c, &cpus[k]);
            for (size_t group = 0; group < 3; group++) {
                attention_case one = c;
                one.groups = 1;
                one.q += group * 25 * (row + 1);
                for (int s = 0; s < VACT_ATTENTION_SEGMENTS; s++)
                    one.kv[s] += group * (size_t)c.keys[s] * 2 * row;
                one.spans = c.spans ? c.spans + group * 25 : NULL;
                one.out = ops_take(values, sizeof *one.out);
                attention_run(&one, &cpus[k]);
                ops_same(&cpus[k], c.out + group * values, one.out, values);
            }
        }
    }
}

/* Keys that came in two writes, in either order, are those of one write. */
static void test_keys_written_in_parts_give_the_bits_of_one_write(void **state)
{
    (void)state;
    ops_seed(5);
    for (int32_t split = 0; split <= 40; split++) {
        attention_case c = { .groups = 2, .rows = 7, .heads = 2, .kv_heads = 1, .head_dim = 20, .scale = 0.2f };
        c.keys[0] = 40;
        begin_case(&c);
        attention_make(&c);
        const size_t values = attention_values(&c);
        float *want = ops_take(values, sizeof *want);
        ops_target all[OPS_CPUS + 1];
        for (size_t i = 0, n = ops_all(all); i < n; i++) {
            c.split[0] = 0;
            attention_run(&c, &all[i]);
            memcpy(want, c.out, values * sizeof *want);
            c.split[0] = split;
            for (int backwards = 0; backwards < 2; backwards++) {
                c.backwards = backwards;
                attention_run(&c, &all[i]);
                ops_same(&all[i], want, c.out, values);
            }
            c.backwards = false;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_to_all_keys_equals_the_reference),
        cmocka_unit_test(test_causal_attention_equals_the_reference),
        cmocka_unit_test(test_a_last_row_that_sees_more_equals_the_reference),
        cmocka_unit_test(test_intervals_of_keys_equal_the_reference),
        cmocka_unit_test(test_a_row_that_sees_nothing_is_zero),
        cmocka_unit_test(test_any_number_of_keys_equals_the_reference),
        cmocka_unit_test(test_splits_of_many_keys_equal_the_reference),
        cmocka_unit_test(test_keys_around_the_ends_of_splits_equal_the_reference),
        cmocka_unit_test(test_bits_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(test_a_row_has_the_same_bits_whatever_is_computed_beside_it),
        cmocka_unit_test(test_a_group_has_the_same_bits_alone),
        cmocka_unit_test(test_keys_written_in_parts_give_the_bits_of_one_write),
    };
    return cmocka_run_group_tests(tests, NULL, ops_teardown);
}
