/* The request document: one JSON object, the same wherever a request comes as text; and its reply.
 *
 *     {"images": [{"path": "front.png"}], "text": "pick up the bowl", "state": [0.1, ...], "seed": 7}
 *
 * docs/request.md has all of its fields. */
#ifndef VACT_POLICY_DOCUMENT_H
#define VACT_POLICY_DOCUMENT_H

#include "base/arena.h"
#include "policy/traces.h"
#include "vact.h"
#include <stdio.h>

typedef struct vact_document {
    vact_request request;
    const char *const *trace; /* patterns, NULL ends; NULL: none */
    vact_image *decoded;      /* [n_decoded]: pictures that came as files, zeroed where pixels came */
    int32_t n_decoded;
    vact_arena arena; /* of everything else that the request points to */
} vact_document;

typedef struct vact_document_source {
    const char *name;   /* for messages: where the text came from */
    const char *folder; /* where an image's relative path starts, "" for here; NULL: the document may not name files */
    const char *text;
    size_t length;
} vact_document_source;

/* Reads a document for a model. Shapes that the model fixes are checked here, because a request holds no lengths
 * for them, and what becomes an integer; everything else by vact_predict. EINPUT names the field. */
vact_status vact_document_parse(vact_document *out, const vact_model_info *info, const vact_document_source *source,
                                vact_error *err);
/* Leaves the request without views; frees the decoded ones. */
void vact_document_forget_images(vact_document *document);
void vact_document_free(vact_document *document);

/* Actions of a reply document [rows, cols], or of any object with an "actions" array of equally long rows; owned by
 * the arena. */
vact_status vact_document_actions(const char *name, const char *text, size_t length, vact_arena *arena,
                                  const float **actions, int32_t *rows, int32_t *cols, vact_error *err);

/* ---- replies ---- */

/* Writes the reply as one JSON object and a line feed. */
vact_status vact_document_write(FILE *out, const vact_model_info *info, const vact_request *request,
                                const vact_reply *reply, const vact_traced *traces, size_t n_traces, vact_error *err);

#endif
