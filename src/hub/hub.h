/* Checkpoints from a model hub that speaks Hugging Face's protocol: "hf:user/repo[@revision][/path]" -> a path in the
 * cache. The command's, not libvact's. */
#ifndef HUB_HUB_H
#define HUB_HUB_H

#include "base/arena.h"
#include "vact.h"

#define HUB_BASE "https://huggingface.co"

typedef struct hub_settings {
    const char *base;  /* "https://host[:port][/path]"; NULL: HUB_BASE */
    const char *cache; /* folder; NULL: $XDG_CACHE_HOME/vact or ~/.cache/vact */
    const char *token; /* file; its first line is sent to the hub's host and no other. NULL: for HUB_BASE the file that
                         * Hugging Face's own program writes, if it is there */
    bool offline;      /* use the cache alone */
    int32_t stall_s;   /* a connection without a byte for so many seconds is broken; 0: 30 */
    int32_t pause_ms;  /* before a second attempt, twice as long before each further one; 0: 500 */
    void (*log)(void *user, vact_log_level level, const char *line); /* NULL: none, like progress */
    vact_progress_fn progress;                                       /* bytes of all files */
    void *user;                                                      /* given to both */
} hub_settings;

/* Whether a path is to be fetched from the hub: it starts with "hf:". A file of such a name is "./hf:...". */
bool hub_is_name(const char *path);

/* Fetches what isn't in the cache yet. *path, in the arena: the file; or, for a repository or a folder of it without a
 * GGUF file, the folder with its config.json and weights. Files appear there whole and with the hash that the hub
 * lists; one that was broken off is gone on with. Without network, a copy in the cache serves, with a warning.
 * EARG: no such name, or no such file in the repository. EIO: the network, the hub's refusal, the disk, or a library is
 * missing. EFORMAT: what the hub sends makes no sense. ENOMEM. */
vact_status hub_get(char **path, const char *name, const hub_settings *settings, vact_arena *arena, vact_error *err);

#endif
