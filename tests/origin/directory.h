/* Copies of tests/data/lerobot_smolvla, to be changed by tests. */
#ifndef TESTS_ORIGIN_DIRECTORY_H
#define TESTS_ORIGIN_DIRECTORY_H

#include "file/safetensors.h"
#include <stddef.h>

#define DIRECTORY_STATE   "policy_preprocessor_step_5_normalizer_processor.safetensors"
#define DIRECTORY_ACTIONS "policy_postprocessor_step_0_unnormalizer_processor.safetensors"

/* Makes a fresh copy, in place of the one before; returns its path. */
const char *directory_make(void);
void directory_remove(void);

/* The path of a file in it, until the next call. */
const char *directory_file(const char *name);
void directory_delete(const char *name);

/* Replaces the first `from` in a file, which must be there; of any lengths. */
void directory_edit(const char *name, const char *from, const char *to);
/* Overwrites bytes of a file. */
void directory_poke(const char *name, long at, const void *bytes, size_t size);
void directory_cut(const char *name, long size);

/* Writes tensors to a safetensors file. */
void directory_save(const char *name, const vact_safetensor *const *tensors, size_t n);

#endif
