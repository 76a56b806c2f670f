/* text -> ids, each piece of text carried through to its ids before the next is looked at
 *
 *   clean          bytes that are no UTF-8 become U+FFFD
 *   raw gaps       between the added tokens of the raw text
 *   normalise      the normaliser's edits
 *   inner gaps     between the added tokens of the normalised text
 *   open, split    the pre-tokenizer: its edits, then one split inside the other, down to words
 *   word           symbols -> merges -> ids */
#include "base/error.h"
#include "text/parts.h"
#include "text/utf8.h"
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* A symbol of a word, in a list that shrinks as neighbours are merged. */
struct symbol {
    int32_t id, result; /* `result`: of merging with the next */
    uint32_t rank;      /* of that merge; VACT_NO_RANK: none, or the symbol is gone */
    uint32_t prev, next;
};

#define NONE UINT32_MAX

struct vact_encoder {
    const vact_tokenizer *t;
    vact_matcher matcher;
    vact_text clean; /* the text, as UTF-8 */
    vact_editor normaliser, opening;
    struct symbol *symbols; /* of the word */
    uint64_t *queue;        /* rank << 32 | position, a heap with the lowest on top */
    int32_t *ids;
    size_t symbols_room, queue_room, ids_room;
    size_t n_symbols, n_queue, n_ids;
    vact_status status; /* the first failure of this text */
};

static bool fail(vact_encoder *e, vact_status status)
{
    e->status = status;
    return false;
}

/* ---- memory ---- */

static bool reserve_ids(vact_encoder *e, size_t need)
{
    int32_t *ids = vact_grown(e->ids, &e->ids_room, need, sizeof *ids);
    if (ids)
        e->ids = ids;
    return ids;
}

/* Each merge takes one entry of the queue and adds two at most, to one for each neighbour in the beginning. */
static bool reserve_symbols(vact_encoder *e, size_t need)
{
    struct symbol *symbols = vact_grown(e->symbols, &e->symbols_room, need, sizeof *symbols);
    if (symbols)
        e->symbols = symbols;
    uint64_t *queue = vact_grown(e->queue, &e->queue_room, 2 * need, sizeof *queue);
    if (queue)
        e->queue = queue;
    return symbols && queue;
}

/* For an ordinary text of so many bytes: one symbol for each at most, whatever the steps make of it. */
static bool reserve(vact_encoder *e, size_t bytes)
{
    return bytes < PTRDIFF_MAX / 4 && vact_text_reserve(&e->clean, 3 * bytes + VACT_SLACK) && /* U+FFFD has 3 bytes */
           vact_editor_reserve(&e->normaliser, &e->t->normaliser, bytes) &&
           vact_editor_reserve(&e->opening, &e->t->opening, bytes) && reserve_symbols(e, bytes + VACT_SLACK) &&
           reserve_ids(e, bytes + VACT_SLACK);
}

static bool add_id(vact_encoder *e, int32_t id)
{
    if (!reserve_ids(e, e->n_ids + 1))
        return fail(e, VACT_ENOMEM);
    e->ids[e->n_ids++] = id;
    return true;
}

/* ---- merges ---- */

static void sink(uint64_t *queue, size_t n, uint64_t entry)
{
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && queue[child + 1] < queue[child])
            child++;
        if (entry <= queue[child])
            break;
        queue[at] = queue[child];
    }
    queue[at] = entry;
}

static uint64_t pop(vact_encoder *e)
{
    const uint64_t top = e->queue[0];
    e->n_queue--;
    if (e->n_queue > 0)
        sink(e->queue, e->n_queue, e->queue[e->n_queue]);
    return top;
}

static void push(vact_encoder *e, uint64_t entry)
{
    size_t at = e->n_queue++;
    for (; at > 0 && entry < e->queue[(at - 1) / 2]; at = (at - 1) / 2)
        e->queue[at] = e->queue[(at - 1) / 2];
    e->queue[at] = entry;
}

/* What merging a symbol with its next would give. */
static void look_at(vact_encoder *e, uint32_t position)
{
    struct symbol *symbol = &e->symbols[position];
    const vact_merge *merge =
        symbol->next == NONE ? NULL : vact_merges_find(&e->t->merges, symbol->id, e->symbols[symbol->next].id);
    symbol->rank = VACT_NO_RANK;
    if (!merge)
        return;
    symbol->rank = merge->rank;
    symbol->result = merge->result;
    push(e, (uint64_t)merge->rank << 32 | position);
}

