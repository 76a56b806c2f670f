/* Files by hand whose differences are known. */
#include "convert/diff.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "file/gguf_bytes.h"
#include "file/gguf_kinds.h"

enum { MOST = 64 };

typedef struct heard {
    char keys[400]; /* "name=;", "name!3;" (differs at 3), "name<;" (only in a), "name>;" */
    int n;
    vact_diff_tensor tensors[MOST];
    double done;
    vact_diff_summary summary;
} heard;

static void hear_key(void *user, const vact_diff_key *k)
{
    heard *h = user;
    const size_t used = strlen(h->keys);
    snprintf(h->keys + used, sizeof h->keys - used, "%s%s", k->a ? k->a->key : k->b->key,
             k->same ? "=;"
             : !k->b ? "<;"
             : !k->a ? ">;"
                     : "!");
    if (k->a && k->b && !k->same)
        snprintf(h->keys + strlen(h->keys), sizeof h->keys - strlen(h->keys), "%d;", (int)k->at);
}

static void hear_tensor(void *user, const vact_diff_tensor *t)
{
    heard *h = user;
    assert_true(h->n < MOST);
    h->tensors[h->n++] = *t;
}

static void hear_progress(void *user, double done)
{
    heard *h = user;
    assert_true(done >= h->done && done <= 1);
    h->done = done;
}

static vact_gguf *parse(const struct bytes *b)
{
    vact_error err = { 0 };
    vact_gguf *gguf = NULL;
    if (vact_gguf_parse(&gguf, "x", b->data, b->size, &err) != VACT_OK)
        fail_msg("%s", err.text);
    return gguf;
}

static void compare_bytes(const struct bytes *x, const struct bytes *y, heard *h)
{
    vact_error err = { 0 };
    vact_gguf *a = parse(x), *b = parse(y);
    *h = (heard){ 0 };
    const vact_diff_listener listener = {
        .key = hear_key, .tensor = hear_tensor, .user = h, .progress = hear_progress, .progress_user = h
    };
    assert_int_equal(vact_diff(a, b, &listener, &h->summary, &err), VACT_OK);
    assert_true(h->done == 1 || a->n_tensors == 0);
    assert_int_equal(h->summary.n_tensors, h->n);
    vact_gguf_close(&a);
    vact_gguf_close(&b);
}

static void compare(const char *x, const char *y, heard *h)
{
    struct bytes a = { 0 }, b = { 0 };
    bytes_build(&a, x);
    bytes_build(&b, y);
    compare_bytes(&a, &b, h);
    bytes_free(&a);
    bytes_free(&b);
}

/* ---- keys ---- */

static void test_keys_are_told_in_order(void **state)
{
    (void)state;
    heard h;
    compare(
        "r:GGUF 4:3 8:0 8:8 s:general.alignment 4:4 4:64 s:b 4:4 4:1 s:a 4:8 s:x s:t 4:4 4:-3 s:old 4:7 1:1 s:n 4:9 "
        "4:2 8:3 2:7 2:8 2:9 "
        "s:w 4:9 4:8 8:3 s:p s:q s:r s:l 4:9 4:0 8:1 1:0",
        "r:GGUF 4:2 8:0 8:8 s:new 4:7 1:1 s:w 4:9 4:8 8:3 s:p s:q s:rr s:a 4:8 s:y s:n 4:9 4:2 8:3 2:7 2:6 2:9 "
        "s:b 4:4 4:1 s:t 4:5 4:-3 s:l 4:9 4:0 8:2 1:0 1:0 s:newer 4:7 1:1",
        &h);
    assert_string_equal(h.keys, "b=;a!0;t!0;old<;n!1;w!2;l!0;new>;newer>;");
    assert_int_equal(h.summary.n_keys, 9);
    assert_int_equal(h.summary.n_keys_different, 8);
}

