/* The request document: one JSON object, the same wherever a request comes as text; and its reply.
 *
 *     {"images": [{"width": 512, "height": 512, "format": "rgb_u8", "data": "<base64>"}],
 *      "tokens": [1, 2, 3], "state": [0.1, ...], "seed": 7}
 *
 * Fields: images or image_embeddings {"views", "data"}, tokens, state, state_units and action_units ("real" or
 * "model"), noise or seed, trace (name patterns). docs/request.md has all of it. */
#ifndef VACT_POLICY_DOCUMENT_H
#define VACT_POLICY_DOCUMENT_H

#include "base/arena.h"
#include "policy/traces.h"
#include "vact.h"
#include <stdio.h>

typedef struct vact_document {
    vact_request request;
    const char *const *trace; /* patterns, NULL ends; NULL: none */
    vact_arena arena;         /* of everything the request points to */
} vact_document;

/* Reads a document for a model. Shapes that the model fixes are checked here, because a request holds no lengths
 * for them, and what becomes an integer; everything else by vact_predict. EINPUT names the field; `name` stands for
 * where the text came from. */
vact_status vact_document_parse(vact_document *out, const vact_model_info *info, const char *name, const char *text,
                                size_t length, vact_error *err);
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
