/* A hub's listing of a repository, and what is chosen from it. In the texts here ' stands for ". */
#include "hub/listing.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COMMIT      "0123456789abcdef0123456789abcdef01234567"
#define GIT         "ce013625030ba8dba906f756967f9e9ca394464a"                         /* git's own, of "hello\n" */
#define SHA256      "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" /* sha256sum's, of the same */
#define FILE(path)  "{'rfilename': '" path "', 'size': 6, 'blobId': '" GIT "'}"
#define LIST(files) "{'sha': '" COMMIT "', 'siblings': [" files "]}"
#define LFS(size)                                                                                                      \
    "{'rfilename': 'a', 'size': 1, 'blobId': '" GIT "', 'lfs': {'size': " size ", 'sha256': '" SHA256 "'}}"

static vact_arena arena;
static hub_listing listing;
static vact_error err;

/* malloc'd to size, so a sanitizer sees any read beyond it. */
static vact_status parse(const char *text)
{
    const size_t length = strlen(text);
    char *copy = malloc(length + !length);
    assert_non_null(copy);
    for (size_t i = 0; i < length; i++)
        copy[i] = text[i] == '\'' ? '"' : text[i];
    err = (vact_error){ 0 };
    vact_arena_free(&arena);
    const vact_status status = hub_listing_parse(&listing, "hub", copy, length, &arena, &err);
    free(copy);
    return status;
}

static void parse_good(const char *text)
{
    if (parse(text) != VACT_OK)
        fail_msg("%s: %s", text, err.text);
}

static void test_files_are_read_with_size_and_hash(void **state)
{
    (void)state;
    parse_good("{'id': 'u/r', 'sha': '" COMMIT
               "', 'gated': false, 'siblings': [" FILE("a/b \xC3\xA9.json") ", " LFS("4000000000123") "], 'tags': []}");
    assert_string_equal(listing.commit, COMMIT);
    assert_int_equal(listing.n, 2);
    assert_string_equal(listing.files[0].path, "a/b \xC3\xA9.json");
    assert_int_equal(listing.files[0].size, 6);
    assert_int_equal(listing.files[0].hash, HUB_GIT_SHA1);
    assert_int_equal(listing.files[0].digest[0], 0xCE);
    assert_int_equal(listing.files[0].digest[19], 0x4A);
    assert_int_equal(listing.files[1].size, 4000000000123);
    assert_int_equal(listing.files[1].hash, HUB_SHA256);
    assert_int_equal(listing.files[1].digest[0], 0x58);
    assert_int_equal(listing.files[1].digest[31], 0x03);
    parse_good(LIST(""));
    assert_int_equal(listing.n, 0);
}

static void test_other_listings_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } bad[] = {
        { "", "hub: not JSON at line 1" },
        { "[]", "hub: the document is an array, expected an object" },
        { "{}", "hub: sha is no commit, expected 40 hexadecimal digits" },
        { "{'sha': 1}", "hub: sha is no commit" },
        { "{'sha': 'main'}", "hub: sha is no commit" },
        { "{'sha': '" COMMIT "\\u0000'}", "hub: sha is no commit" },
        { "{'sha': '" COMMIT "'}", "hub: siblings is missing, expected an array" },
        { "{'sha': '" COMMIT "', 'siblings': {}}", "hub: siblings is an object, expected an array" },
        { LIST("1"), "hub: a file's rfilename is missing, expected a string" },
        { LIST("{'rfilename': 1}"), "hub: a file's rfilename is an integer, expected a string" },
        { LIST(FILE("../a")), "hub: the path \"../a\" has a part . or .., expected one below the repository" },
        { LIST(FILE("a\\u0000b")), "hub: the path \"a\\x00b\" holds a NUL, expected" },
        { LIST(FILE("\\u001b[2J")), "hub: the path \"\\x1b[2J\" holds a control character or a backslash, expected" },
        { LIST(FILE("a") ", " FILE("/b")), "hub: the path \"/b\" is absolute, expected" },
        { LIST("{'rfilename': 'a'}"), "hub: file \"a\" has no size or no hash" },
        { LIST("{'rfilename': 'a', 'size': 6}"), "hub: file \"a\" has no size or no hash" },
        { LIST("{'rfilename': 'a', 'blobId': '" GIT "'}"), "hub: file \"a\" has no size or no hash" },
        { LIST("{'rfilename': 'a', 'size': 6.5, 'blobId': '" GIT "'}"), "hub: file \"a\" has no size or no hash" },
        { LIST("{'rfilename': 'a', 'size': 6, 'blobId': '" GIT "0'}"), "hub: file \"a\" has no size or no hash" },
        { LIST("{'rfilename': 'a', 'size': 6, 'blobId': 'C" COMMIT "'}"), "hub: file \"a\" has no size or no hash" },
        { LIST("{'rfilename': 'a', 'size': 6, 'blobId': '" GIT "', 'lfs': {}}"), "hub: file \"a\" has no size or no" },
        { LIST(LFS("-1")), "hub: file \"a\" has no size or no hash" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(parse(bad[i].text), VACT_EFORMAT);
        if (strncmp(err.text, bad[i].want, strlen(bad[i].want)) != 0)
            fail_msg("%s: %s, expected %s", bad[i].text, err.text, bad[i].want);
    }
}

