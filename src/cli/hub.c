#include "cli/cli.h"

static void log_line(void *user, vact_log_level level, const char *line)
{
    cli_progress_end(user); /* it will be drawn again */
    cli_say(level, line);
}

const char *cli_resolve(const char *path, const hub_settings *hub, vact_arena *arena)
{
    if (!path || !hub_is_name(path))
        return path;
    vact_error err;
    char *found = NULL;
    cli_progress progress = cli_progress_start("downloading");
    hub_settings settings = *hub;
    settings.log = log_line;
    settings.progress = cli_progress_update;
    settings.user = &progress;
    const vact_status status = hub_get(&found, path, &settings, arena, &err);
    cli_progress_end(&progress);
    if (status != VACT_OK)
        cli_fail("%s", err.text);
    return found;
}
