/* What a robot calls the values of its state and of its actions. Checkpoints rarely say; the data set that a policy was
 * trained on does, in its meta/info.json: features/observation.state/names and features/action/names, each
 *
 *     ["shoulder_pan", "gripper"]                  names in their order
 *     {"motors": ["shoulder_pan", "gripper"]}      lists of them, one after the other
 *     {"shoulder_pan": 0, "gripper": 1}            places by name
 *     null                                         or not there: no names
 *
 * Source: huggingface/lerobot, utils/foxglove_visualization.py, and policies/molmoact2/processor_molmoact2.py. */
#ifndef VACT_ORIGIN_NAMES_H
#define VACT_ORIGIN_NAMES_H

#include "file/gguf.h"
#include "file/json.h"

/* Names as the value of `key`, made in the arena; count 0 where there are none. EFORMAT: they are not `n`, or one is not
 * 1 to 64 bytes of UTF-8; the text begins with `where`, which says whose they are. ENOMEM. */
vact_status vact_feature_names(vact_gguf_value *out, vact_arena *arena, const char *key, const json_t *names, size_t n,
                               const char *where, vact_error *err);

/* vact.state_names and vact.action_names from a data set's meta/info.json, for a policy with `state` and `actions`
 * values; those that it has none for are left out. EIO; EFORMAT, also: it has none at all; ENOMEM. */
vact_status vact_dataset_names(vact_gguf_value out[2], size_t *n, vact_arena *arena, const char *path, size_t state,
                               size_t actions, vact_error *err);

#endif
