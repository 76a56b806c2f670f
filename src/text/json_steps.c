/* normalizer, pre_tokenizer and post_processor of a tokenizer.json -> steps */
#include "text/json_fields.h"
#include <string.h>

typedef vact_status (*component_reader)(const vact_field_reader *r, const json_t *component);

/* Each of a Sequence's components. */
static vact_status read_each(const vact_field_reader *r, const json_t *sequence, const char *field, const char *key,
                             component_reader read)
{
    const json_t *array = json_object_get(sequence, key);
    if (!json_is_array(array))
        return vact_field_refuse(r, VACT_EFORMAT, field, "found %s in a Sequence's %s, expected an array",
                                 vact_json_kind(array), key);
    vact_status status = VACT_OK;
    for (size_t i = 0; i < json_array_size(array) && status == VACT_OK; i++)
        status = read(r, json_array_get(array, i));
    return status;
}

/* {"String": text} or {"Regex": text} */
static vact_status read_pattern(const vact_field_reader *r, const json_t *object, const char *field, vact_pattern *out)
{
    const json_t *pattern = json_object_get(object, "pattern");
    const bool regex = json_object_get(pattern, "Regex");
    const char *source = NULL;
    size_t length = 0;
    vact_status status = vact_field_text(r, pattern, field, regex ? "Regex" : "String", &source, &length);
    if (status == VACT_OK)
        status = vact_pattern_open(out, r->name, source, length, regex, r->err);
    return status;
}

/* ---- normalizer ---- */

static vact_edit *new_edit(const vact_field_reader *r, vact_edits *edits, const char *field, vact_edit_kind what,
                           vact_status *status)
{
    if (edits->n == VACT_MAX_STEPS) {
        *status = vact_field_refuse(r, VACT_EMODEL, field, "more than %d steps", VACT_MAX_STEPS);
        return NULL;
    }
    vact_edit *edit = &edits->edits[edits->n++];
    edit->kind = what;
    return edit;
}

