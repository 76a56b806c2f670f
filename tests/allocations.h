/* Every allocation of a test program, counted, and refused on demand: for programs of vact_test_memory(), whose
 * allocations pass the wrappers in allocations.c at link time. Mappings and threads count as allocations to refuse. */
#ifndef TESTS_ALLOCATIONS_H
#define TESTS_ALLOCATIONS_H

#include "vact.h"

extern struct memory {
    long made;      /* allocations so far, with those refused */
    long live;      /* not yet freed */
    size_t largest; /* bytes of the largest */
} memory;

/* Lets the JSON library's allocations pass through the wrappers: it is not linked through them. */
void memory_count_json(void);

/* Leaves nothing behind, and gives an answer that is the same every time. */
typedef vact_status (*memory_operation)(double *answer, vact_error *err);

/* Runs it with its first, second, third ... allocation refused, until it gets by without a refusal; once with that
 * allocation alone refused, once with all that follow. Each time it says so in one line and loses nothing, and the same
 * call right after succeeds. */
void memory_check(memory_operation run);

#endif
