/* a Hugging Face tokenizer.json -> tables and steps
 *
 * What is read: added_tokens, normalizer, pre_tokenizer, model (BPE), post_processor. A component that is not known
 * here is refused by its name; `decoder` is for the way back and is not looked at. */
#include "base/error.h"
#include "file/line.h"
#include "text/parts.h"
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct reader {
    const char *name; /* of the file */
    vact_tokenizer *t;
    vact_error *err;
} reader;

/* ---- errors and fields ---- */

__attribute__((format(printf, 4, 5))) static vact_status refuse(const reader *r, vact_status code, const char *field,
                                                                const char *format, ...)
{
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return vact_fail(r->err, code, "%s: field %s: %s", r->name, field, why);
}

static vact_status no_memory(const reader *r)
{
    return vact_fail(r->err, VACT_ENOMEM, "%s: no memory for a tokenizer", r->name);
}

/* What a value is, for a message. */
static const char *kind(const json_t *value)
{
    static const char *const names[] = { "an object", "an array", "a string", "an integer",
                                         "a number",  "true",     "false",    "null" };
    return value ? names[json_typeof(value)] : "missing";
}

static vact_status wrong_kind(const reader *r, const char *field, const json_t *value, const char *want)
{
    return refuse(r, VACT_EFORMAT, field, "found %s, expected %s", kind(value), want);
}

/* A text of foreign origin, short enough for a message. */
typedef struct shown {
    char text[80];
} shown;

static const char *show(shown *out, const json_t *value)
{
    return vact_printable(out->text, sizeof out->text, json_string_value(value), json_string_length(value));
}

static bool absent(const json_t *value)
{
    return !value || json_is_null(value);
}

static vact_status read_bool(const reader *r, const json_t *object, const char *where, const char *key, bool *out)
{
    char field[96];
    snprintf(field, sizeof field, "%s.%s", where, key);
    const json_t *value = json_object_get(object, key);
    if (!absent(value) && !json_is_boolean(value))
        return wrong_kind(r, field, value, "true or false");
    if (!absent(value))
        *out = json_is_true(value);
    return VACT_OK;
}

/* A string, as the arena's copy. */
static vact_status read_text(const reader *r, const json_t *object, const char *where, const char *key,
                             const char **out, size_t *length)
{
    char field[96];
    snprintf(field, sizeof field, "%s.%s", where, key);
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return wrong_kind(r, field, value, "a string");
    *length = json_string_length(value);
    *out = vact_arena_text(&r->t->arena, json_string_value(value), *length);
    return *out ? VACT_OK : no_memory(r);
}

/* The component's "type"; NULL, and a status, if it is no component. */
static const char *read_type(const reader *r, const json_t *component, const char *field, vact_status *status)
{
    const json_t *type = json_object_get(component, "type");
    *status = VACT_OK;
    if (!json_is_object(component))
        *status = wrong_kind(r, field, component, "an object with a type");
    else if (!json_is_string(type))
        *status = refuse(r, VACT_EFORMAT, field, "its type is %s, expected a string", kind(type));
    return *status == VACT_OK ? json_string_value(type) : NULL;
}

static vact_status unknown_type(const reader *r, const json_t *component, const char *field)
{
    shown type;
    return refuse(r, VACT_EMODEL, field, "the type %s is not supported",
                  show(&type, json_object_get(component, "type")));
}

typedef vact_status (*component_reader)(const reader *r, const json_t *component);

/* Each of a Sequence's components. */
static vact_status read_each(const reader *r, const json_t *sequence, const char *field, const char *key,
                             component_reader read)
{
    const json_t *array = json_object_get(sequence, key);
    if (!json_is_array(array))
        return refuse(r, VACT_EFORMAT, field, "found %s in a Sequence's %s, expected an array", kind(array), key);
    vact_status status = VACT_OK;
    for (size_t i = 0; i < json_array_size(array) && status == VACT_OK; i++)
        status = read(r, json_array_get(array, i));
    return status;
}

/* {"String": text} or {"Regex": text} */
static vact_status read_pattern(const reader *r, const json_t *object, const char *field, vact_pattern *out)
{
    const json_t *pattern = json_object_get(object, "pattern");
    const bool regex = json_object_get(pattern, "Regex");
    const char *source = NULL;
    size_t length = 0;
    vact_status status = read_text(r, pattern, field, regex ? "Regex" : "String", &source, &length);
    if (status == VACT_OK)
        status = vact_pattern_open(out, r->name, source, length, regex, r->err);
    return status;
}

