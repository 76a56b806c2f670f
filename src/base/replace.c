#include "base/replace.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMPORARY_NAMES = 100 };

static vact_status failed(const char *path, vact_error *err, const char *what)
{
    const int reason = errno;
    return vact_fail(err, VACT_EIO, "%s: cannot %s: %s", vact_path_end(path), what, strerror(reason));
}

/* Refuses early what the rename would refuse after gigabytes, or replace: a directory, a device. */
static vact_status check_target(const char *path, vact_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
        return VACT_OK;
    return vact_fail(err, VACT_EIO, "%s: %s", vact_path_end(path),
                     S_ISDIR(st.st_mode) ? "is a directory, expected a file" : "is not a regular file");
}

/* A leftover of a killed process must not stop the next one that gets its id. */
static int create(char *name, size_t room, const char *path)
{
    int fd = -1;
    errno = EEXIST;
    for (int i = 0; i < TEMPORARY_NAMES && fd < 0 && errno == EEXIST; i++) {
        snprintf(name, room, "%s.tmp.%ld.%d", path, (long)getpid(), i);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    return fd;
}

vact_status vact_replacement_open(vact_replacement *out, const char *path, vact_error *err)
{
    *out = (vact_replacement){ 0 };
    const vact_status status = check_target(path, err);
    if (status != VACT_OK)
        return status;
    const size_t room = strlen(path) + 40;
    char *name = malloc(room);
    if (!name)
        return vact_fail(err, VACT_ENOMEM, "%s: no memory to write it", vact_path_end(path));
    const int fd = create(name, room, path);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!file) {
        const vact_status system = failed(path, err, "create a temporary file beside it");
        if (fd >= 0) {
            close(fd);
            unlink(name);
        }
        free(name);
        return system;
    }
    *out = (vact_replacement){ file, path, name };
    return VACT_OK;
}

vact_status vact_replacement_finish(vact_replacement *r, vact_error *err)
{
    if (fflush(r->file) != 0 || fsync(fileno(r->file)) != 0)
        return failed(r->path, err, "write");
    FILE *file = r->file;
    r->file = NULL;
    if (fclose(file) != 0)
        return failed(r->path, err, "write");
    if (rename(r->temporary, r->path) != 0)
        return failed(r->path, err, "rename the temporary file");
    free(r->temporary);
    r->temporary = NULL;
    return VACT_OK;
}

void vact_replacement_close(vact_replacement *r)
{
    if (r->file)
        fclose(r->file);
    if (r->temporary)
        unlink(r->temporary);
    free(r->temporary);
    *r = (vact_replacement){ 0 };
}
