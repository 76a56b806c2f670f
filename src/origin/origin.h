/* Checkpoints as users have them -> the view that a GGUF file gives. */
#ifndef VACT_ORIGIN_ORIGIN_H
#define VACT_ORIGIN_ORIGIN_H

#include "file/gguf.h"

/* A GGUF file, or a directory that LeRobot saved a policy to (origin/lerobot.h). Closed by vact_gguf_close. */
vact_status vact_checkpoint_open(vact_gguf **out, const char *path, vact_error *err);

#endif
