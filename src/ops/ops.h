/* The vocabulary: about a dozen fused operations. Stages call the functions at the end of this file; those check
 * shapes, fill a vact_op and hand it to the run's device, which computes, counts, records or enqueues it.
 *
 * Buffers are shapes over one slab per session, handed out as a stack: take a mark, use, release. Device memory,
 * so nothing here dereferences one. Activations are float32, row-major, `stride` floats from row to row.
 *
 * Errors are sticky: after the first failure every call on the run does nothing; whoever runs the stages looks once
 * at the end. */
#ifndef VACT_OPS_H
#define VACT_OPS_H

#include "base/arena.h"
#include "tensor/weights.h"
#include "vact.h"

/* ---- values ---- */

typedef struct vact_buf {
    size_t at; /* first value, in floats from the slab's start */
    int32_t rows, cols, stride;
} vact_buf;

/* Keys and values of attention, in the device's own layout. The rows of a request fall into `groups` equal
 * parts that don't see each other (camera views in a tower); each has room for `capacity` keys. */
typedef struct vact_kv {
    size_t at;
    int32_t groups, capacity, heads, head_dim;
} vact_kv;

/* Tables of rotary position embedding, [positions, head_dim] each. */
typedef struct vact_rope_table {
    vact_buf cos, sin;
} vact_rope_table;

typedef enum vact_norm_kind { VACT_NORM_NONE, VACT_NORM_LAYER, VACT_NORM_RMS } vact_norm_kind;

typedef struct vact_norm {
    vact_norm_kind kind;
    const float *weight, *bias; /* [cols]; bias for layer norms only */
    float eps;
    vact_buf weight_row, bias_row; /* of adaptive norms: [1, cols] buffers in place of both vectors */
} vact_norm;

#define VACT_LAYER_NORM(w, b, e) ((vact_norm){ .kind = VACT_NORM_LAYER, .weight = (w), .bias = (b), .eps = (e) })
#define VACT_RMS_NORM(w, e)      ((vact_norm){ .kind = VACT_NORM_RMS, .weight = (w), .eps = (e) })
#define VACT_ADA_RMS_NORM(scale, shift, e)                                                                             \
    ((vact_norm){ .kind = VACT_NORM_RMS, .eps = (e), .weight_row = (scale), .bias_row = (shift) })

typedef enum vact_act { VACT_ACT_NONE, VACT_ACT_GELU_ERF, VACT_ACT_GELU_TANH, VACT_ACT_SILU, VACT_ACTS } vact_act;

/* A query row sees keys begin <= i < end. A row that sees none gives 0. */
typedef struct vact_span {
    int32_t begin, end;
} vact_span;

/* ---- operations ---- */

/* norm(x) -> one or more linear maps of it -> epilogue, a "site". For output i
 *     v = act(norm(x) W_i^T + bias_i),   y_i = v, or y_i + v where `add` is set.
 * With `gated` there are two maps and one output: v = act(norm(x) W_0^T + bias_0) * (norm(x) W_1^T + bias_1).
 * bias_row, where it has rows, is a [1, cols] buffer that replaces output 0's bias; gate_row, where it has rows, one that
 * v is multiplied by before it is stored or added. No y overlaps x. */
enum { VACT_SITE_OUTPUTS = 3 };

typedef struct vact_site_output {
    vact_buf y;
    const vact_linear *w;
} vact_site_output;

typedef struct vact_site_args {
    vact_buf x;
    vact_norm norm;
    vact_site_output out[VACT_SITE_OUTPUTS]; /* ends at the first without w; gated: out[1].y is unused */
    vact_buf bias_row, gate_row;
    vact_act act;
    bool gated, add;
} vact_site_args;

enum { VACT_ATTENTION_SEGMENTS = 2 };

/* y = softmax(scale * q k^T) v for each of `heads` heads side by side in q and y; y may be q. Query head h uses key head
 * h / (heads / kv heads). Keys are the segments' rows one after the other; the segments differ in keys and capacity
 * only. */
