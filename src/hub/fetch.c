#include "hub/fetch.h"
#include "base/error.h"
#include "hub/libraries.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file on its way. */
typedef struct part {
    hub_sink sink; /* first: what the sink's functions get */
    hub_fetch *fetch;
    const hub_file *file;
    const char *path; /* of the part */
    int fd;           /* locked */
    EVP_MD_CTX *digest;
} part;

static vact_status failed(const char *path, const char *what, vact_error *err)
{
    const int reason = errno;
    return vact_fail(err, VACT_EIO, "%s: cannot %s: %s", vact_path_end(path), what, strerror(reason));
}

vact_status hub_make_folders(const char *path, vact_error *err)
{
    char *folder = strdup(path);
    if (!folder)
        return vact_fail(err, VACT_ENOMEM, "out of memory");
    vact_status status = VACT_OK;
    for (char *slash = strchr(folder + 1, '/'); slash && status == VACT_OK; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
            status = failed(folder, "make this folder", err);
        *slash = '/';
    }
    free(folder);
    return status;
}

bool hub_is_fetched(const char *path, const hub_file *file)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == file->size;
}

/* ---- the part as a sink ---- */

static vact_status begin_digest(part *p, vact_error *err)
{
    const hub_libraries *lib = p->fetch->http->lib;
    char git[40];
    const bool is_git = p->file->hash == HUB_GIT_SHA1;
    const int n = snprintf(git, sizeof git, "blob %llu", (unsigned long long)p->file->size) + 1;
    if (lib->EVP_DigestInit_ex(p->digest, is_git ? lib->EVP_sha1() : lib->EVP_sha256(), NULL) != 1 ||
        (is_git && lib->EVP_DigestUpdate(p->digest, git, (size_t)n) != 1))
        return vact_fail(err, VACT_ENOMEM, "%s: cannot begin its hash", p->file->path);
    return VACT_OK;
}

static vact_status restart(hub_sink *sink, vact_error *err)
{
    part *p = (part *)sink;
    if (ftruncate(p->fd, 0) != 0 || lseek(p->fd, 0, SEEK_SET) != 0)
        return failed(p->path, "empty it", err);
    sink->offset = 0;
    sink->resumed = false;
    return begin_digest(p, err);
}

static vact_status put(hub_sink *sink, const void *data, size_t n, vact_error *err)
{
    part *p = (part *)sink;
    const hub_settings *s = p->fetch->http->settings;
    for (size_t done = 0; done < n;) {
        const ssize_t more = write(p->fd, (const char *)data + done, n - done);
        if (more < 0 && errno != EINTR)
            return failed(p->path, "write", err);
        done += more > 0 ? (size_t)more : 0;
    }
    p->fetch->http->lib->EVP_DigestUpdate(p->digest, data, n);
    if (s->progress)
        s->progress(s->user, (double)(p->fetch->before + sink->offset + n) / (double)p->fetch->total);
    return VACT_OK;
}

/* ---- steps ---- */

