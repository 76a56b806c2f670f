/* vact: Vision-Language-Action policies in plain C.
 *
 *   camera images [v, h, w, 3]   --+
 *   instruction, text or tokens  --+--> vact_predict --> action chunk [horizon, action_dim]
 *   proprioceptive state [s]     --+
 *
 *     vact_model *model = NULL;
 *     vact_session *session = NULL;
 *     vact_error err;
 *     if (vact_model_open(&model, "smolvla.gguf", NULL, &err) == VACT_OK &&
 *         vact_session_open(&session, model, NULL, &err) == VACT_OK &&
 *         vact_predict(session, &request, &reply, &err) == VACT_OK)
 *         ...
 *     else
 *         fprintf(stderr, "%s\n", err.text);
 *     vact_session_close(&session);
 *     vact_model_close(&model);
 *
 * Threads: a model is read-only after open and may be shared by sessions in any thread. A session
 * belongs to one robot and one thread at a time.
 * Errors: every call that can fail returns a status and, where `err` is not NULL, fills it with one
 * line that says what was wrong, where, and what would be right. The library never prints or exits. */
#ifndef VACT_H
#define VACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define VACT_API __attribute__((visibility("default")))
#else
#define VACT_API
#endif

#define VACT_VERSION "0.1.0"

/* ---- errors ---- */

#define VACT_STATUS_MAP(X)                                                                                             \
    X(OK, "ok")                                                                                                        \
    X(EARG, "bad argument")                                                                                            \
    X(EIO, "cannot read or write")                                                                                     \
    X(EFORMAT, "file is malformed")                                                                                    \
    X(EMODEL, "model not supported")                                                                                   \
    X(EINPUT, "input rejected")                                                                                        \
    X(ENOMEM, "out of memory")                                                                                         \
    X(EDEVICE, "device failed")

typedef enum vact_status {
#define VACT_STATUS_ENUM(name, text) VACT_##name,
    VACT_STATUS_MAP(VACT_STATUS_ENUM)
#undef VACT_STATUS_ENUM
} vact_status;

/* The caller's. Each call that takes one clears it first, so it needs no preparing and can be used again. */
typedef struct vact_error {
    vact_status code;
    char text[512];
} vact_error;

/* A status in words; never NULL. */
VACT_API const char *vact_status_text(vact_status status);

/* The library's version, the string VACT_VERSION it was built with. */
VACT_API const char *vact_version(void);

/* ---- settings ---- */

typedef enum vact_log_level { VACT_LOG_WARNING, VACT_LOG_INFO } vact_log_level;

enum {
    VACT_DEFAULT_VIEWS = 3, /* camera views of a request */
    VACT_MAX_VIEWS = 16,
    VACT_MAX_SIDE = 16384,     /* of a camera picture, in pixels */
    VACT_MAX_PIXELS = 1 << 26, /* of a camera picture */
    VACT_MAX_TEXT = 8192       /* bytes of an instruction */
};

typedef enum vact_activations {
    VACT_ACTIVATIONS_F32, /* products multiply in float32, whatever the weights' type */
    VACT_ACTIVATIONS_INT8 /* Q8_0 and Q4_0 matrices multiply integers: faster, and another rounding. What a matrix reads
                             is rounded to 8 bits, with a scale for each row. Other matrices, attention and norms stay
                             in float32. docs/numerics.md has the error. */
} vact_activations;

typedef struct vact_settings {
    int32_t threads;              /* worker threads, 1..1024; 0: as many as this process may run on */
    int32_t denoise_steps;        /* 1..1000; 0: the file's own number */
    int32_t max_views;            /* most camera views of a request, 1..VACT_MAX_VIEWS; 0: VACT_DEFAULT_VIEWS */
    bool reference;               /* scalar, unfused, double precision: slow, for checking the rest */
    vact_activations activations; /* VACT_ACTIVATIONS_INT8: not with reference */
    const char *isa;              /* highest instruction set to use: "scalar"; x86-64: "avx2", "avxvnni", "avx512";
                                     64-bit Arm: "neon", "dotprod", "i8mm"; NULL: the best here */
    const char *tokenizer;        /* for vact_model_open: a tokenizer.json or GGUF file to read text with; NULL: the
                                     checkpoint's own, if any */
    /* One line at a time, from the calls that take these settings; NULL: silent. log_user outlives the model. */
    void (*log)(void *user, vact_log_level level, const char *line);
    void *log_user;
} vact_settings;