/* ---- normalizer ---- */

static vact_edit *new_edit(const reader *r, vact_edits *edits, const char *field, vact_edit_kind what,
                           vact_status *status)
{
    if (edits->n == VACT_MAX_STEPS) {
        *status = refuse(r, VACT_EMODEL, field, "more than %d steps", VACT_MAX_STEPS);
        return NULL;
    }
    vact_edit *edit = &edits->edits[edits->n++];
    edit->kind = what;
    return edit;
}

static vact_status read_normalizer(const reader *r, const json_t *component)
{
    static const char *const forms[] = { "NFD", "NFC", "NFKD", "NFKC" };
    static const char field[] = "normalizer";
    vact_status status;
    vact_edits *edits = &r->t->normaliser;
    vact_edit *edit;
    const char *type = read_type(r, component, field, &status);
    if (!type)
        return status;
    if (strcmp(type, "Sequence") == 0)
        return read_each(r, component, field, "normalizers", read_normalizer);
    if (strcmp(type, "Prepend") == 0) {
        edit = new_edit(r, edits, field, VACT_EDIT_PREPEND, &status);
        return edit ? read_text(r, component, field, "prepend", &edit->content, &edit->length) : status;
    }
    if (strcmp(type, "Replace") == 0) {
        edit = new_edit(r, edits, field, VACT_EDIT_REPLACE, &status);
        if (edit)
            status = read_pattern(r, component, field, &edit->pattern);
        return status == VACT_OK ? read_text(r, component, field, "content", &edit->content, &edit->length) : status;
    }
    for (int i = 0; i < 4; i++) {
        if (strcmp(type, forms[i]) != 0)
            continue;
        edit = new_edit(r, edits, field, VACT_EDIT_FORM, &status);
        if (edit) {
            edit->compose = i & 1;
            edit->compatible = i & 2;
        }
        return status;
    }
    return unknown_type(r, component, field);
}

/* ---- pre_tokenizer ---- */

static vact_split *new_split(const reader *r, vact_behavior behavior, vact_status *status)
{
    if (r->t->n_splits == VACT_MAX_STEPS) {
        *status = refuse(r, VACT_EMODEL, "pre_tokenizer", "more than %d steps", VACT_MAX_STEPS);
        return NULL;
    }
    vact_split *split = &r->t->splits[r->t->n_splits++];
    split->behavior = behavior;
    return split;
}

static vact_status add_regex(const reader *r, const char *regex, vact_behavior behavior)
{
    vact_status status = VACT_OK;
    vact_split *split = new_split(r, behavior, &status);
    return split ? vact_pattern_open(&split->pattern, r->name, regex, strlen(regex), true, r->err) : status;
}

static vact_status read_split(const reader *r, const json_t *component)
{
    static const char *const behaviors[] = {
        [VACT_ISOLATED] = "Isolated",
        [VACT_REMOVED] = "Removed",
        [VACT_MERGED_PREV] = "MergedWithPrevious",
        [VACT_MERGED_NEXT] = "MergedWithNext",
        [VACT_CONTIGUOUS] = "Contiguous",
    };
    static const char field[] = "pre_tokenizer";
    const char *name = json_string_value(json_object_get(component, "behavior"));
    size_t i = 0;
    while (name && i < sizeof behaviors / sizeof *behaviors && strcmp(name, behaviors[i]) != 0)
        i++;
    if (!name || i == sizeof behaviors / sizeof *behaviors)
        return refuse(r, VACT_EFORMAT, field,
                      "the behavior of a Split is %s, expected Isolated, Removed, "
                      "MergedWithPrevious, MergedWithNext or Contiguous",
                      name ? "unknown" : "missing");
    vact_status status = VACT_OK;
    vact_split *split = new_split(r, (vact_behavior)i, &status);
    if (split)
        status = read_bool(r, component, field, "invert", &split->invert);
    return status == VACT_OK ? read_pattern(r, component, field, &split->pattern) : status;
}

/* Steps that change the text come before all that split it. */
static vact_status check_first(const reader *r, const char *type)
{
    return r->t->n_splits == 0
               ? VACT_OK
               : refuse(r, VACT_EMODEL, "pre_tokenizer", "%s adds text behind a step that splits", type);
}

