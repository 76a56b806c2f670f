/* tables and steps -> the tokenizer.ggml.* keys that read back as the same tokenizer
 *
 * Byte-level: the recipe's name, and the merges in their order. SentencePiece: a piece's score is the negative rank of
 * the first merge that makes it, which is what other programs read. Ranks of a tokenizer.json can differ for merges that
 * make the same piece, which no score can say, so there the merges are written too. */
#include "base/error.h"
#include "text/parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static vact_status refuse(const vact_gguf_writer *w, vact_error *err, const char *what)
{
    return vact_fail(err, VACT_EMODEL, "%s: GGUF cannot hold this tokenizer: %s", vact_gguf_writer_path(w), what);
}

static vact_status no_memory(const vact_gguf_writer *w, vact_error *err)
{
    return vact_fail(err, VACT_ENOMEM, "%s: no memory to write a tokenizer", vact_gguf_writer_path(w));
}

/* ---- what a file can say ---- */

static bool is_text(const vact_edit *edit, vact_edit_kind kind, const char *content)
{
    return edit->kind == kind && vact_text_is(edit->content, edit->length, content);
}

static bool is_literal(const vact_pattern *pattern, const char *text)
{
    return !pattern->regex && vact_text_is(pattern->source, pattern->length, text);
}

/* Perhaps a blank before the text, then blanks as U+2581; Gemma's split at blanks, of which none are left. */
static bool has_sentencepiece_steps(const vact_tokenizer *t)
{
    const vact_edit *edits = t->normaliser.edits;
    const size_t n = t->normaliser.n;
    return (n == 1 || (n == 2 && is_text(&edits[0], VACT_EDIT_PREPEND, VACT_BLANK))) &&
           is_text(&edits[n - 1], VACT_EDIT_REPLACE, VACT_BLANK) && is_literal(&edits[n - 1].pattern, " ") &&
           (t->n_splits == 0 || (t->n_splits == 1 && is_literal(&t->splits[0].pattern, " ") && !t->splits[0].invert));
}

/* Byte-level: perhaps a blank before the text. */
static bool has_known_opening(const vact_tokenizer *t)
{
    const vact_edits *opening = &t->opening;
    return opening->n == 0 || (t->byte_level && opening->n == 1 && is_text(&opening->edits[0], VACT_EDIT_PREPEND, " "));
}

/* Every token of an added kind is one, nothing else is, and none has a flag. */
static vact_status check_added(const vact_tokenizer *t, const vact_gguf_writer *w, vact_error *err)
{
    size_t n = 0;
    for (int32_t id = 0; id < t->size; id++)
        n += vact_kind_is_added(t->pieces[id].kind);
    bool flags = t->normalised.n > 0;
    for (size_t i = 0; i < t->n_added; i++)
        flags |= t->added[i].strip_left || t->added[i].strip_right || t->added[i].single_word;
    if (flags)
        return refuse(w, err, "an added token is normalized, lstrip, rstrip or single_word");
    return n == t->n_added ? VACT_OK : refuse(w, err, "its unknown token is not an added token");
}

static vact_status check(const vact_tokenizer *t, const vact_recipe *recipe, const vact_gguf_writer *w, vact_error *err)
{
    if (t->n_prefix > 1 || t->n_suffix > 1)
        return refuse(w, err, "it puts more than one token before or behind a text");
    if (!has_known_opening(t))
        return refuse(w, err, "its pre-tokenizer adds text");
    if (t->byte_level && (!recipe || t->unk >= 0))
        return refuse(w, err,
                      recipe ? "it is byte-level and has an unknown token"
                             : "tokenizer.ggml.pre has no name for its steps");
    if (!t->byte_level && (!has_sentencepiece_steps(t) || t->ignore_merges))
        return refuse(w, err, "its steps are not SentencePiece's");
    if (!t->byte_level && (!t->byte_fallback || !t->fuse_unk || t->unk < 0))
        return refuse(w, err, "it lacks byte_fallback, fuse_unk or an unknown token");
    for (int byte = 0; byte < 256; byte++)
        if (!t->byte_level && t->byte_ids[byte] >= 0 && t->pieces[t->byte_ids[byte]].kind != VACT_PIECE_BYTE)
            return refuse(w, err, "a byte piece is an added token");
    return check_added(t, w, err);
}

/* ---- merges ---- */

