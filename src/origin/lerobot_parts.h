/* What the files that read LeRobot's directories share. */
#ifndef VACT_ORIGIN_LEROBOT_PARTS_H
#define VACT_ORIGIN_LEROBOT_PARTS_H

#include "base/arena.h"
#include "file/json.h"
#include "file/safetensors.h"
#include "origin/lerobot.h"

enum { LEROBOT_STATISTICS = 4 }; /* mean and std, of state and actions */

typedef struct lerobot {
    vact_gguf view; /* first: callers hold its address */
    vact_arena arena;
    const char *dir;
    vact_safetensors *weights;
    json_t *config, *pre, *post; /* pre, post: NULL where LeRobot had no processors yet */
    vact_safetensor statistics[LEROBOT_STATISTICS];
} lerobot;

/* The first step of that kind; NULL: there is none. */
const json_t *vact_lerobot_step(const json_t *processor, const char *registry_name);

/* "DIR/file" in the arena, or NULL and ENOMEM in err. */
const char *vact_lerobot_path(lerobot *l, const char *file, vact_error *err);

/* Fills l->statistics, named "observation.state.mean" and so on, and l->config's "processors/eps". */
vact_status vact_lerobot_statistics(lerobot *l, vact_error *err);

#endif
