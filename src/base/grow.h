/* Arrays that grow by doubling. */
#ifndef VACT_BASE_GROW_H
#define VACT_BASE_GROW_H

#include <stddef.h>

/* `array` with room for `need` elements of `width` bytes, its contents kept. NULL when memory is out: then it and *room
 * are as before. */
void *vact_grown(void *array, size_t *room, size_t need, size_t width);

#endif