/* All 0, false and NULL. */
VACT_API void vact_settings_default(vact_settings *settings);

/* ---- model ---- */

typedef struct vact_model vact_model;

/* What a caller must know of the loaded policy to talk to it. */
typedef struct vact_model_info {
    const char *arch;           /* "smolvla" */
    int32_t image_size;         /* prepared pixels are [image_size, image_size, 3] */
    int32_t view_tokens;        /* rows of one view's embedding */
    int32_t embedding_width;    /* columns of an image embedding */
    int32_t vocab_size;         /* token ids are 0..vocab_size-1 */
    int32_t max_tokens;         /* 1..max_tokens instruction tokens */
    int32_t state_dim;          /* live proprioception values */
    int32_t max_state_dim;      /* padded width, accepted when the rest is zero */
    int32_t horizon;            /* rows of an action chunk */
    int32_t action_dim;         /* live columns of an action chunk */
    int32_t max_action_dim;     /* padded columns, those of the start noise */
    int32_t denoise_steps;      /* the file's number of denoise steps */
    bool reads_text;            /* a tokenizer is there */
    int32_t n_cameras;          /* cameras that the file names; 0: it names none */
    const char *const *cameras; /* [n_cameras], in the order of the views */
    int64_t parameters;         /* values in all bound tensors */
    uint64_t file_bytes;        /* size of the checkpoint file */
} vact_model_info;

/* Maps a GGUF checkpoint, checks every key and tensor of its architecture and binds the weights.
 * `settings` may be NULL (defaults); the strings in it need not outlive the call.
 * On success *out is the caller's, to be closed with vact_model_close.
 * EARG: out or path is NULL, or a setting out of range. EIO: a file cannot be read. EFORMAT: malformed, or a key or
 * tensor is missing or wrong (the first fault, and how many more), or a tokenizer that doesn't fit. EMODEL: no such
 * architecture or kind of tokenizer. ENOMEM. */
VACT_API vact_status vact_model_open(vact_model **out, const char *path, const vact_settings *settings,
                                     vact_error *err);

/* Accepts NULL and a pointer to NULL; nulls *model. All its sessions must be closed before. */
VACT_API void vact_model_close(vact_model **model);

/* Borrowed from the model; NULL for NULL. */
VACT_API const vact_model_info *vact_model_get_info(const vact_model *model);

/* ---- session ---- */

typedef struct vact_session vact_session;

/* Plans and allocates everything that predictions need. `settings` may be NULL: the model's own.
 * EARG: out or model is NULL, or a setting out of range. ENOMEM: the memory is not there. */
VACT_API vact_status vact_session_open(vact_session **out, const vact_model *model, const vact_settings *settings,
                                       vact_error *err);

/* Accepts NULL and a pointer to NULL; nulls *session. */
VACT_API void vact_session_close(vact_session **session);

/* Bytes of working memory that a session with these settings (NULL: the model's own) allocates, in *bytes; reading
 * text takes about half a megabyte more. Plans only: the memory is not taken. EARG: a setting out of range. ENOMEM. */
VACT_API vact_status vact_session_bytes(const vact_model *model, const vact_settings *settings, uint64_t *bytes,
                                        vact_error *err);

/* ---- prediction ---- */

typedef enum vact_pixel_format {
    VACT_RGB_U8, /* 0..255, three bytes a pixel */
    VACT_RGB_F32 /* [0, 1], three float32 a pixel */
} vact_pixel_format;

/* Row-major, interleaved RGB, no row padding. */
typedef struct vact_image {
    const void *data;      /* VACT_RGB_F32: aligned to 4 bytes */
    int32_t width, height; /* 1..VACT_MAX_SIDE */
    vact_pixel_format format;
    bool prepared; /* false: a camera's picture of any size, which gets the policy's own preprocessing (resize, pad);
                           true: pixels that have had it, of the model's exact size */
    const char *camera; /* one of the model's cameras; NULL: the next one that no view of the request names */
} vact_image;

/* Decodes a JPEG (baseline or progressive; grey, RGB, YCbCr, or CMYK and YCCK with inverted samples, as programs write
 * them; turned upright as its EXIF orientation says, if that is intact) or a PNG (any kind; 16 bits are rounded to 8,
 * alpha is composited on black, gamma, colour profiles and EXIF are ignored) to VACT_RGB_U8. `name` stands for the
 * bytes' origin in messages. The header is checked before memory is taken: sides of 1..VACT_MAX_SIDE, at most
 * VACT_MAX_PIXELS. On success image->data is the caller's, to be freed by vact_image_free.
 * EARG: an argument is NULL. EINPUT: not such a file, damaged or truncated, or too large. ENOMEM. */
