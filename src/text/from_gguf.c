/* tokenizer.ggml.* keys of a GGUF file -> tables and steps
 *
 * "gpt2" is byte-level BPE with merges in a list, words by the recipe of `pre`, and with `add_space_prefix` a blank
 * before a text that doesn't begin with one. "llama" is SentencePiece's BPE, whose merges follow from the pieces'
 * scores, unless the file lists them: then it was a tokenizer.json.
 * Keys and defaults: ggml-org/llama.cpp, src/llama-vocab.cpp. */
#include "base/error.h"
#include "file/line.h"
#include "text/parts.h"
#include "text/utf8.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const vact_gguf *gguf;
    vact_tokenizer *t;
    bool sentencepiece;
    vact_error *err;
} reader;

/* ---- errors and keys ---- */

__attribute__((format(printf, 4, 5))) static vact_status refuse(const reader *r, vact_status code, const char *key,
                                                                const char *format, ...)
{
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return vact_fail(r->err, code, "%s: key %s: %s", r->gguf->path, key, why);
}

static vact_status no_memory(const reader *r)
{
    return vact_fail(r->err, VACT_ENOMEM, "%s: no memory for a tokenizer", r->gguf->path);
}

static vact_status find_text(const reader *r, const char *key, vact_gguf_text *out)
{
    const vact_gguf_value *value = NULL;
    const vact_status status = vact_gguf_need(r->gguf, key, VACT_GGUF_STRING, VACT_GGUF_STRING, &value, r->err);
    if (status == VACT_OK)
        *out = vact_gguf_get_text(value, 0);
    return status;
}

static vact_status read_bool(const reader *r, const char *key, bool standard, bool *out)
{
    const vact_gguf_value *value = NULL;
    *out = standard;
    if (!vact_gguf_find(r->gguf, key))
        return VACT_OK;
    const vact_status status = vact_gguf_need(r->gguf, key, VACT_GGUF_BOOL, VACT_GGUF_BOOL, &value, r->err);
    if (status == VACT_OK)
        *out = vact_gguf_get_uint(value, 0) != 0;
    return status;
}

/* `standard` below 0: there is none. */
static vact_status read_id(const reader *r, const char *key, int32_t standard, int32_t *out)
{
    const vact_gguf_value *value = NULL;
    vact_status status = VACT_OK;
    uint64_t id = (uint64_t)standard;
    if (standard < 0 || vact_gguf_find(r->gguf, key)) {
        status = vact_gguf_need(r->gguf, key, VACT_GGUF_U32, VACT_GGUF_U32, &value, r->err);
        id = status == VACT_OK ? vact_gguf_get_uint(value, 0) : 0;
    }
    if (status == VACT_OK && id >= (uint64_t)r->t->size)
        return refuse(r, VACT_EFORMAT, key, "found the id %" PRIu64 ", expected less than %d", id, r->t->size);
    *out = (int32_t)id;
    return status;
}

/* ---- pieces ---- */

/* Without the key all pieces are normal. */
static int64_t kind_of(const vact_gguf_value *kinds, uint64_t id)
{
    return kinds ? vact_gguf_get_int(kinds, id) : VACT_PIECE_NORMAL;
}

static vact_status find_pieces(const reader *r, const vact_gguf_value **tokens, const vact_gguf_value **kinds)
{
    vact_status status = vact_gguf_need(r->gguf, KEY("tokens"), VACT_GGUF_ARRAY, VACT_GGUF_STRING, tokens, r->err);
    if (status == VACT_OK && vact_gguf_find(r->gguf, KEY("token_type")))
        status = vact_gguf_need(r->gguf, KEY("token_type"), VACT_GGUF_ARRAY, VACT_GGUF_I32, kinds, r->err);
    if (status != VACT_OK)
        return status;
    if ((*tokens)->count < 1 || (*tokens)->count > VACT_MAX_PIECES)
        return refuse(r, VACT_EFORMAT, KEY("tokens"), "found %" PRIu64 " pieces, expected 1 to %d", (*tokens)->count,
                      VACT_MAX_PIECES);
    if (*kinds && (*kinds)->count != (*tokens)->count)
        return refuse(r, VACT_EFORMAT, KEY("token_type"), "found %" PRIu64 " elements, expected %" PRIu64,
                      (*kinds)->count, (*tokens)->count);
    return VACT_OK;
}

