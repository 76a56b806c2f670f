/* path -> bytes. Mapped pages are the file's own: they cost memory only while they are in use, and are gone, with a
 * signal for who reads them, when another program shortens the file. A copy's are not. */
#include "base/mapping.h"
#include "base/error.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static vact_status find_size(size_t *size, int fd, const char *path, vact_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return vact_fail(err, VACT_EIO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return vact_fail(err, VACT_EIO, "%s: is a directory, expected a file", path);
    if (!S_ISREG(st.st_mode))
        return vact_fail(err, VACT_EIO, "%s: is not a regular file", path);
    if ((uintmax_t)st.st_size > SIZE_MAX)
        return vact_fail(err, VACT_EIO, "%s: %jd bytes don't fit this machine's address space", path,
                         (intmax_t)st.st_size);
    *size = (size_t)st.st_size;
    return VACT_OK;
}

/* Pages of the file, or with fd = -1 of nothing. */
static vact_status map(vact_mapping *out, size_t size, int fd, const char *path, vact_error *err)
{
    if (size == 0)
        return VACT_OK;
    void *data = fd < 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                        : mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return vact_fail(err, errno == ENOMEM ? VACT_ENOMEM : VACT_EIO, "%s: cannot map %zu bytes: %s", path, size,
                         strerror(errno));
    out->data = data;
    out->size = size;
    out->from_file = fd >= 0;
    return VACT_OK;
}

static vact_status fill(const vact_mapping *copy, int fd, const char *path, vact_error *err)
{
    uint8_t *to = (uint8_t *)(uintptr_t)copy->data;
    for (size_t at = 0; at < copy->size;) {
        const ssize_t n = read(fd, to + at, copy->size - at);
        if (n < 0 && errno != EINTR)
            return vact_fail(err, VACT_EIO, "%s: %s", path, strerror(errno));
        if (n == 0)
            return vact_fail(err, VACT_EIO, "%s: found %zu bytes, expected %zu: another program writes to it", path, at,
                             copy->size);
        at += n > 0 ? (size_t)n : 0;
    }
    return VACT_OK;
}

/* O_NONBLOCK: a named pipe must be refused, not waited for. */
static int open_file(const char *path, vact_error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        vact_fail(err, VACT_EIO, "%s: %s", vact_path_end(path), strerror(errno));
    return fd;
}

vact_status vact_mapping_open(vact_mapping *out, const char *path, vact_error *err)
{
    size_t size = 0;
    *out = (vact_mapping){ 0 };
    const char *shown = vact_path_end(path);
    const int fd = open_file(path, err);
    if (fd < 0)
        return VACT_EIO;
    vact_status status = find_size(&size, fd, shown, err);
    if (status == VACT_OK)
        status = map(out, size, fd, shown, err);
    close(fd);
    return status;
}

vact_status vact_mapping_copy(vact_mapping *out, const char *path, size_t most, vact_error *err)
{
    size_t size = 0;
    *out = (vact_mapping){ 0 };
    const char *shown = vact_path_end(path);
    const int fd = open_file(path, err);
    if (fd < 0)
        return VACT_EIO;
    vact_status status = find_size(&size, fd, shown, err);
    if (status == VACT_OK && size > most)
        status = vact_fail(err, VACT_EINPUT, "%s: found %zu bytes, expected at most %zu", shown, size, most);
    if (status == VACT_OK)
        status = map(out, size, -1, shown, err);
    if (status == VACT_OK)
        status = fill(out, fd, shown, err);
    close(fd);
    if (status != VACT_OK)
        vact_mapping_close(out);
    return status;
}

/* Whole pages, also those at the ends that hold other bytes: they too are the file's. */
void vact_mapping_forget(const vact_mapping *mapping, const void *data, size_t bytes)
{
    const uintptr_t base = (uintptr_t)mapping->data, from = (uintptr_t)data;
    if (!mapping->from_file || bytes == 0 || from < base || from - base >= mapping->size ||
        bytes > mapping->size - (from - base))
        return;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = from - from % page;
    (void)madvise((void *)start, from + bytes - start, MADV_DONTNEED); /* else they merely stay */
}

void vact_mapping_close(vact_mapping *mapping)
{
    if (mapping->data)
        munmap((void *)(uintptr_t)mapping->data, mapping->size);
    *mapping = (vact_mapping){ 0 };
}