static vact_status read_byte_level(const reader *r, const json_t *component)
{
    bool prefix = true, regex = true;
    vact_status status = read_bool(r, component, "pre_tokenizer", "add_prefix_space", &prefix);
    if (status == VACT_OK)
        status = read_bool(r, component, "pre_tokenizer", "use_regex", &regex);
    if (status == VACT_OK && prefix) {
        status = check_first(r, "ByteLevel with add_prefix_space");
        vact_edit *edit =
            status == VACT_OK ? new_edit(r, &r->t->opening, "pre_tokenizer", VACT_EDIT_PREPEND, &status) : NULL;
        if (edit) {
            edit->content = " ";
            edit->length = 1;
            edit->unless_there = true;
        }
    }
    if (status == VACT_OK && regex)
        status = add_regex(r, vact_gpt2_words, VACT_ISOLATED);
    r->t->byte_level = true;
    return status;
}

static vact_status read_scheme(const reader *r, const json_t *component, bool *prepend, bool *only_first)
{
    bool always = true;
    const json_t *scheme = json_object_get(component, "prepend_scheme");
    vact_status status = read_bool(r, component, "pre_tokenizer", "add_prefix_space", &always);
    if (status != VACT_OK)
        return status;
    const char *name = absent(scheme) ? always ? "always" : "never" : json_string_value(scheme);
    if (!name || (strcmp(name, "always") != 0 && strcmp(name, "first") != 0 && strcmp(name, "never") != 0))
        return refuse(r, VACT_EFORMAT, "pre_tokenizer", "prepend_scheme is %s, expected always, first or never",
                      name ? "unknown" : kind(scheme));
    *prepend = strcmp(name, "never") != 0;
    *only_first = strcmp(name, "first") == 0;
    for (size_t i = 0; i < r->t->normaliser.n && *only_first; i++)
        if (r->t->normaliser.edits[i].kind == VACT_EDIT_REPLACE && r->t->normaliser.edits[i].length == 0)
            return refuse(r, VACT_EMODEL, "pre_tokenizer", "prepend_scheme first behind a normalizer that drops text");
    return VACT_OK;
}

static vact_status read_metaspace(const reader *r, const json_t *component)
{
    static const char field[] = "pre_tokenizer";
    bool prepend = false, only_first = false, splits = true;
    const char *mark = NULL;
    size_t length = 0;
    vact_edit *edit = NULL;
    vact_status status = check_first(r, "Metaspace");
    if (status == VACT_OK)
        status = read_text(r, component, field, "replacement", &mark, &length);
    if (status == VACT_OK)
        status = read_scheme(r, component, &prepend, &only_first);
    if (status == VACT_OK)
        status = read_bool(r, component, field, "split", &splits);
    if (status == VACT_OK)
        edit = new_edit(r, &r->t->opening, field, VACT_EDIT_REPLACE, &status);
    if (edit) {
        edit->pattern = (vact_pattern){ .source = " ", .length = 1 };
        edit->content = mark;
        edit->length = length;
    }
    edit = status == VACT_OK && prepend ? new_edit(r, &r->t->opening, field, VACT_EDIT_PREPEND, &status) : NULL;
    if (edit) {
        edit->content = mark;
        edit->length = length;
        edit->unless_there = true;
        edit->only_first = only_first;
    }
    vact_split *split = status == VACT_OK && splits ? new_split(r, VACT_MERGED_NEXT, &status) : NULL;
    if (split)
        split->pattern = (vact_pattern){ .source = mark, .length = length };
    return status;
}

static vact_status read_pre_tokenizer(const reader *r, const json_t *component)
{
    static const char field[] = "pre_tokenizer";
    vact_status status;
    bool single = false;
    const char *type = read_type(r, component, field, &status);
    if (!type)
        return status;
    if (strcmp(type, "Sequence") == 0)
        return read_each(r, component, field, "pretokenizers", read_pre_tokenizer);
    if (r->t->byte_level)
        return refuse(r, VACT_EMODEL, field, "a step behind ByteLevel is not supported");
    if (strcmp(type, "ByteLevel") == 0)
        return read_byte_level(r, component);
    if (strcmp(type, "Split") == 0)
        return read_split(r, component);
    if (strcmp(type, "Metaspace") == 0)
        return read_metaspace(r, component);
    if (strcmp(type, "Digits") != 0)
        return unknown_type(r, component, field);
    status = read_bool(r, component, field, "individual_digits", &single);
    return status == VACT_OK ? add_regex(r, "\\p{N}", single ? VACT_ISOLATED : VACT_CONTIGUOUS) : status;
}

