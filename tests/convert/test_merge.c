/* Two files by hand, and the one that they make by hand too. */
#include "convert/merge.h"
#include "folder.h"
#include <string.h>

#include "file/gguf_bytes.h"

static char first[64], second[64];

static int make_folder(void **state)
{
    (void)state;
    if (folder_make("whole.gguf") != 0)
        return -1;
    snprintf(first, sizeof first, "%s/lm.gguf", folder);
    snprintf(second, sizeof second, "%s/tower.gguf", folder);
    return 0;
}

static void put(const char *file, const char *tokens)
{
    struct bytes b = { 0 };
    bytes_build(&b, tokens);
    FILE *f = fopen(file, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b.data, 1, b.size, f), b.size);
    assert_int_equal(fclose(f), 0);
    bytes_free(&b);
}

static void remove_parts(void)
{
    assert_int_equal(unlink(first), 0);
    assert_int_equal(unlink(second), 0);
}

static void hear(void *user, const vact_gguf_value *value)
{
    char *heard = user;
    strcat(strcat(heard, value->key), ";");
}

#define ARCH "s:general.architecture 4:8 "

/* The language model aligns to 8; both name themselves, and agree in one key. */
static const char lm[] =
    "r:GGUF 4:3 8:2 8:6 " ARCH "s:llama s:general.name 4:8 s:one s:same 4:9 4:8 8:2 s:x s:yy "
    "s:general.alignment 4:4 4:8 s:general.file_type 4:4 4:1 s:llama.n 4:4 4:3 "
    "s:blk.0 4:1 8:2 4:1 8:0 s:out 4:2 8:32 8:2 4:8 8:8 a:8 2:0x3c00 2:0x4000 a:8 z:34 1:1 1:2 z:32 a:8";
static const char tower[] = "r:GGUF 4:2 8:1 8:6 s:clip.n 4:4 4:5 s:same 4:9 4:8 8:2 s:x s:yy " ARCH "s:clip "
                            "s:general.type 4:8 s:mmproj s:general.file_type 4:4 4:1 s:general.name 4:8 s:two "
                            "s:v.0 4:1 8:3 4:24 8:0 a:32 r:abc";

static void test_the_second_file_is_added_to_the_first(void **state)
{
    (void)state;
    struct bytes want = { 0 };
    char heard[100] = "";
    vact_error err = { 0 };
    vact_merge_report report;
    put(first, lm);
    put(second, tower);
    const vact_merge_options options = { .left_out = hear, .left_out_user = heard };
    if (vact_merge(first, second, path, &options, &report, &err) != VACT_OK)
        fail_msg("%s", err.text);
    bytes_build(&want, "r:GGUF 4:3 8:3 8:7 " ARCH "s:llama s:general.name 4:8 s:one s:same 4:9 4:8 8:2 s:x s:yy "
                       "s:general.file_type 4:4 4:1 s:llama.n 4:4 4:3 s:clip.n 4:4 4:5 s:general.type 4:8 s:mmproj ");
    bytes_build(&want, "s:blk.0 4:1 8:2 4:1 8:0 s:out 4:2 8:32 8:2 4:8 8:32 s:v.0 4:1 8:3 4:24 8:128 a:32 ");
    bytes_build(&want, "2:0x3c00 2:0x4000 a:32 z:34 1:1 1:2 z:32 a:32 r:abc a:32");
    folder_check(want.data, want.size);
    assert_string_equal(heard, "general.architecture;general.name;");
    assert_int_equal(report.n_values, 7);
    assert_int_equal(report.n_left_out, 2);
    assert_int_equal(report.n_tensors[0], 2);
    assert_int_equal(report.n_tensors[1], 1);
    assert_int_equal(report.bytes_after, want.size);
    assert_int_equal(unlink(path), 0);
    remove_parts();
    bytes_free(&want);
}

static void check_refused(const char *a, const char *b, const char *out, vact_status code, const char *text)
{
    vact_error err = { 0 };
    assert_int_equal(vact_merge(a, b, out, &(vact_merge_options){ 0 }, NULL, &err), code);
    if (!strstr(err.text, text))
        fail_msg("found \"%s\", expected \"%s\"", err.text, text);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_files_that_contradict_each_other_are_refused(void **state)
{
    (void)state;
    put(first, lm);
    put(second, "r:GGUF 4:3 8:0 8:1 s:llama.n 4:5 4:-4 a:32");
    check_refused(first, second, path, VACT_EMODEL, "/tower.gguf: key llama.n: found i32 -4, expected u32 3, as in ");
    put(second, "r:GGUF 4:3 8:0 8:1 s:llama.n 4:10 8:3 a:32");
    check_refused(first, second, path, VACT_EMODEL, "/tower.gguf: key llama.n: found u64 3, expected u32 3, as in ");
    put(second, "r:GGUF 4:3 8:0 8:1 s:same 4:9 4:8 8:2 s:x s:yz a:32");
    check_refused(first, second, path, VACT_EMODEL,
                  "found string [2] \"x\", \"yz\", expected string [2] \"x\", \"yy\"");
    put(second, "r:GGUF 4:3 8:2 8:0 s:new 4:1 8:1 4:24 8:32 s:out 4:1 8:1 4:24 8:0 a:32 1:1 a:32 1:1");
    check_refused(first, second, path, VACT_EMODEL, "/tower.gguf: tensor out: is in ");
    put(second, tower);
    check_refused(
        second, first, path, VACT_EMODEL,
        "/tower.gguf: is a vision tower (general.architecture is \"clip\"), expected the language model first");
    remove_parts();
}

static void test_a_file_to_read_is_not_written(void **state)
{
    (void)state;
    char missing[80];
    snprintf(missing, sizeof missing, "%s/no.gguf", folder);
    put(first, lm);
    put(second, tower);
    check_refused(first, second, first, VACT_EARG, "/lm.gguf: is the file to read and to write, expected two");
    check_refused(first, second, second, VACT_EARG, "/tower.gguf: is the file to read and to write, expected two");
    check_refused(missing, second, path, VACT_EIO, "/no.gguf: No such file");
    check_refused(first, missing, path, VACT_EIO, "/no.gguf: No such file");
    check_refused(first, second, folder, VACT_EIO, "is a directory");
    remove_parts();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_second_file_is_added_to_the_first),
        cmocka_unit_test(test_files_that_contradict_each_other_are_refused),
        cmocka_unit_test(test_a_file_to_read_is_not_written),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
