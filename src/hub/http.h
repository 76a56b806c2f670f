/* GET with redirects, further attempts and ranges, over libcurl, which opening loads. */
#ifndef HUB_HTTP_H
#define HUB_HTTP_H

#include "hub/hub.h"
#include <stddef.h>

/* Where a body goes. */
typedef struct hub_sink {
    uint64_t offset; /* bytes it holds: more are asked for from here on, and every piece moves it */
    uint64_t most;   /* bytes it takes */
    bool whole;      /* a further attempt is for all of it */
    bool resumed;    /* what it holds is from more than one answer */
    /* Forget all, for the body starts at byte 0: offset is 0 then, and resumed false. */
    vact_status (*restart)(struct hub_sink *sink, vact_error *err);
    vact_status (*put)(struct hub_sink *sink, const void *data, size_t n, vact_error *err);
} hub_sink;

typedef struct hub_http {
    const hub_settings *settings;
    const struct hub_libraries *lib;
    void *curl;
    char base[512];    /* no slash at its end */
    char origin[300];  /* of the base */
    const char *token; /* NULL: none */
    bool reached;      /* some answer has come */
    bool unreachable;  /* the last failure was the network's or the server's: another time it may work */
} hub_http;

/* The token, if there is one, lives in the arena. EARG: settings; EIO: the token's file, or a library is
 * missing; ENOMEM. Close it either way. */
vact_status hub_http_open(hub_http *out, const hub_settings *settings, vact_arena *arena, vact_error *err);
void hub_http_close(hub_http *http);

/* Adds a path without empty parts, percent-encoded but for its slashes. ENOMEM; EARG where it doesn't fit. */
vact_status hub_url_add(hub_http *http, char *url, size_t size, const char *path, vact_error *err);

/* The rest of the body into the sink. Broken connections and a busy server get further attempts. Errors are about
 * `name`, of the repository `repo`. EIO, and what the sink says. */
vact_status hub_http_get(hub_http *http, const char *name, const char *repo, const char *url, hub_sink *sink,
                         vact_error *err);

#endif