/* Lowest rank first, leftmost among equals. An entry whose symbol has another rank by now is out of date. */
static void merge_all(vact_encoder *e)
{
    struct symbol *symbols = e->symbols;
    const size_t n = e->n_symbols;
    e->n_queue = 0;
    for (size_t i = 0; i < n; i++) {
        symbols[i].prev = i > 0 ? (uint32_t)i - 1 : NONE;
        symbols[i].next = i + 1 < n ? (uint32_t)i + 1 : NONE;
    }
    for (size_t i = 0; i < n; i++)
        look_at(e, (uint32_t)i);
    while (e->n_queue > 0) {
        const uint64_t entry = pop(e);
        const uint32_t position = (uint32_t)entry;
        struct symbol *symbol = &symbols[position];
        if (symbol->rank != entry >> 32)
            continue;
        struct symbol *gone = &symbols[symbol->next];
        gone->rank = VACT_NO_RANK;
        symbol->id = symbol->result;
        symbol->next = gone->next;
        if (gone->next != NONE)
            symbols[gone->next].prev = position;
        look_at(e, position);
        if (symbol->prev != NONE)
            look_at(e, symbol->prev);
    }
}

/* ---- words ---- */

/* A character without a piece: its bytes, or the unknown token, or nothing. */
static void put_unknown(vact_encoder *e, const char *text, size_t length)
{
    const vact_tokenizer *t = e->t;
    struct symbol *symbols = e->symbols;
    size_t *n = &e->n_symbols;
    bool bytes = t->byte_fallback;
    for (size_t i = 0; i < length && bytes; i++)
        bytes = t->byte_ids[(uint8_t)text[i]] >= 0;
    for (size_t i = 0; i < length && bytes; i++)
        symbols[(*n)++].id = t->byte_ids[(uint8_t)text[i]];
    if (!bytes && t->unk >= 0 && !(t->fuse_unk && *n > 0 && symbols[*n - 1].id == t->unk))
        symbols[(*n)++].id = t->unk;
}

static bool put_symbols(vact_encoder *e, const char *text, size_t length)
{
    const vact_tokenizer *t = e->t;
    e->n_symbols = 0;
    for (size_t at = 0, size = 1; at < length; at += size) {
        if (!t->byte_level)
            size = (size_t)utf8proc_utf8class[(uint8_t)text[at]];
        if (!reserve_symbols(e, e->n_symbols + size))
            return fail(e, VACT_ENOMEM);
        const int32_t id = t->byte_level ? t->byte_ids[(uint8_t)text[at]] : vact_tokenizer_find(t, text + at, size);
        if (id >= 0)
            e->symbols[e->n_symbols++].id = id;
        else
            put_unknown(e, text + at, size);
    }
    return true;
}

/* The piece that the word is, or -1. */
static int32_t whole_word(const vact_tokenizer *t, const char *text, size_t length)
{
    char mapped[2 * VACT_MAX_PIECE_BYTES];
    size_t n = 0;
    if (!t->byte_level)
        return vact_tokenizer_find(t, text, length);
    if (length > VACT_MAX_PIECE_BYTES)
        return -1;
    for (size_t i = 0; i < length; i++)
        n += vact_byte_char((uint8_t)text[i], mapped + n);
    return vact_tokenizer_find(t, mapped, n);
}

static bool word(vact_encoder *e, const char *text, size_t length)
{
    if (length == 0)
        return true;
    const int32_t whole = e->t->ignore_merges ? whole_word(e->t, text, length) : -1;
    if (whole >= 0)
        return add_id(e, whole);
    if (length >= NONE)
        return fail(e, VACT_ENOMEM);
    if (!put_symbols(e, text, length))
        return false;
    merge_all(e);
    bool ok = true;
    for (uint32_t i = e->n_symbols > 0 ? 0 : NONE; i != NONE && ok; i = e->symbols[i].next)
        ok = add_id(e, e->symbols[i].id);
    return ok;
}

/* ---- splits ---- */

/* A word of one split that is still open at its end. */
struct span {
    size_t begin, end;
    bool any, match; /* `match`: the last part of it is one */
};

