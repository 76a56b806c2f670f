/* A name -> what the repository lists -> the files wanted of it -> the cache.
 *
 * <cache>/hf/<user>/<repo>/<commit>/<file>   complete and checked
 * <cache>/hf/<user>/<repo>/<commit>.json     what the repository holds at the commit
 * <cache>/hf/<user>/<repo>/<revision>.json   the same of the branch or tag, when it was last fetched */
#include "hub/hub.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/mapping.h"
#include "base/replace.h"
#include "hub/fetch.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    const char *name;
    const hub_settings *settings;
    vact_arena *arena;
    hub_name what;
    char *root; /* of the repository, in the cache */
    hub_http http;
    hub_listing listing;
    char *answer; /* what it was read from, if the hub sent it */
    size_t answer_bytes;
    hub_selection selection;
} request;

__attribute__((format(printf, 2, 3))) static char *print(vact_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    char *out = n < 0 ? NULL : vact_arena_take(arena, (size_t)n + 1, 1);
    if (out)
        vsnprintf(out, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return out;
}

static vact_status out_of_memory(const request *r, vact_error *err)
{
    return vact_fail(err, VACT_ENOMEM, "%s: out of memory", r->name);
}

static vact_status find_root(request *r, vact_error *err)
{
    const char *cache = r->settings->cache, *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache)
        r->root = print(r->arena, "%s/hf/%s", cache, r->what.repo);
    else if (xdg && xdg[0] == '/')
        r->root = print(r->arena, "%s/vact/hf/%s", xdg, r->what.repo);
    else if (home && home[0] == '/')
        r->root = print(r->arena, "%s/.cache/vact/hf/%s", home, r->what.repo);
    else
        return vact_fail(err, VACT_EARG, "%s: there is no HOME to keep it in, expected --cache <folder>", r->name);
    if (cache && !*cache)
        return vact_fail(err, VACT_EARG, "%s: the cache's folder is empty, expected a path", r->name);
    return r->root ? VACT_OK : out_of_memory(r, err);
}

/* ---- listings ---- */

typedef struct text {
    hub_sink sink; /* first: what the sink's functions get */
    char *data;
    size_t room;
} text;

static vact_status restart(hub_sink *sink, vact_error *err)
{
    (void)err;
    sink->offset = 0;
    sink->resumed = false;
    return VACT_OK;
}

static vact_status put(hub_sink *sink, const void *data, size_t n, vact_error *err)
{
    text *t = (text *)sink;
    char *grown = vact_grown(t->data, &t->room, (size_t)sink->offset + n, 1);
    if (!grown)
        return vact_fail(err, VACT_ENOMEM, "out of memory for the hub's answer");
    t->data = grown;
    memcpy(grown + sink->offset, data, n);
    return VACT_OK;
}

static vact_status connect_hub(request *r, vact_error *err)
{
    return r->http.curl ? VACT_OK : hub_http_open(&r->http, r->settings, r->arena, err);
}

static vact_status ask_for_listing(request *r, vact_error *err)
{
    char url[1024];
    text t = { .sink = { .most = HUB_MOST_LISTING, .whole = true, .restart = restart, .put = put } };
    vact_status status = connect_hub(r, err);
    if (status != VACT_OK)
        return status;
    snprintf(url, sizeof url, "%s/api/models/%s/revision/%s?blobs=true", r->http.base, r->what.repo, r->what.revision);
    status = hub_http_get(&r->http, r->name, r->what.repo, url, &t.sink, err);
    if (status == VACT_OK)
        status = hub_listing_parse(&r->listing, r->name, t.data, (size_t)t.sink.offset, r->arena, err);
    if (status == VACT_OK && hub_is_commit(r->what.revision) && strcmp(r->what.revision, r->listing.commit) != 0)
        status = vact_fail(err, VACT_EFORMAT, "%s: the hub answers with commit %s", r->name, r->listing.commit);
    r->answer = status == VACT_OK ? vact_arena_text(r->arena, t.data, (size_t)t.sink.offset) : NULL;
    r->answer_bytes = (size_t)t.sink.offset;
    free(t.data);
    return status == VACT_OK && !r->answer ? out_of_memory(r, err) : status;
}

static vact_status read_listing(request *r, vact_error *err)
{
    vact_mapping file;
    const char *path = print(r->arena, "%s/%s.json", r->root, r->what.revision);
    if (!path)
        return out_of_memory(r, err);
    vact_status status = vact_mapping_copy(&file, path, HUB_MOST_LISTING, err);
    if (status != VACT_OK)
        return status;
    status = hub_listing_parse(&r->listing, path, (const char *)file.data, file.size, r->arena, err);
    vact_mapping_close(&file);
    return status;
}

/* The hub's answer, as that of the revision. */
static vact_status keep_listing(request *r, const char *revision, vact_error *err)
{
    const char *path = print(r->arena, "%s/%s.json", r->root, revision);
    vact_replacement file;
    if (!path)
        return out_of_memory(r, err);
    vact_status status = hub_make_folders(path, err);
    if (status == VACT_OK)
        status = vact_replacement_open(&file, path, err);
    if (status != VACT_OK)
        return status;
    fwrite(r->answer, 1, r->answer_bytes, file.file); /* finish knows whether it failed */
    status = vact_replacement_finish(&file, err);
    vact_replacement_close(&file);
    return status;
}