/* ---- model ---- */

static vact_status check_id(const reader *r, const char *field, const json_t *value)
{
    if (!json_is_integer(value))
        return refuse(r, VACT_EFORMAT, field, "an id is %s, expected an integer", kind(value));
    const json_int_t id = json_integer_value(value);
    return id >= 0 && id < VACT_MAX_PIECES ? VACT_OK
                                           : refuse(r, VACT_EFORMAT, field, "found the id %lld, expected 0 to %d",
                                                    (long long)id, VACT_MAX_PIECES - 1);
}

static vact_status check_length(const reader *r, const char *field, size_t length)
{
    return length >= 1 && length <= VACT_MAX_PIECE_BYTES
               ? VACT_OK
               : refuse(r, VACT_EFORMAT, field, "found a piece of %zu bytes, expected 1 to %d", length,
                        VACT_MAX_PIECE_BYTES);
}

/* Checks ids and texts of the vocabulary and the added tokens, and makes room for them. */
static vact_status make_tables(reader *r, const json_t *vocab, const json_t *added)
{
    const char *key;
    json_t *value;
    json_int_t largest = 0;
    uint64_t bytes = 0;
    vact_status status = VACT_OK;
    json_object_foreach((json_t *)(uintptr_t)vocab, key, value)
    {
        status = check_id(r, "model.vocab", value);
        if (status == VACT_OK)
            status = check_length(r, "model.vocab", strlen(key));
        if (status != VACT_OK)
            return status;
        largest = json_integer_value(value) > largest ? json_integer_value(value) : largest;
        bytes += strlen(key);
    }
    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *token = json_array_get(added, i), *content = json_object_get(token, "content");
        value = json_object_get(token, "id");
        status = check_id(r, "added_tokens", value);
        if (status == VACT_OK && !json_is_string(content))
            status = refuse(r, VACT_EFORMAT, "added_tokens", "a content is %s, expected a string", kind(content));
        if (status == VACT_OK)
            status = check_length(r, "added_tokens", json_string_length(content));
        if (status != VACT_OK)
            return status;
        largest = json_integer_value(value) > largest ? json_integer_value(value) : largest;
        bytes += json_string_length(content);
    }
    r->t = vact_tokenizer_new((int32_t)largest + 1, bytes, json_array_size(added));
    return r->t ? VACT_OK : no_memory(r);
}

static vact_status read_vocab(const reader *r, const json_t *vocab)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)vocab, key, value)
    {
        const int32_t id = (int32_t)json_integer_value(value);
        if (r->t->pieces[id].text)
            return refuse(r, VACT_EFORMAT, "model.vocab", "found the id %d twice, expected it once", id);
        vact_tokenizer_add(r->t, id, key, strlen(key), VACT_PIECE_NORMAL, true);
    }
    return VACT_OK;
}

/* "left right" or ["left", "right"]: the parts' ids. */
static bool read_pair(const reader *r, const json_t *merge, int32_t *left, int32_t *right, vact_text *whole)
{
    const json_t *first = json_array_get(merge, 0), *second = json_array_get(merge, 1);
    const char *text = json_string_value(json_is_string(merge) ? merge : first);
    size_t length = json_string_length(json_is_string(merge) ? merge : first);
    const char *rest = json_string_value(second);
    size_t rest_length = json_string_length(second);
    if (json_is_string(merge)) {
        const char *space = memchr(text, ' ', length);
        rest = space ? space + 1 : NULL;
        rest_length = space ? length - (size_t)(rest - text) : 0;
        length = space ? (size_t)(space - text) : 0;
    } else if (json_array_size(merge) != 2) {
        return false;
    }
    if (!text || !rest)
        return false;
    *left = vact_tokenizer_find(r->t, text, length);
    *right = vact_tokenizer_find(r->t, rest, rest_length);
    whole->length = 0;
    return *left >= 0 && *right >= 0 && vact_text_add(whole, text, length) && vact_text_add(whole, rest, rest_length);
}

