/* hf: names and paths in a repository: what they mean, and what is refused. */
#include "hub/hub.h"
#include "hub/name.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_a_name_has_a_prefix(void **state)
{
    (void)state;
    assert_true(hub_is_name("hf:user/repo"));
    assert_true(hub_is_name("hf:"));
    assert_false(hub_is_name("./hf:user/repo"));
    assert_false(hub_is_name("hf"));
    assert_false(hub_is_name(""));
}

static void test_names_are_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text, *repo, *revision, *path;
    } good[] = {
        { "hf:user/repo", "user/repo", "main", "" },
        { "hf:user/repo/", "user/repo", "main", "" },
        { "hf:U-1_x.y/re.po-2_", "U-1_x.y/re.po-2_", "main", "" },
        { "hf:user/repo/model.gguf", "user/repo", "main", "model.gguf" },
        { "hf:user/repo/a b/c@d/..e/m.gguf", "user/repo", "main", "a b/c@d/..e/m.gguf" },
        { "hf:user/repo@v1.0", "user/repo", "v1.0", "" },
        { "hf:user/repo@v1.0/", "user/repo", "v1.0", "" },
        { "hf:user/repo@refs%2Fpr%2F1/m.gguf", "user/repo", "refs%2Fpr%2F1", "m.gguf" },
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        hub_name name;
        vact_error err = { 0 };
        if (hub_name_parse(&name, good[i].text, &err) != VACT_OK)
            fail_msg("%s: %s", good[i].text, err.text);
        assert_string_equal(name.repo, good[i].repo);
        assert_string_equal(name.revision, good[i].revision);
        assert_string_equal(name.path, good[i].path);
    }
}

#define A20 "aaaaaaaaaaaaaaaaaaaa"
#define A96 A20 A20 A20 A20 "aaaaaaaaaaaaaaaa"

static void test_other_names_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } bad[] = {
        { "hf:", "expected hf:user/repo" },
        { "hf:user", "expected hf:user/repo" },
        { "hf:user/", "expected hf:user/repo" },
        { "hf:/repo", "expected hf:user/repo" },
        { "hf://user/repo", "expected hf:user/repo" },
        { "hf:user@main/repo", "expected hf:user/repo" },
        { "hf:user/..", "expected hf:user/repo" },
        { "hf:../repo", "expected hf:user/repo" },
        { "hf:.user/repo", "expected hf:user/repo" },
        { "hf:us..er/repo", "expected hf:user/repo" },
        { "hf:us er/repo", "expected hf:user/repo" },
        { "hf:user/re?po", "expected hf:user/repo" },
        { "hf:user/re%70o", "expected hf:user/repo" },
        { "hf:u/" A96, "expected hf:user/repo" },
        { "hf:user/repo@", "expected behind @ a branch" },
        { "hf:user/repo@/m.gguf", "expected behind @ a branch" },
        { "hf:user/repo@a%2fb", "expected behind @ a branch" },
        { "hf:user/repo@a%2", "expected behind @ a branch" },
        { "hf:user/repo@..", "expected behind @ a branch" },
        { "hf:user/repo@a?b", "expected behind @ a branch" },
        { "hf:user/repo@" A96 "a", "expected behind @ a branch" },
        { "hf:user/repo//m.gguf", "the path in the repository is absolute" },
        { "hf:user/repo/../m.gguf", "the path in the repository has a part . or .." },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hub_name name;
        vact_error err = { 0 };
        assert_int_equal(hub_name_parse(&name, bad[i].text, &err), VACT_EARG);
        if (!strstr(err.text, bad[i].words) || strncmp(err.text, bad[i].text, strlen(bad[i].text)) != 0)
            fail_msg("%s: %s", bad[i].text, err.text);
    }
}

static void test_a_commit_is_40_digits(void **state)
{
    (void)state;
    assert_true(hub_is_commit("0123456789abcdef0123456789abcdef01234567"));
    assert_false(hub_is_commit("0123456789abcdef0123456789abcdef0123456"));
    assert_false(hub_is_commit("0123456789abcdef0123456789abcdef012345678"));
    assert_false(hub_is_commit("0123456789ABCDEF0123456789abcdef01234567"));
    assert_false(hub_is_commit("main"));
}

static void test_the_longest_path_has_1024_bytes_in_parts_of_200(void **state)
{
    (void)state;
    char path[1026];
    memset(path, 'a', sizeof path);
    for (size_t i = 200; i < sizeof path; i += 201)
        path[i] = '/';
    path[1024] = 0;
    assert_null(hub_path_fault(path));
    path[1024] = 'a';
    path[1025] = 0;
    assert_string_equal(hub_path_fault(path), "is longer than 1024 bytes");
    path[200] = 'a';
    path[1024] = 0;
    assert_string_equal(hub_path_fault(path), "has a part longer than 200 bytes");
    assert_null(hub_path_fault("...")); /* is a name like another */
    assert_null(hub_path_fault("a/.b/c.."));
    assert_string_equal(hub_path_fault("a/."), "has a part . or ..");
    assert_string_equal(hub_path_fault("a/\x7f"), "holds a control character or a backslash");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_has_a_prefix),
        cmocka_unit_test(test_names_are_taken_apart),
        cmocka_unit_test(test_other_names_are_refused),
        cmocka_unit_test(test_a_commit_is_40_digits),
        cmocka_unit_test(test_the_longest_path_has_1024_bytes_in_parts_of_200),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
