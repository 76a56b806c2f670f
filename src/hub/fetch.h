/* One file of a repository, into the cache. */
#ifndef HUB_FETCH_H
#define HUB_FETCH_H

#include "hub/http.h"
#include "hub/listing.h"

typedef struct hub_fetch {
    hub_http *http;
    const char *name;     /* what the user asked for */
    const hub_name *what; /* the repository */
    const char *commit;
    uint64_t total, before; /* bytes of all files, and of those that came before this one: for the progress */
} hub_fetch;

/* Makes the folders on the way to path. EIO, ENOMEM. */
vact_status hub_make_folders(const char *path, vact_error *err);

/* Whether the file is there, with the right size: it got its name when it was complete and checked. */
bool hub_is_fetched(const char *path, const hub_file *file);

/* Downloads it to path, by way of path + ".part", which stays for the next try if it is broken off. A process that
 * does the same meanwhile is waited for. EIO, EFORMAT (another content than the one listed), ENOMEM. */
vact_status hub_fetch_file(hub_fetch *fetch, const hub_file *file, const char *path, vact_error *err);

#endif