/* ---- files ---- */

static char *path_of(const request *r, const char *path)
{
    return print(r->arena, "%s/%s%s%s", r->root, r->listing.commit, *path ? "/" : "", path);
}

static vact_status select_files(request *r, vact_error *err)
{
    return hub_select(&r->selection, &r->listing, r->name, r->what.path, r->arena, err);
}

/* How many of the files aren't in the cache, and their bytes; the path of the last one. */
static vact_status count_missing(const request *r, size_t *n, uint64_t *bytes, const char **last, vact_error *err)
{
    *n = 0;
    *bytes = 0;
    for (size_t i = 0; i < r->selection.n; i++) {
        const hub_file *file = r->selection.files[i];
        const char *path = path_of(r, file->path);
        if (!path)
            return out_of_memory(r, err);
        if (hub_is_fetched(path, file))
            continue;
        *last = path;
        *bytes += file->size;
        ++*n;
    }
    return VACT_OK;
}

static void tell(const request *r, vact_log_level level, const char *line)
{
    if (r->settings->log)
        r->settings->log(r->settings->user, level, line);
}

static void tell_download(const request *r, size_t n, uint64_t bytes)
{
    char line[512];
    snprintf(line, sizeof line, "%s: downloading %zu file%s, %.1f MB, to %s/%s", r->name, n, n == 1 ? "" : "s",
             (double)bytes / 1e6, r->root, r->listing.commit);
    tell(r, VACT_LOG_INFO, line);
}

static vact_status fetch_missing(request *r, vact_error *err)
{
    size_t n;
    uint64_t bytes;
    const char *last = NULL;
    hub_fetch fetch = { .http = &r->http, .name = r->name, .what = &r->what, .commit = r->listing.commit };
    vact_status status = count_missing(r, &n, &bytes, &last, err);
    if (status != VACT_OK || n == 0)
        return status;
    if (r->settings->offline)
        return vact_fail(err, VACT_EIO, "%s: --offline, and %s is not in the cache", r->name, vact_path_end(last));
    status = connect_hub(r, err);
    if (status == VACT_OK && r->answer)
        status = keep_listing(r, r->listing.commit, err);
    if (status == VACT_OK)
        tell_download(r, n, bytes);
    fetch.total = bytes;
    for (size_t i = 0; i < r->selection.n && status == VACT_OK; i++) {
        const hub_file *file = r->selection.files[i];
        const char *path = path_of(r, file->path);
        if (!path)
            return out_of_memory(r, err);
        if (hub_is_fetched(path, file))
            continue;
        status = hub_make_folders(path, err);
        if (status == VACT_OK)
            status = hub_fetch_file(&fetch, file, path, err);
        fetch.before += file->size;
    }
    return status;
}

/* ---- the whole ---- */

/* With the hub out of reach: what is complete in the cache, with a warning. */
static vact_status fall_back(request *r, vact_error *err)
{
    vact_error none = { 0 };
    size_t n;
    uint64_t bytes;
    const char *last;
    char line[600];
    if (read_listing(r, &none) != VACT_OK || select_files(r, &none) != VACT_OK ||
        count_missing(r, &n, &bytes, &last, &none) != VACT_OK || n > 0)
        return err->code;
    snprintf(line, sizeof line, "%s; taking what the cache has, of commit %.12s", err->text, r->listing.commit);
    tell(r, VACT_LOG_WARNING, line);
    vact_error_clear(err);
    return VACT_OK;
}

/* From the cache where it must or may be, otherwise from the hub. A commit never changes. */
static vact_status find_listing(request *r, vact_error *err)
{
    vact_error none = { 0 };
    if (r->settings->offline && read_listing(r, &none) != VACT_OK)
        return vact_fail(err, VACT_EIO, "%s: --offline, and no complete download of it is in the cache %s", r->name,
                         vact_path_end(r->root));
    if (r->settings->offline || (hub_is_commit(r->what.revision) && read_listing(r, &none) == VACT_OK))
        return VACT_OK;
    const vact_status status = ask_for_listing(r, err);
    return status != VACT_OK && r->http.unreachable ? fall_back(r, err) : status;
}

static vact_status run(request *r, vact_error *err)
{
    vact_status status = hub_name_parse(&r->what, r->name, err);
    if (status == VACT_OK)
        status = find_root(r, err);
    if (status == VACT_OK)
        status = find_listing(r, err);
    if (status == VACT_OK)
        status = select_files(r, err);
    if (status == VACT_OK)
        status = fetch_missing(r, err);
    if (status == VACT_OK && r->answer) /* only now: without network it must lead to something complete */
        status = keep_listing(r, r->what.revision, err);
    return status;
}

vact_status hub_get(char **path, const char *name, const hub_settings *settings, vact_arena *arena, vact_error *err)
{
    request r = { .name = name, .settings = settings, .arena = arena };
    vact_error_clear(err);
    *path = NULL;
    vact_status status = run(&r, err);
    if (status == VACT_OK && !(*path = path_of(&r, r.selection.path)))
        status = out_of_memory(&r, err);
    hub_http_close(&r.http);
    return status;
}
