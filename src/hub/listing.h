/* What a repository holds at a commit, and what of it is wanted. */
#ifndef HUB_LISTING_H
#define HUB_LISTING_H

#include "base/arena.h"
#include "hub/name.h"

enum { HUB_MOST_LISTING = 32 << 20 }; /* bytes of its JSON */

typedef enum hub_hash {
    HUB_SHA256,  /* of the file: large files */
    HUB_GIT_SHA1 /* of "blob <size>\0" and the file: what git calls it */
} hub_hash;

enum { HUB_SHA256_BYTES = 32, HUB_GIT_SHA1_BYTES = 20 };

typedef struct hub_file {
    const char *path; /* safe below a folder: hub_path_fault */
    uint64_t size;
    hub_hash hash;
    uint8_t digest[HUB_SHA256_BYTES];
} hub_file;

typedef struct hub_listing {
    char commit[HUB_COMMIT + 1];
    const hub_file *files;
    size_t n;
} hub_listing;

typedef struct hub_selection {
    const char *path; /* of the file, or of the folder without a slash at its end: "" is the repository's root */
    const hub_file *const *files;
    size_t n; /* at least 1 */
} hub_selection;

/* The hub's answer to /api/models/<repo>/revision/<revision>?blobs=true, whoever sent it. `name` stands for where it
 * came from. EFORMAT, ENOMEM. */
vact_status hub_listing_parse(hub_listing *out, const char *name, const char *text, size_t length, vact_arena *arena,
                              vact_error *err);

/* A file; or of a folder (path "" is the root) its only GGUF file; or, without one, all that a LeRobot checkpoint may
 * need of the files right in it: *.json, *.safetensors, *.model, *.txt. `name` is what a user asked for. EARG: there is
 * no such thing, with what there is; ENOMEM. */
vact_status hub_select(hub_selection *out, const hub_listing *listing, const char *name, const char *path,
                       vact_arena *arena, vact_error *err);

#endif
