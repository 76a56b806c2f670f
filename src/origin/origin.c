#include "origin/origin.h"

#include "origin/lerobot.h"
#include <sys/stat.h>

vact_status vact_checkpoint_open(vact_gguf **out, const char *path, vact_error *err)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return vact_lerobot_open(out, path, err);
    return vact_gguf_open(out, path, err);
}
