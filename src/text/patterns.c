/* literal text, or regular expression -> its matches in a text
 *
 * Expressions are written for the engine of Hugging Face's tokenizers, which is Oniguruma with Ruby's syntax; here
 * they run on PCRE2. What both read alike is let through, `\s` and `\S` are spelled out (PCRE2 counts U+180E in), and
 * anything else is refused by name. */
#include "base/error.h"
#include "file/line.h"
#include "text/parts.h"
#include "text/utf8.h"
#include <stdlib.h>
#include <string.h>

enum {
    MATCH_LIMIT = 100000000, /* steps of one search: some for each byte of 1 MB of blanks, not for ever */
    STACK_START = 32 * 1024,
    STACK_MOST = 64 * 1024 * 1024, /* address space; 1 MB of turns of a group need most of it */
    HEAP_MOST = 256 * 1024         /* KiB, instead of the stack where there is no JIT */
};

/* White space inside brackets. */
#define RANGE(first, last) "\\x{" #first "}-\\x{" #last "}"
#define WHITE              VACT_WHITE(RANGE)

/* ---- translation ---- */

struct translation {
    vact_text *out;
    const char *at, *end;
    bool in_class;
    const char *refused; /* what cannot be said, [refused_length] */
    size_t refused_length;
};

static bool refuse(struct translation *t, size_t length)
{
    t->refused = t->at;
    t->refused_length = length < (size_t)(t->end - t->at) ? length : (size_t)(t->end - t->at);
    return false;
}

static bool begins_with(const struct translation *t, const char *what)
{
    const size_t n = strlen(what);
    return (size_t)(t->end - t->at) >= n && memcmp(t->at, what, n) == 0;
}

static bool copy(struct translation *t, size_t length)
{
    const char *from = t->at;
    t->at += length;
    return vact_text_add(t->out, from, length);
}

static bool put(struct translation *t, const char *text)
{
    return vact_text_add(t->out, text, strlen(text));
}

static bool escape(struct translation *t)
{
    static const char same[] = "pPdDrntfx"; /* and whatever is no letter or digit */
    const char c = t->at + 1 < t->end ? t->at[1] : 'z';
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if ((c == 's' || c == 'S') && !(c == 'S' && t->in_class)) {
        t->at += 2;
        return put(t, t->in_class ? WHITE : c == 's' ? "[" WHITE "]" : "[^" WHITE "]");
    }
    if (word && !strchr(same, c))
        return refuse(t, 2);
    const bool named = word && t->at + 2 < t->end && t->at[2] == '{'; /* \p{...}, \x{...} */
    const char *close = named ? memchr(t->at, '}', (size_t)(t->end - t->at)) : NULL;
    return copy(t, close ? (size_t)(close + 1 - t->at) : 2);
}

static bool group(struct translation *t)
{
    static const char *const same[] = { "(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>", NULL };
    if (!begins_with(t, "(?") && !begins_with(t, "(*"))
        return copy(t, 1);
    for (int i = 0; same[i]; i++)
        if (begins_with(t, same[i]))
            return copy(t, strlen(same[i]));
    return refuse(t, 4);
}

static bool translate_one(struct translation *t)
{
    if (*t->at == '\\')
        return escape(t);
    if (t->in_class) {
        if (*t->at == '[' || begins_with(t, "&&"))
            return refuse(t, 2); /* sets inside sets */
        t->in_class = *t->at != ']';
        return copy(t, 1);
    }
    if (*t->at == '[') {
        t->in_class = true;
        const size_t opened = begins_with(t, "[^") ? 2 : 1;
        return t->at + opened < t->end && t->at[opened] == ']' ? refuse(t, opened + 1) : copy(t, opened);
    }
    if (begins_with(t, "}+"))
        return refuse(t, 2); /* possessive in one of the two */
    return *t->at == '(' ? group(t) : copy(t, 1);
}

/* ---- opening ---- */

static vact_status refuse_pattern(const char *name, const char *source, size_t length, const char *what,
                                  size_t what_length, vact_error *err)
{
    char shown[160], part[80];
    return vact_fail(err, VACT_EMODEL, "%s: the pattern \"%s\" is not supported: %s", name,
                     vact_printable(shown, sizeof shown, source, length),
                     vact_printable(part, sizeof part, what, what_length));
}

