/* any bytes -> a directory as LeRobot saves one -> a status and one line; or a view with statistics that are finite,
 * from which a model can be made.
 *
 * The input is cut at bytes 0x01: the files below, then the data of the tensors, which is repeated. An empty part is no
 * file. Tensors are lines, "NAME TYPE SIZE SIZE ...", and lie end to end: a changed size makes another checkpoint and
 * not a broken file, of which fuzz_safetensors has enough. */
#include "origin/origin.h"
#include "vact.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = { "config.json", "policy_preprocessor.json", "policy_postprocessor.json",
                                     "statistics.safetensors", "model.safetensors" };
enum { FILES = 5, JSON_FILES = 3, MOST_DATA = 1 << 20 /* of a file's tensors */ };

typedef struct part {
    const uint8_t *data;
    size_t size;
} part;

static char folder[] = "/tmp/vact-fuzz-XXXXXX";
static volatile uint8_t last; /* keeps the reads below */

/* ---- the directory ---- */

static const char *path_of(int file)
{
    static char path[80];
    snprintf(path, sizeof path, "%s/%s", folder, files[file]);
    return path;
}

static void remove_folder(void)
{
    for (int i = 0; i < FILES; i++)
        unlink(path_of(i));
    rmdir(folder);
}

static void make_folder(void)
{
    static bool made;
    if (!made && (!mkdtemp(folder) || atexit(remove_folder) != 0))
        abort();
    made = true;
}

/* Adds the tensor to a header that is begun; *at is where its data starts and, after it, ends. */
static void put_tensor(FILE *header, char *line, uint64_t *at)
{
    char *rest = NULL;
    const char *name = strtok_r(line, " ", &rest), *type = strtok_r(NULL, " ", &rest), *dim;
    if (!name || !type)
        return;
    uint64_t bytes = strcmp(type, "F32") == 0 ? 4 : 2;
    fprintf(header, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", name, type);
    for (int i = 0; (dim = strtok_r(NULL, " ", &rest)); i++) {
        fprintf(header, "%s%s", i ? "," : "", dim);
        if (__builtin_mul_overflow(bytes, strtoull(dim, NULL, 10), &bytes))
            bytes = MOST_DATA;
    }
    const uint64_t end = bytes > MOST_DATA - *at ? MOST_DATA : *at + bytes;
    fprintf(header, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", *at, end);
    *at = end;
}

static void write_tensors(FILE *f, part lines, part data)
{
    static uint8_t bytes[MOST_DATA];
    char *text = strndup((const char *)lines.data, lines.size), *header = NULL, *rest = NULL;
    size_t length = 0;
    uint64_t at = 0;
    FILE *h = open_memstream(&header, &length);
    if (!text || !h)
        abort();
    fprintf(h, "{\"__metadata__\":{}");
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        put_tensor(h, line, &at);
    fprintf(h, "}");
    fclose(h);
    for (uint64_t i = 0; i < at; i += data.size)
        memcpy(bytes + i, data.data, at - i < data.size ? (size_t)(at - i) : data.size);
    const uint64_t prefix = length;
    fwrite(&prefix, sizeof prefix, 1, f);
    fwrite(header, 1, length, f);
    fwrite(bytes, 1, (size_t)at, f);
    free(header);
    free(text);
}

static void write_file(int file, part content, part data)
{
    const char *path = path_of(file);
    if (content.size == 0) {
        unlink(path);
        return;
    }
    FILE *f = fopen(path, "wb");
    if (!f)
        abort();
    if (file < JSON_FILES)
        fwrite(content.data, 1, content.size, f);
    else
        write_tensors(f, content, data);
    if (fclose(f) != 0)
        abort();
}

static void write_files(const uint8_t *data, size_t size)
{
    static const uint8_t zero;
    part parts[FILES + 1] = { { 0 } };
    for (int i = 0; i <= FILES; i++) {
        const uint8_t *end = i < FILES && size > 0 ? memchr(data, 1, size) : NULL;
        const size_t length = end ? (size_t)(end - data) : size, used = length + (end != NULL);
        parts[i] = (part){ data, length };
        data += used;
        size -= used;
    }
    if (parts[FILES].size == 0)
        parts[FILES] = (part){ &zero, 1 };
    for (int i = 0; i < FILES; i++)
        write_file(i, parts[i], parts[FILES]);
}

/* ---- what comes of it ---- */

static void check_failure(vact_status status, const vact_error *err)
{
    if (err->code != status || !err->text[0] || strchr(err->text, '\n'))
        abort();
}

static void check_view(const vact_gguf *gguf)
{
    static const char *const statistics[] = { "state_mean", "state_std", "action_mean", "action_std" };
    for (uint64_t i = 0; i < gguf->n_tensors; i++)
        last = gguf->tensors[i].data[0] ^ gguf->tensors[i].data[gguf->tensors[i].bytes - 1];
    for (int i = 0; i < 4; i++) {
        const vact_gguf_tensor *t = vact_gguf_find_tensor(gguf, statistics[i]);
        for (uint64_t v = 0; v < t->ne[0]; v++)
            if (!isfinite(((const float *)t->data)[v]))
                abort();
    }
}

/* The tables have seen all of it; what remains to be refused are names of cameras, and deviations lost to rounding. */
static void check_model(vact_status status, const vact_error *err)
{
    if (status == VACT_OK)
        return;
    check_failure(status, err);
    if (!strstr(err->text, "key vact.cameras") && !strstr(err->text, "the std of "))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vact_error err = { 0 };
    vact_gguf *gguf = NULL;
    vact_model *model = NULL;
    make_folder();
    write_files(data, size);
    const vact_status status = vact_checkpoint_open(&gguf, folder, &err);
    if (status != VACT_OK) {
        check_failure(status, &err);
        return 0;
    }
    check_view(gguf);
    check_model(vact_model_open(&model, folder, NULL, &err), &err);
    vact_model_close(&model);
    vact_gguf_close(&gguf);
    return 0;
}
