#include "base/clock.h"
#include "cli/cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_INPUT = 1 << 29 };

void cli_say(vact_log_level level, const char *line)
{
    fprintf(stderr, "vact: %s%s\n", level == VACT_LOG_WARNING ? "warning: " : "", line);
}

static void log_all(void *user, vact_log_level level, const char *line)
{
    (void)user;
    cli_say(level, line);
}

static void log_warnings(void *user, vact_log_level level, const char *line)
{
    if (level == VACT_LOG_WARNING)
        log_all(user, level, line);
}

void cli_listen(cli_model_options *options)
{
    options->settings.log = options->verbose ? log_all : log_warnings;
}

/* Reads to the end into *text, grown as needed. NULL, or what stopped it. */
static const char *read_all(FILE *in, char **text, size_t *size)
{
    size_t room = 1 << 16;
    do {
        room *= 2;
        if (room > MOST_INPUT)
            return "found more than 512 MiB, expected less";
        char *more = realloc(*text, room);
        if (!more)
            return "out of memory";
        *text = more;
        *size += fread(*text + *size, 1, room - *size, in);
    } while (*size == room);
    return ferror(in) ? strerror(errno) : NULL;
}

char *cli_read(const char *path, vact_arena *arena, size_t *length)
{
    const bool from_stdin = strcmp(path, "-") == 0;
    FILE *in = from_stdin ? stdin : fopen(path, "rb");
    if (!in)
        return cli_fail("%s: %s", path, strerror(errno)), NULL;
    char *text = NULL, *kept = NULL;
    *length = 0;
    const char *wrong = read_all(in, &text, length);
    if (!wrong && !(kept = vact_arena_text(arena, text, *length)))
        wrong = "out of memory";
    if (wrong)
        cli_fail("%s: %s", path, wrong);
    if (!from_stdin)
        fclose(in);
    free(text);
    return kept;
}

int cli_flush(void)
{
    return fflush(stdout) == 0 && !ferror(stdout) ? CLI_OK : cli_fail("standard output: cannot write all of it");
}

cli_progress cli_progress_start(const char *label)
{
    return (cli_progress){ label, vact_clock_ms(), 0 };
}

void cli_progress_update(void *user, double done)
{
    enum { WIDTH = 30, PATIENCE_MS = 1000, REDRAW_MS = 100 };
    cli_progress *p = user;
    const double now = vact_clock_ms();
    if (now - p->start < PATIENCE_MS || now - p->drawn < REDRAW_MS || !isatty(STDERR_FILENO))
        return;
    static const char bar[] = "##############################";
    const int filled = (int)(done * WIDTH);
    fprintf(stderr, "\r%s [%.*s%*s] %3.0f%%", p->label, filled, bar, WIDTH - filled, "", 100 * done);
    p->drawn = now;
}

void cli_progress_end(cli_progress *p)
{
    if (p->drawn > 0)
        fputs("\r\033[K", stderr);
}