static int compare_ranks(const void *a, const void *b)
{
    const vact_merge *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* By rank; the caller frees them. NULL: no memory. */
static vact_merge *sorted_merges(const vact_merges *merges)
{
    vact_merge *sorted = malloc((merges->n + 1) * sizeof *sorted);
    size_t n = 0;
    for (size_t i = 0; sorted && i < merges->room; i++)
        if (merges->slots[i].rank != VACT_NO_RANK)
            sorted[n++] = merges->slots[i];
    if (sorted)
        qsort(sorted, n, sizeof *sorted, compare_ranks);
    return sorted;
}

static vact_status put_scores(const vact_tokenizer *t, const vact_merge *sorted, vact_gguf_writer *w, vact_error *err)
{
    float *scores = calloc((size_t)t->size, sizeof *scores);
    if (!scores)
        return no_memory(w, err);
    for (size_t i = t->merges.n; i-- > 0;)
        scores[sorted[i].result] = -(float)sorted[i].rank;
    const vact_status status = vact_gguf_put_array(w, KEY("scores"), VACT_GGUF_F32, scores, (uint64_t)t->size, err);
    free(scores);
    return status;
}

static vact_status put_merges(const vact_tokenizer *t, const vact_merge *sorted, vact_gguf_writer *w, vact_error *err)
{
    vact_gguf_text *texts = malloc((t->merges.n + 1) * sizeof *texts);
    vact_text all = { 0 };
    size_t bytes = 0;
    for (size_t i = 0; i < t->merges.n; i++)
        bytes += t->pieces[sorted[i].result].length + 1u;
    vact_status status = texts && vact_text_reserve(&all, bytes + 1) ? VACT_OK : no_memory(w, err);
    for (size_t i = 0; i < t->merges.n && status == VACT_OK; i++) {
        const vact_piece *left = &t->pieces[sorted[i].left], *right = &t->pieces[sorted[i].right];
        if (memchr(left->text + 1, ' ', left->length - 1u))
            status = refuse(w, err, "a merge's left piece has a space in it");
        texts[i] = (vact_gguf_text){ all.data + all.length, left->length + 1u + right->length };
        (void)(vact_text_add(&all, left->text, left->length) && vact_text_add(&all, " ", 1) &&
               vact_text_add(&all, right->text, right->length)); /* there is room */
    }
    if (status == VACT_OK)
        status = vact_gguf_put_texts(w, KEY("merges"), texts, t->merges.n, err);
    free(texts);
    free(all.data);
    return status;
}

/* ---- pieces ---- */

/* Ids without a piece are unused ones of a name like [PAD5]. */
static vact_status put_pieces(const vact_tokenizer *t, vact_gguf_writer *w, vact_error *err)
{
    typedef struct name {
        char text[20];
    } name;
    const size_t n = (size_t)t->size;
    vact_gguf_text *texts = malloc(n * sizeof *texts);
    int32_t *kinds = malloc(n * sizeof *kinds);
    name *names = malloc(n * sizeof *names);
    vact_status status = texts && kinds && names ? VACT_OK : no_memory(w, err);
    for (size_t id = 0; id < n && status == VACT_OK; id++) {
        const vact_piece *piece = &t->pieces[id];
        kinds[id] = (int32_t)piece->kind;
        texts[id] = (vact_gguf_text){ piece->text, piece->length };
        if (!piece->text)
            texts[id] = (vact_gguf_text){ names[id].text,
                                          (uint64_t)snprintf(names[id].text, sizeof names[id].text, "[PAD%zu]", id) };
    }
    if (status == VACT_OK)
        status = vact_gguf_put_texts(w, KEY("tokens"), texts, n, err);
    if (status == VACT_OK)
        status = vact_gguf_put_array(w, KEY("token_type"), VACT_GGUF_I32, kinds, n, err);
    free(texts);
    free(kinds);
    free(names);
    return status;
}

static vact_status put_around(const vact_tokenizer *t, vact_gguf_writer *w, vact_error *err)
{
    vact_status status = vact_gguf_put_bool(w, KEY("add_bos_token"), t->n_prefix > 0, err);
    if (status == VACT_OK)
        status = vact_gguf_put_bool(w, KEY("add_eos_token"), t->n_suffix > 0, err);
    if (status == VACT_OK && t->n_prefix > 0)
        status = vact_gguf_put_u32(w, KEY("bos_token_id"), (uint32_t)t->prefix[0], err);
    if (status == VACT_OK && t->n_suffix > 0)
        status = vact_gguf_put_u32(w, KEY("eos_token_id"), (uint32_t)t->suffix[0], err);
    if (status == VACT_OK && t->unk >= 0)
        status = vact_gguf_put_u32(w, KEY("unknown_token_id"), (uint32_t)t->unk, err);
    return status;
}

/* ---- the whole ---- */

vact_status vact_tokenizer_put(const vact_tokenizer *tokenizer, vact_gguf_writer *w, vact_error *err)
{
    const vact_tokenizer *t = tokenizer;
    const vact_recipe *recipe = vact_recipe_of(t);
    vact_status status = check(t, recipe, w, err);
    if (status != VACT_OK)
        return status;
    vact_merge *sorted = sorted_merges(&t->merges);
    if (!sorted)
        return no_memory(w, err);
    status = vact_gguf_put_text(w, KEY("model"), t->byte_level ? "gpt2" : "llama", err);
    if (status == VACT_OK)
        status = vact_gguf_put_text(w, KEY("pre"), t->byte_level ? recipe->pre[0] : "default", err);
    if (status == VACT_OK)
        status = put_pieces(t, w, err);
    if (status == VACT_OK)
        status = t->byte_level ? VACT_OK : put_scores(t, sorted, w, err);
    if (status == VACT_OK && !t->by_score)
        status = put_merges(t, sorted, w, err);
    if (status == VACT_OK)
        status = put_around(t, w, err);
    if (status == VACT_OK)
        status = vact_gguf_put_bool(w, KEY("add_space_prefix"),
                                    t->byte_level ? t->opening.n == 1 : t->normaliser.n == 2, err);
    free(sorted);
    return status;
}