vact_status vact_read_normalizer(const vact_field_reader *r, const json_t *component)
{
    static const char *const forms[] = { "NFD", "NFC", "NFKD", "NFKC" };
    static const char field[] = "normalizer";
    vact_status status;
    vact_edits *edits = &r->t->normaliser;
    vact_edit *edit;
    const char *type = vact_field_type(r, component, field, &status);
    if (!type)
        return status;
    if (strcmp(type, "Sequence") == 0)
        return read_each(r, component, field, "normalizers", vact_read_normalizer);
    if (strcmp(type, "Prepend") == 0) {
        edit = new_edit(r, edits, field, VACT_EDIT_PREPEND, &status);
        return edit ? vact_field_text(r, component, field, "prepend", &edit->content, &edit->length) : status;
    }
    if (strcmp(type, "Replace") == 0) {
        edit = new_edit(r, edits, field, VACT_EDIT_REPLACE, &status);
        if (edit)
            status = read_pattern(r, component, field, &edit->pattern);
        return status == VACT_OK ? vact_field_text(r, component, field, "content", &edit->content, &edit->length)
                                 : status;
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
    return vact_field_unknown_type(r, component, field);
}

/* ---- pre_tokenizer ---- */

static vact_split *new_split(const vact_field_reader *r, vact_behavior behavior, vact_status *status)
{
    if (r->t->n_splits == VACT_MAX_STEPS) {
        *status = vact_field_refuse(r, VACT_EMODEL, "pre_tokenizer", "more than %d steps", VACT_MAX_STEPS);
        return NULL;
    }
    vact_split *split = &r->t->splits[r->t->n_splits++];
    split->behavior = behavior;
    return split;
}

static vact_status add_regex(const vact_field_reader *r, const char *regex, vact_behavior behavior)
{
    vact_status status = VACT_OK;
    vact_split *split = new_split(r, behavior, &status);
    return split ? vact_pattern_open(&split->pattern, r->name, regex, strlen(regex), true, r->err) : status;
}

static vact_status read_split(const vact_field_reader *r, const json_t *component)
{
    static const char *const behaviors[] = {
        [VACT_ISOLATED] = "Isolated",
        [VACT_REMOVED] = "Removed",
        [VACT_MERGED_PREV] = "MergedWithPrevious",
        [VACT_MERGED_NEXT] = "MergedWithNext",
        [VACT_CONTIGUOUS] = "Contiguous",
    };
    static const char field[] = "pre_tokenizer";
    const json_t *value = json_object_get(component, "behavior");
    const char *name = json_string_value(value);
    char shown[80];
    size_t i = 0;
    while (name && i < sizeof behaviors / sizeof *behaviors && strcmp(name, behaviors[i]) != 0)
        i++;
    if (!name || i == sizeof behaviors / sizeof *behaviors)
        return vact_field_refuse(r, VACT_EFORMAT, field,
                                 "the behavior of a Split is %s, expected Isolated, Removed, "
                                 "MergedWithPrevious, MergedWithNext or Contiguous",
                                 vact_field_show(shown, value));
    vact_status status = VACT_OK;
    vact_split *split = new_split(r, (vact_behavior)i, &status);
    if (split)
        status = vact_field_bool(r, component, field, "invert", &split->invert);
    return status == VACT_OK ? read_pattern(r, component, field, &split->pattern) : status;
}

/* Steps that change the text come before all that split it. */
static vact_status check_first(const vact_field_reader *r, const char *type)
{
    return r->t->n_splits == 0
               ? VACT_OK
               : vact_field_refuse(r, VACT_EMODEL, "pre_tokenizer", "%s adds text behind a step that splits", type);
}

static vact_status read_byte_level(const vact_field_reader *r, const json_t *component)
{
    bool prefix = true, regex = true;
    vact_status status = vact_field_bool(r, component, "pre_tokenizer", "add_prefix_space", &prefix);
    if (status == VACT_OK)
        status = vact_field_bool(r, component, "pre_tokenizer", "use_regex", &regex);
    if (status == VACT_OK && prefix) {
        status = check_first(r, "ByteLevel with add_prefix_space");
        vact_edit *edit =
            status == VACT_OK ? new_edit(r, &r->t->opening, "pre_tokenizer", VACT_EDIT_PREPEND, &status) : NULL;
        if (edit)
            *edit = vact_blank_before;
    }
    if (status == VACT_OK && regex)
        status = add_regex(r, vact_gpt2_words, VACT_ISOLATED);
    r->t->byte_level = true;
    return status;
}

static vact_status read_scheme(const vact_field_reader *r, const json_t *component, bool *prepend, bool *only_first)
{
    bool always = true;
    char shown[80];
    const json_t *scheme = json_object_get(component, "prepend_scheme");
    vact_status status = vact_field_bool(r, component, "pre_tokenizer", "add_prefix_space", &always);
    if (status != VACT_OK)
        return status;
    const char *name = vact_field_absent(scheme) ? always ? "always" : "never" : json_string_value(scheme);
    if (!name || (strcmp(name, "always") != 0 && strcmp(name, "first") != 0 && strcmp(name, "never") != 0))
        return vact_field_refuse(r, VACT_EFORMAT, "pre_tokenizer",
                                 "prepend_scheme is %s, expected always, first or never",
                                 vact_field_show(shown, scheme));
    *prepend = strcmp(name, "never") != 0;
    *only_first = strcmp(name, "first") == 0;
    for (size_t i = 0; i < r->t->normaliser.n && *only_first; i++)
        if (r->t->normaliser.edits[i].kind == VACT_EDIT_REPLACE && r->t->normaliser.edits[i].length == 0)
            return vact_field_refuse(r, VACT_EMODEL, "pre_tokenizer",
                                     "prepend_scheme first behind a normalizer that drops text");
    return VACT_OK;
}

static vact_status read_metaspace(const vact_field_reader *r, const json_t *component)
{
    static const char field[] = "pre_tokenizer";
    bool prepend = false, only_first = false, splits = true;
    const char *mark = NULL;
    size_t length = 0;
    vact_edit *edit = NULL;
    vact_status status = check_first(r, "Metaspace");
    if (status == VACT_OK)
        status = vact_field_text(r, component, field, "replacement", &mark, &length);
    if (status == VACT_OK)
        status = read_scheme(r, component, &prepend, &only_first);
    if (status == VACT_OK)
        status = vact_field_bool(r, component, field, "split", &splits);
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

vact_status vact_read_pre_tokenizer(const vact_field_reader *r, const json_t *component)
{
    static const char field[] = "pre_tokenizer";
    vact_status status;
    bool single = false;
    const char *type = vact_field_type(r, component, field, &status);
    if (!type)
        return status;
    if (strcmp(type, "Sequence") == 0)
        return read_each(r, component, field, "pretokenizers", vact_read_pre_tokenizer);
    if (r->t->byte_level)
        return vact_field_refuse(r, VACT_EMODEL, field, "a step behind ByteLevel is not supported");
    if (strcmp(type, "ByteLevel") == 0)
        return read_byte_level(r, component);
    if (strcmp(type, "Split") == 0)
        return read_split(r, component);
    if (strcmp(type, "Metaspace") == 0)
        return read_metaspace(r, component);
    if (strcmp(type, "Digits") != 0)
        return vact_field_unknown_type(r, component, field);
    status = vact_field_bool(r, component, field, "individual_digits", &single);
    return status == VACT_OK ? add_regex(r, "\\p{N}", single ? VACT_ISOLATED : VACT_CONTIGUOUS) : status;
}

/* ---- post_processor ---- */

/* The ids that the template's special_tokens give for a name. */
static vact_status read_special(const vact_field_reader *r, const json_t *template, const json_t *item, int32_t *ids,
                                size_t *n)
{
    static const char field[] = "post_processor";
    const char *name = json_string_value(json_object_get(item, "id"));
    const json_t *special = name ? json_object_get(json_object_get(template, "special_tokens"), name) : NULL;
    const json_t *array = json_object_get(special, "ids");
    if (!json_is_array(array))
        return vact_field_refuse(r, VACT_EFORMAT, field, "a SpecialToken of the template has no ids in special_tokens");
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *id = json_array_get(array, i);
        const vact_status status = vact_field_check_id(r, field, id);
        if (status != VACT_OK)
            return status;
        if (*n == VACT_MAX_AROUND)
            return vact_field_refuse(r, VACT_EMODEL, field, "more than %d tokens on a side", VACT_MAX_AROUND);
        ids[(*n)++] = (int32_t)json_integer_value(id);
        if (json_integer_value(id) >= r->t->size || !r->t->pieces[json_integer_value(id)].text)
            return vact_field_refuse(r, VACT_EFORMAT, field, "the id %d is no token's", ids[*n - 1]);
    }
    return VACT_OK;
}

static vact_status read_template(const vact_field_reader *r, const json_t *component)
{
    static const char field[] = "post_processor";
    const json_t *single = json_object_get(component, "single");
    if (!json_is_array(single))
        return vact_field_refuse(r, VACT_EFORMAT, field, "the template's single is %s, expected an array",
                                 vact_json_kind(single));
    if (r->t->n_prefix + r->t->n_suffix > 0)
        return vact_field_refuse(r, VACT_EMODEL, field, "more than one TemplateProcessing");
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
            status = vact_field_refuse(r, VACT_EFORMAT, field,
                                       "the template's single has something beside SpecialToken and one "
                                       "Sequence A");
        else
            behind = true;
    }
    if (status == VACT_OK && !behind)
        status = vact_field_refuse(r, VACT_EFORMAT, field, "the template's single has no Sequence A");
    return status;
}

vact_status vact_read_post_processor(const vact_field_reader *r, const json_t *component)
{
    static const char field[] = "post_processor";
    vact_status status;
    const char *type = vact_field_type(r, component, field, &status);
    if (!type)
        return status;
    if (strcmp(type, "Sequence") == 0)
        return read_each(r, component, field, "processors", vact_read_post_processor);
    if (strcmp(type, "ByteLevel") == 0)
        return VACT_OK; /* about offsets only */
    return strcmp(type, "TemplateProcessing") == 0 ? read_template(r, component)
                                                   : vact_field_unknown_type(r, component, field);
}
