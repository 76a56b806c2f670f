/* A whole file, mapped read-only or copied. */
#ifndef VACT_BASE_MAPPING_H
#define VACT_BASE_MAPPING_H

#include "vact.h"
#include <stdbool.h>

typedef struct vact_mapping {
    const uint8_t *data; /* NULL when size is 0 */
    size_t size;
    bool from_file; /* pages that are dropped are read again; a copy's would be lost */
} vact_mapping;

/* EIO with the system's reason: missing, a directory, not readable, not a regular file.
 * ENOMEM: no room for it in the address space. */
vact_status vact_mapping_open(vact_mapping *out, const char *path, vact_error *err);
/* The same in memory of its own, for files that other programs write to. EINPUT: it has more than `most` bytes. */
vact_status vact_mapping_copy(vact_mapping *out, const char *path, size_t most, vact_error *err);
/* Gives back the memory of the pages that hold bytes [data, data + bytes), if they lie in this mapping and it is of a
 * file; anything else stays. They are read again when they are looked at. For who reads a large file once. */
void vact_mapping_forget(const vact_mapping *mapping, const void *data, size_t bytes);
void vact_mapping_close(vact_mapping *mapping);

#endif
