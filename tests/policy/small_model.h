/* The model that documents are read for, by the test and by the fuzz target: every size is small, and its own. */
#ifndef TESTS_POLICY_SMALL_MODEL_H
#define TESTS_POLICY_SMALL_MODEL_H

#include "vact.h"

static const vact_model_info info = {
    .image_size = 2,
    .view_tokens = 2,
    .embedding_width = 3,
    .vocab_size = 10,
    .max_tokens = 4,
    .state_dim = 2,
    .max_state_dim = 4,
    .horizon = 2,
    .action_dim = 2,
    .max_action_dim = 3,
};

#endif