static vact_status compile(vact_pattern *out, const char *name, const vact_text *translated, vact_error *err)
{
    int error = 0;
    size_t at = 0;
    /* In Ruby's syntax ^ and $ are those of a line. */
    out->regex = pcre2_compile((PCRE2_SPTR)translated->data, translated->length,
                               PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &at, NULL);
    if (!out->regex && error == PCRE2_ERROR_HEAP_FAILED)
        return vact_fail(err, VACT_ENOMEM, "%s: no memory for a pattern", name);
    if (!out->regex) {
        char why[120] = "";
        pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof why);
        return refuse_pattern(name, out->source, out->length, why, strlen(why), err);
    }
    (void)pcre2_jit_compile(out->regex, PCRE2_JIT_COMPLETE); /* without it, the interpreter does the same */
    return VACT_OK;
}

vact_status vact_pattern_open(vact_pattern *out, const char *name, const char *source, size_t length, bool regex,
                              vact_error *err)
{
    *out = (vact_pattern){ .source = source, .length = length };
    if (!regex)
        return VACT_OK;
    vact_text translated = { 0 };
    struct translation t = { .out = &translated, .at = source, .end = source + length };
    bool ok = put(&t, "(*LF)"); /* a line ends with LF alone */
    while (ok && t.at < t.end)
        ok = translate_one(&t);
    const vact_status status = ok          ? compile(out, name, &translated, err)
                               : t.refused ? refuse_pattern(name, source, length, t.refused, t.refused_length, err)
                                           : vact_fail(err, VACT_ENOMEM, "%s: no memory for a pattern", name);
    free(translated.data);
    return status;
}

void vact_pattern_close(vact_pattern *pattern)
{
    pcre2_code_free(pattern->regex);
    *pattern = (vact_pattern){ 0 };
}

/* ---- searching ---- */

bool vact_matcher_open(vact_matcher *out)
{
    *out = (vact_matcher){ .context = pcre2_match_context_create(NULL),
                           .data = pcre2_match_data_create(1, NULL),
                           .stack = pcre2_jit_stack_create(STACK_START, STACK_MOST, NULL) };
    if (!out->context || !out->data) {
        vact_matcher_close(out);
        return false;
    }
    pcre2_set_match_limit(out->context, MATCH_LIMIT);
    pcre2_set_heap_limit(out->context, HEAP_MOST);
    if (out->stack) /* NULL where there is no JIT */
        pcre2_jit_stack_assign(out->context, NULL, out->stack);
    return true;
}

void vact_matcher_close(vact_matcher *matcher)
{
    pcre2_match_context_free(matcher->context);
    pcre2_match_data_free(matcher->data);
    pcre2_jit_stack_free(matcher->stack);
    *matcher = (vact_matcher){ 0 };
}

/* The leftmost match at or after `from`. */
static vact_found find(vact_search *s, size_t from)
{
    const vact_pattern *pattern = s->pattern;
    if (pattern->regex) {
        const int n = pcre2_match(pattern->regex, (PCRE2_SPTR)s->text, s->length, from, PCRE2_NO_UTF_CHECK,
                                  s->matcher->data, s->matcher->context);
        if (n < 0)
            return n == PCRE2_ERROR_NOMATCH ? VACT_FOUND_NOTHING : VACT_FOUND_TROUBLE;
        const size_t *offsets = pcre2_get_ovector_pointer(s->matcher->data);
        s->begin = offsets[0];
        s->end = offsets[1];
        return VACT_FOUND_MATCH;
    }
    /* memchr for what is usual: thread sanitizers look at all of the text for each memmem. */
    const char *rest = s->text + from;
    const size_t left = s->length - from;
    const char *hit = pattern->length == 1 ? memchr(rest, pattern->source[0], left)
                                           : memmem(rest, left, pattern->source, pattern->length);
    if (!hit)
        return VACT_FOUND_NOTHING;
    s->begin = (size_t)(hit - s->text);
    s->end = s->begin + pattern->length;
    return VACT_FOUND_MATCH;
}

vact_found vact_search_next(vact_search *s)
{
    const size_t last = s->end;
    vact_found found = find(s, last);
    if (found != VACT_FOUND_MATCH || !s->matched || s->begin != s->end || s->end != last) {
        s->matched |= found == VACT_FOUND_MATCH;
        return found;
    }
    size_t from = last + 1;
    while (from < s->length && ((uint8_t)s->text[from] & 0xC0) == 0x80)
        from++;
    return from > s->length ? VACT_FOUND_NOTHING : find(s, from);
}
