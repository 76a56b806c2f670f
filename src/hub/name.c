#include "hub/name.h"
#include "base/error.h"
#include "hub/hub.h"
#include <string.h>

static const char PREFIX[] = "hf:";

bool hub_is_name(const char *path)
{
    return strncmp(path, PREFIX, sizeof PREFIX - 1) == 0;
}

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool hub_is_commit(const char *revision)
{
    const size_t n = strspn(revision, "0123456789abcdef");
    return n == HUB_COMMIT && !revision[n];
}

/* A user, a repository, a revision: letters, digits and a few more, no "..", no dot in front. */
static bool is_word(const char *text, size_t length, const char *more)
{
    if (length == 0 || text[0] == '.')
        return false;
    for (size_t i = 0; i < length; i++)
        if ((!is_letter_or_digit(text[i]) && !strchr(more, text[i])) || (i > 0 && text[i] == '.' && text[i - 1] == '.'))
            return false;
    return true;
}

/* %2F is the only thing that a per cent sign may begin. */
static bool is_revision(const char *text, size_t length)
{
    if (length > HUB_MOST_NAME || !is_word(text, length, "._-+%"))
        return false;
    for (size_t i = 0; i < length; i++)
        if (text[i] == '%' && (length - i < 3 || text[i + 1] != '2' || text[i + 2] != 'F'))
            return false;
    return true;
}

const char *hub_path_fault(const char *path)
{
    enum { LONGEST = 1024, LONGEST_PART = 200 };
    if (strlen(path) > LONGEST)
        return "is longer than 1024 bytes";
    for (const char *c = path; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F || *c == '\\')
            return "holds a control character or a backslash";
    if (path[0] == '/')
        return "is absolute";
    for (const char *part = path;; part++) {
        const size_t n = strcspn(part, "/");
        if (n == 0)
            return "has an empty part";
        if (n > LONGEST_PART)
            return "has a part longer than 200 bytes";
        if ((n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return "has a part . or ..";
        part += n;
        if (!*part)
            return NULL;
    }
}

vact_status hub_name_parse(hub_name *out, const char *text, vact_error *err)
{
    const char *user = text + sizeof PREFIX - 1;
    const size_t user_length = strcspn(user, "/@");
    const char *repo = user + user_length + (user[user_length] == '/');
    const size_t repo_length = repo > user + user_length ? strcspn(repo, "/@") : 0;
    const size_t length = user_length + 1 + repo_length;
    *out = (hub_name){ .revision = "main", .path = "" };
    if (!is_word(user, user_length, "._-") || !is_word(repo, repo_length, "._-") || length > HUB_MOST_NAME)
        return vact_fail(err, VACT_EARG, "%s: expected hf:user/repo, hf:user/repo/file or hf:user/repo@revision/file",
                         text);
    memcpy(out->repo, user, length);
    const char *rest = repo + repo_length;
    if (*rest == '@') {
        const size_t n = strcspn(rest + 1, "/");
        if (!is_revision(rest + 1, n))
            return vact_fail(err, VACT_EARG,
                             "%s: expected behind @ a branch, a tag or a commit of at most %d letters, digits and "
                             "._-+, with %%2F for a slash",
                             text, HUB_MOST_NAME);
        memcpy(out->revision, rest + 1, n);
        out->revision[n] = 0;
        rest += 1 + n;
    }
    if (*rest == '/' && rest[1])
        out->path = rest + 1;
    const char *fault = *out->path ? hub_path_fault(out->path) : NULL;
    return fault ? vact_fail(err, VACT_EARG, "%s: the path in the repository %s", text, fault) : VACT_OK;
}
