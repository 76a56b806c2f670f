/* "hf:user/repo[@revision][/path]" and paths in a repository. */
#ifndef HUB_NAME_H
#define HUB_NAME_H

#include "vact.h"

enum { HUB_MOST_NAME = 96, HUB_COMMIT = 40 };

typedef struct hub_name {
    char repo[HUB_MOST_NAME + 1]; /* "user/repo" */
    char revision[HUB_MOST_NAME +
                  1]; /* "main" unless given. A slash in it is %2F, as in a URL: so it names a file, too */
    const char *path; /* in the repository: a tail of the text, or "" */
} hub_name;

/* EARG. */
vact_status hub_name_parse(hub_name *out, const char *text, vact_error *err);

/* Whether it is a commit's whole hash: 40 lower-case hexadecimal digits. */
bool hub_is_commit(const char *revision);

/* What keeps the path from being one below a folder, whoever named it: an end of "the path ...". NULL: nothing. */
const char *hub_path_fault(const char *path);

#endif
