/* a Hugging Face tokenizer.json -> tables and steps
 *
 * What is read: added_tokens, normalizer, pre_tokenizer, model (BPE), post_processor. A component that is not known
 * here is refused by its name; `decoder` is for the way back and is not looked at. */
#include "base/error.h"
#include "file/line.h"
#include "text/json_fields.h"
#include <stdio.h>
#include <string.h>

enum { MOST_VALUES = 1 << 23 }; /* Gemma's, among the largest, has two million */

/* ---- model ---- */

static vact_status check_length(const vact_field_reader *r, const char *field, size_t length)
{
    return length >= 1 && length <= VACT_MAX_PIECE_BYTES
               ? VACT_OK
               : vact_field_refuse(r, VACT_EFORMAT, field, "found a piece of %zu bytes, expected 1 to %d", length,
                                   VACT_MAX_PIECE_BYTES);
}

/* Checks ids and texts of the vocabulary and the added tokens, and makes room for them. */
static vact_status make_tables(vact_field_reader *r, const json_t *vocab, const json_t *added)
{
    const char *key;
    json_t *value;
    json_int_t largest = 0;
    uint64_t bytes = 0;
    vact_status status = VACT_OK;
    json_object_foreach((json_t *)(uintptr_t)vocab, key, value)
    {
        status = vact_field_check_id(r, "model.vocab", value);
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
        status = vact_field_check_id(r, "added_tokens", value);
        if (status == VACT_OK && !json_is_string(content))
            status = vact_field_refuse(r, VACT_EFORMAT, "added_tokens", "a content is %s, expected a string",
                                       vact_json_kind(content));
        if (status == VACT_OK)
            status = check_length(r, "added_tokens", json_string_length(content));
        if (status != VACT_OK)
            return status;
        largest = json_integer_value(value) > largest ? json_integer_value(value) : largest;
        bytes += json_string_length(content);
    }
    r->t = vact_tokenizer_new((int32_t)largest + 1, bytes, json_array_size(added));
    return r->t ? VACT_OK : vact_field_no_memory(r);
}

static vact_status read_vocab(const vact_field_reader *r, const json_t *vocab)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)vocab, key, value)
    {
        const int32_t id = (int32_t)json_integer_value(value);
        if (r->t->pieces[id].text)
            return vact_field_refuse(r, VACT_EFORMAT, "model.vocab", "found the id %d twice, expected it once", id);
        vact_tokenizer_add(r->t, id, key, strlen(key), VACT_PIECE_NORMAL, true);
    }
    return VACT_OK;
}

static vact_gguf_text text_of(const json_t *value)
{
    return (vact_gguf_text){ json_string_value(value), json_string_length(value) };
}

/* "left right" or ["left", "right"] */
static bool read_pair(const json_t *merge, vact_gguf_text *left, vact_gguf_text *right)
{
    const json_t *parts[] = { json_array_get(merge, 0), json_array_get(merge, 1) };
    *left = text_of(json_is_string(merge) ? merge : parts[0]);
    *right = text_of(parts[1]);
    if (!json_is_string(merge))
        return json_array_size(merge) == 2 && left->data && right->data;
    const char *space = memchr(left->data, ' ', left->length);
    if (space) {
        *right = (vact_gguf_text){ space + 1, left->length - (uint64_t)(space - left->data) - 1 };
        left->length = (uint64_t)(space - left->data);
    }
    return true;
}

static vact_status read_merges(const vact_field_reader *r, const json_t *merges)
{
    if (!json_is_array(merges))
        return vact_field_wrong_kind(r, "model.merges", merges, "an array");
    for (size_t i = 0; i < json_array_size(merges); i++) {
        char field[64], why[128];
        vact_gguf_text left, right;
        snprintf(field, sizeof field, "model.merges[%zu]", i);
        const json_t *merge = json_array_get(merges, i);
        if (!read_pair(merge, &left, &right))
            return vact_field_wrong_kind(r, field, merge, "\"left right\" or [left, right]");
        vact_merge *slot = vact_merges_add(r->t, left, right, why);
        if (!slot)
            return why[0] ? vact_field_refuse(r, VACT_EFORMAT, field, "%s", why) : vact_field_no_memory(r);
        slot->rank = (uint32_t)i; /* the last of two wins, as in the original */
    }
    return VACT_OK;
}

