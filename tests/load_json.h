#ifndef TESTS_LOAD_JSON_H
#define TESTS_LOAD_JSON_H

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Fails the test if the file can't be read: that is a broken checkout. */
static inline json_t *load_json(const char *file)
{
    json_error_t where;
    json_t *root = json_load_file(file, JSON_ALLOW_NUL, &where);
    if (!root)
        fail_msg("%s: %s", file, where.text);
    return root;
}

#endif
