/* fields of a tokenizer.json -> values, or a sentence that names the field */
#include "text/json_fields.h"

#include "base/error.h"
#include "file/line.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

vact_status vact_field_refuse(const vact_field_reader *r, vact_status code, const char *field, const char *format, ...)
{
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return vact_fail(r->err, code, "%s: field %s: %s", r->name, field, why);
}

vact_status vact_field_no_memory(const vact_field_reader *r)
{
    return vact_fail(r->err, VACT_ENOMEM, "%s: no memory for a tokenizer", r->name);
}

vact_status vact_field_wrong_kind(const vact_field_reader *r, const char *field, const json_t *value, const char *want)
{
    return vact_field_refuse(r, VACT_EFORMAT, field, "found %s, expected %s", vact_json_kind(value), want);
}

const char *vact_field_show(char out[80], const json_t *value)
{
    if (!json_is_string(value))
        return vact_json_kind(value);
    vact_line line;
    vact_line_begin(&line, out, 80);
    vact_line_put(&line, "\"");
    vact_line_text(&line, json_string_value(value), json_string_length(value));
    vact_line_put(&line, "\"");
    return out;
}

vact_status vact_field_bool(const vact_field_reader *r, const json_t *object, const char *where, const char *key,
                            bool *out)
{
    char field[96];
    snprintf(field, sizeof field, "%s.%s", where, key);
    const json_t *value = json_object_get(object, key);
    if (!vact_field_absent(value) && !json_is_boolean(value))
        return vact_field_wrong_kind(r, field, value, "true or false");
    if (!vact_field_absent(value))
        *out = json_is_true(value);
    return VACT_OK;
}

vact_status vact_field_text(const vact_field_reader *r, const json_t *object, const char *where, const char *key,
                            const char **out, size_t *length)
{
    char field[96];
    snprintf(field, sizeof field, "%s.%s", where, key);
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return vact_field_wrong_kind(r, field, value, "a string");
    *length = json_string_length(value);
    *out = vact_arena_text(&r->t->arena, json_string_value(value), *length);
    return *out ? VACT_OK : vact_field_no_memory(r);
}

const char *vact_field_type(const vact_field_reader *r, const json_t *component, const char *field, vact_status *status)
{
    const json_t *type = json_object_get(component, "type");
    *status = VACT_OK;
    if (!json_is_object(component))
        *status = vact_field_wrong_kind(r, field, component, "an object with a type");
    else if (!json_is_string(type))
        *status = vact_field_refuse(r, VACT_EFORMAT, field, "its type is %s, expected a string", vact_json_kind(type));
    return *status == VACT_OK ? json_string_value(type) : NULL;
}

vact_status vact_field_unknown_type(const vact_field_reader *r, const json_t *component, const char *field)
{
    char shown[80];
    return vact_field_refuse(r, VACT_EMODEL, field, "the type %s is not supported",
                             vact_field_show(shown, json_object_get(component, "type")));
}

vact_status vact_field_check_id(const vact_field_reader *r, const char *field, const json_t *value)
{
    if (!json_is_integer(value))
        return vact_field_refuse(r, VACT_EFORMAT, field, "an id is %s, expected an integer", vact_json_kind(value));
    const json_int_t id = json_integer_value(value);
    return id >= 0 && id < VACT_MAX_PIECES
               ? VACT_OK
               : vact_field_refuse(r, VACT_EFORMAT, field, "found the id %lld, expected 0 to %d", (long long)id,
                                   VACT_MAX_PIECES - 1);
}
