#include "base/mapping.h"
#include "folder.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int make_folder(void **state)
{
    (void)state;
    return folder_make("x");
}

static void check_refused(const char *name, const char *reason)
{
    vact_mapping mapping;
    vact_error err = { 0 };
    char want[256];
    snprintf(want, sizeof want, "%s: %s", name, reason);
    assert_int_equal(vact_mapping_open(&mapping, name, &err), VACT_EIO);
    assert_string_equal(err.text, want);
    assert_null(mapping.data);
    assert_int_equal(mapping.size, 0);
    vact_mapping_close(&mapping);
}

static void test_file_is_seen_whole(void **state)
{
    (void)state;
    folder_put("GGUF and more", 13);
    vact_mapping mapping;
    assert_int_equal(vact_mapping_open(&mapping, path, NULL), VACT_OK);
    unlink(path);
    assert_int_equal(mapping.size, 13);
    assert_memory_equal(mapping.data, "GGUF and more", 13);
    vact_mapping_close(&mapping);
    assert_null(mapping.data);
    vact_mapping_close(&mapping);
}

static void test_what_is_forgotten_is_read_again(void **state)
{
    (void)state;
    static char text[20000];
    memset(text, 'x', sizeof text);
    folder_put(text, sizeof text);
    vact_mapping file, copy;
    assert_int_equal(vact_mapping_open(&file, path, NULL), VACT_OK);
    assert_int_equal(vact_mapping_copy(&copy, path, sizeof text, NULL), VACT_OK);
    vact_mapping_forget(&file, file.data + 5000, file.size - 5000);
    vact_mapping_forget(&copy, copy.data, copy.size);
    vact_mapping_forget(&(vact_mapping){ 0 }, NULL, 0);
    assert_memory_equal(file.data, text, sizeof text);
    assert_memory_equal(copy.data, text, sizeof text);
    vact_mapping_close(&file);
    vact_mapping_close(&copy);
    unlink(path);
}

/* Memory of no file, which is zero when it is read again, in place of one: it shows which pages are dropped. */
static void test_only_pages_of_the_mapping_are_forgotten(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *data = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(data != MAP_FAILED);
    memset(data, 'x', 4 * page);
    const vact_mapping middle = { .data = data + page, .size = 2 * page, .from_file = true };
    vact_mapping_forget(&middle, data, page);
    vact_mapping_forget(&middle, data + 3 * page, page);
    vact_mapping_forget(&middle, data, 4 * page);
    vact_mapping_forget(&middle, data + page, 2 * page + 1);
    vact_mapping_forget(&middle, data + page, SIZE_MAX);
    vact_mapping_forget(&middle, data + page, 0);
    for (size_t i = 0; i < 4 * page; i++)
        assert_int_equal(data[i], 'x');
    vact_mapping_forget(&middle, data + 2 * page + 7, 1);
    for (size_t i = 0; i < 4 * page; i++)
        assert_int_equal(data[i], i / page == 2 ? 0 : 'x');
    munmap(data, 4 * page);
}

static void test_copy_outlives_the_files_bytes(void **state)
{
    (void)state;
    folder_put("a picture", 9);
    vact_mapping copy;
    vact_error err = { 0 };
    assert_int_equal(vact_mapping_copy(&copy, path, 9, NULL), VACT_OK);
    folder_put("", 0);
    assert_int_equal(copy.size, 9);
    assert_memory_equal(copy.data, "a picture", 9);
    vact_mapping_close(&copy);
    folder_put("a picture!", 10);
    assert_int_equal(vact_mapping_copy(&copy, path, 9, &err), VACT_EINPUT);
    assert_non_null(strstr(err.text, "/x: found 10 bytes, expected at most 9"));
    assert_null(copy.data);
    unlink(path);
}

/* Its size is said to be a page, its bytes are fewer: like a file that another program shortens. */
static void test_a_copy_that_ends_early_is_eio(void **state)
{
    (void)state;
    static const char odd[] = "/sys/kernel/uevent_seqnum";
    struct stat st;
    vact_mapping copy;
    vact_error err = { 0 };
    if (stat(odd, &st) != 0 || st.st_size != 4096)
        skip();
    assert_int_equal(vact_mapping_copy(&copy, odd, 4096, &err), VACT_EIO);
    assert_non_null(strstr(err.text, "bytes, expected 4096: another program writes to it"));
    assert_null(copy.data);
}

static void test_empty_file_is_empty(void **state)
{
    (void)state;
    folder_put("", 0);
    vact_mapping mapping = { .size = 7 };
    assert_int_equal(vact_mapping_open(&mapping, path, NULL), VACT_OK);
    assert_null(mapping.data);
    assert_int_equal(mapping.size, 0);
    vact_mapping_close(&mapping);
    unlink(path);
}

static void test_missing_file_is_eio(void **state)
{
    (void)state;
    check_refused(path, "No such file or directory");
}

static void test_folder_is_eio(void **state)
{
    (void)state;
    check_refused(folder, "is a directory, expected a file");
}

static void test_pipe_is_eio_and_not_waited_for(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    check_refused(path, "is not a regular file");
    unlink(path);
    check_refused("/dev/null", "is not a regular file");
}

static void test_unreadable_file_is_eio(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip(); /* root may read everything */
    folder_put("secret", 6);
    assert_int_equal(chmod(path, 0), 0);
    check_refused(path, "Permission denied");
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_is_seen_whole),
        cmocka_unit_test(test_what_is_forgotten_is_read_again),
        cmocka_unit_test(test_only_pages_of_the_mapping_are_forgotten),
        cmocka_unit_test(test_copy_outlives_the_files_bytes),
        cmocka_unit_test(test_a_copy_that_ends_early_is_eio),
        cmocka_unit_test(test_empty_file_is_empty),
        cmocka_unit_test(test_missing_file_is_eio),
        cmocka_unit_test(test_folder_is_eio),
        cmocka_unit_test(test_pipe_is_eio_and_not_waited_for),
        cmocka_unit_test(test_unreadable_file_is_eio),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
