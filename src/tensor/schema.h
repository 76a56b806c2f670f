/* An architecture's file contents as data: keys that fill a config, tables that bind tensors, presets that make
 * checkpoints. One description reads, checks, inspects and synthesises.
 *
 * A model is one struct that begins with its config, a plain struct of int32_t, float and double fields; the bound
 * weights follow. Dimensions are constants or config fields, so the tables hold for every size. Sizes that follow
 * from others (n_q_heads * head_dim) are fields too, filled by `derive` after the keys are read. */
#ifndef VACT_TENSOR_SCHEMA_H
#define VACT_TENSOR_SCHEMA_H

#include "base/arena.h"
#include "file/gguf.h"
#include "tensor/weights.h"

/* ---- dimensions ---- */

/* A constant (> 0), an int32_t config field (< 0), or nothing (0). */
typedef int32_t vact_dim;
#define VACT_DIM(config, field) (~(vact_dim)offsetof(config, field))

int32_t vact_dim_get(vact_dim dim, const void *config);

/* ---- keys ---- */

typedef struct vact_key {
    const char *name; /* after "ARCH." */
    vact_gguf_type
        type;  /* U32, BOOL and STRING fill an int32_t, F32 a float, F64 a double; no other type is accepted */
    size_t at; /* of the field in the config */
    bool required;
    double fallback; /* where the file may leave the key out */
    double min, max; /* accepted range */
    /* Where an original checkpoint's configuration says it, "input_features/observation.state/shape/0"; with ? in front,
     * a number below 1 says nothing. NULL: shapes or `infer` tell it. */
    const char *source;
    bool own; /* of this project, not of the files that others make: written only where it isn't the fallback */
    const char *words; /* STRING: those that it may be, "a|b"; the field holds the place */
} vact_key;

/* What an original checkpoint's configuration has to say, if it says it: other values ask for what isn't done here. */
typedef struct vact_expectation {
    const char *path; /* NULL ends */
    const char *json; /* the value, or = and another path */
} vact_expectation;

/* ---- tensors ---- */

/* How vact synth fills a tensor: offset + scale * noise in [-1, 1). With `times` the scale is multiplied by sqrt(that
 * dimension), with `over` divided by it, with fan_in divided by sqrt(product of all dimensions but the first). */
typedef struct vact_made {
    vact_dtype dtype;
    double scale, offset;
    bool fan_in;
    vact_dim over, times;
} vact_made;

typedef enum vact_row_kind {
    VACT_ROW_MATRIX,       /* binds a vact_weight of any type that computes; [rows, product of the rest] */
    VACT_ROW_FLOAT_MATRIX, /* the same, not quantized: columns are viewed where a block may not be cut */
    VACT_ROW_VECTOR,       /* binds a const float *, converted at load where the file has another float type */
    VACT_ROW_VECTOR_PLUS_1 /* the same, with 1 added to every value: norms that are stored as what they differ by */
} vact_row_kind;

typedef struct vact_row {
    const char *name; /* with one %d for the layer where the table repeats; NULL ends a table */
    vact_row_kind kind;
    size_t at;        /* of the vact_weight or const float * in the model or layer */
    vact_dim dims[4]; /* slowest first, [rows, cols]; 0 ends */
    vact_made made;
    const char *source; /* its name in the original checkpoint, with %d as in `name` */
    bool optional;      /* may be missing: then what it binds stays zero */
} vact_row;

typedef struct vact_table {
    const vact_row *rows; /* NULL ends the tables */
    vact_dim count;       /* layers; 0: the rows belong to the model struct itself */
    size_t at;            /* of the pointer to the layers in the model struct; allocated by bind */
    size_t layer_bytes;
    bool (*applies)(const void *config, int layer); /* NULL: to every layer */
} vact_table;

/* clang-format off */
/* Usual keys: a whole number that must be there, and one that may be left out. */
#define VACT_KEY(name, at, lo, hi, source)       { name, VACT_GGUF_U32, at, true, 0, lo, hi, source, false, NULL }
#define VACT_KEY_OR(name, at, d, lo, hi, source) { name, VACT_GGUF_U32, at, false, d, lo, hi, source, false, NULL }
/* Made-up weights: matrices by fan-in, others around a value. */
#define VACT_MADE_FAN(type, gain)           { VACT_DTYPE_##type, gain, 0, true, 0, 0 }
#define VACT_MADE(type, offset, scale)      { VACT_DTYPE_##type, scale, offset, false, 0, 0 }
/* Usual rows. */
#define VACT_MATRIX(type, at, name, out, in, gain, source)                                                             \
    { name, VACT_ROW_MATRIX, at, { out, in }, VACT_MADE_FAN(type, gain), source, false }
