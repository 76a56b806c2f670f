/* GGUF files, versions 2 and 3: bytes -> checked views, and back.
 *
 * Reading maps the file and checks everything a reader could trip over before use: magic, version, byte
 * order, counts against the file's size, key and tensor names (length, no NUL, no duplicates), value types,
 * array lengths, alignment, dimensions, block sizes, overflow, truncation. Nothing is allocated by a number
 * in the file that the file's size doesn't bear out. Views point into the mapping and live until close.
 * Format: ggml-org/ggml, docs/gguf.md. */
#ifndef VACT_FILE_GGUF_H
#define VACT_FILE_GGUF_H

#include "base/arena.h"
#include "file/dtype.h"
#include "vact.h"

typedef enum vact_gguf_type {
    VACT_GGUF_U8,
    VACT_GGUF_I8,
    VACT_GGUF_U16,
    VACT_GGUF_I16,
    VACT_GGUF_U32,
    VACT_GGUF_I32,
    VACT_GGUF_F32,
    VACT_GGUF_BOOL,
    VACT_GGUF_STRING,
    VACT_GGUF_ARRAY,
    VACT_GGUF_U64,
    VACT_GGUF_I64,
    VACT_GGUF_F64,
    VACT_GGUF_TYPE_END
} vact_gguf_type;

/* "u32", "string", ... */
const char *vact_gguf_type_name(vact_gguf_type type);

/* Bytes of a number or bool, the fewest of a string; 0 for arrays and what is no type. */
uint64_t vact_gguf_type_bytes(vact_gguf_type type);

typedef struct vact_gguf_text {
    const char *data;
    uint64_t length;
} vact_gguf_text; /* no NUL at the end */

typedef struct vact_gguf_value {
    const char *key; /* NUL-terminated */
    vact_gguf_type type;
    vact_gguf_type element; /* of an array (never ARRAY: nested arrays are refused), else `type` */
    uint64_t count;         /* elements of an array, else 1 */
    const uint8_t *data;    /* first element, unaligned little endian */
} vact_gguf_value;

typedef struct vact_gguf_tensor {
    const char *name; /* NUL-terminated */
    uint32_t dtype;   /* known to vact_dtype_get */
    uint32_t n_dims;  /* 1..4 */
    uint64_t ne[4];   /* fastest first, as in the file; 1 beyond n_dims; all >= 1 */
    uint64_t offset;  /* of data in the file */
    uint64_t bytes;
    const uint8_t *data; /* offset is a multiple of the file's alignment (a power of two, at least 8), and the
                            mapping starts a page */
} vact_gguf_tensor;

typedef struct vact_gguf {
    const char *path; /* as messages show it: its end, if it is long */
    uint32_t version; /* of the format; 0: put together from other files */
    uint32_t alignment;
    uint64_t size; /* of the file */
    uint64_t n_values, n_tensors;
    const vact_gguf_value *values;          /* in file order */
    const vact_gguf_tensor *tensors;        /* in file order */
    const vact_gguf_value *const *by_key;   /* the same, sorted by key */
    const vact_gguf_tensor *const *by_name; /* the same, sorted by name */
    const char *tokenizer;                  /* a tokenizer.json that came along beside it, or NULL */
    /* What stands behind the view: a mapped file here, other files where one was put together from them. */
    void (*forget)(const struct vact_gguf *gguf, const void *data, size_t size);
    void (*close)(struct vact_gguf *gguf);
} vact_gguf;

/* EIO, EFORMAT or ENOMEM, and NULL in *out; the text names the file, the key or tensor, what was found and
 * what is right, with anything unprintable in a name escaped. */
vact_status vact_gguf_open(vact_gguf **out, const char *path, vact_error *err);

/* The same over bytes that the caller keeps (for tests and fuzzing); `name` stands for the path.
 * data must be 8-byte aligned. */
vact_status vact_gguf_parse(vact_gguf **out, const char *name, const uint8_t *data, size_t size, vact_error *err);
void vact_gguf_close(vact_gguf **gguf); /* accepts NULL and a pointer to NULL */

/* Tensor bytes that won't be read again soon: memory they take is given back where they can be had from a file. Whoever
 * reads a whole checkpoint calls it now and then. */
void vact_gguf_forget(const vact_gguf *gguf, const void *data, size_t size);

/* Values made in an arena, laid out as in a file; `type` is U32, F32, F64 or BOOL. False: out of memory. */
bool vact_gguf_make_number(vact_gguf_value *out, vact_arena *arena, const char *key, vact_gguf_type type,
                           double number);
bool vact_gguf_make_text(vact_gguf_value *out, vact_arena *arena, const char *key, const char *text);
bool vact_gguf_make_texts(vact_gguf_value *out, vact_arena *arena, const char *key, const char *const *texts, size_t n);

/* Make by_key or by_name, in the arena. False: out of memory. *twice is a key or name that is there twice, else left. */
bool vact_gguf_index_values(vact_gguf *gguf, vact_arena *arena, const char **twice);
bool vact_gguf_index_tensors(vact_gguf *gguf, vact_arena *arena, const char **twice);

/* NULL when there is none. O(log n). */
const vact_gguf_value *vact_gguf_find(const vact_gguf *gguf, const char *key);
const vact_gguf_tensor *vact_gguf_find_tensor(const vact_gguf *gguf, const char *name);