typedef struct vact_attention_args {
    vact_buf y, q;
    int32_t heads;
    float scale;
    struct {
        vact_kv kv;
        int32_t keys;                    /* in use, of each group */
    } segments[VACT_ATTENTION_SEGMENTS]; /* ends at the first with 0 keys */
    const vact_span *spans;              /* [q.rows], or NULL: every row sees every key of its group */
} vact_attention_args;

typedef enum vact_op_kind {
    VACT_OP_UPLOAD,
    VACT_OP_PATCHIFY,
    VACT_OP_EMBED,
    VACT_OP_SITE,
    VACT_OP_NORM,
    VACT_OP_ADD_TABLE,
    VACT_OP_ROPE,
    VACT_OP_KV_WRITE,
    VACT_OP_ATTENTION,
    VACT_OP_COPY,
    VACT_OP_AXPY,
    VACT_OP_PIXEL_SHUFFLE,
    VACT_OP_KINDS
} vact_op_kind;

const char *vact_op_name(vact_op_kind kind);

/* Host pointers in an op are valid during the call only: a device that enqueues copies what they point to. The bytes
 * of weights, biases and norm vectors live as long as the model. */
typedef struct vact_op {
    vact_op_kind kind;
    union {
        struct {
            vact_buf y;
            const float *values;
        } upload;
        struct {
            vact_buf y;
            const vact_image *image;
            int32_t patch;
        } patchify;
        struct {
            vact_buf y;
            const vact_weight *table;
            const int32_t *ids;
            float scale;
        } embed;
        vact_site_args site;
        struct {
            vact_buf y, x;
            vact_norm norm;
        } norm;
        struct {
            vact_buf y;
            const vact_weight *table;
        } add_table;
        struct {
            vact_buf x;
            vact_rope_table table;
        } rope;
        struct {
            vact_kv kv;
            int32_t first;
            vact_buf k, v;
        } kv_write;
        vact_attention_args attention;
        struct {
            vact_buf y, x;
            float scale;
        } copy;
        struct {
            vact_buf y, x;
            float a;
        } axpy;
        struct {
            vact_buf y, x;
            int32_t grid, factor;
        } shuffle;
    };
} vact_op;

/* Floating point operations of its products; a multiply-add counts two, a hidden key none. */
double vact_op_flops(const vact_op *op);
double vact_site_flops(const vact_site_args *site, int output); /* of one of its maps */

/* ---- devices ---- */

/* Working memory of one op, in floats: shared by its threads, and for each of them. */
typedef struct vact_scratch {
    size_t shared, per_thread;
} vact_scratch;

typedef struct vact_device vact_device;
struct vact_device {
    const char *name;
    bool blind; /* reads no values: tables need not be filled for it */
    /* Floats that a kv takes in this device's layout. */
    size_t (*kv_floats)(const vact_device *device, const vact_kv *kv);
    vact_scratch (*scratch)(const vact_device *device, const vact_op *op);
    /* Takes what a session holds: the slab (zeroed), scratch, threads. Once, before the first run. */
    vact_status (*reserve)(vact_device *device, size_t slab, vact_scratch scratch, vact_error *err);
    vact_status (*run)(vact_device *device, const vact_op *op, vact_error *err);
    /* Waits for what was enqueued; values [rows, cols], without row padding, are copied to the host. */
    void (*read)(vact_device *device, vact_buf buf, float *values);
    void (*close)(vact_device *device);
};

/* ---- a run ---- */

typedef struct vact_run {
    vact_device *device;
    vact_arena *arena; /* host memory that lives as long as the session; only `prepare` takes from it */
    size_t top, peak;  /* of the slab, in floats */
    vact_status status;
    vact_error *err;
    vact_trace_fn trace; /* NULL: nobody listens */
    void *trace_user;
    vact_progress_fn progress; /* NULL: nobody listens */
    void *progress_user;
    double flops, all_flops; /* done and expected, for progress */
} vact_run;

/* Values rounded up to an odd number of cache lines of so many. */
static inline int32_t vact_odd_lines(int32_t values, int32_t line)
{
    return ((values + line - 1) / line | 1) * line;
}

