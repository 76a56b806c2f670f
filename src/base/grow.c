#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>

void *vact_grown(void *array, size_t *room, size_t need, size_t width)
{
    if (need <= *room)
        return array;
    const size_t most = PTRDIFF_MAX / width;
    if (need > most)
        return NULL;
    size_t wanted = *room > most / 2 ? most : 2 * *room;
    wanted = wanted < need ? need : wanted;
    void *grown = realloc(array, wanted * width);
    if (grown)
        *room = wanted;
    return grown;
}
