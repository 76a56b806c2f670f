/* JSON text -> values (jansson), with messages that say where. */
#ifndef VACT_FILE_JSON_H
#define VACT_FILE_JSON_H

#include "vact.h"
#include <jansson.h>
#include <stdbool.h>

/* The text as an object; duplicate keys are refused. On failure NULL in *out: ENOMEM, or `wrong` where the text is no
 * such thing, or has more than about `most` values: each takes up to 140 bytes of memory, from as few as 3 of text.
 * `name` stands for where it came from. */
vact_status vact_json_object(json_t **out, const char *name, const char *text, size_t length, size_t most,
                             vact_status wrong, vact_error *err);

/* A file that holds an object, for small ones: at most a million values. EIO, EFORMAT, ENOMEM. */
vact_status vact_json_read(json_t **out, const char *path, vact_error *err);

/* Whether a value is the name of a file beside the one that says it, and of no other: that comes from elsewhere.
 * Printable ASCII, for messages. */
bool vact_json_is_file_name(const json_t *value);

/* What a value is, for a message: "an object", "true"; NULL is "missing". */
const char *vact_json_kind(const json_t *value);

#endif
