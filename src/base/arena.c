/* Allocations are cut from blocks in order; a block goes back to the system when the arena is freed. */
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT ((size_t)64)

/* The address sanitizer guards whole blocks, so there each allocation gets a block of exactly its size. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(SANITIZED) || defined(__SANITIZE_ADDRESS__)
#define BLOCK_SIZE ((size_t)0)
#else
#define BLOCK_SIZE ((size_t)64 * 1024)
#endif

struct vact_arena_block {
    struct vact_arena_block *next;
    char *data; /* aligned, behind this header */
    size_t size, used;
};

/* calloc, because large blocks then come as zero pages that cost nothing until they are touched. */
static struct vact_arena_block *new_block(size_t size)
{
    const size_t extra = sizeof(struct vact_arena_block) + ALIGNMENT - 1;
    if (size > PTRDIFF_MAX - extra)
        return NULL;
    struct vact_arena_block *block = calloc(1, size + extra);
    if (!block)
        return NULL;
    char *after = (char *)(block + 1);
    block->data = after + (ALIGNMENT - (uintptr_t)after % ALIGNMENT) % ALIGNMENT;
    block->size = size;
    return block;
}

/* The block to cut `size` bytes from; big requests get one of their own and leave the current one current. */
static struct vact_arena_block *find_block(vact_arena *arena, size_t size)
{
    struct vact_arena_block *head = arena->blocks;
    if (head && size <= head->size - head->used)
        return head;
    const bool own = size > BLOCK_SIZE / 4;
    struct vact_arena_block *block = new_block(own ? size : BLOCK_SIZE);
    if (!block)
        return NULL;
    struct vact_arena_block **link = own && head ? &head->next : &arena->blocks;
    block->next = *link;
    *link = block;
    return block;
}

void *vact_arena_take(vact_arena *arena, size_t count, size_t size)
{
    if (size > 0 && count > (SIZE_MAX - ALIGNMENT) / size)
        return NULL;
    const size_t bytes = count * size > 0 ? count * size : 1;
    struct vact_arena_block *block = find_block(arena, bytes);
    if (!block)
        return NULL;
    void *result = block->data + block->used;
    const size_t rounded = (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    block->used = rounded < block->size - block->used ? block->used + rounded : block->size;
    arena->bytes += count * size;
    return result;
}

char *vact_arena_text(vact_arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? vact_arena_take(arena, length + 1, 1) : NULL;
    if (copy && length > 0)
        memcpy(copy, text, length);
    return copy;
}

void vact_arena_free(vact_arena *arena)
{
    for (struct vact_arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    *arena = (vact_arena){ 0 };
}