/* The value of a key that must be there and be of this type; for an array, its elements of `element` (else the same as
 * `type`). EFORMAT, and NULL in *out. */
vact_status vact_gguf_need(const vact_gguf *gguf, const char *key, vact_gguf_type type, vact_gguf_type element,
                           const vact_gguf_value **out, vact_error *err);

/* Element `index` of a value or array whose element type must be right (an assert, not a check: callers look
 * at `element` first). */
uint64_t vact_gguf_get_uint(const vact_gguf_value *value, uint64_t index); /* u8 u16 u32 u64 bool */
int64_t vact_gguf_get_int(const vact_gguf_value *value, uint64_t index);   /* i8 i16 i32 i64 */
double vact_gguf_get_float(const vact_gguf_value *value, uint64_t index);  /* f32 f64 */
/* The text of a string, or text `index` of an array of strings, found by walking: all of them are had by
 *     for (vact_gguf_texts texts = vact_gguf_texts_begin(value); vact_gguf_texts_next(&texts, &text);) */
vact_gguf_text vact_gguf_get_text(const vact_gguf_value *value, uint64_t index);

typedef struct vact_gguf_texts {
    const uint8_t *at;
    uint64_t left;
} vact_gguf_texts;

vact_gguf_texts vact_gguf_texts_begin(const vact_gguf_value *value);     /* a string or an array of strings */
bool vact_gguf_texts_next(vact_gguf_texts *texts, vact_gguf_text *text); /* false, and no text, after the last */

/* Whether a key is about the file's own layout, which a writer has its own of: general.alignment. */
bool vact_gguf_is_layout(const char *key);

/* Bytes of all elements as the file holds them. */
uint64_t vact_gguf_value_bytes(const vact_gguf_value *value);
/* Of the same type and to the byte the same; keys may differ. */
bool vact_gguf_same_value(const vact_gguf_value *a, const vact_gguf_value *b);

/* Values in a tensor. */
uint64_t vact_gguf_count(const vact_gguf_tensor *tensor);

/* "[rows, columns]": slowest first. 96 bytes hold any. */
void vact_gguf_format_shape(const vact_gguf_tensor *tensor, char *out, size_t out_size);

/* Any value as a person would write it, on one line cut to the buffer with "..." ("[3] 1, 2, 3",
 * "\"smolvla\""); unprintable bytes are escaped. */
void vact_gguf_format_value(const vact_gguf_value *value, char *out, size_t out_size);

/* ---- writing ---- */

/* Declares values and tensors, then streams the tensors' bytes in that order into a temporary file beside
 * `path`; finish fsyncs and renames it. A writer that is closed unfinished leaves nothing behind.
 * GGUF 3 with the alignment 32, which is the default: the key general.alignment is refused.
 * EARG: a key, name, shape or amount of data that would make a malformed file, or a call out of order. Names that
 * are there twice are found at the end of the declarations.
 * EIO: the system's reason. After any failure the writer is good for closing only; further calls repeat the
 * code. */
typedef struct vact_gguf_writer vact_gguf_writer;

vact_status vact_gguf_writer_open(vact_gguf_writer **out, const char *path, vact_error *err);
const char *vact_gguf_writer_path(const vact_gguf_writer *w); /* as messages show it */
vact_status vact_gguf_put_text(vact_gguf_writer *w, const char *key, const char *text, vact_error *err);
vact_status vact_gguf_put_u32(vact_gguf_writer *w, const char *key, uint32_t v, vact_error *err);
vact_status vact_gguf_put_f32(vact_gguf_writer *w, const char *key, float v, vact_error *err);
vact_status vact_gguf_put_f64(vact_gguf_writer *w, const char *key, double v, vact_error *err);
vact_status vact_gguf_put_bool(vact_gguf_writer *w, const char *key, bool v, vact_error *err);
/* Numbers as they are in memory; bools are bytes of 0 or 1. `data` may be NULL when count is 0. */
vact_status vact_gguf_put_array(vact_gguf_writer *w, const char *key, vact_gguf_type element, const void *data,
                                uint64_t count, vact_error *err);
vact_status vact_gguf_put_texts(vact_gguf_writer *w, const char *key, const vact_gguf_text *texts, uint64_t count,
                                vact_error *err);
/* Some of the puts above, by another's hand. */
typedef vact_status (*vact_gguf_put_fn)(const void *user, vact_gguf_writer *w, vact_error *err);
/* A value of another file, as it is there. */
vact_status vact_gguf_put_value(vact_gguf_writer *w, const vact_gguf_value *value, vact_error *err);
vact_status vact_gguf_put_tensor(vact_gguf_writer *w, const char *name, uint32_t dtype, uint32_t n_dims,
                                 const uint64_t *ne, vact_error *err);
/* After the last put: appends bytes of the tensors' data, cut anywhere; padding between tensors is the
 * writer's. */
vact_status vact_gguf_write_data(vact_gguf_writer *w, const void *data, size_t size, vact_error *err);
/* EARG if fewer bytes were written than declared. */
vact_status vact_gguf_writer_finish(vact_gguf_writer *w, vact_error *err);
void vact_gguf_writer_close(vact_gguf_writer **w); /* accepts NULL and a pointer to NULL */

#endif
