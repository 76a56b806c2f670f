/* The tables: pieces by id, pieces by text, merges by pair. Both hashes are open addressing, at most half full. */
#include "base/error.h"
#include "base/hash.h"
#include "base/mapping.h"
#include "file/line.h"
#include "text/parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

bool vact_text_reserve(vact_text *text, size_t bytes)
{
    char *grown = bytes > 0 ? vact_grown(text->data, &text->room, bytes, 1) : text->data;
    if (bytes > 0 && !grown)
        return false;
    text->data = grown;
    return true;
}

bool vact_text_add(vact_text *text, const char *data, size_t length)
{
    if (!vact_text_reserve(text, text->length + length))
        return false;
    if (length > 0)
        memcpy(text->data + text->length, data, length);
    text->length += length;
    return true;
}

/* ---- pieces ---- */

static size_t power_of_two(size_t least)
{
    size_t power = 16;
    while (power < least)
        power *= 2;
    return power;
}

static size_t slot_of(uint64_t hash, size_t room)
{
    return (size_t)(hash ^ hash >> 32) & (room - 1);
}

static int32_t *find_slot(const vact_tokenizer *t, uint64_t hash, const char *text, size_t length)
{
    size_t at = slot_of(hash, t->by_text_room);
    for (; t->by_text[at]; at = (at + 1) & (t->by_text_room - 1)) {
        const vact_piece *piece = &t->pieces[t->by_text[at] - 1];
        if (piece->length == length && memcmp(piece->text, text, length) == 0)
            break;
    }
    return &t->by_text[at];
}

vact_tokenizer *vact_tokenizer_new(int32_t size, uint64_t text_bytes, uint64_t n_added)
{
    vact_tokenizer *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->size = size;
    t->unk = -1;
    t->by_text_room = power_of_two(2 * (size_t)size);
    t->pieces = vact_arena_take(&t->arena, (size_t)size, sizeof *t->pieces);
    t->by_text = vact_arena_take(&t->arena, t->by_text_room, sizeof *t->by_text);
    t->texts = vact_arena_take(&t->arena, text_bytes, 1);
    t->added = vact_arena_take(&t->arena, n_added, sizeof *t->added);
    if (!t->pieces || !t->by_text || !t->texts || !t->added) {
        vact_tokenizer_close(&t);
        return NULL;
    }
    for (int32_t id = 0; id < size; id++)
        t->pieces[id].kind = VACT_PIECE_UNUSED;
    memset(t->byte_ids, -1, sizeof t->byte_ids);
    return t;
}

void vact_tokenizer_add(vact_tokenizer *t, int32_t id, const char *text, size_t length, vact_piece_kind kind,
                        bool model)
{
    t->pieces[id] = (vact_piece){ .text = t->texts, .length = (uint32_t)length, .kind = kind };
    if (length > 0)
        memcpy(t->texts, text, length);
    t->texts += length;
    if (model)
        *find_slot(t, vact_hash(VACT_HASH_START, text, length), text, length) = id + 1;
}

int32_t vact_tokenizer_find(const vact_tokenizer *t, const char *text, size_t length)
{
    return *find_slot(t, vact_hash(VACT_HASH_START, text, length), text, length) - 1;
}

/* ---- bytes ---- */

/* Printable Latin-1 stands for itself; the other 68 bytes are U+0100 and up, in their order. */
size_t vact_byte_char(uint8_t byte, char *out)
{
    uint32_t code = byte;
    if (byte <= 32)
        code = 0x100u + byte;
    else if (byte >= 127 && byte <= 160)
        code = 0x100u + 33 + (byte - 127u);
    else if (byte == 173)
        code = 0x100 + 67;
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    out[0] = (char)(0xC0 | code >> 6);
    out[1] = (char)(0x80 | (code & 0x3F));
    return 2;
}

void vact_tokenizer_find_bytes(vact_tokenizer *t)
{
    static const char hex[] = "0123456789ABCDEF";
    for (int byte = 0; byte < 256; byte++) {
        char text[7] = { '<', '0', 'x', hex[byte >> 4], hex[byte & 15], '>' };
        const size_t length = t->byte_level ? vact_byte_char((uint8_t)byte, text) : 6;
        if (t->byte_level || t->byte_fallback)
            t->byte_ids[byte] = vact_tokenizer_find(t, text, length);
    }
}

/* ---- merges ---- */

static vact_merge *merge_slot(const vact_merges *merges, int32_t left, int32_t right)
{
    const uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    const uint64_t hash = (pair ^ pair >> 29) * UINT64_C(0x9E3779B97F4A7C15);
    size_t at = slot_of(hash, merges->room);
    while (merges->slots[at].rank != VACT_NO_RANK &&
           (merges->slots[at].left != left || merges->slots[at].right != right))
        at = (at + 1) & (merges->room - 1);
    return &merges->slots[at];
}

static bool grow_merges(vact_merges *merges)
{
    vact_merges grown = { .n = merges->n, .room = merges->room ? 2 * merges->room : 1024 };
    grown.slots = malloc(grown.room * sizeof *grown.slots);
    if (!grown.slots)
        return false;
    memset(grown.slots, -1, grown.room * sizeof *grown.slots); /* VACT_NO_RANK everywhere */
    for (size_t i = 0; i < merges->room; i++)
        if (merges->slots[i].rank != VACT_NO_RANK)
            *merge_slot(&grown, merges->slots[i].left, merges->slots[i].right) = merges->slots[i];
    free(merges->slots);
    *merges = grown;
    return true;
}