static vact_status read_unk(const vact_field_reader *r, const json_t *unk)
{
    if (vact_field_absent(unk))
        return VACT_OK;
    if (!json_is_string(unk))
        return vact_field_wrong_kind(r, "model.unk_token", unk, "a string or null");
    r->t->unk = vact_tokenizer_find(r->t, json_string_value(unk), json_string_length(unk));
    if (r->t->unk < 0)
        return vact_field_refuse(r, VACT_EFORMAT, "model.unk_token", "is no piece of model.vocab");
    r->t->pieces[r->t->unk].kind = VACT_PIECE_UNKNOWN;
    return VACT_OK;
}

/* Options that would change ids and are not implemented must be off. */
static vact_status check_off(const vact_field_reader *r, const json_t *model)
{
    static const char *const keys[] = { "dropout", "continuing_subword_prefix", "end_of_word_suffix" };
    for (int i = 0; i < 3; i++) {
        char field[64];
        snprintf(field, sizeof field, "model.%s", keys[i]);
        const json_t *value = json_object_get(model, keys[i]);
        const bool off = vact_field_absent(value) || (json_is_string(value) && json_string_length(value) == 0) ||
                         (i == 0 && json_is_number(value) && json_number_value(value) <= 0);
        if (!off)
            return vact_field_refuse(r, VACT_EMODEL, field, "found %s, expected null", vact_json_kind(value));
    }
    return VACT_OK;
}

static vact_status read_model(vact_field_reader *r, const json_t *model, const json_t *added)
{
    const json_t *type = json_object_get(model, "type"), *vocab = json_object_get(model, "vocab");
    if (!json_is_object(model))
        return vact_field_wrong_kind(r, "model", model, "an object");
    if (!json_is_string(type))
        return vact_field_wrong_kind(r, "model.type", type, "\"BPE\"");
    if (strcmp(json_string_value(type), "BPE") != 0)
        return vact_field_unknown_type(r, model, "model");
    if (!json_is_object(vocab))
        return vact_field_wrong_kind(r, "model.vocab", vocab, "an object");
    vact_status status = make_tables(r, vocab, added);
    if (status == VACT_OK)
        status = check_off(r, model);
    if (status == VACT_OK)
        status = vact_field_bool(r, model, "model", "byte_fallback", &r->t->byte_fallback);
    if (status == VACT_OK)
        status = vact_field_bool(r, model, "model", "fuse_unk", &r->t->fuse_unk);
    if (status == VACT_OK)
        status = vact_field_bool(r, model, "model", "ignore_merges", &r->t->ignore_merges);
    if (status == VACT_OK)
        status = read_vocab(r, vocab);
    if (status == VACT_OK)
        status = read_unk(r, json_object_get(model, "unk_token"));
    return status == VACT_OK ? read_merges(r, json_object_get(model, "merges")) : status;
}

/* ---- added_tokens ---- */

/* An added token is looked for as the normaliser leaves it, if it is `normalized`. */
static vact_status put_added(const vact_field_reader *r, vact_encoder *e, uint32_t index, bool normalized)
{
    const vact_piece *piece = &r->t->pieces[r->t->added[index].id];
    const char *text = piece->text;
    size_t length = piece->length;
    bool there = false;
    vact_status status = normalized ? vact_encoder_normalise(e, &text, &length) : VACT_OK;
    if (status == VACT_EINPUT)
        return vact_field_refuse(r, VACT_EMODEL, "added_tokens", "the normalizer's pattern gives up on one");
    if (status == VACT_OK && length > VACT_MAX_PIECE_BYTES) /* the normaliser may have blown it up */
        return check_length(r, "added_tokens", length);
    if (status == VACT_OK && length > 0 &&
        !vact_trie_put(normalized ? &r->t->normalised : &r->t->raw, text, length, index, &there))
        status = VACT_ENOMEM;
    if (status != VACT_OK)
        return vact_field_no_memory(r);
    char shown[80];
    return there ? vact_field_refuse(r, VACT_EFORMAT, "added_tokens", "found \"%s\" twice, expected it once",
                                     vact_printable(shown, sizeof shown, piece->text, piece->length))
                 : VACT_OK;
}