static vact_status make_tables(reader *r, const vact_gguf_value *tokens, const vact_gguf_value *kinds)
{
    uint64_t bytes = 0, n_added = 0, id = 0;
    vact_gguf_text text;
    for (vact_gguf_texts texts = vact_gguf_texts_begin(tokens); vact_gguf_texts_next(&texts, &text); id++) {
        const int64_t kind = kind_of(kinds, id);
        if (text.length > VACT_MAX_PIECE_BYTES)
            return refuse(r, VACT_EFORMAT, KEY("tokens"),
                          "piece %" PRIu64 " has %" PRIu64 " bytes, expected at most %d", id, text.length,
                          VACT_MAX_PIECE_BYTES);
        if (kind < VACT_PIECE_NORMAL || kind > VACT_PIECE_BYTE)
            return refuse(r, VACT_EFORMAT, KEY("token_type"), "element %" PRIu64 " is %" PRId64 ", expected 1 to 6", id,
                          kind);
        if (vact_kind_is_added(kind) &&
            vact_utf8_valid(text.data, text.length) < text.length) /* it is searched for in texts that are */
            return refuse(r, VACT_EFORMAT, KEY("tokens"), "piece %" PRIu64 " is not UTF-8", id);
        bytes += text.length;
        n_added += vact_kind_is_added(kind) && text.length > 0;
    }
    r->t = vact_tokenizer_new((int32_t)tokens->count, bytes, n_added);
    return r->t ? VACT_OK : no_memory(r);
}

static vact_status read_pieces(reader *r)
{
    const vact_gguf_value *tokens = NULL, *kinds = NULL;
    vact_status status = find_pieces(r, &tokens, &kinds);
    if (status == VACT_OK)
        status = make_tables(r, tokens, kinds);
    if (status != VACT_OK)
        return status;
    vact_gguf_text text;
    int32_t id = 0;
    for (vact_gguf_texts texts = vact_gguf_texts_begin(tokens); vact_gguf_texts_next(&texts, &text); id++) {
        const vact_piece_kind kind = (vact_piece_kind)kind_of(kinds, (uint64_t)id);
        const bool model = text.length > 0 && kind != VACT_PIECE_UNUSED;
        char shown[80];
        bool there = false;
        if (model && vact_tokenizer_find(r->t, text.data, text.length) >= 0)
            return refuse(r, VACT_EFORMAT, KEY("tokens"), "found \"%s\" twice, expected it once",
                          vact_printable(shown, sizeof shown, text.data, text.length));
        vact_tokenizer_add(r->t, id, text.data, text.length, kind, model);
        if (!vact_kind_is_added(kind) || text.length == 0)
            continue;
        r->t->added[r->t->n_added].id = id;
        if (!vact_trie_put(&r->t->raw, text.data, text.length, (uint32_t)r->t->n_added++, &there))
            return no_memory(r);
    }
    return VACT_OK;
}

/* ---- merges ---- */

/* "left right": parted by the first space that isn't the first character. */
static vact_status read_merges(const reader *r)
{
    static const char key[] = KEY("merges");
    const vact_gguf_value *merges = NULL;
    const vact_status status = vact_gguf_need(r->gguf, key, VACT_GGUF_ARRAY, VACT_GGUF_STRING, &merges, r->err);
    if (status != VACT_OK)
        return status;
    if (merges->count >= VACT_NO_RANK)
        return refuse(r, VACT_EFORMAT, key, "found %" PRIu64 " merges, expected less than 2^32 - 1", merges->count);
    uint32_t rank = 0;
    vact_gguf_text text;
    for (vact_gguf_texts texts = vact_gguf_texts_begin(merges); vact_gguf_texts_next(&texts, &text); rank++) {
        char why[128];
        vact_gguf_text left = text, right = { 0 };
        const char *space = text.length > 1 ? memchr(text.data + 1, ' ', text.length - 1) : NULL;
        if (space) {
            left.length = (uint64_t)(space - text.data);
            right = (vact_gguf_text){ space + 1, text.length - left.length - 1 };
        }
        vact_merge *slot = vact_merges_add(r->t, left, right, why);
        if (!slot)
            return why[0] ? refuse(r, VACT_EFORMAT, key, "element %u %s", rank, why) : no_memory(r);
        if (slot->rank == VACT_NO_RANK) /* the first of two wins */
            slot->rank = rank;
    }
    return VACT_OK;
}

/* ---- "gpt2" ---- */

static vact_status read_byte_level(const reader *r, bool *add_bos)
{
    vact_gguf_text pre = { "default", strlen("default") }; /* as llama.cpp takes a file without the key */
    char shown[80];
    bool space = false;
    vact_status status = vact_gguf_find(r->gguf, KEY("pre")) ? find_text(r, KEY("pre"), &pre) : VACT_OK;
    if (status == VACT_OK)
        status = read_bool(r, KEY("add_space_prefix"), false, &space);
    if (status != VACT_OK)
        return status;
    const vact_recipe *recipe = vact_recipe_find(pre.data, pre.length);
    if (!recipe)
        return refuse(r, VACT_EMODEL, KEY("pre"), "\"%s\" is not supported",
                      vact_printable(shown, sizeof shown, pre.data, pre.length));
    if (space)
        r->t->opening.edits[r->t->opening.n++] = vact_blank_before;
    r->t->byte_level = true;
    *add_bos = recipe->add_bos;
    status = vact_recipe_use(recipe, r->t, r->gguf->path, r->err);
    return status == VACT_OK ? read_merges(r) : status;
}