/* The part, locked, and still the one at its path: whoever had the lock may have finished it, or removed it. */
static vact_status open_part(part *p, vact_error *err)
{
    const hub_settings *s = p->fetch->http->settings;
    char line[400];
    struct stat held, named;
    for (;;) {
        p->fd = open(p->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (p->fd < 0)
            return failed(p->path, "open it", err);
        if (flock(p->fd, LOCK_EX | LOCK_NB) != 0) {
            snprintf(line, sizeof line, "%s: waiting for another process that downloads it", p->fetch->name);
            if (errno == EWOULDBLOCK && s->log)
                s->log(s->user, VACT_LOG_INFO, line);
            while (flock(p->fd, LOCK_EX) != 0)
                if (errno != EINTR)
                    return failed(p->path, "lock it", err);
        }
        if (fstat(p->fd, &held) != 0)
            return failed(p->path, "look at it", err);
        if (stat(p->path, &named) == 0 && held.st_ino == named.st_ino && held.st_dev == named.st_dev)
            return VACT_OK;
        close(p->fd);
        p->fd = -1;
    }
}

/* What an earlier try left is read once more, for its hash. */
static vact_status resume(part *p, vact_error *err)
{
    enum { PIECE = 1 << 16 };
    char *piece = malloc(PIECE);
    ssize_t n = 0;
    if (!piece)
        return vact_fail(err, VACT_ENOMEM, "out of memory");
    vact_status status = begin_digest(p, err);
    while (status == VACT_OK && p->sink.offset <= p->file->size && (n = read(p->fd, piece, PIECE)) > 0) {
        p->fetch->http->lib->EVP_DigestUpdate(p->digest, piece, (size_t)n);
        p->sink.offset += (uint64_t)n;
    }
    if (status == VACT_OK && n < 0)
        status = failed(p->path, "read it", err);
    p->sink.resumed = p->sink.offset > 0;
    if (status == VACT_OK && p->sink.offset > p->file->size)
        status = restart(&p->sink, err);
    free(piece);
    return status;
}

static bool has_right_digest(part *p)
{
    const hub_libraries *lib = p->fetch->http->lib;
    uint8_t found[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    const unsigned want = p->file->hash == HUB_SHA256 ? HUB_SHA256_BYTES : HUB_GIT_SHA1_BYTES;
    return lib->EVP_DigestFinal_ex(p->digest, found, &n) == 1 && n == want && memcmp(found, p->file->digest, n) == 0;
}

/* The rest of the bytes, and whether they are the right ones. If they came in pieces, these may be of
 * different files: all of it is fetched once more. */
static vact_status complete(part *p, vact_error *err)
{
    char url[8192];
    hub_http *http = p->fetch->http;
    snprintf(url, sizeof url, "%s/%s/resolve/%s/", http->base, p->fetch->what->repo, p->fetch->commit);
    vact_status status = hub_url_add(http, url, sizeof url, p->file->path, err);
    for (bool again = false;; again = true) {
        if (status == VACT_OK && p->sink.offset < p->file->size)
            status = hub_http_get(http, p->fetch->name, p->fetch->what->repo, url, &p->sink, err);
        if (status == VACT_EFORMAT) /* what is there already may be as wrong as what came */
            unlink(p->path);
        if (status != VACT_OK)
            return status;
        const bool whole = p->sink.offset == p->file->size;
        if (whole && has_right_digest(p))
            return VACT_OK;
        if (!p->sink.resumed || again) {
            unlink(p->path);
            return vact_fail(err, VACT_EFORMAT, "%s: %s has not the %s that the hub lists; it is removed",
                             p->fetch->name, p->file->path, whole ? "hash" : "size");
        }
        status = restart(&p->sink, err);
    }
}

static vact_status finish(const part *p, const char *path, vact_error *err)
{
    if (fsync(p->fd) != 0)
        return failed(p->path, "write", err);
    if (rename(p->path, path) != 0)
        return failed(path, "rename its part", err);
    return VACT_OK;
}

static vact_status run_part(part *p, const char *path, vact_error *err)
{
    vact_status status = open_part(p, err);
    if (status == VACT_OK && hub_is_fetched(path, p->file)) { /* by the process that was waited for */
        unlink(p->path);
        return VACT_OK;
    }
    if (status == VACT_OK)
        status = resume(p, err);
    if (status == VACT_OK)
        status = complete(p, err);
    return status == VACT_OK ? finish(p, path, err) : status;
}

vact_status hub_fetch_file(hub_fetch *fetch, const hub_file *file, const char *path, vact_error *err)
{
    const hub_libraries *lib = fetch->http->lib;
    const size_t room = strlen(path) + sizeof ".part";
    char *name = malloc(room);
    part p = { .sink = { .most = file->size, .restart = restart, .put = put }, .fetch = fetch, .file = file, .fd = -1 };
    p.digest = lib->EVP_MD_CTX_new();
    vact_status status;
    if (p.digest && name) {
        snprintf(name, room, "%s.part", path);
        p.path = name;
        status = run_part(&p, path, err);
    } else {
        status = vact_fail(err, VACT_ENOMEM, "%s: out of memory", fetch->name);
    }
    if (p.fd >= 0)
        close(p.fd);
    lib->EVP_MD_CTX_free(p.digest);
    free(name);
    return status;
}
