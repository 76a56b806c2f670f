/* a pattern and a name -> whether it matches */
#include "convert/names.h"
#include "base/error.h"
#include "file/line.h"
#include <string.h>

enum { SHOWN = 100 };

vact_status vact_names_open(vact_names *out, const char *pattern, vact_error *err)
{
    char shown[SHOWN], why[120] = "";
    int error = 0;
    size_t at = 0;
    *out = (vact_names){ .pattern = pattern };
    if (!pattern)
        return VACT_OK;
    out->regex = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0, &error, &at, NULL);
    if (!out->regex && error != PCRE2_ERROR_HEAP_FAILED) {
        pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof why);
        return vact_fail(err, VACT_EARG, "the pattern \"%s\" is no regular expression: %s at its byte %zu",
                         vact_printable(shown, sizeof shown, pattern, strlen(pattern)), why, at);
    }
    out->data = pcre2_match_data_create(1, NULL);
    return out->regex && out->data ? VACT_OK : vact_fail(err, VACT_ENOMEM, "no memory for a pattern");
}

vact_status vact_names_match(const vact_names *names, const char *name, bool *matches, vact_error *err)
{
    char shown[SHOWN], shown_name[SHOWN];
    *matches = false;
    if (!names->regex)
        return VACT_OK;
    const int n = pcre2_match(names->regex, (PCRE2_SPTR)name, PCRE2_ZERO_TERMINATED, 0, 0, names->data, NULL);
    if (n < 0 && n != PCRE2_ERROR_NOMATCH) /* PCRE2's own limit, of a second or less */
        return vact_fail(err, VACT_EARG, "the pattern \"%s\" takes too long to search the name %s",
                         vact_printable(shown, sizeof shown, names->pattern, strlen(names->pattern)),
                         vact_printable(shown_name, sizeof shown_name, name, strlen(name)));
    *matches = n >= 0;
    return VACT_OK;
}

void vact_names_close(vact_names *names)
{
    pcre2_match_data_free(names->data);
    pcre2_code_free(names->regex);
    *names = (vact_names){ 0 };
}
