/* a GGUF file -> the same with other keys: values, tensor descriptions, then the tensors' bytes from the mapping */
#include "file/gguf.h"
#include <string.h>

static bool is_kept(const char *key, const char *dropped)
{
    return strncmp(key, dropped, strlen(dropped)) != 0 && strcmp(key, "general.alignment") != 0;
}

static vact_status copy_values(const vact_gguf *in, vact_gguf_writer *w, const char *dropped, vact_error *err)
{
    vact_status status = VACT_OK;
    for (uint64_t i = 0; i < in->n_values && status == VACT_OK; i++)
        if (is_kept(in->values[i].key, dropped))
            status = vact_gguf_put_value(w, &in->values[i], err);
    return status;
}

static vact_status copy_tensors(const vact_gguf *in, vact_gguf_writer *w, vact_error *err)
{
    vact_status status = VACT_OK;
    for (uint64_t i = 0; i < in->n_tensors && status == VACT_OK; i++) {
        const vact_gguf_tensor *t = &in->tensors[i];
        status = vact_gguf_put_tensor(w, t->name, t->dtype, t->n_dims, t->ne, err);
    }
    for (uint64_t i = 0; i < in->n_tensors && status == VACT_OK; i++)
        status = vact_gguf_write_data(w, in->tensors[i].data, in->tensors[i].bytes, err);
    return status;
}

vact_status vact_gguf_copy(const vact_gguf *in, const char *path, const char *dropped, vact_gguf_put_fn put,
                           const void *user, vact_error *err)
{
    vact_gguf_writer *w = NULL;
    vact_status status = vact_gguf_writer_open(&w, path, err);
    if (status == VACT_OK)
        status = copy_values(in, w, dropped, err);
    if (status == VACT_OK)
        status = put(user, w, err);
    if (status == VACT_OK)
        status = copy_tensors(in, w, err);
    if (status == VACT_OK)
        status = vact_gguf_writer_finish(w, err);
    vact_gguf_writer_close(&w);
    return status;
}