static bool split(vact_encoder *e, size_t step, const char *text, size_t length);

static bool close_span(vact_encoder *e, size_t step, const char *text, const struct span *span)
{
    const bool dropped = span->match && e->t->splits[step].behavior == VACT_REMOVED;
    return !span->any || dropped || split(e, step + 1, text + span->begin, span->end - span->begin);
}

/* One more part, a match or what lies between two. */
static bool add_part(vact_encoder *e, size_t step, const char *text, struct span *span, size_t begin, size_t end,
                     bool match)
{
    const vact_behavior behavior = e->t->splits[step].behavior;
    const bool joins = span->any && ((behavior == VACT_MERGED_PREV && match && !span->match) ||
                                     (behavior == VACT_MERGED_NEXT && !match && span->match) ||
                                     (behavior == VACT_CONTIGUOUS && match == span->match));
    if (!joins && !close_span(e, step, text, span))
        return false;
    *span = (struct span){ joins ? span->begin : begin, end, true, match };
    return true;
}

static bool split(vact_encoder *e, size_t step, const char *text, size_t length)
{
    if (step == e->t->n_splits)
        return word(e, text, length);
    const vact_split *how = &e->t->splits[step];
    vact_search search = { .pattern = &how->pattern, .matcher = &e->matcher, .text = text, .length = length };
    struct span span = { 0 };
    vact_found found;
    size_t from = 0;
    while ((found = vact_search_next(&search)) == VACT_FOUND_MATCH) {
        if (search.begin > from && !add_part(e, step, text, &span, from, search.begin, how->invert))
            return false;
        if (!add_part(e, step, text, &span, search.begin, search.end, !how->invert))
            return false;
        from = search.end;
    }
    if (found == VACT_FOUND_TROUBLE)
        return fail(e, VACT_EINPUT);
    if (length > from && !add_part(e, step, text, &span, from, length, how->invert))
        return false;
    return close_span(e, step, text, &span);
}

/* ---- added tokens ---- */

/* The one character that ends or begins here; its size in *size. */
static int32_t char_before(const char *text, size_t at, size_t *size)
{
    int32_t code = 0;
    for (*size = 1; ((uint8_t)text[at - *size] & 0xC0) == 0x80;)
        ++*size;
    utf8proc_iterate((const uint8_t *)text + at - *size, (utf8proc_ssize_t)*size, &code);
    return code;
}

static int32_t char_after(const char *text, size_t length, size_t at, size_t *size)
{
    int32_t code = 0;
    *size = (size_t)utf8proc_iterate((const uint8_t *)text + at, (utf8proc_ssize_t)(length - at), &code);
    return code;
}

static bool is_white(int32_t c)
{
#define OR_IN(first, last) || (c >= 0x##first && c <= 0x##last)
    return false VACT_WHITE(OR_IN);
#undef OR_IN
}

