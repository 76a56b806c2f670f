/* meta/info.json of data sets, as LeRobot writes them and as older versions did. */
#include "folder.h"
#include "origin/names.h"

#include <string.h>

enum { STATE = 3, ACTIONS = 2 };

static int make_folder(void **state)
{
    (void)state;
    return folder_make("info.json");
}

static vact_status read_names(const char *info, vact_gguf_value out[2], size_t *n, vact_arena *arena, vact_error *err)
{
    folder_put(info, strlen(info));
    const vact_status status = vact_dataset_names(out, n, arena, path, STATE, ACTIONS, err);
    assert_int_equal(unlink(path), 0);
    return status;
}

static void check_names(const vact_gguf_value *value, const char *key, const char *const *want, size_t n)
{
    vact_gguf_text text;
    assert_string_equal(value->key, key);
    assert_int_equal(value->type, VACT_GGUF_ARRAY);
    assert_int_equal(value->element, VACT_GGUF_STRING);
    assert_int_equal(value->count, n);
    vact_gguf_texts texts = vact_gguf_texts_begin(value);
    for (size_t i = 0; i < n; i++) {
        assert_true(vact_gguf_texts_next(&texts, &text));
        assert_int_equal(text.length, strlen(want[i]));
        assert_memory_equal(text.data, want[i], text.length);
    }
}

#define FEATURE(names) "{\"dtype\": \"float32\", \"shape\": [0], \"names\": " names "}"
#define INFO(state, actions)                                                                                           \
    "{\"codebase_version\": \"v2.1\", \"features\": {\"action\": " FEATURE(actions) ", \"index\": " FEATURE(           \
        "null") ", \"observation.state\": " FEATURE(state) "}}"

static void test_names_are_lists_lists_in_categories_or_places(void **state)
{
    (void)state;
    static const char *const want[] = { "pan", "m\xc3\xb6ve", "grip" }, *const two[] = { "x", "x" };
    static const char *const infos[] = {
        INFO("[\"pan\", \"m\xc3\xb6ve\", \"grip\"]", "[\"x\", \"x\"]"),
        INFO("{\"motors\": [\"pan\", \"m\\u00f6ve\", \"grip\"]}", "{\"motors\": [\"x\", \"x\"]}"),
        INFO("{\"arm\": [\"pan\", \"m\\u00f6ve\"], \"hand\": [\"grip\"]}",
             "{\"a\": [\"x\"], \"b\": [\"x\"], \"c\": []}"),
        INFO("{\"grip\": 2, \"pan\": 0, \"m\\u00f6ve\": 1}", "[\"x\", \"x\"]"),
    };
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
        vact_error err = { 0 };
        vact_arena arena = { 0 };
        vact_gguf_value names[2];
        size_t n = 0;
        if (read_names(infos[i], names, &n, &arena, &err) != VACT_OK)
            fail_msg("%s", err.text);
        assert_int_equal(n, 2);
        check_names(&names[0], "vact.state_names", want, STATE);
        check_names(&names[1], "vact.action_names", two, ACTIONS);
        vact_arena_free(&arena);
    }
}

static void test_one_of_both_may_be_without_names(void **state)
{
    (void)state;
    static const char *const want[] = { "a", "b" };
    static const char *const infos[] = { INFO("null", "[\"a\", \"b\"]"),
                                         "{\"features\": {\"action\": " FEATURE("[\"a\", \"b\"]") "}}" };
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
        vact_error err = { 0 };
        vact_arena arena = { 0 };
        vact_gguf_value names[2];
        size_t n = 0;
        assert_int_equal(read_names(infos[i], names, &n, &arena, &err), VACT_OK);
        assert_int_equal(n, 1);
        check_names(&names[0], "vact.action_names", want, ACTIONS);
        vact_arena_free(&arena);
    }
}

#define LETTERS_16 "abcdefghijklmnop"
#define LETTERS_64 LETTERS_16 LETTERS_16 LETTERS_16 LETTERS_16