VACT_API vact_status vact_image_decode(vact_image *image, const char *name, const void *bytes, size_t size,
                                       vact_error *err);

/* The same from a file, which other programs may write to meanwhile. EIO: cannot be read. EINPUT, too: more than 2^30
 * bytes. */
VACT_API vact_status vact_image_load(vact_image *image, const char *path, vact_error *err);

/* Frees what vact_image_decode or vact_image_load gave, and zeroes it; accepts NULL and a zeroed image. */
VACT_API void vact_image_free(vact_image *image);

typedef enum vact_units {
    VACT_UNITS_REAL, /* the robot's own; the file's statistics are applied */
    VACT_UNITS_MODEL /* normalised, as the network sees them */
} vact_units;

/* Everything is borrowed for the call. Zero-initialise, then set what you have. */
typedef struct vact_request {
    const vact_image *images; /* [n_images], camera views in the model's order, or named: vact_image.camera */
    int32_t n_images;
    const float *image_embeddings; /* instead of images: [n_embedded_views * view_tokens,
                                      embedding_width], the vision stage's output */
    int32_t n_embedded_views;
    const char *text;      /* the instruction, UTF-8, at most VACT_MAX_TEXT bytes; gets the policy's own template */
    const int32_t *tokens; /* [n_tokens], instead of text: exactly what the network reads */
    int32_t n_tokens;
    const float *state; /* [n_state]; NULL: zeros. state_dim values, or more if the rest is zero */
    int32_t n_state;
    vact_units state_units, action_units;
    const float *noise; /* [horizon, max_action_dim]; NULL: N(0,1) from the seed */
    bool has_seed;      /* false: the seed comes from the operating system */
    uint64_t seed;
} vact_request;

/* Milliseconds of wall clock. */
typedef struct vact_timing {
    double total, vision, prefix, denoise;
} vact_timing;

typedef struct vact_reply {
    float *actions; /* the caller's, [horizon, action_dim], row-major, in the request's action_units */
    uint64_t seed;  /* that the noise came from; 0 where the request gave the noise */
    vact_timing timing;
    const char *device; /* that encoded the views; borrowed from the session */
} vact_reply;

/* One action chunk. The first call included, nothing is allocated; only a tokenizer whose normaliser makes a text many
 * times longer may take more memory for it. On any failure `actions` is untouched.
 * EARG: an argument is NULL. EINPUT: the request is refused. EMODEL: the network gave a NaN or an infinity.
 * EDEVICE: the device failed. ENOMEM: only with text, or while progress or traces are reported. */
VACT_API vact_status vact_predict(vact_session *session, const vact_request *request, vact_reply *reply,
                                  vact_error *err);

/* ---- traces ---- */

/* Receives an intermediate [rows, cols], row-major, borrowed for the call. */
typedef void (*vact_trace_fn)(void *user, const char *name, const float *values, int32_t rows, int32_t cols);

/* From now on every named intermediate of this session's predictions is handed to `fn`
 * (NULL: no longer). Names are those of docs/numerics.md. A prediction that is listened to allocates. NULL session:
 * nothing happens. */
VACT_API void vact_trace(vact_session *session, vact_trace_fn fn, void *user);

/* ---- progress ---- */

/* Share of the work that is done, 0..1. */
typedef void (*vact_progress_fn)(void *user, double done);

/* From now on `fn` is called now and then during this session's predictions (NULL: no longer). A prediction that
 * reports its progress allocates a little to know the whole. NULL session: nothing happens. */
VACT_API void vact_progress(vact_session *session, vact_progress_fn fn, void *user);

/* ---- cost ---- */

typedef struct vact_stage_cost {
    double flops;        /* multiply-adds count two */
    double weight_bytes; /* read from the file's tensors, once per pass over them */
} vact_stage_cost;

typedef struct vact_cost {
    vact_stage_cost vision, prefix, denoise; /* denoise: all steps together */
} vact_cost;

/* What one prediction with so many views (1..settings' max_views) and tokens computes in a session with these
 * settings (NULL: the model's own), by counting, not by running. EARG: a number out of range. ENOMEM. */
VACT_API vact_status vact_session_cost(const vact_model *model, const vact_settings *settings, int32_t views,
                                       int32_t tokens, vact_cost *cost, vact_error *err);

#ifdef __cplusplus
}
#endif
#endif
