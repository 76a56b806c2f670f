/* path -> bytes. The pages are the file's own: they cost memory only while they are in use. */
#include "base/mapping.h"
#include "base/error.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static vact_status map(vact_mapping *out, int fd, const char *path, vact_error *err)
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
    if (st.st_size == 0)
        return VACT_OK;
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return vact_fail(err, errno == ENOMEM ? VACT_ENOMEM : VACT_EIO, "%s: cannot map %jd bytes: %s", path,
                         (intmax_t)st.st_size, strerror(errno));
    out->data = data;
    out->size = (size_t)st.st_size;
    return VACT_OK;
}

vact_status vact_mapping_open(vact_mapping *out, const char *path, vact_error *err)
{
    *out = (vact_mapping){ 0 };
    const char *shown = vact_path_end(path);
    /* O_NONBLOCK: a named pipe must be refused below, not waited for here. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return vact_fail(err, VACT_EIO, "%s: %s", shown, strerror(errno));
    const vact_status status = map(out, fd, shown, err);
    close(fd);
    return status;
}

void vact_mapping_close(vact_mapping *mapping)
{
    if (mapping->data)
        munmap((void *)(uintptr_t)mapping->data, mapping->size);
    *mapping = (vact_mapping){ 0 };
}
