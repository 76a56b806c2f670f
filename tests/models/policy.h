/* What every policy is held to, on its tiny synthetic checkpoint against tests/data/ARCH.json: actions and intermediates
 * that an independent float64 program ("exact") and vla.cpp computed from the same file; bits, seeds, sessions. A test
 * defines policy_under_test and is linked with policy.c, which has main. */
#ifndef TESTS_MODELS_POLICY_H
#define TESTS_MODELS_POLICY_H

#include <stddef.h>

typedef struct policy_trace {
    const char *theirs, *ours; /* names; theirs may hold the first view only */
    size_t before;             /* values of theirs that ours hasn't */
} policy_trace;

typedef struct policy {
    const char *arch;
    int cases;                  /* that are judged */
    const char *refused;        /* a case that is refused here (its own test says how), or NULL */
    const policy_trace *traces; /* ours NULL ends */
    int few; /* large prefixes: cases that slow ways to compute and slow builds are held to; 0: all */
} policy;

extern const policy policy_under_test;

#endif
