/* vact inspect --embed-tokenizer: a checkpoint and a tokenizer.json -> one file that has both. */
#include "cli/cli.h"
#include "convert/rewrite.h"
#include "policy/model.h"

static vact_status put(const void *tokenizer, vact_gguf_writer *w, vact_error *err)
{
    return vact_tokenizer_put(tokenizer, w, err);
}

/* The model is opened with it, so it is known to fit. */
int cli_embed_tokenizer(const char *in, const char *tokenizer, const char *out)
{
    vact_error err;
    vact_model *model = NULL;
    const vact_settings settings = { .tokenizer = tokenizer };
    vact_status status = vact_model_open(&model, in, &settings, &err);
    if (status == VACT_OK) {
        const vact_rewrite rewrite = {
            .in = model->gguf, .dropped = "tokenizer.ggml.", .put = put, .user = model->tokenizer
        };
        status = vact_rewrite_to(&rewrite, out, &err);
    }
    vact_model_close(&model);
    return status == VACT_OK ? CLI_OK : cli_fail("%s", err.text);
}
