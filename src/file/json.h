/* JSON text -> values (jansson), with messages that say where. */
#ifndef VACT_FILE_JSON_H
#define VACT_FILE_JSON_H

#include "vact.h"
#include <jansson.h>

/* The text as an object; duplicate keys are refused. On failure NULL in *out: ENOMEM, or `wrong` where the text is no
 * such thing, or has more than about `most` values: each takes up to 140 bytes of memory, from as few as 3 of text.
 * `name` stands for where it came from. */
vact_status vact_json_object(json_t **out, const char *name, const char *text, size_t length, size_t most,
                             vact_status wrong, vact_error *err);

/* A file that holds an object, for small ones: at most 16 MiB and a million values. EIO, EFORMAT, ENOMEM. */
vact_status vact_json_read(json_t **out, const char *path, vact_error *err);

/* What a value is, for a message: "an object", "true"; NULL is "missing". */
const char *vact_json_kind(const json_t *value);
/* The same, but a string as it is: in quotes, printable, cut to the buffer. Returns out. */
const char *vact_json_show(char *out, size_t size, const json_t *value);

/* A string that names a file beside the document, and no other: the document comes from elsewhere. Printable ASCII without
 * '/', neither "." nor "..". NULL: it is no such string. */
const char *vact_json_file_name(const json_t *value);

#endif
