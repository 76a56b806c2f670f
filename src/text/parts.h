/* What a tokenizer is made of, for the files of this folder.
 *
 *   from_gguf.c               tokenizer.ggml.* keys -> tables and steps
 *   from_json.c, json*.c      tokenizer.json -> the same
 *   tokenizer.c               the tables: pieces by id and by text, merges by pair
 *   added.c                   added tokens: a trie
 *   edits.c                   steps that change a text: normal forms, replacing, prepending
 *   patterns.c                what steps look for: literal texts and regular expressions
 *   recipes.c                 the steps that a name in tokenizer.ggml.pre stands for
 *   encode.c                  a text through all of it
 *   put.c                     tables and steps -> tokenizer.ggml.* keys */
#ifndef VACT_TEXT_PARTS_H
#define VACT_TEXT_PARTS_H

#include "base/arena.h"
#include "base/grow.h"
#include "text/tokenizer.h"
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
    VACT_MAX_PIECES = 1 << 21,   /* largest id + 1 */
    VACT_MAX_PIECE_BYTES = 1024, /* keeps every search that starts anew at each byte linear */
    VACT_MAX_STEPS = 8,          /* of a kind */
    VACT_MAX_AROUND = 4,         /* special tokens before, and after, every text */
    VACT_SLACK = 64              /* bytes or symbols that steps put around an ordinary text */
};

#define KEY(name) "tokenizer.ggml." name

/* U+2581, which stands for a blank in SentencePiece vocabularies. */
#define VACT_BLANK "\xE2\x96\x81"

/* ---- texts ---- */

typedef struct vact_text {
    char *data;
    size_t length, room;
} vact_text;

bool vact_text_reserve(vact_text *text, size_t bytes);
bool vact_text_add(vact_text *text, const char *data, size_t length);

static inline bool vact_text_is(const char *data, size_t length, const char *literal)
{
    return length == strlen(literal) && memcmp(data, literal, length) == 0;
}

/* ---- patterns ---- */

typedef struct vact_pattern {
    const char *source; /* as the file has it */
    size_t length;
    pcre2_code *regex; /* NULL: `source` is searched for as it stands */
} vact_pattern;

/* One thread's working memory for regular expressions. */
typedef struct vact_matcher {
    pcre2_match_context *context;
    pcre2_match_data *data;
    pcre2_jit_stack *stack;
} vact_matcher;

typedef enum vact_found { VACT_FOUND_NOTHING, VACT_FOUND_MATCH, VACT_FOUND_TROUBLE } vact_found;

/* `source` must outlive the pattern. EMODEL: it needs what this engine lacks or reads differently; `name` stands
 * for the file. */
vact_status vact_pattern_open(vact_pattern *out, const char *name, const char *source, size_t length, bool regex,
                              vact_error *err);
void vact_pattern_close(vact_pattern *pattern);
bool vact_matcher_open(vact_matcher *out);
void vact_matcher_close(vact_matcher *matcher);

/* All matches in a text, from left to right. */
typedef struct vact_search {
    const vact_pattern *pattern;
    const vact_matcher *matcher;
    const char *text;
    size_t length;
    size_t begin, end; /* of the last match */
    bool matched;      /* there was one */
} vact_search;

/* TROUBLE: the engine gave up. An empty match right behind another match doesn't count. */
vact_found vact_search_next(vact_search *search);

/* ---- steps ---- */

typedef enum vact_edit_kind { VACT_EDIT_FORM, VACT_EDIT_REPLACE, VACT_EDIT_PREPEND } vact_edit_kind;

typedef struct vact_edit {
    vact_edit_kind kind;
    bool compose, compatible; /* FORM: NFC has the first, NFKD the second, NFKC both, NFD none */
    vact_pattern pattern;     /* REPLACE */
    const char *content;      /* REPLACE, PREPEND */
    size_t length;
    bool unless_there; /* PREPEND: not before a text that begins with it */
    bool only_first;   /* PREPEND: only where the whole text begins */
} vact_edit;

/* What becomes of the matches, and of what lies between them. */
typedef enum vact_behavior {
    VACT_ISOLATED,    /* each is a word */
    VACT_REMOVED,     /* matches are dropped */
    VACT_MERGED_PREV, /* a match ends the word before it */
    VACT_MERGED_NEXT, /* a match begins the word after it */
    VACT_CONTIGUOUS   /* adjacent matches are one word */
} vact_behavior;

typedef struct vact_split {
    vact_pattern pattern;
    vact_behavior behavior;
    bool invert; /* what doesn't match counts as match */
} vact_split;

typedef struct vact_edits {
    vact_edit edits[VACT_MAX_STEPS];
    size_t n;
} vact_edits;

/* Working memory of a list of edits. */
typedef struct vact_editor {
    vact_text texts[2];
    int32_t *codes, *scratch; /* code points */
    size_t codes_room, scratch_room;
} vact_editor;

void vact_edits_close(vact_edits *edits);
/* For ordinary texts of so many bytes. */
bool vact_editor_reserve(vact_editor *editor, const vact_edits *edits, size_t bytes);
void vact_editor_close(vact_editor *editor);
/* *text [*length] is replaced by what the edits make of it, in the editor's memory. ENOMEM or EINPUT, no message. */
vact_status vact_edits_apply(const vact_edits *edits, vact_editor *editor, const vact_matcher *matcher, bool first,
                             const char **text, size_t *length);

/* ---- tables ---- */

/* As tokenizer.ggml.token_type numbers them. */
typedef enum vact_piece_kind {
    VACT_PIECE_NORMAL = 1,
    VACT_PIECE_UNKNOWN,
    VACT_PIECE_CONTROL,
    VACT_PIECE_USER,
    VACT_PIECE_UNUSED,
    VACT_PIECE_BYTE
} vact_piece_kind;