static vact_status read_added_token(const vact_field_reader *r, vact_encoder *e, const json_t *token)
{
    static const char field[] = "added_tokens";
    const json_t *content = json_object_get(token, "content");
    const char *text = json_string_value(content);
    const size_t length = json_string_length(content);
    const int32_t id = (int32_t)json_integer_value(json_object_get(token, "id"));
    vact_added *added = &r->t->added[r->t->n_added];
    bool special = false, normalized = false;
    vact_status status = vact_field_bool(r, token, field, "special", &special);
    if (status == VACT_OK)
        status = vact_field_bool(r, token, field, "normalized", &normalized);
    if (status == VACT_OK)
        status = vact_field_bool(r, token, field, "lstrip", &added->strip_left);
    if (status == VACT_OK)
        status = vact_field_bool(r, token, field, "rstrip", &added->strip_right);
    if (status == VACT_OK)
        status = vact_field_bool(r, token, field, "single_word", &added->single_word);
    if (status != VACT_OK)
        return status;
    vact_piece *piece = &r->t->pieces[id];
    const int32_t known = vact_tokenizer_find(r->t, text, length);
    char shown[80];
    if ((known >= 0 && known != id) || (known < 0 && piece->text))
        return vact_field_refuse(r, VACT_EFORMAT, field, "%s has the id %d, and model.vocab says otherwise",
                                 vact_field_show(shown, content), id);
    if (known < 0)
        vact_tokenizer_add(r->t, id, text, length, VACT_PIECE_USER, false);
    if (piece->kind != VACT_PIECE_UNKNOWN)
        piece->kind = special ? VACT_PIECE_CONTROL : VACT_PIECE_USER;
    added->id = id;
    return put_added(r, e, (uint32_t)r->t->n_added++, normalized);
}

static vact_status read_added(const vact_field_reader *r, const json_t *added)
{
    vact_encoder *e = NULL;
    vact_status status = vact_encoder_open(&e, r->t, 0, r->err);
    for (size_t i = 0; i < json_array_size(added) && status == VACT_OK; i++)
        status = read_added_token(r, e, json_array_get(added, i));
    vact_encoder_close(&e);
    return status;
}

/* ---- the whole ---- */

static vact_status read_component(const vact_field_reader *r, const json_t *root, const char *key,
                                  vact_status (*read)(const vact_field_reader *, const json_t *))
{
    const json_t *component = json_object_get(root, key);
    return vact_field_absent(component) ? VACT_OK : read(r, component);
}

static void mark_byte_pieces(vact_tokenizer *t)
{
    vact_tokenizer_find_bytes(t);
    for (int byte = 0; byte < 256; byte++)
        if (!t->byte_level && t->byte_ids[byte] >= 0)
            t->pieces[t->byte_ids[byte]].kind = VACT_PIECE_BYTE;
}

static vact_status read_all(vact_field_reader *r, const json_t *root)
{
    const json_t *added = json_object_get(root, "added_tokens");
    if (!vact_field_absent(added) && !json_is_array(added))
        return vact_field_wrong_kind(r, "added_tokens", added, "an array");
    for (int i = 0; i < 2; i++) {
        const char *key = i == 0 ? "truncation" : "padding";
        if (!vact_field_absent(json_object_get(root, key)))
            return vact_field_refuse(r, VACT_EMODEL, key, "found %s, expected null",
                                     vact_json_kind(json_object_get(root, key)));
    }
    vact_status status = read_model(r, json_object_get(root, "model"), added);
    if (status == VACT_OK)
        status = read_component(r, root, "normalizer", vact_read_normalizer);
    if (status == VACT_OK)
        status = read_component(r, root, "pre_tokenizer", vact_read_pre_tokenizer);
    if (status == VACT_OK && r->t->byte_level && r->t->byte_fallback)
        status = vact_field_refuse(r, VACT_EMODEL, "model.byte_fallback", "is true, expected false with ByteLevel");
    if (status == VACT_OK) {
        mark_byte_pieces(r->t);
        status = read_added(r, added);
    }
    return status == VACT_OK ? read_component(r, root, "post_processor", vact_read_post_processor) : status;
}

vact_status vact_tokenizer_from_json(vact_tokenizer **out, const char *name, const char *text, size_t length,
                                     vact_error *err)
{
    vact_field_reader r = { .name = name, .err = err };
    json_t *root;
    *out = NULL;
    vact_status status = vact_json_object(&root, name, text, length, MOST_VALUES, VACT_EFORMAT, err);
    if (status != VACT_OK)
        return status;
    status = read_all(&r, root);
    json_decref(root);
    if (status != VACT_OK)
        vact_tokenizer_close(&r.t);
    *out = r.t;
    return status;
}
