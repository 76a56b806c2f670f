#include "base/nearest.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const fields[] = { "images", "image_embeddings", "tokens", "state", "noise", "seed", NULL };

static void test_the_word_with_the_fewest_edits_is_found(void **state)
{
    (void)state;
    assert_string_equal(vact_nearest("token", fields), "tokens"); /* one is missing */
    assert_string_equal(vact_nearest("statte", fields), "state"); /* one too many */
    assert_string_equal(vact_nearest("noize", fields), "noise");  /* another letter */
    assert_string_equal(vact_nearest("xstate", fields), "state"); /* at the front */
    assert_string_equal(vact_nearest("image", fields), "images"); /* not the longer word that contains it */
    assert_string_equal(vact_nearest("seed", fields), "seed");    /* itself */
    assert_string_equal(vact_nearest("image-embedding", fields), "image_embeddings");
}

static void test_a_swap_of_neighbours_is_two_edits(void **state)
{
    (void)state;
    assert_string_equal(vact_nearest("sede", fields), "seed");
    const char *const words[] = { "abcd", "bacdx", NULL }; /* 2 and 1 */
    assert_string_equal(vact_nearest("bacd", words), "bacdx");
}

/* Half of its letters and one, but never all of them. */
static void test_too_many_edits_make_another_word(void **state)
{
    (void)state;
    const char *const words[] = { "abcdef", NULL }, *const shorter[] = { "abc", NULL };
    assert_string_equal(vact_nearest("abcxyz", words), "abcdef"); /* 3 of 6 */
    assert_null(vact_nearest("abwxyz", words));                   /* 4 of 6 */
    assert_null(vact_nearest("text", fields));                    /* "seed" is 3 of 4 away */
    assert_string_equal(vact_nearest("axc", shorter), "abc");
    assert_string_equal(vact_nearest("ab", shorter), "abc"); /* 1 of 2 */
    assert_null(vact_nearest("xb", shorter));                /* 2 of 2 */
    assert_null(vact_nearest("prompt", fields));
    assert_null(vact_nearest("a", shorter));
    assert_null(vact_nearest("", fields));
}

static void test_of_equally_near_words_the_first_is_found(void **state)
{
    (void)state;
    const char *const words[] = { "cat", "bat", "rat", NULL };
    assert_string_equal(vact_nearest("hat", words), "cat");
    assert_string_equal(vact_nearest("rab", words), "rat");
}

static void test_no_words_give_none(void **state)
{
    (void)state;
    const char *const words[] = { NULL };
    assert_null(vact_nearest("seed", words));
}

static void test_words_too_long_are_passed_over(void **state)
{
    (void)state;
    char most[49], more[50], word[50];
    memset(most, 'a', 48);
    memset(more, 'a', 49);
    most[48] = more[49] = '\0';
    const char *const words[] = { more, most, NULL };
    assert_ptr_equal(vact_nearest(most, words), most);
    assert_null(vact_nearest(more, words));
    memset(word, 'b', 48);
    word[48] = '\0';
    assert_null(vact_nearest(word, words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_word_with_the_fewest_edits_is_found),
        cmocka_unit_test(test_a_swap_of_neighbours_is_two_edits),
        cmocka_unit_test(test_too_many_edits_make_another_word),
        cmocka_unit_test(test_of_equally_near_words_the_first_is_found),
        cmocka_unit_test(test_no_words_give_none),
        cmocka_unit_test(test_words_too_long_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