/* Floats from row to row of a buffer that products read. Long rows lie an odd number of cache lines apart, so that
 * walking several side by side doesn't meet the same few sets of the cache again and again: a product whose rows are
 * 4 or 12 KiB apart takes 2.5 times as long. */
static inline int32_t vact_row_stride(int32_t cols)
{
    enum { LINE = 16, LONG = 256 };
    return cols < LONG ? cols : vact_odd_lines(cols, LINE);
}

/* Stack of buffers. A mark is the stack's height. */
vact_buf vact_tmp(vact_run *r, int32_t rows, int32_t cols);
vact_kv vact_tmp_kv(vact_run *r, int32_t groups, int32_t capacity, int32_t heads, int32_t head_dim);
static inline size_t vact_mark(const vact_run *r)
{
    return r->top;
}
static inline void vact_release(vact_run *r, size_t mark)
{
    r->top = mark;
}

/* Views. */
vact_buf vact_rows(vact_buf buf, int32_t first, int32_t count);
vact_buf vact_cols(vact_buf buf, int32_t first, int32_t count);

/* Host memory from r->arena, zeroed; NULL fails the run with ENOMEM. */
void *vact_host(vact_run *r, size_t count, size_t size);

/* Fails the run unless it has failed already. */
void vact_run_fail(vact_run *r, vact_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Hands an intermediate to the listener, if there is one; the name is a printf format. */
void vact_emit(vact_run *r, vact_buf buf, const char *name, ...) __attribute__((format(printf, 3, 4)));

/* ---- the vocabulary ---- */

/* y[i] = values[i], row-major without padding. */
void vact_upload(vact_run *r, vact_buf y, const float *values);

/* Pixels to rows of patches in [-1, 1]: y [(size/patch)^2, 3 * patch^2], a row being [channel][row][column]. */
void vact_patchify(vact_run *r, vact_buf y, const vact_image *image, int32_t patch);

/* y[i] = scale * table[ids[i]]; ids are in range. */
void vact_embed(vact_run *r, vact_buf y, const vact_weight *table, const int32_t *ids, float scale);

void vact_site_run(vact_run *r, const vact_site_args *site);
/* vact_site(r, .x = x, .norm = ..., .out = { { q, &w->q }, { k, &w->k } }, .act = ...) */
#define vact_site(r, ...) vact_site_run((r), &(vact_site_args){ __VA_ARGS__ })

/* y = norm(x), where no site follows. */
void vact_norm_rows(vact_run *r, vact_buf y, vact_buf x, vact_norm norm);

/* y[i] += table[i mod table rows]. */
void vact_add_table(vact_run *r, vact_buf y, const vact_weight *table);

/* Rotates the heads in a row of x by that row of the table: pairs (i, i + head_dim/2),
 * (a, b) -> (a cos[i] - b sin[i], b cos[i'] + a sin[i']), i' = i + head_dim/2. */
void vact_rope(vact_run *r, vact_buf x, vact_rope_table table);

/* Keys first .. of every group = rows of k and v, [groups * n, kv heads * head_dim]. */
void vact_kv_write(vact_run *r, vact_kv kv, int32_t first, vact_buf k, vact_buf v);

void vact_attention_run(vact_run *r, const vact_attention_args *attention);
#define vact_attention(r, ...) vact_attention_run((r), &(vact_attention_args){ __VA_ARGS__ })

/* y = scale * x. */
void vact_copy(vact_run *r, vact_buf y, vact_buf x, float scale);

/* y += a * x. */
void vact_axpy(vact_run *r, vact_buf y, float a, vact_buf x);

/* x is groups of [grid * grid, c]; output token (Y, X) on the coarser grid is the concatenation of source tokens
 * (factor Y + i, factor X + j), i outer: y [groups * (grid/factor)^2, factor^2 * c]. */
void vact_pixel_shuffle(vact_run *r, vact_buf y, vact_buf x, int32_t grid, int32_t factor);

#endif
