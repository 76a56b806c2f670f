#include "file/json.h"

#include "base/error.h"
#include "base/mapping.h"
#include "file/line.h"
#include <string.h>

enum { MOST_BYTES = 1 << 24, MOST_VALUES = 1 << 20 }; /* of a file */

const char *vact_json_kind(const json_t *value)
{
    static const char *const names[] = { "an object", "an array", "a string", "an integer",
                                         "a number",  "true",     "false",    "null" };
    return value ? names[json_typeof(value)] : "missing";
}

const char *vact_json_show(char *out, size_t size, const json_t *value)
{
    vact_line line;
    vact_line_begin(&line, out, size);
    vact_line_put(&line, json_is_string(value) ? "\"" : vact_json_kind(value));
    vact_line_text(&line, json_string_value(value), json_string_length(value));
    vact_line_put(&line, json_is_string(value) ? "\"" : "");
    return out;
}

/* No fewer values than there are: each stands behind one of these, but strings may hold some, too. */
static size_t count_values(const char *text, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length; i++)
        n += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return n;
}

vact_status vact_json_object(json_t **out, const char *name, const char *text, size_t length, size_t most,
                             vact_status wrong, vact_error *err)
{
    json_error_t where;
    *out = NULL;
    if (count_values(text, length) > most)
        return vact_fail(err, wrong, "%s: found more than %zu values, expected fewer", name, most);
    *out = json_loadb(length > 0 ? text : "", length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
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

vact_status vact_json_read(json_t **out, const char *path, vact_error *err)
{
    vact_mapping mapping = { 0 };
    *out = NULL;
    vact_status status = vact_mapping_open(&mapping, path, err);
    if (status == VACT_OK && mapping.size > MOST_BYTES)
        status = vact_fail(err, VACT_EFORMAT, "%s: found %zu bytes, expected at most %d", vact_path_end(path),
                           mapping.size, MOST_BYTES);
    if (status == VACT_OK)
        status = vact_json_object(out, vact_path_end(path), (const char *)mapping.data, mapping.size, MOST_VALUES,
                                  VACT_EFORMAT, err);
    vact_mapping_close(&mapping);
    return status;
}

const char *vact_json_file_name(const json_t *value)
{
    const char *name = json_string_value(value);
    if (!name || !name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return NULL;
    for (size_t i = 0; i < json_string_length(value); i++)
        if (name[i] < ' ' || name[i] > '~' || name[i] == '/')
            return NULL;
    return name;
}