static vact_status read_merges(const reader *r, const json_t *merges)
{
    char room[2 * VACT_MAX_PIECE_BYTES];
    vact_text whole = { .data = room, .room = sizeof room };
    if (!json_is_array(merges))
        return wrong_kind(r, "model.merges", merges, "an array");
    for (size_t i = 0; i < json_array_size(merges); i++) {
        char field[64];
        int32_t left = -1, right = -1;
        snprintf(field, sizeof field, "model.merges[%zu]", i);
        const json_t *merge = json_array_get(merges, i);
        if (!json_is_string(merge) && !json_is_array(merge))
            return wrong_kind(r, field, merge, "\"left right\" or [left, right]");
        if (!read_pair(r, merge, &left, &right, &whole))
            return refuse(r, VACT_EFORMAT, field, "expected two pieces of model.vocab");
        const int32_t result = vact_tokenizer_find(r->t, whole.data, whole.length);
        if (result < 0)
            return refuse(r, VACT_EFORMAT, field, "what it makes is no piece of model.vocab");
        vact_merge *slot = vact_merges_slot(&r->t->merges, left, right);
        if (!slot)
            return no_memory(r);
        slot->result = result;
        slot->rank = (uint32_t)i; /* the last of two wins, as in the original */
    }
    return VACT_OK;
}

static vact_status read_unk(const reader *r, const json_t *unk)
{
    if (absent(unk))
        return VACT_OK;
    if (!json_is_string(unk))
        return wrong_kind(r, "model.unk_token", unk, "a string or null");
    r->t->unk = vact_tokenizer_find(r->t, json_string_value(unk), json_string_length(unk));
    if (r->t->unk < 0)
        return refuse(r, VACT_EFORMAT, "model.unk_token", "is no piece of model.vocab");
    r->t->pieces[r->t->unk].kind = VACT_PIECE_UNKNOWN;
    return VACT_OK;
}

/* Options that would change ids and are not implemented must be off. */
static vact_status check_off(const reader *r, const json_t *model)
{
    static const char *const keys[] = { "dropout", "continuing_subword_prefix", "end_of_word_suffix" };
    for (int i = 0; i < 3; i++) {
        char field[64];
        snprintf(field, sizeof field, "model.%s", keys[i]);
        const json_t *value = json_object_get(model, keys[i]);
        const bool off = absent(value) || (json_is_string(value) && json_string_length(value) == 0) ||
                         (i == 0 && json_is_number(value) && json_number_value(value) <= 0);
        if (!off)
            return refuse(r, VACT_EMODEL, field, "found %s, expected null", kind(value));
    }
    return VACT_OK;
}

static vact_status read_model(reader *r, const json_t *model, const json_t *added)
{
    const json_t *type = json_object_get(model, "type"), *vocab = json_object_get(model, "vocab");
    if (!json_is_object(model))
        return wrong_kind(r, "model", model, "an object");
    if (!json_is_string(type))
        return wrong_kind(r, "model.type", type, "\"BPE\"");
    if (strcmp(json_string_value(type), "BPE") != 0)
        return unknown_type(r, model, "model");
    if (!json_is_object(vocab))
        return wrong_kind(r, "model.vocab", vocab, "an object");
    vact_status status = make_tables(r, vocab, added);
    if (status == VACT_OK)
        status = check_off(r, model);
    if (status == VACT_OK)
        status = read_bool(r, model, "model", "byte_fallback", &r->t->byte_fallback);
    if (status == VACT_OK)
        status = read_bool(r, model, "model", "fuse_unk", &r->t->fuse_unk);
    if (status == VACT_OK)
        status = read_bool(r, model, "model", "ignore_merges", &r->t->ignore_merges);
    if (status == VACT_OK)
        status = read_vocab(r, vocab);
    if (status == VACT_OK)
        status = read_unk(r, json_object_get(model, "unk_token"));
    return status == VACT_OK ? read_merges(r, json_object_get(model, "merges")) : status;
}

/* ---- post_processor ---- */

