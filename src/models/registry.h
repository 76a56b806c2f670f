#ifndef VACT_MODELS_REGISTRY_H
#define VACT_MODELS_REGISTRY_H

#include "models/arch.h"

extern const vact_arch vact_arch_smolvla, vact_arch_pi0, vact_arch_pi05;

/* Every architecture; NULL ends. */
extern const vact_arch *const vact_archs[];

/* Their names, "a, b, c"; with `originals` of those whose original checkpoints are read. */
void vact_arch_list(char *out, size_t size, bool originals);

/* By name, or NULL. */
const vact_arch *vact_arch_find(const char *name, size_t length);

/* The architecture that a file names in general.architecture, or, where that key is absent, by having a string
 * ARCH.architecture. EMODEL lists the known ones. */
vact_status vact_arch_detect(const vact_arch **out, const vact_gguf *gguf, vact_error *err);

#endif
