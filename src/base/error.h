/* One way to fail: a code for programs, a sentence for people. */
#ifndef VACT_BASE_ERROR_H
#define VACT_BASE_ERROR_H

#include "vact.h"

/* For the start of a public call; err may be NULL. */
static inline void vact_error_clear(vact_error *err)
{
    if (err)
        *err = (vact_error){ VACT_OK, { 0 } };
}

/* The last 200 bytes of a path at most: an error's text is short, and must have room for the reason. */
const char *vact_path_end(const char *path);

/* Fills err (may be NULL) unless it already holds a failure, and returns code. One line, no newline. */
vact_status vact_fail(vact_error *err, vact_status code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
