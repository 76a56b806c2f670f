/* any bytes -> a tokenizer from tokenizer.json or GGUF: a status and one line; or ids in range for a text and for the
 * bytes themselves */
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_TEXT = 4096 };

static void check_failure(vact_status status, const vact_error *err)
{
    if (err->code != status || !err->text[0] || strchr(err->text, '\n'))
        abort();
}

static void encode(const vact_tokenizer *t, const char *text, size_t length)
{
    vact_encoder *e = NULL;
    vact_error err = { 0 };
    const int32_t *ids = NULL;
    size_t n = 0;
    if (vact_encoder_open(&e, t, 16, &err) != VACT_OK)
        abort();
    for (int special = 0; special < 2; special++) {
        const vact_status status = vact_encode(e, text, length, special, &ids, &n, &err);
        if (status != VACT_OK) {
            if (status != VACT_EMODEL)
                abort();
            check_failure(status, &err);
            break;
        }
        for (size_t i = 0; i < n; i++)
            if (ids[i] < 0 || ids[i] >= vact_tokenizer_size(t))
                abort();
    }
    vact_encoder_close(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "ab  a\xCC\x88\xCC\xA3 <x>\n12 aB's \xE2\x96\x81\xFF\xF0\x9F\x98\x80 \xEF\xAC\x81";
    vact_tokenizer *t = NULL;
    vact_gguf *gguf = NULL;
    vact_error err = { 0 };
    vact_status status;
    uint8_t *copy = malloc(size > 0 ? size : 1); /* aligned, as the reader asks */
    if (!copy)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    if (size >= 4 && memcmp(copy, "GGUF", 4) == 0) {
        status = vact_gguf_parse(&gguf, "fuzz", copy, size, &err);
        if (status == VACT_OK)
            status = vact_tokenizer_from_gguf(&t, gguf, &err);
    } else {
        status = vact_tokenizer_from_json(&t, "fuzz", (const char *)copy, size, &err);
    }
    if (status == VACT_OK) {
        encode(t, text, sizeof text);
        encode(t, (const char *)copy, size < MOST_TEXT ? size : MOST_TEXT);
    } else {
        if (t)
            abort();
        check_failure(status, &err);
    }
    vact_tokenizer_close(&t);
    vact_gguf_close(&gguf);
    free(copy);
    return 0;
}