static void test_what_does_not_name_each_value_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *info, *why;
    } cases[] = {
        { INFO("[\"a\", \"b\"]", "null"),
          "features/observation.state/names: has 2 names, expected 3, one for each of the policy's values" },
        { INFO("null", "{\"m\": [\"a\"], \"n\": [\"b\", \"c\"]}"), "features/action/names: has 3 names, expected 2" },
        { INFO("null", "[]"), "features/action/names: has 0 names, expected 2" },
        { INFO("null", "{}"), "features/action/names: has 0 names, expected 2" },
        { INFO("null", "[\"a\", 5]"), "features/action/names: name 1 is an integer, expected a string" },
        { INFO("null", "[\"a\", \"\"]"), "features/action/names: name 1 is no name, expected 1 to 64 bytes of UTF-8" },
        { INFO("null", "[\"a\\u0000b\", \"c\"]"), "features/action/names: name 0 is no name" },
        { INFO("null", "[\"a\", \"" LETTERS_64 "q\"]"), "features/action/names: name 1 is no name" },
        { INFO("null", "[\"a\", \"\xff\"]"), "not JSON at line 1, column " },
        { INFO("null", "\"a\""), "features/action/names: is a string, expected a list of names" },
        { INFO("null", "{\"m\": \"a\"}"), "features/action/names: m is a string, expected a list of names or a place" },
        { INFO("null", "{\"m\": [[\"a\"], \"b\"]}"), "features/action/names: name 0 is an array, expected a string" },
        { INFO("null", "{\"a\": 0, \"b\": 2}"), "features/action/names: b has place 2, expected 0 to 1" },
        { INFO("null", "{\"a\": 0, \"b\": -1}"), "features/action/names: b has place -1, expected 0 to 1" },
        { INFO("null", "{\"a\": 0, \"b\": 0}"), "features/action/names: has two names for value 0, expected one" },
        { INFO("null", "{\"a\": 0}"), "features/action/names: has 1 names, expected 2" },
        { INFO("null", "{\"a\": 1, \"m\": [\"b\"]}"), "features/action/names: has two names for value 1" },
        { INFO("null", "null"), "names no values, expected the meta/info.json of a data set with "
                                "features/observation.state/names or features/action/names" },
        { "{\"features\": []}", "names no values" },
        { "{}", "names no values" },
        { "[]", "the document is an array, expected an object" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vact_error err = { 0 };
        vact_arena arena = { 0 };
        vact_gguf_value names[2];
        size_t n = 0;
        assert_int_equal(read_names(cases[i].info, names, &n, &arena, &err), VACT_EFORMAT);
        if (strncmp(err.text, path, strlen(path)) != 0 || strncmp(err.text + strlen(path), ": ", 2) != 0 ||
            strncmp(err.text + strlen(path) + 2, cases[i].why, strlen(cases[i].why)) != 0)
            fail_msg("found \"%s\", expected \"%s\"", err.text, cases[i].why);
        vact_arena_free(&arena);
    }
}

static void test_the_longest_name_fits(void **state)
{
    (void)state;
    static const char *const want[] = { LETTERS_64, "b" };
    vact_error err = { 0 };
    vact_arena arena = { 0 };
    vact_gguf_value names[2];
    size_t n = 0;
    assert_int_equal(read_names(INFO("null", "[\"" LETTERS_64 "\", \"b\"]"), names, &n, &arena, &err), VACT_OK);
    check_names(&names[0], "vact.action_names", want, ACTIONS);
    vact_arena_free(&arena);
    assert_int_equal(vact_dataset_names(names, &n, &arena, path, STATE, ACTIONS, &err), VACT_EIO);
    assert_non_null(strstr(err.text, "info.json: No such file or directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_lists_lists_in_categories_or_places),
        cmocka_unit_test(test_one_of_both_may_be_without_names),
        cmocka_unit_test(test_what_does_not_name_each_value_is_refused),
        cmocka_unit_test(test_the_longest_name_fits),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
