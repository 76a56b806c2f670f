/* An original checkpoint, described by the same tables as the GGUF file it becomes: a config from its configuration and
 * its tensors' shapes, and a check of every tensor. Where the numbers and tensors lie is the caller's matter. */
#ifndef VACT_TENSOR_IMPORT_H
#define VACT_TENSOR_IMPORT_H

#include "file/safetensors.h"
#include "tensor/schema.h"
#include <jansson.h>

typedef struct vact_source {
    const char *path;        /* for messages */
    const json_t *config;    /* an object */
    const char *config_name; /* its file */
    /* NULL: there is none of that name. */
    const vact_safetensor *(*tensor)(const void *user, const char *name);
    const void *user;
} vact_source;

/* "a/b/0": member b of member a, its first element; NULL: there is no such thing, or it is null. */
const json_t *vact_source_at(const vact_source *source, const char *path);

/* Fills `config`, zeroed memory of the schema's size, and checks it and every tensor that the tables ask for: presence,
 * shape, a type of floating point. */
void vact_schema_import(const vact_schema *schema, const vact_source *source, void *config, vact_faults *faults);

#endif
