#include "tensor/synth.h"

#include "base/error.h"
#include "base/hash.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 1 << 16 }; /* values made and written at a time */

void vact_synth_noise(float *out, const char *name, uint64_t seed, uint64_t first, size_t n)
{
    const uint64_t start = seed ^ vact_hash(VACT_HASH_START, name, strlen(name));
    for (size_t i = 0; i < n; i++) {
        uint64_t z = start + (first + i + 1) * 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        z ^= z >> 31;
        out[i] = 2.0f * ((float)(z >> 40) / 16777216.0f) - 1.0f;
    }
}

typedef struct synth {
    const vact_schema *schema;
    const void *config;
    const vact_synth_options *options;
    vact_gguf_writer *writer;
    uint64_t done, total;
    float *values;
    void *bytes; /* the values as the file stores them */
    vact_error *err;
    vact_status status;
} synth;

static uint64_t value_count(const int64_t *dims, int n)
{
    uint64_t count = 1;
    for (int i = 0; i < n; i++)
        count *= (uint64_t)dims[i];
    return count;
}

static bool put_row(void *user, const char *name, const vact_row *row, const vact_table *table, int layer)
{
    (void)table, (void)layer;
    synth *s = user;
    int64_t dims[4];
    uint64_t ne[4];
    const int n = vact_row_dims(row, s->config, dims);
    for (int i = 0; i < n; i++)
        ne[i] = (uint64_t)dims[n - 1 - i];
    s->total += vact_dtype_bytes(row->made.dtype, value_count(dims, n));
    s->status = vact_gguf_put_tensor(s->writer, name, row->made.dtype, (uint32_t)n, ne, s->err);
    return s->status == VACT_OK;
}

static bool write_row(void *user, const char *name, const vact_row *row, const vact_table *table, int layer)
{
    (void)table, (void)layer;
    synth *s = user;
    int64_t dims[4];
    const int n = vact_row_dims(row, s->config, dims);
    const uint64_t count = value_count(dims, n);
    double scale = row->made.scale;
    if (row->made.times)
        scale *= sqrt((double)vact_dim_get(row->made.times, s->config));
    if (row->made.over)
        scale /= sqrt((double)vact_dim_get(row->made.over, s->config));
    if (row->made.fan_in)
        scale /= sqrt((double)value_count(dims + 1, n - 1));
    const vact_encode_fn encode = vact_dtype_encoder(row->made.dtype);
    const float times = (float)scale, plus = (float)row->made.offset;
    for (uint64_t at = 0; at < count; at += CHUNK) {
        const size_t m = count - at < CHUNK ? (size_t)(count - at) : CHUNK;
        vact_synth_noise(s->values, name, s->options->seed, at, m);
        for (size_t i = 0; i < m; i++)
            s->values[i] = plus + times * s->values[i];
        encode(s->bytes, s->values, m);
        const size_t size = (size_t)vact_dtype_bytes(row->made.dtype, m);
        s->status = vact_gguf_write_data(s->writer, s->bytes, size, s->err);
        if (s->status != VACT_OK)
            return false;
        s->done += size;
        if (s->options->progress)
            s->options->progress(s->options->user, (double)s->done / (double)s->total);
    }
    return true;
}

static vact_status put_keys(synth *s, vact_arena *arena)
{
    vact_gguf_value *values;
    size_t n;
    if (!vact_schema_values(s->schema, s->config, arena, &values, &n))
        return vact_fail(s->err, VACT_ENOMEM, "%s: out of memory", vact_gguf_writer_path(s->writer));
    vact_status status = VACT_OK;
    for (size_t i = 0; i < n && status == VACT_OK; i++)
        status = vact_gguf_put_value(s->writer, &values[i], s->err);
    return status;
}

/* Another number of embeddings in the config. */
static vact_status set_vocab(const vact_schema *schema, void *config, int32_t vocab, const char *path, vact_error *err)
{
    for (const vact_key *key = schema->keys; key->name; key++)
        if (strcmp(key->name, "vocab_size") == 0 && vocab >= fmax(key->min, 1) && vocab <= key->max) {
            vact_key_store(key, config, vocab);
            return VACT_OK;
        }
    return vact_fail(err, VACT_EARG, "%s: %s cannot have a vocabulary of %d", path, schema->arch, vocab);
}

vact_status vact_synth_write(const vact_schema *schema, const vact_preset *preset, const char *path,
                             const vact_synth_options *options, vact_error *err)
{
    char wrong_text[256];
    vact_arena arena = { 0 };
    void *config = vact_arena_take(&arena, 1, schema->config_bytes);
    synth s = { .schema = schema, .config = config, .options = options, .err = err };
    s.values = vact_arena_take(&arena, CHUNK, sizeof *s.values);
    s.bytes = vact_arena_take(&arena, CHUNK, sizeof *s.values);
    if (!config || !s.values || !s.bytes) {
        vact_arena_free(&arena);
        return vact_fail(err, VACT_ENOMEM, "%s: out of memory", path);
    }
    memcpy(config, preset->config, schema->config_bytes);
    if (options->vocab)
        s.status = set_vocab(schema, config, options->vocab, path, err);
    const char *wrong = schema->derive(config, wrong_text, sizeof wrong_text);
    if (s.status == VACT_OK && wrong)
        s.status = vact_fail(err, VACT_EARG, "%s: preset %s: %s", path, preset->name, wrong);
    if (s.status == VACT_OK)
        s.status = vact_gguf_writer_open(&s.writer, path, err);
    if (s.status == VACT_OK)
        s.status = put_keys(&s, &arena);
    if (s.status == VACT_OK)
        vact_schema_walk(schema, config, put_row, &s);
    if (s.status == VACT_OK)
        vact_schema_walk(schema, config, write_row, &s);
    if (s.status == VACT_OK)
        s.status = vact_gguf_writer_finish(s.writer, err);
    vact_gguf_writer_close(&s.writer);
    vact_arena_free(&arena);
    return s.status;
}
