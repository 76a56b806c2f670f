/* any text -> the request reader and the actions reader: a status and one line, or values that can all be read */
#include "policy/document.h"

#include <stdlib.h>
#include <string.h>

#include "../tests/policy/small_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile float last; /* keeps the reads below */

static void read_floats(const void *values, int64_t n)
{
    for (int64_t i = 0; values && i < n; i++)
        memcpy((void *)(uintptr_t)&last, (const char *)values + (size_t)i * sizeof last, sizeof last);
}

static void read_image(const vact_image *image)
{
    const int64_t values = (int64_t)image->width * image->height * 3;
    if (image->width < 1 || image->height < 1)
        abort();
    read_floats(image->data, image->format == VACT_RGB_U8 ? values / 4 : values);
    if (image->camera)
        last = (float)strlen(image->camera);
}

/* Everything that the request points to is there, in the lengths that the model fixes. */
static void read_request(const vact_document *document)
{
    const vact_request *q = &document->request;
    for (int32_t i = 0; i < q->n_images; i++)
        read_image(&q->images[i]);
    for (int32_t i = 0; i < q->n_tokens; i++)
        if (q->tokens[i] < 0 || q->tokens[i] >= info.vocab_size)
            abort();
    if (q->n_tokens > info.max_tokens)
        abort();
    if (q->text)
        last = (float)strlen(q->text);
    read_floats(q->image_embeddings, (int64_t)q->n_embedded_views * info.view_tokens * info.embedding_width);
    read_floats(q->state, q->n_state);
    read_floats(q->noise, (int64_t)info.horizon * info.max_action_dim);
}

/* Any pattern may be asked for a name. */
static void match_traces(const vact_document *document)
{
    vact_traces traces;
    if (!document->trace || vact_traces_open(&traces, document->trace, NULL) != VACT_OK)
        return;
    vact_traces_keep(&traces, "prefix.0.k", (const float[]){ 1 }, 1, 1);
    vact_traces_close(&traces);
}

static void check_failure(vact_status status, const vact_error *err)
{
    if (err->code != status || !err->text[0] || strchr(err->text, '\n'))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vact_document document;
    vact_error err = { 0 };
    vact_arena arena = { 0 };
    const float *actions = NULL;
    int32_t rows = 0, cols = 0;
    vact_status status = vact_document_parse(
        &document, &info,
        &(vact_document_source){ .name = "fuzz", .folder = NULL, .text = (const char *)data, .length = size }, &err);
    if (status == VACT_OK) {
        read_request(&document);
        match_traces(&document);
    } else {
        check_failure(status, &err);
    }
    vact_document_free(&document);

    err = (vact_error){ 0 };
    status = vact_document_actions("fuzz", (const char *)data, size, &arena, &actions, &rows, &cols, &err);
    if (status == VACT_OK)
        read_floats(actions, (int64_t)rows * cols);
    else
        check_failure(status, &err);
    vact_arena_free(&arena);
    return 0;
}
