#include "allocations.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

struct memory memory;

static struct {
    long at;       /* number of the allocation to refuse; 0: none */
    bool all;      /* and those that follow */
    long refusals; /* so far */
} refuse;

/* ---- the wrappers ---- */

static bool is_refused(size_t size)
{
    const long n = ++memory.made;
    const bool refused = refuse.at && (n == refuse.at || (refuse.all && n > refuse.at));
    memory.largest = size > memory.largest ? size : memory.largest;
    refuse.refusals += refused;
    return refused;
}

static void *counted(void *block)
{
    memory.live += block != NULL;
    return block;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __real_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*fn)(void *), void *argument);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*fn)(void *), void *argument);
void __wrap_free(void *block);

void *__wrap_malloc(size_t size)
{
    return is_refused(size) ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_refused(count * size) ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    if (is_refused(size))
        return NULL;
    return block ? __real_realloc(block, size) : counted(__real_realloc(NULL, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return is_refused(size) ? NULL : counted(__real_aligned_alloc(alignment, size));
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    errno = ENOMEM;
    return is_refused(size) ? MAP_FAILED : __real_mmap(address, size, protection, flags, fd, offset);
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*fn)(void *), void *argument)
{
    return is_refused(0) ? EAGAIN : __real_pthread_create(id, how, fn, argument);
}

void __wrap_free(void *block)
{
    memory.live -= block != NULL;
    __real_free(block);
}

static void *json_malloc(size_t size)
{
    return __wrap_malloc(size);
}

static void json_free(void *block)
{
    __wrap_free(block);
}

void memory_count_json(void)
{
    json_set_alloc_funcs(json_malloc, json_free);
}

/* ---- the check ---- */

/* Runs it with allocation n refused (0: none). False if that many are not made. */
static bool run_with(memory_operation run, long n, bool all, double want)
{
    vact_error err = { 0 };
    double answer = 0;
    const long live = memory.live;
    memory.made = 0;
    refuse.at = n;
    refuse.all = all;
    refuse.refusals = 0;
    const vact_status status = run(&answer, &err);
    refuse.at = 0;
    assert_int_equal(memory.live, live);
    if (refuse.refusals == 0) {
        if (status != VACT_OK)
            fail_msg("%s", err.text);
        assert_true(answer == want);
        return false;
    }
    /* A string that the JSON library has no memory for is no token to it. */
    const bool no_token = strstr(err.text, ": not JSON at ") && (status == VACT_EINPUT || status == VACT_EFORMAT);
    const bool told = status == VACT_ENOMEM && (strstr(err.text, "memory") || strstr(err.text, "cannot start thread"));
    if (!told && !no_token)
        fail_msg("allocation %ld: status %d, \"%s\"", n, (int)status, err.text);
    assert_int_equal(err.code, status);
    assert_null(strchr(err.text, '\n'));
    return true;
}

void memory_check(memory_operation run)
{
    vact_error err = { 0 };
    double want = 0;
    if (run(&want, &err) != VACT_OK)
        fail_msg("%s", err.text);
    for (int all = 0; all < 2; all++) {
        long n = 1;
        for (; run_with(run, n, all, want); n++)
            assert_false(run_with(run, 0, false, want));
        assert_true(n > 1); /* the wrappers are in place */
    }
}
