/* A policy as LeRobot's save_pretrained leaves it:
 *
 *     config.json                                      type, features, sizes, normalization_mapping
 *     model.safetensors, or shards and their index     weights; before LeRobot had processors, statistics too
 *     policy_preprocessor.json, _postprocessor.json    steps; a normalizer's names the file with its statistics
 *     tokenizer.json                                   not LeRobot's: put there by hand, or left out
 *
 * Statistics become the mean and std that policies here compute with, whatever they were normalised by:
 *
 *     MEAN_STD                      as they are
 *     MIN_MAX, QUANTILES,           2 (x - low) / (high - low) - 1, of min and max, q01 and q99, q10 and q90:
 *     QUANTILE10                    mean (high + low) / 2, std (high - low) / 2, less the eps that is added to it
 *     IDENTITY                      mean 0, std 1
 *
 * Source: huggingface/lerobot, processor/normalize_processor.py and migrate_policy_normalization.py. */
#ifndef VACT_ORIGIN_LEROBOT_H
#define VACT_ORIGIN_LEROBOT_H

#include "file/gguf.h"

/* The weights stay mapped in their files. Keys beside the architecture's own: vact.cameras, those of the cameras that
 * config.json lists, without "observation.images." and under the names that the preprocessor renames from, empty cameras
 * left out; vact.image_fit; vact.state_names and vact.action_names where config.json has them
 * (origin/names.h).
 * EIO, EFORMAT, ENOMEM; EMODEL: a policy that isn't known. */
vact_status vact_lerobot_open(vact_gguf **out, const char *dir, vact_error *err);

#endif