/* The ids that the template's special_tokens give for a name. */
static vact_status read_special(const reader *r, const json_t *template, const json_t *item, int32_t *ids, size_t *n)
{
    static const char field[] = "post_processor";
    const char *name = json_string_value(json_object_get(item, "id"));
    const json_t *special = name ? json_object_get(json_object_get(template, "special_tokens"), name) : NULL;
    const json_t *array = json_object_get(special, "ids");
    if (!json_is_array(array))
        return refuse(r, VACT_EFORMAT, field, "a SpecialToken of the template has no ids in special_tokens");
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *id = json_array_get(array, i);
        const vact_status status = check_id(r, field, id);
        if (status != VACT_OK)
            return status;
        if (*n == VACT_MAX_AROUND)
            return refuse(r, VACT_EMODEL, field, "more than %d tokens on a side", VACT_MAX_AROUND);
        ids[(*n)++] = (int32_t)json_integer_value(id);
        if (json_integer_value(id) >= r->t->size || !r->t->pieces[json_integer_value(id)].text)
            return refuse(r, VACT_EFORMAT, field, "the id %d is no token's", ids[*n - 1]);
    }
    return VACT_OK;
}

static vact_status read_template(const reader *r, const json_t *component)
{
    static const char field[] = "post_processor";
    const json_t *single = json_object_get(component, "single");
    if (!json_is_array(single))
        return refuse(r, VACT_EFORMAT, field, "the template's single is %s, expected an array", kind(single));
    if (r->t->n_prefix + r->t->n_suffix > 0)
        return refuse(r, VACT_EMODEL, field, "more than one TemplateProcessing");
    bool behind = false;
    vact_status status = VACT_OK;
    for (size_t i = 0; i < json_array_size(single) && status == VACT_OK; i++) {
        const json_t *item = json_array_get(single, i), *special = json_object_get(item, "SpecialToken");
        const char *sequence = json_string_value(json_object_get(json_object_get(item, "Sequence"), "id"));
        if (special && behind)
            status = read_special(r, component, special, r->t->suffix, &r->t->n_suffix);
        else if (special)
            status = read_special(r, component, special, r->t->prefix, &r->t->n_prefix);
        else if (!sequence || strcmp(sequence, "A") != 0 || behind)
            status = refuse(r, VACT_EFORMAT, field,
                            "the template's single has something beside SpecialToken and one "
                            "Sequence A");
        else
            behind = true;
    }
    if (status == VACT_OK && !behind)
        status = refuse(r, VACT_EFORMAT, field, "the template's single has no Sequence A");
    return status;
}

static vact_status read_post_processor(const reader *r, const json_t *component)
{
    static const char field[] = "post_processor";
    vact_status status;
    const char *type = read_type(r, component, field, &status);
    if (!type)
        return status;
    if (strcmp(type, "Sequence") == 0)
        return read_each(r, component, field, "processors", read_post_processor);
    if (strcmp(type, "ByteLevel") == 0)
        return VACT_OK; /* about offsets only */
    return strcmp(type, "TemplateProcessing") == 0 ? read_template(r, component) : unknown_type(r, component, field);
}

/* ---- added_tokens ---- */

/* An added token is looked for as the normaliser leaves it, if it is `normalized`. */
static vact_status put_added(const reader *r, vact_encoder *e, uint32_t index, bool normalized)
{
    const vact_piece *piece = &r->t->pieces[r->t->added[index].id];
    const char *text = piece->text;
    size_t length = piece->length;
    bool there = false;
    vact_status status = normalized ? vact_encoder_normalise(e, &text, &length) : VACT_OK;
    if (status == VACT_EMODEL)
        return refuse(r, status, "added_tokens", "the normalizer's pattern gives up on one");
    if (status == VACT_OK && length > 0 &&
        !vact_trie_put(normalized ? &r->t->normalised : &r->t->raw, text, length, index, &there))
        status = VACT_ENOMEM;
    if (status != VACT_OK)
        return no_memory(r);
    shown token;
    return there ? refuse(r, VACT_EFORMAT, "added_tokens", "found %s twice, expected it once",
                          vact_printable(token.text, sizeof token.text, piece->text, piece->length))
                 : VACT_OK;
}