/* ---- choosing ---- */

#define CHECKPOINT                                                                                                     \
    FILE("README.md")                                                                                                  \
    ", " FILE("config.json") ", " FILE("a.safetensors") ", " FILE("b.safetensors") ", " FILE("t.model") ", " FILE(     \
        "m.txt") ", " FILE("x.py") ", " FILE("sub/only.gguf") ", " FILE("sub/config.json") ", " FILE("subs/x.json")

static void check(const char *path, const char *want_path, const char *want_files)
{
    hub_selection s;
    char found[400] = "";
    err = (vact_error){ 0 };
    if (hub_select(&s, &listing, "name", path, &arena, &err) != VACT_OK)
        fail_msg("%s: %s", path, err.text);
    assert_string_equal(s.path, want_path);
    for (size_t i = 0; i < s.n; i++) {
        strcat(found, s.files[i]->path);
        strcat(found, " ");
    }
    assert_string_equal(found, want_files);
}

static void check_refused(const char *path, const char *want)
{
    hub_selection s;
    err = (vact_error){ 0 };
    assert_int_equal(hub_select(&s, &listing, "name", path, &arena, &err), VACT_EARG);
    assert_string_equal(err.text, want);
}

static void test_a_folder_is_its_gguf_file_or_a_checkpoint(void **state)
{
    (void)state;
    parse_good(LIST(CHECKPOINT));
    check("", "", "config.json a.safetensors b.safetensors t.model m.txt ");
    check("sub", "sub/only.gguf", "sub/only.gguf ");
    check("x.py", "x.py", "x.py "); /* whatever it is */
    check("sub/config.json", "sub/config.json", "sub/config.json ");
    parse_good(LIST(CHECKPOINT ", " FILE("deep/er/config.json") ", " FILE("deep/er/z.safetensors")));
    check("deep/er", "deep/er", "deep/er/config.json deep/er/z.safetensors ");
    parse_good(LIST(CHECKPOINT ", " FILE("one.gguf")));
    check("", "one.gguf", "one.gguf ");
}

static void test_what_is_not_there_or_not_clear_is_refused(void **state)
{
    (void)state;
    parse_good(LIST(CHECKPOINT));
    check_refused("subs", "name: neither a GGUF file nor config.json with *.safetensors is there, expected one or the "
                          "other");
    check_refused("b.safetensor", "name: the repository has no such file, did you mean b.safetensors?");
    check_refused("su", "name: the repository has no such file, it has README.md, config.json, a.safetensors, "
                        "b.safetensors, t.model, m.txt, x.py, sub/only.gguf, sub/config.json, subs/x.json");
    parse_good(LIST(FILE("x.gguf") ", " FILE("config.json") ", " FILE("a.safetensors") ", " FILE("y.gguf")));
    check_refused("", "name: found 2 GGUF files, expected one of them behind the repository: x.gguf, y.gguf");
    parse_good(LIST(FILE(".gguf") ", " FILE("config.json") ", " FILE(".safetensors"))); /* names, not kinds */
    check_refused("", "name: neither a GGUF file nor config.json with *.safetensors is there, expected one or the "
                      "other");
    parse_good(LIST(""));
    check_refused("", "name: the repository has no such file, it has none at all");
    vact_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_are_read_with_size_and_hash),
        cmocka_unit_test(test_other_listings_are_refused),
        cmocka_unit_test(test_a_folder_is_its_gguf_file_or_a_checkpoint),
        cmocka_unit_test(test_what_is_not_there_or_not_clear_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
