/* A checkpoint written anew with something changed: the one place that copies tensors from file to file. */
#ifndef VACT_CONVERT_REWRITE_H
#define VACT_CONVERT_REWRITE_H

#include "file/gguf.h"
#include "vact.h"

typedef struct vact_rewrite {
    const vact_gguf *in;   /* a file, or put together from several: by_key and by_name are not looked at. Tensors that
                               are decoded lie at a multiple of 4 bytes */
    const uint32_t *types; /* [n_tensors]: what each is stored as; NULL: all as they are */
    const char *dropped;   /* values whose key begins with this are left out; NULL: none */
    const vact_gguf_value *values; /* [n_values]: each in place of the one of its key, or further; NULL: none */
    size_t n_values;
    vact_gguf_put_fn put;      /* further values, behind those of `in`; NULL: none */
    const void *user;          /* put's */
    vact_progress_fn progress; /* NULL: nobody listens */
    void *progress_user;
} vact_rewrite;

/* Writes the file `path`, which may be one that `in` was read from; it appears whole or not at all.
 *
 * Values as they are, but general.alignment, which is the writer's own. Tensors whose type stays byte for byte; the
 * others decoded and encoded, every value checked to be one that the new type can hold. Tensors go from the mapping to
 * the file a piece at a time and are forgotten behind it: little memory, whatever the file's size.
 * EARG: a key or tensor that is there twice, a type that can't be written, or not from this one, rows that are not
 * whole blocks. EFORMAT: a value that the type can't hold. EIO, ENOMEM. */
vact_status vact_rewrite_to(const vact_rewrite *rewrite, const char *path, vact_error *err);

/* Bytes of a file that was written; 0 where the system doesn't tell. */
uint64_t vact_written_bytes(const char *path);

/* EARG: no file can be written with tensors of this type. */
vact_status vact_refuse_type(uint32_t type, vact_error *err);

/* EARG where the file to write is the file to read, under whatever name. */
vact_status vact_refuse_same_file(const char *in, const char *out, vact_error *err);

#endif
