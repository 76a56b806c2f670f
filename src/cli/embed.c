/* vact inspect --embed-tokenizer: a checkpoint and a tokenizer.json -> one file that has both. */
#include "base/error.h"
#include "cli/cli.h"
#include "models/registry.h"
#include "text/tokenizer.h"

static vact_status put(const void *tokenizer, vact_gguf_writer *w, vact_error *err)
{
    return vact_tokenizer_put(tokenizer, w, err);
}

/* A tokenizer of another model is told by ids that the embedding has no row for. */
static vact_status check_vocabulary(const vact_gguf *gguf, const vact_tokenizer *tokenizer, const char *tokenizer_path,
                                    vact_error *err)
{
    char key[64];
    const vact_arch *arch;
    const vact_status status = vact_arch_detect(&arch, gguf, err);
    if (status != VACT_OK)
        return status;
    snprintf(key, sizeof key, "%s.vocab_size", arch->schema.arch);
    const vact_gguf_value *rows = vact_gguf_find(gguf, key);
    if (!rows || rows->type != VACT_GGUF_U32)
        return vact_fail(err, VACT_EFORMAT, "%s: key %s is %s, expected a u32", gguf->path, key,
                         rows ? vact_gguf_type_name(rows->type) : "missing");
    if ((uint64_t)vact_tokenizer_size(tokenizer) > vact_gguf_get_uint(rows, 0))
        return vact_fail(err, VACT_EINPUT, "%s: found %d token ids, expected at most %llu, the vocabulary of %s",
                         vact_path_end(tokenizer_path), vact_tokenizer_size(tokenizer),
                         (unsigned long long)vact_gguf_get_uint(rows, 0), gguf->path);
    return VACT_OK;
}

int cli_embed_tokenizer(const char *in, const char *tokenizer_path, const char *out)
{
    vact_error err = { 0 };
    vact_gguf *gguf = NULL;
    vact_tokenizer *tokenizer = NULL;
    vact_status status = vact_gguf_open(&gguf, in, &err);
    if (status == VACT_OK)
        status = vact_tokenizer_open(&tokenizer, tokenizer_path, &err);
    if (status == VACT_OK)
        status = check_vocabulary(gguf, tokenizer, tokenizer_path, &err);
    if (status == VACT_OK)
        status = vact_gguf_copy(gguf, out, "tokenizer.ggml.", put, tokenizer, &err);
    vact_tokenizer_close(&tokenizer);
    vact_gguf_close(&gguf);
    return status == VACT_OK ? CLI_OK : cli_fail("%s", err.text);
}