static void test_a_file_is_the_same_as_itself_in_another_layout(void **state)
{
    (void)state;
    struct bytes a = { 0 }, b = { 0 };
    heard h;
    build_all_kinds(&a, 2);
    build_all_kinds(&b, 3);
    compare_bytes(&a, &b, &h);
    assert_int_equal(h.summary.n_keys, 24);
    assert_int_equal(h.summary.n_keys_different, 0);
    assert_int_equal(h.summary.n_tensors, 3);
    assert_int_equal(h.summary.n_tensors_different, 0);
    for (int i = 0; i < h.n; i++)
        assert_true(h.tensors[i].same && h.tensors[i].same_shape && h.tensors[i].largest == 0);
    bytes_free(&a);
    bytes_free(&b);
}

/* ---- tensors ---- */

/* One tensor of f32 in each. */
static vact_diff_tensor compare_floats(int n, const char *x, const char *y)
{
    struct bytes a = { 0 }, b = { 0 };
    heard h;
    char head[80];
    snprintf(head, sizeof head, "r:GGUF 4:3 8:1 8:0 s:x 4:1 8:%d 4:0 8:0 a:32 ", n);
    bytes_build(&a, head);
    bytes_build(&b, head);
    bytes_build(&a, x);
    bytes_build(&b, y);
    compare_bytes(&a, &b, &h);
    bytes_free(&a);
    bytes_free(&b);
    assert_int_equal(h.n, 1);
    assert_true(h.summary.largest == h.tensors[0].largest && h.summary.relative == h.tensors[0].relative);
    return h.tensors[0];
}

static void test_errors_of_values(void **state)
{
    (void)state;
    vact_diff_tensor t = compare_floats(4, "f:3 f:0 f:4 f:0", "f:3 f:-0.25 f:3.5 f:0");
    assert_true(!t.same && t.same_shape && t.compared && t.n_different == 2);
    assert_true(t.largest == 0.5 && t.at == 2 && t.at_a == 4 && t.at_b == 3.5f);
    assert_true(fabs(t.relative - sqrt(0.3125) / 5) < 1e-15);
    t = compare_floats(3, "f:1 f:1 f:1", "f:2 f:0 f:1");
    assert_true(t.n_different == 2 && t.largest == 1 && t.at == 0); /* the first of equals */
    t = compare_floats(2, "f:0 f:0", "f:0 f:1");
    assert_true(t.largest == 1 && isinf(t.relative));
    t = compare_floats(2, "f:0 f:5", "f:-0 f:5");
    assert_true(!t.same && t.n_different == 0 && t.largest == 0 && t.relative == 0);
}

static void test_errors_of_what_is_no_number(void **state)
{
    (void)state;
    vact_diff_tensor t = compare_floats(3, "4:0x7fc00000 f:3 f:4", "4:0x7fc00001 f:3 f:4");
    assert_true(!t.same && t.n_different == 0 && t.largest == 0 && t.relative == 0);
    t = compare_floats(3, "4:0x7fc00000 f:3 f:4", "4:0xffc00001 f:3 f:3");
    assert_true(t.n_different == 1 && t.largest == 1 && t.at == 2);
    assert_true(fabs(t.relative - 0.2) < 1e-15);
    t = compare_floats(3, "f:1 4:0x7fc00000 f:4", "f:2 f:3 f:4");
    assert_true(t.n_different == 2 && isinf(t.largest) && t.at == 1 && isnan(t.at_a) && t.at_b == 3 &&
                isinf(t.relative));
    t = compare_floats(3, "f:1 f:2 f:4", "f:1 f:2 4:0x7fc00000");
    assert_true(t.n_different == 1 && isinf(t.largest) && t.at == 2 && isinf(t.relative));
    t = compare_floats(3, "f:inf f:3 f:4", "f:inf f:3 f:3");
    assert_true(t.n_different == 1 && t.largest == 1 && t.at == 2);
    assert_true(fabs(t.relative - 0.2) < 1e-15);
    t = compare_floats(2, "f:inf f:3", "f:-inf f:3");
    assert_true(t.n_different == 1 && isinf(t.largest) && t.at == 0 && isinf(t.relative));
}