/* ---- "llama" ---- */

static vact_status read_scores(const reader *r)
{
    const vact_gguf_value *scores = NULL;
    const vact_status status = vact_gguf_need(r->gguf, KEY("scores"), VACT_GGUF_ARRAY, VACT_GGUF_F32, &scores, r->err);
    if (status != VACT_OK)
        return status;
    if (scores->count != (uint64_t)r->t->size)
        return refuse(r, VACT_EFORMAT, KEY("scores"), "found %" PRIu64 " elements, expected %d", scores->count,
                      r->t->size);
    float *copy = malloc((size_t)r->t->size * sizeof *copy);
    if (!copy)
        return no_memory(r);
    bool ok = true;
    for (int32_t id = 0; id < r->t->size; id++) {
        copy[id] = (float)vact_gguf_get_float(scores, (uint64_t)id);
        ok &= copy[id] == copy[id]; /* NaN */
    }
    r->t->by_score = true;
    const bool made = ok && vact_merges_from_scores(&r->t->merges, r->t, copy);
    free(copy);
    return made ? VACT_OK : ok ? no_memory(r) : refuse(r, VACT_EFORMAT, KEY("scores"), "found NaN, expected a number");
}

/* A blank is U+2581, and there is one before a text unless the file says otherwise. */
static vact_status read_sentencepiece(const reader *r)
{
    vact_edits *edits = &r->t->normaliser;
    bool space = true;
    vact_status status = read_bool(r, KEY("add_space_prefix"), true, &space);
    if (status == VACT_OK)
        status = read_id(r, KEY("unknown_token_id"), 0, &r->t->unk);
    if (status != VACT_OK)
        return status;
    if (space)
        edits->edits[edits->n++] =
            (vact_edit){ .kind = VACT_EDIT_PREPEND, .content = VACT_BLANK, .length = sizeof VACT_BLANK - 1 };
    edits->edits[edits->n++] = (vact_edit){ .kind = VACT_EDIT_REPLACE,
                                            .pattern = { .source = " ", .length = 1 },
                                            .content = VACT_BLANK,
                                            .length = sizeof VACT_BLANK - 1 };
    r->t->byte_fallback = true;
    r->t->fuse_unk = true;
    return vact_gguf_find(r->gguf, KEY("merges")) ? read_merges(r) : read_scores(r);
}

/* ---- the whole ---- */

static vact_status read_around(const reader *r, bool standard_bos)
{
    bool bos = false, eos = false;
    vact_tokenizer *t = r->t;
    vact_status status = read_bool(r, KEY("add_bos_token"), standard_bos, &bos);
    if (status == VACT_OK)
        status = read_bool(r, KEY("add_eos_token"), false, &eos);
    if (status == VACT_OK && bos)
        status = read_id(r, KEY("bos_token_id"), r->sentencepiece ? 1 : -1, &t->prefix[t->n_prefix++]);
    if (status == VACT_OK && eos)
        status = read_id(r, KEY("eos_token_id"), r->sentencepiece ? 2 : -1, &t->suffix[t->n_suffix++]);
    return status;
}

static vact_status read_all(reader *r)
{
    vact_gguf_text model;
    char shown[80];
    vact_status status = find_text(r, KEY("model"), &model);
    if (status != VACT_OK)
        return status;
    r->sentencepiece = vact_text_is(model.data, model.length, "llama");
    if (!r->sentencepiece && !vact_text_is(model.data, model.length, "gpt2"))
        return refuse(r, VACT_EMODEL, KEY("model"), "\"%s\" is not supported, expected gpt2 or llama",
                      vact_printable(shown, sizeof shown, model.data, model.length));
    bool add_bos = true;
    status = read_pieces(r);
    if (status == VACT_OK)
        status = r->sentencepiece ? read_sentencepiece(r) : read_byte_level(r, &add_bos);
    if (status == VACT_OK) {
        vact_tokenizer_find_bytes(r->t);
        status = read_around(r, add_bos);
    }
    return status;
}

bool vact_tokenizer_in_gguf(const vact_gguf *gguf)
{
    return vact_gguf_find(gguf, KEY("model")) != NULL;
}

vact_status vact_tokenizer_from_gguf(vact_tokenizer **out, const vact_gguf *gguf, vact_error *err)
{
    reader r = { .gguf = gguf, .err = err };
    *out = NULL;
    if (!vact_tokenizer_in_gguf(gguf))
        return vact_fail(err, VACT_EFORMAT,
                         "%s: holds no tokenizer; vact inspect --embed-tokenizer writes a copy that does", gguf->path);
    const vact_status status = read_all(&r);
    if (status != VACT_OK)
        vact_tokenizer_close(&r.t);
    *out = r.t;
    return status;
}