/* The kinds that are looked for in a text before anything else: control tokens and unknown ones too, as a special token
 * that is spelled out in a text is always read as such. */
static inline bool vact_kind_is_added(int64_t kind)
{
    return kind == VACT_PIECE_CONTROL || kind == VACT_PIECE_USER || kind == VACT_PIECE_UNKNOWN;
}

typedef struct vact_piece {
    const char *text; /* NULL: an id without a piece */
    uint32_t length;
    vact_piece_kind kind;
} vact_piece;

typedef struct vact_merge {
    int32_t left, right, result;
    uint32_t rank; /* the lowest is merged first; VACT_NO_RANK marks a free slot */
} vact_merge;

#define VACT_NO_RANK UINT32_MAX

typedef struct vact_merges {
    vact_merge *slots; /* [room], a power of two; by pair */
    size_t n, room;
} vact_merges;

/* NULL: no such pair. */
const vact_merge *vact_merges_find(const vact_merges *merges, int32_t left, int32_t right);
void vact_merges_close(vact_merges *merges);

typedef struct vact_added {
    int32_t id;
    bool strip_left, strip_right; /* takes the white space beside it along */
    bool single_word;             /* not inside a word */
} vact_added;

typedef struct vact_trie {
    struct vact_trie_node *nodes; /* the first is the root */
    size_t n, room;
    uint32_t first[256]; /* the root's children by byte; 0: none */
} vact_trie;

/* Puts `added` (an index) under a text that isn't empty. *there: whose it is, if it was there before. False: no
 * memory. */
bool vact_trie_put(vact_trie *trie, const char *text, size_t length, uint32_t added, bool *there);
/* The longest text of the trie that begins at `at`: its index and length; false when there is none. */
bool vact_trie_match(const vact_trie *trie, const char *text, size_t length, size_t at, uint32_t *added, size_t *n);
void vact_trie_close(vact_trie *trie);

struct vact_tokenizer {
    vact_arena arena; /* pieces, their texts, sources of patterns */
    vact_piece *pieces;
    int32_t size;
    char *texts;      /* where the next piece's text goes */
    int32_t *by_text; /* [by_text_room] id + 1 of what merging can give or meet, a hash; 0: free */
    size_t by_text_room;
    vact_merges merges;

    vact_added *added;
    size_t n_added;
    vact_trie raw;        /* added tokens that are looked for before the normaliser */
    vact_trie normalised; /* and behind it */

    vact_edits normaliser;
    vact_edits opening; /* of a pre-tokenizer: before it splits */
    vact_split splits[VACT_MAX_STEPS];
    size_t n_splits;

    bool byte_level;       /* a word's symbols are its bytes, else its characters */
    bool byte_fallback;    /* characters without a piece become byte pieces */
    bool fuse_unk;         /* adjacent unknown characters are one token */
    bool ignore_merges;    /* a word that is a piece is taken whole */
    bool by_score;         /* merges come from scores: those that make the same piece rank alike */
    int32_t unk;           /* -1: unknown characters vanish */
    int32_t byte_ids[256]; /* pieces of bytes (byte_level, byte_fallback) or -1 */

    int32_t prefix[VACT_MAX_AROUND], suffix[VACT_MAX_AROUND]; /* special tokens around a text */
    size_t n_prefix, n_suffix;
};

/* Without pieces yet. Counts must have been checked. NULL: no memory. */
vact_tokenizer *vact_tokenizer_new(int32_t size, uint64_t text_bytes, uint64_t n_added);
/* The id must be free. With `model` merging can give or meet the piece; its text must be new among those. */
void vact_tokenizer_add(vact_tokenizer *t, int32_t id, const char *text, size_t length, vact_piece_kind kind,
                        bool model);
/* Among those of the model; -1: there is none. */
int32_t vact_tokenizer_find(const vact_tokenizer *t, const char *text, size_t length);
/* For characters that stand for bytes in byte-level vocabularies: writes 1 or 2 bytes. */
size_t vact_byte_char(uint8_t byte, char *out);
/* Fills byte_ids. */
void vact_tokenizer_find_bytes(vact_tokenizer *t);
/* A listed pair's slot, whose rank is the caller's to set. NULL: one of the two is no piece, or what they make, which
 * *why says ("is \"a b\", expected two pieces"); or, and *why is empty, no memory. */
vact_merge *vact_merges_add(vact_tokenizer *t, vact_gguf_text left, vact_gguf_text right, char why[128]);
/* A score per id -> merges: every split of a piece into two, ranked by the piece's score. False: no memory. */
bool vact_merges_from_scores(vact_merges *out, const vact_tokenizer *t, const float *scores);

/* What the normaliser makes of a text, in the encoder's memory. ENOMEM or EINPUT, no message. */
vact_status vact_encoder_normalise(vact_encoder *encoder, const char **text, size_t *length);

/* ---- recipes ---- */

typedef struct vact_recipe {
    const char *pre[3]; /* tokenizer.ggml.pre; the first is written */
    bool nfc, ignore_merges, add_bos;
    const char *splits[4]; /* regular expressions of isolated words, one after the other */
} vact_recipe;

extern const char vact_gpt2_words[];      /* the pattern of ByteLevel */
extern const vact_edit vact_blank_before; /* its add_prefix_space */

const vact_recipe *vact_recipe_find(const char *pre, size_t length); /* NULL: unknown */
const vact_recipe *vact_recipe_of(const vact_tokenizer *t);          /* NULL: none does what it does */
vact_status vact_recipe_use(const vact_recipe *recipe, vact_tokenizer *t, const char *name, vact_error *err);

#endif
