/* A file that is written whole or not at all: into a temporary one beside it, which takes its place at the end. */
#ifndef VACT_BASE_REPLACE_H
#define VACT_BASE_REPLACE_H

#include "vact.h"
#include <stdio.h>

typedef struct vact_replacement {
    FILE *file;       /* to write to */
    const char *path; /* borrowed */
    char *temporary;  /* NULL: there is none, or none any more */
} vact_replacement;

/* EIO with the system's reason, also where something else than a file is at the path; ENOMEM. Zeroed if it fails. */
vact_status vact_replacement_open(vact_replacement *out, const char *path, vact_error *err);

/* EIO: not all could be written, or it could not take the place. Close it either way. */
vact_status vact_replacement_finish(vact_replacement *replacement, vact_error *err);

/* Unless it was finished, removes what was written. Accepts a zeroed one. */
void vact_replacement_close(vact_replacement *replacement);

#endif