#define VACT_VECTOR(type, at, name, n, offset, scale, source)                                                          \
    { name, VACT_ROW_VECTOR, at, { n }, VACT_MADE(type, offset, scale), source, false }
#define VACT_NORM(type, at, name, n, source) VACT_VECTOR(type, at, name, n, 1, 0.1, source)
#define VACT_NORM_PLUS_1(type, at, name, n, source)                                                                    \
    { name, VACT_ROW_VECTOR_PLUS_1, at, { n }, VACT_MADE(type, 0, 0.1), source, false }
/* clang-format on */

/* ---- the whole ---- */

typedef struct vact_preset {
    const char *name; /* "tiny"; NULL ends */
    const void *config;
} vact_preset;

typedef struct vact_schema {
    const char *arch;
    size_t config_bytes, model_bytes;
    const vact_key *keys; /* name NULL ends */
    const vact_table *tables;
    const vact_preset *presets;
    /* Of original checkpoints (tensor/import.h). `infer` fills what neither their configuration nor shapes tell; NULL: they
     * are not read. */
    const vact_expectation *expectations;
    void (*infer)(void *config);
    /* Fills derived fields and checks what one key alone can't show. Returns NULL or what is wrong, a sentence
     * that names the keys, written to text. */
    const char *(*derive)(void *config, char *text, size_t text_size);
} vact_schema;

/* Collects what is wrong with a file: the first fault and the number of all. */
typedef struct vact_faults {
    void (*report)(void *user, const char *line); /* every fault as it is found, or NULL */
    void *user;
    int count;
    char first[400];
} vact_faults;

void vact_fault(vact_faults *faults, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef void (*vact_decode_fn)(float *dst, const void *src, size_t n);

/* A key's value, in the config's field. */
double vact_key_value(const vact_key *key, const void *config);
void vact_key_store(const vact_key *key, void *config, double value);

/* Reads and checks the keys into the config, and learns from the tensors' shapes what no key says; `model` is zeroed memory of model_bytes. */
void vact_schema_read(const vact_schema *schema, const vact_gguf *gguf, void *model, vact_faults *faults);

/* Binds every tensor of the tables into a model whose config is read. decode[dtype] is NULL for types that don't
 * compute. Faults are collected; ENOMEM is the only failure. */
vact_status vact_schema_bind(const vact_schema *schema, const vact_gguf *gguf, void *model,
                             const vact_decode_fn *decode, vact_arena *arena, vact_faults *faults, vact_error *err);

/* Calls fn for every tensor the schema expects, in file order; stops when it returns false. */
typedef bool (*vact_schema_fn)(void *user, const char *name, const vact_row *row, const vact_table *table, int layer);
void vact_schema_walk(const vact_schema *schema, const void *config, vact_schema_fn fn, void *user);

/* The shape of a row's tensor in a layer, slowest first; returns how many dimensions, or -1 where there is no tensor. */
enum { VACT_MOST_DIMS = 8 };
typedef int (*vact_shape_fn)(const void *user, const vact_row *row, int layer, uint64_t dims[VACT_MOST_DIMS]);

/* Dimensions that the config has no value for yet, from the tensors of each table's first layer; numbers of layers from
 * how many there are. */
void vact_schema_learn(const vact_schema *schema, void *config, vact_shape_fn shape, const void *user);

/* The name of a row's tensor, or its source, in a layer. */
void vact_row_name(char *out, size_t size, const char *pattern, int layer);

/* The keys of a file with this config, in the order of the table: general.architecture and ARCH.architecture first. All
 * in the arena; false: out of memory. */
bool vact_schema_values(const vact_schema *schema, const void *config, vact_arena *arena, vact_gguf_value **values,
                        size_t *n);

/* "[50, 32]" */
void vact_dims_format(char *out, size_t size, const int64_t *dims, int n);

/* Dimensions of a row, slowest first; returns how many. */
int vact_row_dims(const vact_row *row, const void *config, int64_t dims[4]);

/* Values in all expected tensors. */
int64_t vact_schema_parameters(const vact_schema *schema, const void *config);

#endif
