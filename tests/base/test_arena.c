#include "base/arena.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_memory_is_aligned_zeroed_and_disjoint(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1, 3, 63, 64, 65, 1000, 16384, 16385, 65536, 1 << 20 };
    enum { N = sizeof sizes / sizeof *sizes, ROUNDS = 20 };
    unsigned char *taken[ROUNDS][N];
    vact_arena arena = { 0 };
    size_t total = 0;
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < N; i++) {
            unsigned char *p = taken[round][i] = vact_arena_take(&arena, sizes[i], 1);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % 64, 0);
            for (size_t b = 0; b < sizes[i]; b++)
                if (p[b] != 0)
                    fail_msg("byte %zu of %zu is %d", b, sizes[i], p[b]);
            memset(p, (int)(round * N + i), sizes[i]);
            total += sizes[i];
        }
    assert_int_equal(arena.bytes, total);
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < N; i++)
            for (size_t b = 0; b < sizes[i]; b++)
                if (taken[round][i][b] != (unsigned char)(round * N + i))
                    fail_msg("allocation %zu/%zu was overwritten", round, i);
    vact_arena_free(&arena);
    assert_null(arena.blocks);
    assert_int_equal(arena.bytes, 0);
}

static void test_overflow_is_null(void **state)
{
    (void)state;
    vact_arena arena = { 0 };
    assert_null(vact_arena_take(&arena, SIZE_MAX, 2));
    assert_null(vact_arena_take(&arena, SIZE_MAX / 2 + 2, 2));
    assert_null(vact_arena_take(&arena, SIZE_MAX, 1));
    assert_null(vact_arena_take(&arena, 1, SIZE_MAX - 64));
    assert_null(vact_arena_take(&arena, SIZE_MAX / 4, 2));
    assert_null(vact_arena_text(&arena, "", SIZE_MAX));
    assert_int_equal(arena.bytes, 0);
    assert_non_null(vact_arena_take(&arena, 1, 1));
    vact_arena_free(&arena);
}

static void test_nothing_is_a_valid_pointer(void **state)
{
    (void)state;
    vact_arena arena = { 0 };
    assert_non_null(vact_arena_take(&arena, 0, 8));
    assert_non_null(vact_arena_take(&arena, 8, 0));
    assert_non_null(vact_arena_take(&arena, SIZE_MAX, 0));
    assert_int_equal(arena.bytes, 0);
    vact_arena_free(&arena);
}

static void test_text_is_copied_and_closed(void **state)
{
    (void)state;
    vact_arena arena = { 0 };
    const char source[] = { 'b', 'o', 'w', 'l', 's' };
    char *text = vact_arena_text(&arena, source, 4);
    assert_string_equal(text, "bowl");
    assert_string_equal(vact_arena_text(&arena, NULL, 0), "");
    vact_arena_free(&arena);
}

static void test_arena_can_be_used_again_after_free(void **state)
{
    (void)state;
    vact_arena arena = { 0 };
    vact_arena_free(&arena);
    for (int i = 0; i < 3; i++) {
        assert_non_null(vact_arena_take(&arena, 100, 4));
        assert_int_equal(arena.bytes, 400);
        vact_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_aligned_zeroed_and_disjoint),
        cmocka_unit_test(test_overflow_is_null),
        cmocka_unit_test(test_nothing_is_a_valid_pointer),
        cmocka_unit_test(test_text_is_copied_and_closed),
        cmocka_unit_test(test_arena_can_be_used_again_after_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
