/* A folder of the test's own, and the path of one file in it: folder_make() in the set-up, folder_remove as the last
 * test. It is no tear-down, because cmocka prints that one has failed but counts only failed tests. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/vact-test-XXXXXX";
static char path[64];

static inline int folder_make(const char *file)
{
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return 0;
}

/* Writes the file. */
static inline void folder_put(const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* Fails unless the file holds that and no more. */
static inline void folder_check(const void *want, size_t size)
{
    uint8_t *got = malloc(size + 1);
    FILE *f = fopen(path, "rb");
    assert_true(got && f);
    assert_int_equal(fread(got, 1, size + 1, f), size);
    assert_memory_equal(got, want, size);
    fclose(f);
    free(got);
}

/* Fails if a test has left anything in it. */
static inline void folder_remove(void **state)
{
    (void)state;
    assert_int_equal(rmdir(folder), 0);
}

#endif
