/* Names of tensors that match a regular expression. */
#ifndef VACT_CONVERT_NAMES_H
#define VACT_CONVERT_NAMES_H

#include "vact.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Zeroed, it matches nothing. */
typedef struct vact_names {
    const char *pattern; /* borrowed */
    pcre2_code *regex;
    pcre2_match_data *data;
} vact_names;

/* PCRE2's syntax, over bytes; a match may be anywhere in a name. NULL: no pattern, which matches nothing.
 * EARG: it is no regular expression; the text says where. ENOMEM. Close it either way. */
vact_status vact_names_open(vact_names *out, const char *pattern, vact_error *err);
/* EARG: the search takes too long. */
vact_status vact_names_match(const vact_names *names, const char *name, bool *matches, vact_error *err);
void vact_names_close(vact_names *names);

#endif