/* Unicode's \w: letters, marks, decimal digits, letter numbers, connectors, joiners, and letters in circles. */
static bool is_word(int32_t c)
{
    const utf8proc_category_t category = utf8proc_category(c);
    return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) || category == UTF8PROC_CATEGORY_PC ||
           c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
           (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

/* Whether the match counts; then its blanks are taken along, but none before `from`. */
static bool accept(const vact_added *added, const char *text, size_t length, size_t from, size_t *begin, size_t *end)
{
    size_t size = 0;
    if (added->single_word && ((*begin > 0 && is_word(char_before(text, *begin, &size))) ||
                               (*end < length && is_word(char_after(text, length, *end, &size)))))
        return false;
    while (added->strip_left && *begin > from && is_white(char_before(text, *begin, &size)))
        *begin -= size;
    while (added->strip_right && *end < length && is_white(char_after(text, length, *end, &size)))
        *end += size;
    return true;
}

static bool gaps(vact_encoder *e, bool raw, const char *text, size_t length, bool first);

/* Text between added tokens. `first`: the whole text begins here. */
static bool gap(vact_encoder *e, bool raw, const char *text, size_t length, bool first)
{
    if (length == 0)
        return true;
    const vact_edits *edits = raw ? &e->t->normaliser : &e->t->opening;
    vact_editor *editor = raw ? &e->normaliser : &e->opening;
    const vact_status status = vact_edits_apply(edits, editor, &e->matcher, first, &text, &length);
    if (status != VACT_OK)
        return fail(e, status);
    return raw ? gaps(e, false, text, length, first) : split(e, 0, text, length);
}

/* Matches are the leftmost, and of those the longest; one that doesn't count is passed over whole. */
static bool gaps(vact_encoder *e, bool raw, const char *text, size_t length, bool first)
{
    const vact_trie *trie = raw ? &e->t->raw : &e->t->normalised;
    size_t from = 0, at = 0, n = 0;
    uint32_t index = 0;
    while (trie->n > 0 && at < length) {
        if (!vact_trie_match(trie, text, length, at, &index, &n)) {
            at++;
            continue;
        }
        const vact_added *added = &e->t->added[index];
        size_t begin = at, end = at + n;
        at = end;
        if (!accept(added, text, length, from, &begin, &end))
            continue;
        if (!gap(e, raw, text + from, begin > from ? begin - from : 0, first && from == 0) || !add_id(e, added->id))
            return false;
        from = end;
        at = at < end ? end : at;
    }
    return gap(e, raw, text + from, length - from, first && from == 0);
}

/* ---- the whole ---- */

static bool clean(vact_encoder *e, const char *text, size_t length)
{
    bool ok = true;
    e->clean.length = 0;
    for (size_t at = 0; at < length && ok;) {
        const size_t n = vact_utf8_valid(text + at, length - at);
        ok = vact_text_add(&e->clean, text + at, n);
        at += n;
        if (at < length) {
            ok = ok && vact_text_add(&e->clean, "\xEF\xBF\xBD", 3);
            at++;
        }
    }
    return ok || fail(e, VACT_ENOMEM);
}

vact_status vact_encoder_normalise(vact_encoder *encoder, const char **text, size_t *length)
{
    return vact_edits_apply(&encoder->t->normaliser, &encoder->normaliser, &encoder->matcher, true, text, length);
}

static bool add_ids(vact_encoder *e, const int32_t *ids, size_t n)
{
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++)
        ok = add_id(e, ids[i]);
    return ok;
}

vact_status vact_encode(vact_encoder *encoder, const char *text, size_t length, bool special, const int32_t **ids,
                        size_t *n, vact_error *err)
{
    vact_encoder *e = encoder;
    const vact_tokenizer *t = e->t;
    e->status = VACT_OK;
    e->n_ids = 0;
    *ids = NULL;
    *n = 0;
    if (!add_ids(e, t->prefix, special ? t->n_prefix : 0) || !clean(e, text, length) ||
        !gaps(e, true, e->clean.data, e->clean.length, true) || !add_ids(e, t->suffix, special ? t->n_suffix : 0))
        return e->status == VACT_ENOMEM
                   ? vact_fail(err, VACT_ENOMEM, "no memory for the tokens of a text of %zu bytes", length)
                   : vact_fail(err, e->status, "the tokenizer's pattern gives up on this text of %zu bytes", length);
    *ids = e->ids;
    *n = e->n_ids;
    return VACT_OK;
}

/* Where expressions run without JIT, the first search allocates. False: no memory. */
static bool warm_up(vact_encoder *e)
{
    const int32_t *ids;
    size_t n;
    return vact_encode(e, "a", 1, false, &ids, &n, NULL) != VACT_ENOMEM;
}

vact_status vact_encoder_open(vact_encoder **out, const vact_tokenizer *tokenizer, size_t bytes, vact_error *err)
{
    *out = NULL;
    vact_encoder *e = calloc(1, sizeof *e);
    if (e)
        e->t = tokenizer;
    if (!e || !vact_matcher_open(&e->matcher) || !reserve(e, bytes) || !warm_up(e)) {
        vact_encoder_close(&e);
        return vact_fail(err, VACT_ENOMEM, "no memory to encode texts of %zu bytes", bytes);
    }
    *out = e;
    return VACT_OK;
}

void vact_encoder_close(vact_encoder **encoder)
{
    vact_encoder *e = encoder ? *encoder : NULL;
    if (!e)
        return;
    vact_matcher_close(&e->matcher);
    vact_editor_close(&e->normaliser);
    vact_editor_close(&e->opening);
    free(e->clean.data);
    free(e->symbols);
    free(e->queue);
    free(e->ids);
    free(e);
    *encoder = NULL;
}
