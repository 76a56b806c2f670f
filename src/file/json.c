#include "file/json.h"

#include "base/error.h"

const char *vact_json_kind(const json_t *value)
{
    static const char *const names[] = { "an object", "an array", "a string", "an integer",
                                         "a number",  "true",     "false",    "null" };
    return value ? names[json_typeof(value)] : "missing";
}

vact_status vact_json_object(json_t **out, const char *name, const char *text, size_t length, vact_status wrong,
                             vact_error *err)
{
    json_error_t where;
    *out = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
    if (!*out && !where.text[0]) /* the parser has words for everything but this */
        return vact_fail(err, VACT_ENOMEM, "%s: out of memory", name);
    if (!*out)
        return vact_fail(err, wrong, "%s: not JSON at line %d, column %d: %s", name, where.line, where.column,
                         where.text);
    if (json_is_object(*out))
        return VACT_OK;
    vact_fail(err, wrong, "%s: the document is %s, expected an object", name, vact_json_kind(*out));
    json_decref(*out);
    *out = NULL;
    return wrong;
}
