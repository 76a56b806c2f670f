/* Memory that lives and dies with its owner. Allocations are zeroed, 64-byte aligned and freed together. */
#ifndef VACT_BASE_ARENA_H
#define VACT_BASE_ARENA_H

#include <stddef.h>

typedef struct vact_arena {
    struct vact_arena_block *blocks;
    size_t bytes; /* handed out so far */
} vact_arena;

/* NULL when memory is out or count * size overflows. count or size 0 gives a valid pointer. */
void *vact_arena_take(vact_arena *arena, size_t count, size_t size);

/* A copy of text[0..length) with a closing NUL, or NULL. */
char *vact_arena_text(vact_arena *arena, const char *text, size_t length);

/* Frees everything; the arena can be used again. */
void vact_arena_free(vact_arena *arena);

#endif