static vact_status read_added_token(const reader *r, vact_encoder *e, const json_t *token)
{
    static const char field[] = "added_tokens";
    const json_t *content = json_object_get(token, "content");
    const char *text = json_string_value(content);
    const size_t length = json_string_length(content);
    const int32_t id = (int32_t)json_integer_value(json_object_get(token, "id"));
    vact_added *added = &r->t->added[r->t->n_added];
    bool special = false, normalized = true;
    vact_status status = read_bool(r, token, field, "special", &special);
    if (status == VACT_OK)
        status = read_bool(r, token, field, "normalized", &normalized);
    if (status == VACT_OK)
        status = read_bool(r, token, field, "lstrip", &added->strip_left);
    if (status == VACT_OK)
        status = read_bool(r, token, field, "rstrip", &added->strip_right);
    if (status == VACT_OK)
        status = read_bool(r, token, field, "single_word", &added->single_word);
    if (status != VACT_OK)
        return status;
    vact_piece *piece = &r->t->pieces[id];
    const int32_t known = vact_tokenizer_find(r->t, text, length);
    shown shown_text;
    if ((known >= 0 && known != id) || (known < 0 && piece->text))
        return refuse(r, VACT_EFORMAT, field, "%s has the id %d, and model.vocab says otherwise",
                      show(&shown_text, content), id);
    if (known < 0)
        vact_tokenizer_add(r->t, id, text, length, VACT_PIECE_USER, false);
    if (piece->kind != VACT_PIECE_UNKNOWN)
        piece->kind = special ? VACT_PIECE_CONTROL : VACT_PIECE_USER;
    added->id = id;
    return put_added(r, e, (uint32_t)r->t->n_added++, normalized);
}

static vact_status read_added(const reader *r, const json_t *added)
{
    vact_encoder *e = NULL;
    vact_status status = vact_encoder_open(&e, r->t, 0, r->err);
    for (size_t i = 0; i < json_array_size(added) && status == VACT_OK; i++)
        status = read_added_token(r, e, json_array_get(added, i));
    vact_encoder_close(&e);
    return status;
}

/* ---- the whole ---- */

static vact_status read_component(const reader *r, const json_t *root, const char *key, component_reader read)
{
    const json_t *component = json_object_get(root, key);
    return absent(component) ? VACT_OK : read(r, component);
}

static void mark_byte_pieces(vact_tokenizer *t)
{
    vact_tokenizer_find_bytes(t);
    for (int byte = 0; byte < 256; byte++)
        if (!t->byte_level && t->byte_ids[byte] >= 0)
            t->pieces[t->byte_ids[byte]].kind = VACT_PIECE_BYTE;
}

static vact_status read_all(reader *r, const json_t *root)
{
    const json_t *added = json_object_get(root, "added_tokens");
    if (!json_is_object(root))
        return vact_fail(r->err, VACT_EFORMAT, "%s: the document is %s, expected an object", r->name, kind(root));
    if (!absent(added) && !json_is_array(added))
        return wrong_kind(r, "added_tokens", added, "an array");
    for (int i = 0; i < 2; i++) {
        const char *key = i == 0 ? "truncation" : "padding";
        if (!absent(json_object_get(root, key)))
            return refuse(r, VACT_EMODEL, key, "found %s, expected null", kind(json_object_get(root, key)));
    }
    vact_status status = read_model(r, json_object_get(root, "model"), added);
    if (status == VACT_OK)
        status = read_component(r, root, "normalizer", read_normalizer);
    if (status == VACT_OK)
        status = read_component(r, root, "pre_tokenizer", read_pre_tokenizer);
    if (status == VACT_OK && r->t->byte_level && r->t->byte_fallback)
        status = refuse(r, VACT_EMODEL, "model.byte_fallback", "is true, expected false with ByteLevel");
    if (status == VACT_OK) {
        mark_byte_pieces(r->t);
        status = read_added(r, added);
    }
    return status == VACT_OK ? read_component(r, root, "post_processor", read_post_processor) : status;
}

vact_status vact_tokenizer_from_json(vact_tokenizer **out, const char *name, const char *text, size_t length,
                                     vact_error *err)
{
    reader r = { .name = name, .err = err };
    json_error_t where;
    *out = NULL;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
    if (!root && !where.text[0]) /* the parser has a word for everything but this */
        return no_memory(&r);
    if (!root)
        return vact_fail(err, VACT_EFORMAT, "%s: not JSON at line %d, column %d: %s", name, where.line, where.column,
                         where.text);
    const vact_status status = read_all(&r, root);
    json_decref(root);
    if (status != VACT_OK)
        vact_tokenizer_close(&r.t);
    *out = r.t;
    return status;
}