/* bf16 and f32, q8_0 and f16 of the same values; i8, which has none; another shape; missing ones. */
static void test_types_and_shapes(void **state)
{
    (void)state;
    heard h;
    compare(
        "r:GGUF 4:3 8:6 8:0 s:a 4:1 8:2 4:30 8:0 s:b 4:1 8:32 4:8 8:32 s:c 4:1 8:3 4:24 8:96 s:d 4:2 8:1 8:2 4:0 8:128 "
        "s:e 4:1 8:1 4:0 8:160 s:f 4:1 8:4 4:0 8:192 a:32 2:0x3f80 2:0x4000 a:32 2:0x3800 1:2 1:-4 z:30 a:32 r:abc "
        "a:32 f:1 f:2 a:32 f:1 a:32 z:16",
        "r:GGUF 4:3 8:6 8:0 s:g 4:1 8:1 4:0 8:0 s:b 4:1 8:32 4:1 8:32 s:c 4:1 8:3 4:24 8:96 s:d 4:2 8:2 8:1 4:0 8:128 "
        "s:a 4:1 8:2 4:0 8:160 s:f 4:2 8:4 8:1 4:0 8:192 a:32 f:1 a:32 2:0x3c00 2:0xc080 z:60 r:abd a:32 f:1 f:2 "
        "a:32 f:1 f:2 a:32 z:16",
        &h);
    assert_int_equal(h.n, 7);
    const vact_diff_tensor *t = h.tensors;
    assert_true(!t[0].same && t[0].same_shape && t[0].compared && t[0].largest == 0 && t[0].n_different == 0);
    assert_true(!t[1].same && t[1].compared && t[1].largest == 0.25 && t[1].at == 1 && t[1].n_different == 1);
    assert_true(t[1].at_a == -2 && t[1].at_b == -2.25f);
    assert_true(fabs(t[1].relative - 0.25 / sqrt(5)) < 1e-15);
    assert_true(!t[2].same && t[2].same_shape && !t[2].compared);
    assert_true(!t[3].same && !t[3].same_shape && !t[3].compared);
    assert_true(t[4].a && !t[4].b && !t[4].same && !t[4].same_shape);
    assert_true(!t[5].same && !t[5].same_shape);
    assert_true(!t[6].a && t[6].b && !t[6].same && !t[6].same_shape);
    assert_int_equal(h.summary.n_tensors_different, 7);
    assert_true(h.summary.largest == 0.25);
}

/* Over what is read and decoded at a time. */
static void test_large_tensors_are_compared_to_their_end(void **state)
{
    (void)state;
    enum { N = (1 << 22) + 40000, AT = N - 1 };
    struct bytes a = { 0 }, b = { 0 };
    heard h;
    float *ones = malloc(N * sizeof *ones);
    assert_non_null(ones);
    for (int i = 0; i < N; i++)
        ones[i] = 1;
    char head[80];
    snprintf(head, sizeof head, "r:GGUF 4:3 8:1 8:0 s:x 4:1 8:%d 4:0 8:0 a:32 ", N);
    bytes_build(&a, head);
    bytes_build(&b, head);
    bytes_add(&a, ones, N * sizeof *ones);
    bytes_add(&b, ones, N * sizeof *ones);
    free(ones);
    compare_bytes(&a, &b, &h);
    assert_true(h.tensors[0].same);
    ((float *)(void *)(b.data + b.size))[-1] = 1.5f;
    compare_bytes(&a, &b, &h);
    assert_true(!h.tensors[0].same && h.tensors[0].n_different == 1 && h.tensors[0].at == AT);
    for (int i = 0; i < 40; i++)
        ((float *)(void *)(b.data + b.size))[-1 - i * 100000] = i == 0 ? 1.5f : 0.75f;
    compare_bytes(&a, &b, &h);
    assert_true(!h.tensors[0].same && h.tensors[0].n_different == 40);
    assert_true(h.tensors[0].largest == 0.5 && h.tensors[0].at == AT);
    assert_true(fabs(h.tensors[0].relative - sqrt((0.25 + 39 * 0.0625) / N)) < 1e-12);
    bytes_free(&a);
    bytes_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_are_told_in_order),
        cmocka_unit_test(test_a_file_is_the_same_as_itself_in_another_layout),
        cmocka_unit_test(test_errors_of_values),
        cmocka_unit_test(test_errors_of_what_is_no_number),
        cmocka_unit_test(test_types_and_shapes),
        cmocka_unit_test(test_large_tensors_are_compared_to_their_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
