#include "hub/listing.h"
#include "base/error.h"
#include "base/nearest.h"
#include "file/json.h"
#include "file/line.h"
#include <string.h>

/* ---- reading ---- */

static int nibble(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Lower-case hexadecimal digits, `bytes` pairs and no more. */
static bool read_digest(const json_t *value, size_t bytes, uint8_t *out)
{
    const char *text = json_string_value(value);
    if (!text || json_string_length(value) != 2 * bytes)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        const int high = nibble(text[2 * i]), low = nibble(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(16 * high + low);
    }
    return true;
}

static bool read_size(const json_t *value, uint64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

/* A file in large file storage is another one than git's own, which only points to it. */
static bool read_content(const json_t *sibling, hub_file *file)
{
    const json_t *lfs = json_object_get(sibling, "lfs");
    if (json_is_object(lfs)) {
        file->hash = HUB_SHA256;
        return read_size(json_object_get(lfs, "size"), &file->size) &&
               read_digest(json_object_get(lfs, "sha256"), HUB_SHA256_BYTES, file->digest);
    }
    file->hash = HUB_GIT_SHA1;
    return read_size(json_object_get(sibling, "size"), &file->size) &&
           read_digest(json_object_get(sibling, "blobId"), HUB_GIT_SHA1_BYTES, file->digest);
}

static vact_status read_file(hub_file *file, const char *name, const json_t *sibling, vact_arena *arena,
                             vact_error *err)
{
    char shown[200];
    const json_t *path = json_object_get(sibling, "rfilename");
    if (!json_is_string(path))
        return vact_fail(err, VACT_EFORMAT, "%s: a file's rfilename is %s, expected a string", name,
                         vact_json_kind(path));
    const char *text = json_string_value(path);
    vact_printable(shown, sizeof shown, text, json_string_length(path));
    const char *fault = strlen(text) == json_string_length(path) ? hub_path_fault(text) : "holds a NUL";
    if (fault)
        return vact_fail(err, VACT_EFORMAT, "%s: the path \"%s\" %s, expected one below the repository", name, shown,
                         fault);
    if (!read_content(sibling, file))
        return vact_fail(err, VACT_EFORMAT, "%s: file \"%s\" has no size or no hash, expected size and blobId, or lfs",
                         name, shown);
    file->path = vact_arena_text(arena, text, strlen(text));
    return file->path ? VACT_OK : vact_fail(err, VACT_ENOMEM, "%s: out of memory", name);
}

static vact_status read_listing(hub_listing *out, const char *name, const json_t *root, vact_arena *arena,
                                vact_error *err)
{
    enum { MOST_FILES = 50000 }; /* the hub's own limit for such an answer to be complete */
    const json_t *sha = json_object_get(root, "sha"), *siblings = json_object_get(root, "siblings");
    if (!json_is_string(sha) || json_string_length(sha) != HUB_COMMIT || !hub_is_commit(json_string_value(sha)))
        return vact_fail(err, VACT_EFORMAT, "%s: sha is no commit, expected 40 hexadecimal digits", name);
    memcpy(out->commit, json_string_value(sha), HUB_COMMIT + 1);
    if (!json_is_array(siblings))
        return vact_fail(err, VACT_EFORMAT, "%s: siblings is %s, expected an array", name, vact_json_kind(siblings));
    out->n = json_array_size(siblings);
    if (out->n > MOST_FILES)
        return vact_fail(err, VACT_EFORMAT, "%s: found %zu files, expected at most %d", name, out->n, MOST_FILES);
    hub_file *files = vact_arena_take(arena, out->n, sizeof *files);
    if (!files)
        return vact_fail(err, VACT_ENOMEM, "%s: out of memory", name);
    out->files = files;
    vact_status status = VACT_OK;
    for (size_t i = 0; i < out->n && status == VACT_OK; i++)
        status = read_file(&files[i], name, json_array_get(siblings, i), arena, err);
    return status;
}

vact_status hub_listing_parse(hub_listing *out, const char *name, const char *text, size_t length, vact_arena *arena,
                              vact_error *err)
{
    enum { MOST_VALUES = 1 << 21 };
    json_t *root;
    *out = (hub_listing){ .n = 0 };
    vact_status status = vact_json_object(&root, name, text, length, MOST_VALUES, VACT_EFORMAT, err);
    if (status == VACT_OK)
        status = read_listing(out, name, root, arena, err);
    json_decref(root);
    return status;
}

/* ---- choosing ---- */

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* The name in the folder, or NULL for what isn't right in it. */
static const char *name_in(const char *folder, const char *path)
{
    const size_t n = strlen(folder);
    if (n > 0 && (strncmp(path, folder, n) != 0 || path[n] != '/'))
        return NULL;
    const char *name = path + n + (n > 0);
    return strchr(name, '/') ? NULL : name;
}

static bool is_gguf(const char *name)
{
    return ends_in(name, ".gguf");
}

static bool is_weights(const char *name)
{
    return ends_in(name, ".safetensors");
}

static bool is_config(const char *name)
{
    return strcmp(name, "config.json") == 0;
}

static bool is_of_checkpoint(const char *name)
{
    return is_weights(name) || ends_in(name, ".json") || ends_in(name, ".model") || ends_in(name, ".txt");
}

/* The files right in the folder that are so; into `out` as well, unless it is NULL. */
static size_t gather(const hub_listing *listing, const char *folder, bool (*is)(const char *), const hub_file **out)
{
    size_t n = 0;
    for (size_t i = 0; i < listing->n; i++) {
        const char *name = name_in(folder, listing->files[i].path);
        if (!name || !is(name))
            continue;
        if (out)
            out[n] = &listing->files[i];
        n++;
    }
    return n;
}

static bool has_folder(const hub_listing *listing, const char *folder)
{
    const size_t n = strlen(folder);
    for (size_t i = 0; i < listing->n; i++)
        if (n == 0 || (strncmp(listing->files[i].path, folder, n) == 0 && listing->files[i].path[n] == '/'))
            return true;
    return false;
}

/* "a, b, c", as many as fit. */
static const char *join(char *out, size_t size, const hub_file *const *files, size_t n)
{
    vact_line line;
    vact_line_begin(&line, out, size);
    for (size_t i = 0; i < n; i++) {
        vact_line_put(&line, i ? ", " : "");
        vact_line_text(&line, files[i]->path, strlen(files[i]->path));
    }
    return out;
}

static vact_status complain_missing(const hub_listing *listing, const char *name, const char *path,
                                    const hub_file **files, vact_arena *arena, vact_error *err)
{
    char all[200];
    const char **paths = vact_arena_take(arena, listing->n + 1, sizeof *paths);
    if (!paths)
        return vact_fail(err, VACT_ENOMEM, "%s: out of memory", name);
    for (size_t i = 0; i < listing->n; i++) {
        files[i] = &listing->files[i];
        paths[i] = files[i]->path;
    }
    const char *near = vact_nearest(path, paths);
    if (near)
        return vact_fail(err, VACT_EARG, "%s: the repository has no such file, did you mean %s?", name, near);
    return vact_fail(err, VACT_EARG, "%s: the repository has no such file, it has %s", name,
                     listing->n ? join(all, sizeof all, files, listing->n) : "none at all");
}

static vact_status select_in_folder(hub_selection *out, const hub_listing *listing, const char *name,
                                    const char *folder, const hub_file **files, vact_error *err)
{
    char all[250];
    out->path = folder;
    out->n = gather(listing, folder, is_gguf, files);
    if (out->n == 1)
        out->path = files[0]->path;
    if (out->n > 1)
        return vact_fail(err, VACT_EARG, "%s: found %zu GGUF files, expected one of them behind the repository: %s",
                         name, out->n, join(all, sizeof all, files, out->n));
    if (out->n == 1)
        return VACT_OK;
    if (!gather(listing, folder, is_config, NULL) || !gather(listing, folder, is_weights, NULL))
        return vact_fail(err, VACT_EARG,
                         "%s: neither a GGUF file nor config.json with *.safetensors is there, expected one or the "
                         "other",
                         name);
    out->n = gather(listing, folder, is_of_checkpoint, files);
    return VACT_OK;
}

vact_status hub_select(hub_selection *out, const hub_listing *listing, const char *name, const char *path,
                       vact_arena *arena, vact_error *err)
{
    const hub_file **files = vact_arena_take(arena, listing->n + 1, sizeof *files);
    *out = (hub_selection){ .path = path, .files = files };
    if (!files)
        return vact_fail(err, VACT_ENOMEM, "%s: out of memory", name);
    for (size_t i = 0; i < listing->n && out->n == 0; i++)
        if (strcmp(listing->files[i].path, path) == 0)
            files[out->n++] = &listing->files[i];
    if (out->n == 1)
        return VACT_OK;
    if (!has_folder(listing, path))
        return complain_missing(listing, name, path, files, arena, err);
    return select_in_folder(out, listing, name, path, files, err);
}
