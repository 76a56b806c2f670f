/* Goldens of tools/reference/run_smolvla.py: an observation, and what LeRobot's policy made of it in PyTorch, float32. */
#ifndef TESTS_ORIGIN_PYTORCH_H
#define TESTS_ORIGIN_PYTORCH_H

#include "vact.h"
#include <jansson.h>

enum { PYTORCH_STAGES = 8, PYTORCH_TOKENS = 48 };

/* How far a stage is off: the largest difference, that of all by root mean square, and the largest value that should be. */
typedef struct pytorch_error {
    const char *stage; /* NULL: the golden hasn't it */
    double worst, rms, largest;
} pytorch_error;

/* Stages in the order of the flow; the last is the actions. */
typedef struct pytorch_errors {
    pytorch_error stages[PYTORCH_STAGES];
} pytorch_errors;

/* The case of that name, or NULL. */
const json_t *pytorch_case(const json_t *golden, const char *name);

/* Predicts the case and compares. With a camera that is only empty, stages are not compared: LeRobot has rows for it that
 * nothing sees. An instruction that LeRobot cut goes in as its tokens. */
vact_status pytorch_predict(vact_session *session, const json_t *one, pytorch_errors *errors, vact_error *err);

#endif
