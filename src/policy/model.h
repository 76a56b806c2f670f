/* The loaded checkpoint, as the policy's files share it. */
#ifndef VACT_POLICY_MODEL_H
#define VACT_POLICY_MODEL_H

#include "base/arena.h"
#include "kernels/kernels.h"
#include "models/arch.h"
#include "text/tokenizer.h"

struct vact_model {
    vact_gguf *gguf;
    const vact_arch *arch;
    void *bound;               /* the architecture's struct: config and weights */
    vact_tokenizer *tokenizer; /* NULL: none came with it */
    vact_arena arena;
    vact_model_info info;
    vact_policy_statistics statistics;
    vact_settings settings; /* isa is one of vact_isa_name's strings, tokenizer NULL */
};

/* Checks ranges and fills in what 0 and NULL stand for (but not denoise_steps). */
vact_status vact_settings_resolve(vact_settings *out, const vact_settings *settings, vact_error *err);

/* One line to the settings' listener. */
void vact_settings_log(const vact_settings *settings, vact_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
