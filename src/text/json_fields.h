/* For the readers of tokenizer.json: fields and faults. */
#ifndef VACT_TEXT_JSON_FIELDS_H
#define VACT_TEXT_JSON_FIELDS_H

#include "file/json.h"
#include "text/parts.h"

typedef struct vact_field_reader {
    const char *name; /* of the file */
    vact_tokenizer *t;
    vact_error *err;
} vact_field_reader;

/* "FILE: field FIELD: ..." */
vact_status vact_field_refuse(const vact_field_reader *r, vact_status code, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
vact_status vact_field_no_memory(const vact_field_reader *r);
/* "found a string, expected WANT" */
vact_status vact_field_wrong_kind(const vact_field_reader *r, const char *field, const json_t *value, const char *want);

/* For a message: a string in quotes, else what the value is. */
const char *vact_field_show(char out[80], const json_t *value);

static inline bool vact_field_absent(const json_t *value)
{
    return !value || json_is_null(value);
}

/* WHERE.KEY; *out stays as it is when the key is absent. */
vact_status vact_field_bool(const vact_field_reader *r, const json_t *object, const char *where, const char *key,
                            bool *out);
/* A string, as the arena's copy. */
vact_status vact_field_text(const vact_field_reader *r, const json_t *object, const char *where, const char *key,
                            const char **out, size_t *length);
/* An integer in the range of ids. */
vact_status vact_field_check_id(const vact_field_reader *r, const char *field, const json_t *value);
/* The component's "type"; NULL, and a status, if it is no component. */
const char *vact_field_type(const vact_field_reader *r, const json_t *component, const char *field,
                            vact_status *status);
vact_status vact_field_unknown_type(const vact_field_reader *r, const json_t *component, const char *field);

/* ---- components: json_steps.c ---- */

vact_status vact_read_normalizer(const vact_field_reader *r, const json_t *component);
vact_status vact_read_pre_tokenizer(const vact_field_reader *r, const json_t *component);
vact_status vact_read_post_processor(const vact_field_reader *r, const json_t *component);

#endif