/* With rank VACT_NO_RANK when it is new; NULL: no memory. */
static vact_merge *slot_for(vact_merges *merges, int32_t left, int32_t right)
{
    if (2 * merges->n >= merges->room && !grow_merges(merges))
        return NULL;
    vact_merge *slot = merge_slot(merges, left, right);
    if (slot->rank == VACT_NO_RANK) {
        slot->left = left;
        slot->right = right;
        merges->n++;
    }
    return slot;
}

const vact_merge *vact_merges_find(const vact_merges *merges, int32_t left, int32_t right)
{
    if (merges->n == 0)
        return NULL;
    const vact_merge *slot = merge_slot(merges, left, right);
    return slot->rank == VACT_NO_RANK ? NULL : slot;
}

void vact_merges_close(vact_merges *merges)
{
    free(merges->slots);
    *merges = (vact_merges){ 0 };
}

vact_merge *vact_merges_add(vact_tokenizer *t, vact_gguf_text left, vact_gguf_text right, char why[128])
{
    char whole[2 * VACT_MAX_PIECE_BYTES], shown[80];
    const int32_t first = vact_tokenizer_find(t, left.data, left.length);
    const int32_t second = vact_tokenizer_find(t, right.data, right.length);
    const bool both = first >= 0 && second >= 0;
    int32_t result = -1;
    why[0] = '\0';
    if (both) {
        memcpy(whole, left.data, left.length);
        memcpy(whole + left.length, right.data, right.length);
        result = vact_tokenizer_find(t, whole, left.length + right.length);
    }
    if (result < 0) {
        vact_line line;
        vact_line_begin(&line, shown, sizeof shown);
        vact_line_text(&line, left.data, left.length);
        vact_line_put(&line, right.data ? " " : "");
        vact_line_text(&line, right.data, right.length);
        snprintf(why, 128, "is \"%s\", %s", shown, both ? "which makes no piece" : "expected two pieces");
        return NULL;
    }
    vact_merge *slot = slot_for(&t->merges, first, second);
    if (slot)
        slot->result = result;
    return slot;
}

static bool merges_freely(const vact_piece *piece)
{
    return piece->kind == VACT_PIECE_NORMAL || piece->kind == VACT_PIECE_USER;
}

/* Every split of the piece into two. */
static bool split_piece(vact_merges *out, const vact_tokenizer *t, int32_t id, uint32_t rank)
{
    const vact_piece *piece = &t->pieces[id];
    uint64_t hash = VACT_HASH_START;
    for (size_t n = 1; n < piece->length; n++) {
        hash = vact_hash(hash, piece->text + n - 1, 1);
        if (((uint8_t)piece->text[n] & 0xC0) == 0x80)
            continue; /* inside a character */
        const int32_t left = *find_slot(t, hash, piece->text, n) - 1;
        const int32_t right = left >= 0 ? vact_tokenizer_find(t, piece->text + n, piece->length - n) : -1;
        if (right < 0 || !merges_freely(&t->pieces[left]) || !merges_freely(&t->pieces[right]))
            continue;
        vact_merge *slot = slot_for(out, left, right);
        if (!slot)
            return false;
        slot->result = id;
        slot->rank = rank;
    }
    return true;
}

struct scored {
    float score;
    int32_t id;
};

static int compare_scores(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

bool vact_merges_from_scores(vact_merges *out, const vact_tokenizer *t, const float *scores)
{
    struct scored *order = malloc(((size_t)t->size + 1) * sizeof *order);
    if (!order)
        return false;
    size_t n = 0;
    for (int32_t id = 0; id < t->size; id++)
        if (merges_freely(&t->pieces[id]) && t->pieces[id].length > 0)
            order[n++] = (struct scored){ scores[id], id };
    qsort(order, n, sizeof *order, compare_scores);
    bool ok = true;
    uint32_t rank = 0;
    for (size_t i = 0; i < n && ok; i++) {
        rank += i > 0 && order[i].score != order[i - 1].score;
        ok = split_piece(out, t, order[i].id, rank);
    }
    free(order);
    return ok;
}

/* ---- the whole ---- */

vact_status vact_tokenizer_open(vact_tokenizer **out, const char *path, vact_error *err)
{
    *out = NULL;
    vact_mapping file;
    vact_status status = vact_mapping_open(&file, path, err);
    if (status != VACT_OK)
        return status;
    if (file.size >= 4 && memcmp(file.data, "GGUF", 4) == 0) {
        vact_gguf *gguf = NULL;
        status = vact_gguf_parse(&gguf, vact_path_end(path), file.data, file.size, err);
        if (status == VACT_OK)
            status = vact_tokenizer_from_gguf(out, gguf, err);
        vact_gguf_close(&gguf);
    } else {
        status = vact_tokenizer_from_json(out, vact_path_end(path), (const char *)file.data, file.size, err);
    }
    vact_mapping_close(&file);
    return status;
}

void vact_tokenizer_close(vact_tokenizer **tokenizer)
{
    vact_tokenizer *t = tokenizer ? *tokenizer : NULL;
    if (!t)
        return;
    vact_edits_close(&t->normaliser);
    vact_edits_close(&t->opening);
    for (size_t i = 0; i < t->n_splits; i++)
        vact_pattern_close(&t->splits[i].pattern);
    vact_trie_close(&t->raw);
    vact_trie_close(&t->normalised);
    vact_merges_close(&t->merges);
    vact_arena_free(&t->arena);
    free(t);
    *tokenizer = NULL;
}

int32_t vact_tokenizer_size(const vact_tokenizer *tokenizer)
{
    return tokenizer->size;
}
