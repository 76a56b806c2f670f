/* A fuzz target without a fuzzer: every file of the folders named is given to it once. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 20 };

static int fail(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    return 1;
}

/* In memory of its own size, so that a sanitizer sees any read beyond it. */
static int replay_file(const char *path)
{
    static uint8_t bytes[MOST_BYTES];
    FILE *f = fopen(path, "rb");
    if (!f)
        return fail(path, "cannot be read");
    const size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (!copy || size == MOST_BYTES) {
        free(copy);
        return fail(path, "is larger than any seed");
    }
    for (size_t i = 0; i < size; i++)
        copy[i] = bytes[i];
    printf("%s\n", path); /* the last one printed is the one that failed */
    fflush(stdout);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    return 0;
}

static int replay_folder(const char *folder)
{
    int files = 0, failed = 0;
    DIR *d = opendir(folder);
    if (!d)
        return fail(folder, "cannot be read");
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        char path[4096];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        failed |= replay_file(path);
        files++;
    }
    closedir(d);
    return files > 0 ? failed : fail(folder, "holds no files");
}

int main(int argc, char **argv)
{
    int failed = argc < 2 ? fail("replay", "no folder was named") : 0;
    for (int i = 1; i < argc; i++)
        failed |= replay_folder(argv[i]);
    return failed;
}
