/* a text -> the text that a list of edits makes of it, in two buffers by turns */
#include "text/parts.h"
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { LONGEST_DECOMPOSITION = 18 };

void vact_edits_close(vact_edits *edits)
{
    for (size_t i = 0; i < edits->n; i++)
        vact_pattern_close(&edits->edits[i].pattern);
    edits->n = 0;
}

static bool reserve_codes(vact_editor *editor, size_t need)
{
    int32_t *codes = vact_grown(editor->codes, &editor->codes_room, need, sizeof *codes);
    if (codes)
        editor->codes = codes;
    int32_t *scratch = vact_grown(editor->scratch, &editor->scratch_room, need, sizeof *scratch);
    if (scratch)
        editor->scratch = scratch;
    return codes && scratch;
}

/* Blanks that become U+2581, and the normal forms C and D (UAX 15, table 4), make 3 bytes of one at most. What a file
 * says of its steps could make any number, so there the buffers wait for the text. */
bool vact_editor_reserve(vact_editor *editor, const vact_edits *edits, size_t bytes)
{
    bool ok = true;
    for (size_t i = 0; i < edits->n && ok; i++)
        ok = vact_text_reserve(&editor->texts[i % 2], 3 * bytes + VACT_SLACK) &&
             (edits->edits[i].kind != VACT_EDIT_FORM || reserve_codes(editor, bytes + LONGEST_DECOMPOSITION));
    return ok;
}

void vact_editor_close(vact_editor *editor)
{
    free(editor->texts[0].data);
    free(editor->texts[1].data);
    free(editor->codes);
    free(editor->scratch);
    *editor = (vact_editor){ 0 };
}

/* ---- normal forms ---- */

static int combining_class(int32_t code)
{
    return utf8proc_get_property(code)->combining_class;
}

/* Marks of a run in the order of their classes, stable. The library's own sort is quadratic in the run. */
static void sort_marks(int32_t *codes, int32_t *scratch, size_t n)
{
    bool sorted = true;
    for (size_t i = 1; i < n; i++)
        sorted &= combining_class(codes[i - 1]) <= combining_class(codes[i]);
    if (sorted)
        return;
    memcpy(scratch, codes, n * sizeof *codes);
    size_t placed = 0;
    for (int wanted = 1; placed < n; wanted++)
        for (size_t i = 0; i < n; i++)
            if (combining_class(scratch[i]) == wanted)
                codes[placed++] = scratch[i];
}

static void sort_all_marks(int32_t *codes, int32_t *scratch, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t begin = i;
        while (i < n && combining_class(codes[i]) > 0)
            i++;
        sort_marks(codes + begin, scratch, i - begin);
    }
}

static bool is_ascii(const char *text, size_t length)
{
    uint8_t bits = 0;
    for (size_t i = 0; i < length; i++)
        bits |= (uint8_t)text[i];
    return bits < 0x80;
}

static vact_status normal_form(const vact_edit *edit, vact_editor *editor, const char *text, size_t length,
                               vact_text *out)
{
    if (is_ascii(text, length))
        return vact_text_add(out, text, length) ? VACT_OK : VACT_ENOMEM;
    const utf8proc_option_t options = UTF8PROC_STABLE | (edit->compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                      (edit->compatible ? UTF8PROC_COMPAT : 0);
    size_t n = 0;
    for (size_t at = 0; at < length;) {
        int32_t code = 0;
        int boundary = 0;
        at += (size_t)utf8proc_iterate((const uint8_t *)text + at, (utf8proc_ssize_t)(length - at), &code);
        if (!reserve_codes(editor, n + LONGEST_DECOMPOSITION))
            return VACT_ENOMEM;
        n += (size_t)utf8proc_decompose_char(code, editor->codes + n, LONGEST_DECOMPOSITION, options, &boundary);
    }
    sort_all_marks(editor->codes, editor->scratch, n);
    if (edit->compose)
        n = (size_t)utf8proc_normalize_utf32(editor->codes, (utf8proc_ssize_t)n, options);
    for (size_t i = 0; i < n; i++) {
        uint8_t bytes[4];
        const size_t size = (size_t)utf8proc_encode_char(editor->codes[i], bytes);
        if (!vact_text_add(out, (const char *)bytes, size))
            return VACT_ENOMEM;
    }
    return VACT_OK;
}

/* ---- the others ---- */

static vact_status replace(const vact_edit *edit, const vact_matcher *matcher, const char *text, size_t length,
                           vact_text *out)
{
    vact_search search = { .pattern = &edit->pattern, .matcher = matcher, .text = text, .length = length };
    vact_found found;
    size_t from = 0;
    while ((found = vact_search_next(&search)) == VACT_FOUND_MATCH) {
        if (!vact_text_add(out, text + from, search.begin - from) || !vact_text_add(out, edit->content, edit->length))
            return VACT_ENOMEM;
        from = search.end;
    }
    if (found == VACT_FOUND_TROUBLE)
        return VACT_EINPUT;
    return vact_text_add(out, text + from, length - from) ? VACT_OK : VACT_ENOMEM;
}

static vact_status prepend(const vact_edit *edit, bool first, const char *text, size_t length, vact_text *out)
{
    const bool there = length >= edit->length && memcmp(text, edit->content, edit->length) == 0;
    const bool wanted = length > 0 && (first || !edit->only_first) && !(there && edit->unless_there);
    if (wanted && !vact_text_add(out, edit->content, edit->length))
        return VACT_ENOMEM;
    return vact_text_add(out, text, length) ? VACT_OK : VACT_ENOMEM;
}

vact_status vact_edits_apply(const vact_edits *edits, vact_editor *editor, const vact_matcher *matcher, bool first,
                             const char **text, size_t *length)
{
    vact_status status = VACT_OK;
    for (size_t i = 0; i < edits->n && status == VACT_OK; i++) {
        const vact_edit *edit = &edits->edits[i];
        vact_text *out = &editor->texts[i % 2];
        out->length = 0;
        if (edit->kind == VACT_EDIT_FORM)
            status = normal_form(edit, editor, *text, *length, out);
        else if (edit->kind == VACT_EDIT_REPLACE)
            status = replace(edit, matcher, *text, *length, out);
        else
            status = prepend(edit, first, *text, *length, out);
        *text = out->data;
        *length = out->length;
    }
    return status;
}
