/* texts of added tokens -> a trie over their bytes; the longest that begins at a place
 *
 * Texts have at most VACT_MAX_PIECE_BYTES, so a search from every byte of a text is linear in it. */
#include "text/parts.h"
#include <stdlib.h>

struct vact_trie_node {
    uint32_t child, sibling; /* 0: none */
    uint32_t added;          /* index + 1 of the token that ends here; 0: none */
    uint8_t byte;
};

static uint32_t find_child(const vact_trie *trie, uint32_t node, uint8_t byte)
{
    if (node == 0)
        return trie->first[byte];
    uint32_t child = trie->nodes[node].child;
    while (child && trie->nodes[child].byte != byte)
        child = trie->nodes[child].sibling;
    return child;
}

/* 0: no memory. */
static uint32_t add_child(vact_trie *trie, uint32_t node, uint8_t byte)
{
    if (trie->n == 0)
        trie->n = 1; /* the root */
    struct vact_trie_node *nodes = vact_grown(trie->nodes, &trie->room, trie->n + 1, sizeof *nodes);
    if (!nodes)
        return 0;
    trie->nodes = nodes;
    const uint32_t child = (uint32_t)trie->n++;
    nodes[child] = (struct vact_trie_node){ .byte = byte };
    if (node == 0) {
        trie->first[byte] = child;
    } else {
        nodes[child].sibling = nodes[node].child;
        nodes[node].child = child;
    }
    return child;
}

bool vact_trie_put(vact_trie *trie, const char *text, size_t length, uint32_t added, bool *there)
{
    uint32_t node = 0;
    for (size_t i = 0; i < length; i++) {
        const uint32_t parent = node;
        node = find_child(trie, parent, (uint8_t)text[i]);
        if (!node)
            node = add_child(trie, parent, (uint8_t)text[i]);
        if (!node)
            return false;
    }
    *there = trie->nodes[node].added > 0;
    trie->nodes[node].added = added + 1;
    return true;
}

bool vact_trie_match(const vact_trie *trie, const char *text, size_t length, size_t at, uint32_t *added, size_t *n)
{
    bool found = false;
    uint32_t node = 0;
    for (size_t i = at; i < length; i++) {
        node = find_child(trie, node, (uint8_t)text[i]);
        if (!node)
            break;
        if (trie->nodes[node].added > 0) {
            *added = trie->nodes[node].added - 1;
            *n = i + 1 - at;
            found = true;
        }
    }
    return found;
}

void vact_trie_close(vact_trie *trie)
{
    free(trie->nodes);
    *trie = (vact_trie){ 0 };
}
