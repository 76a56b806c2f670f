/* Random inputs, guarded buffers and comparisons for the kernel tests. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUFFERS = 24, GUARD = 64, GUARD_BYTE = 0xa5 };

uint64_t check_seed = 1;
bool check_bench;

static uint64_t random_state;
static char case_name[160];
static int case_level;

/* A guarded buffer has GUARD bytes (and its offset) before `at` and GUARD bytes behind its end. */
static struct buffer {
    unsigned char *base, *at;
    size_t bytes;
    bool guarded;
} buffers[BUFFERS];
static size_t buffer_count;

enum { EMULATED = 2 };

static vact_kernels tables[VACT_ISA_END + EMULATED];
static int native; /* tables before the emulated ones */

/* Levels that this processor may lack, on the instructions of AVX2 (emulated.h). */
#ifdef CHECK_EMULATED
void emulated_init_avxvnni(vact_kernels *kernels);
void emulated_init_avx512(vact_kernels *kernels);

static int add_emulated(int count)
{
    static void (*const init[EMULATED])(vact_kernels *) = { emulated_init_avxvnni, emulated_init_avx512 };
    for (int i = 0; i < EMULATED && vact_cpu_has(VACT_ISA_AVX2); i++, count++) {
        vact_kernels_init(&tables[count], VACT_ISA_AVX2);
        init[i](&tables[count]);
    }
    return count;
}
#else
static int add_emulated(int count)
{
    return count;
}
#endif

int check_levels(void)
{
    native = 0;
    for (int isa = 0; isa < VACT_ISA_END; isa++)
        if (vact_cpu_has((vact_isa)isa))
            vact_kernels_init(&tables[native++], (vact_isa)isa);
    return add_emulated(native);
}

const vact_kernels *check_level(int level)
{
    return &tables[level];
}

const char *check_level_name(int level)
{
    static char name[32];
    snprintf(name, sizeof name, "%s%s", vact_isa_name(tables[level].isa), level < native ? "" : " (emulated)");
    return name;
}

static void release(void)
{
    for (size_t i = 0; i < buffer_count; i++)
        free(buffers[i].base);
    buffer_count = 0;
}

int check_setup(void **state)
{
    (void)state;
    random_state = check_seed;
    return 0;
}

int check_teardown(void **state)
{
    (void)state;
    release();
    return 0;
}

static void fail_case(const char *what)
{
    print_error("%s, level %s, seed %llu: %s\n", case_name, check_level_name(case_level),
                (unsigned long long)check_seed, what);
    fail();
}

void check_begin(int level, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(case_name, sizeof case_name, format, args);
    va_end(args);
    case_level = level;
}

void check_end(void)
{
    for (size_t i = 0; i < buffer_count; i++) {
        const struct buffer *b = &buffers[i];
        const unsigned char *end = b->at + b->bytes;
        if (!b->guarded)
            continue;
        for (const unsigned char *p = b->base; p < b->at; p++)
            if (*p != GUARD_BYTE)
                fail_case("wrote before its output");
        for (const unsigned char *p = end; p < end + GUARD; p++)
            if (*p != GUARD_BYTE)
                fail_case("wrote behind its output");
    }
    release();
}

/* ---- values ---- */

/* splitmix64 */
static uint64_t random_bits(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

size_t check_range(size_t low, size_t high)
{
    return low + (size_t)(random_bits() % (high - low + 1));
}

static double uniform(void)
{
    return (double)(random_bits() >> 11) * 0x1p-53;
}

check_fill check_any_fill(void)
{
    return (check_fill)check_range(0, CHECK_FILLS - 1);
}

float check_value(check_fill fill)
{
    const double sign = random_bits() & 1 ? -1.0 : 1.0;

    switch (fill) {
    case CHECK_EXTREME:
        return (float)ldexp(sign * (1.0 + uniform()), (int)check_range(0, 100) - 50);
    case CHECK_DENORMAL:
        return (float)(sign * uniform() * 0x1p-126);
    case CHECK_ZERO:
        return (float)(sign * 0.0);
    default: /* six uniform values have variance 1/2 */
        return (float)((uniform() + uniform() + uniform() + uniform() + uniform() + uniform() - 3.0) * 1.4142);
    }
}

/* ---- buffers ---- */

static void *add_buffer(size_t before, size_t bytes, size_t after)
{
    void *base = NULL;

    assert_true(buffer_count < BUFFERS);
    assert_int_equal(posix_memalign(&base, 64, before + bytes + after + (before + bytes + after == 0)), 0);
    buffers[buffer_count++] = (struct buffer){ base, (unsigned char *)base + before, bytes, after > 0 };
    if (after > 0)
        memset(base, GUARD_BYTE, before + bytes + after);
    return (unsigned char *)base + before;
}

void *check_bytes(size_t bytes, size_t offset)
{
    unsigned char *p = add_buffer(offset, bytes, 0);

    for (size_t i = 0; i < bytes; i++)
        p[i] = (unsigned char)random_bits();
    return p;
}

float *check_floats(size_t n, check_fill fill, size_t offset)
{
    float *p = add_buffer(offset, n * sizeof *p, 0);

    for (size_t i = 0; i < n; i++)
        p[i] = check_value(fill);
    if (fill == CHECK_OUTLIER && n > 0)
        p[check_range(0, n - 1)] *= 1000.0f;
    return p;
}

double *check_doubles(size_t n)
{
    return add_buffer(0, n * sizeof(double), 0);
}

float *check_output(size_t n, size_t offset)
{
    return add_buffer(GUARD + offset, n * sizeof(float), GUARD);
}

float *check_copy(const float *src, size_t n, size_t offset)
{
    float *p = check_output(n, offset);

    memcpy(p, src, n * sizeof *p);
    return p;
}

/* ---- comparisons ---- */

static void fail_at(size_t i, double want, double got)
{
    char what[120];

    snprintf(what, sizeof what, "index %zu: want %.9g (%a), got %.9g (%a)", i, want, want, got, got);
    fail_case(what);
}

void check_same(const float *want, const float *got, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(want + i, got + i, sizeof *want) != 0)
            fail_at(i, want[i], got[i]);
}

void check_near(const double *want, const double *bound, const float *got, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= bound[i]))
            fail_at(i, want[i], got[i]);
}

void check_true(bool ok, const char *what)
{
    if (!ok)
        fail_case(what);
}

/* ---- timing ---- */

double check_nanoseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void check_report(int level, const char *name, double scalar, double fast)
{
    printf("%-18s %-28s %10.1f ns %7.1fx scalar\n", check_level_name(level), name, fast, scalar / fast);
}
