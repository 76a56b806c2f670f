#include "origin/directory.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SOURCE TEST_DATA "/lerobot_smolvla"

static char dir[64], file[512];

static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *size = (size_t)ftell(f);
    rewind(f);
    char *data = malloc(*size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, f), *size);
    data[*size] = 0;
    fclose(f);
    return data;
}

static void write_file(const char *path, const char *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* Calls fn for every file of a directory. */
static void each(const char *path, void (*fn)(const char *name))
{
    DIR *d = opendir(path);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.')
            fn(e->d_name);
    closedir(d);
}

static void copy(const char *name)
{
    char from[512];
    size_t size;
    snprintf(from, sizeof from, "%s/%s", SOURCE, name);
    char *data = read_file(from, &size);
    write_file(directory_file(name), data, size);
    free(data);
}

const char *directory_make(void)
{
    directory_remove();
    snprintf(dir, sizeof dir, "/tmp/vact-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    each(SOURCE, copy);
    return dir;
}

void directory_remove(void)
{
    if (!dir[0])
        return;
    each(dir, directory_delete);
    assert_int_equal(rmdir(dir), 0);
    dir[0] = 0;
}

const char *directory_file(const char *name)
{
    snprintf(file, sizeof file, "%s/%s", dir, name);
    return file;
}

void directory_delete(const char *name)
{
    assert_int_equal(unlink(directory_file(name)), 0);
}

void directory_edit(const char *name, const char *from, const char *to)
{
    size_t size;
    char *data = read_file(directory_file(name), &size), *at = NULL;
    for (size_t i = 0; i + strlen(from) <= size && !at; i++)
        if (memcmp(data + i, from, strlen(from)) == 0)
            at = data + i;
    if (!at)
        fail_msg("%s has no \"%s\"", name, from);
    FILE *f = fopen(directory_file(name), "wb");
    assert_non_null(f);
    const size_t before = (size_t)(at - data), behind = size - before - strlen(from);
    assert_int_equal(fwrite(data, 1, before, f), before);
    assert_int_equal(fwrite(to, 1, strlen(to), f), strlen(to));
    assert_int_equal(fwrite(at + strlen(from), 1, behind, f), behind);
    assert_int_equal(fclose(f), 0);
    free(data);
}

void directory_poke(const char *name, long at, const void *bytes, size_t size)
{
    FILE *f = fopen(directory_file(name), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

void directory_cut(const char *name, long size)
{
    assert_int_equal(truncate(directory_file(name), size), 0);
}

void directory_save(const char *name, const vact_safetensor *const *tensors, size_t n)
{
    char *header = calloc(n + 1, 400);
    size_t used = 0;
    uint64_t at = 0;
    assert_non_null(header);
    for (size_t i = 0; i < n; i++) {
        const vact_safetensor *t = tensors[i];
        used += (size_t)sprintf(header + used, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", i ? "," : "{", t->name,
                                t->type_name);
        for (uint32_t d = 0; d < t->n_dims; d++)
            used += (size_t)sprintf(header + used, "%s%llu", d ? "," : "", (unsigned long long)t->dims[d]);
        used += (size_t)sprintf(header + used, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)at,
                                (unsigned long long)(at + t->bytes));
        at += t->bytes;
    }
    used += (size_t)sprintf(header + used, "}");
    while (used % 8)
        header[used++] = ' ';
    FILE *f = fopen(directory_file(name), "wb");
    assert_non_null(f);
    const uint64_t length = used;
    assert_int_equal(fwrite(&length, sizeof length, 1, f), 1);
    assert_int_equal(fwrite(header, 1, used, f), used);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(fwrite(tensors[i]->data, 1, (size_t)tensors[i]->bytes, f), tensors[i]->bytes);
    assert_int_equal(fclose(f), 0);
    free(header);
}
