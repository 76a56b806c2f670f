/* Goldens of an architecture (tests/data/ARCH.json) against the library's public API. */
#ifndef TESTS_MODELS_GOLDEN_H
#define TESTS_MODELS_GOLDEN_H

#include "load_json.h"
#include "vact.h"

/* Writes the synthetic checkpoint of a size, seed 0, to a file of the working folder; returns its name. */
const char *golden_model(const char *arch, const char *size, const char *file);

vact_model *golden_open(const char *path);
vact_session *golden_session(const vact_model *model, const vact_settings *settings);

typedef struct golden_answer {
    float *actions; /* [horizon * action_dim]; freed by the caller */
    vact_reply reply;
} golden_answer;

/* Predicts the case's request document; fails the test if it is refused. */
golden_answer golden_predict(vact_session *session, const vact_model *model, const json_t *request);

/* Largest difference of the live columns from a golden array of rows of `width` values. */
double golden_distance(const vact_model_info *info, const float *actions, const json_t *want, size_t width);

/* The case of that name. */
const json_t *golden_case(const json_t *golden, const char *name);

#endif
