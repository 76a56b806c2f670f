#include "models/registry.h"

#include "base/error.h"
#include <stdio.h>
#include <string.h>

const vact_arch *const vact_archs[] = {
    &vact_arch_smolvla,
    &vact_arch_pi0,
    &vact_arch_pi05,
    NULL,
};

const vact_arch *vact_arch_find(const char *name, size_t length)
{
    for (int i = 0; vact_archs[i]; i++) {
        const char *arch = vact_archs[i]->schema.arch;
        if (strlen(arch) == length && memcmp(arch, name, length) == 0)
            return vact_archs[i];
    }
    return NULL;
}

void vact_arch_list(char *out, size_t size, bool originals)
{
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; vact_archs[i] && used < size; i++)
        if (!originals || vact_archs[i]->schema.infer)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", vact_archs[i]->schema.arch);
}

vact_status vact_arch_detect(const vact_arch **out, const vact_gguf *gguf, vact_error *err)
{
    char known[256], shown[80];
    vact_arch_list(known, sizeof known, false);
    const vact_gguf_value *value = vact_gguf_find(gguf, "general.architecture");
    if (value) {
        const vact_status status = vact_gguf_need(gguf, value->key, VACT_GGUF_STRING, VACT_GGUF_STRING, &value, err);
        if (status != VACT_OK)
            return status;
        const vact_gguf_text text = vact_gguf_get_text(value, 0);
        *out = vact_arch_find(text.data, (size_t)text.length);
        vact_gguf_format_value(value, shown, sizeof shown);
        if (!*out)
            return vact_fail(err, VACT_EMODEL, "%s: architecture %s is not known, expected one of: %s", gguf->path,
                             shown, known);
        return VACT_OK;
    }
    for (int i = 0; vact_archs[i]; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s.architecture", vact_archs[i]->schema.arch);
        if (vact_gguf_find(gguf, key)) {
            *out = vact_archs[i];
            return VACT_OK;
        }
    }
    return vact_fail(err, VACT_EMODEL, "%s: key general.architecture is missing, expected one of: %s", gguf->path,
                     known);
}
