/* A folder of the test's own, and the path of one file in it; cmocka's set-up and tear-down call these. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/vact-test-XXXXXX";
static char path[64];

static inline int folder_make(const char *file)
{
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return 0;
}

/* -1 if a test has left anything else in it. */
static inline int folder_remove(void)
{
    return rmdir(folder);
}

#endif
