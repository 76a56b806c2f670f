/* What the subcommands share: options, files, progress. One file per subcommand. */
#ifndef VACT_CLI_H
#define VACT_CLI_H

#include "base/arena.h"
#include "base/cpu.h"
#include "hub/hub.h"
#include "vact.h"
#include <stdio.h>

/* Exit codes. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* ---- options ---- */

typedef enum cli_kind {
    CLI_FLAG,     /* bool */
    CLI_INT,      /* int32_t, with its range */
    CLI_U64,      /* uint64_t; also sets the bool at `given` */
    CLI_DOUBLE,   /* double >= 0 */
    CLI_TEXT,     /* const char * */
    CLI_CHOICE,   /* an enum: the place among the words of `argument`, "a|b" */
    CLI_OPTIONAL, /* const char *, after "=" or not at all: then "". No letter */
    CLI_PAIR,     /* const char *[2]: two arguments */
    CLI_LIST      /* cli_list: may be given again and again */
} cli_kind;

typedef struct cli_list {
    const char *items[32];
    int n;
} cli_list;

typedef struct cli_option {
    const char *name; /* without the dashes; NULL ends */
    char letter;      /* 0: none */
    cli_kind kind;
    void *target;
    const char *argument; /* "<n>", CLI_OPTIONAL's "=<n>", NULL for flags */
    const char *help;
    int64_t min, max; /* CLI_INT */
    bool *given;
} cli_option;

typedef struct cli_command {
    const char *name;
    const char *usage;   /* "vact run <model.gguf> --request <file> [<options>]" */
    const char *summary; /* one line */
    int (*run)(int argc, char **argv);
} cli_command;

/* Parses argv (argv[0] is the subcommand); operands go to operands[0..max). Returns their number, or -1 after -h
 * was answered, -2 after a complaint about the options. */
int cli_parse(const cli_command *command, const cli_option *options, int argc, char **argv, const char **operands,
              int max);
enum { CLI_HELPED = -1, CLI_COMPLAINED = -2 };

/* The exit code for a negative answer of cli_parse. */
static inline int cli_parse_exit(int parsed)
{
    return parsed == CLI_HELPED ? CLI_OK : CLI_USAGE;
}

/* "1,2,3" into an array of the arena; -1 and a complaint if it is not that. `what` is the option's name. */
int cli_ints(const char *what, const char *text, vact_arena *arena, int32_t **out);
int cli_floats(const char *what, const char *text, vact_arena *arena, float **out);

/* One line to stderr: "vact: ...". Returns CLI_FAILED. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_fail_usage(const cli_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- options of whatever runs a model ---- */

typedef struct cli_model_options {
    vact_settings settings;
    bool verbose;
} cli_model_options;

/* The rows shared by run, bench and demo. */
/* clang-format off */
#define CLI_MODEL_OPTIONS(o)                                                                                           \
    { "threads", 't', CLI_INT, &(o)->settings.threads, "<n>",                                                          \
      "worker threads (default: the CPUs this process may use)", 0, 1024, NULL },                                      \
    { "denoise-steps", 0, CLI_INT, &(o)->settings.denoise_steps, "<n>", "denoise steps (default: the file's)",         \
      0, 1000, NULL },                                                                                                 \
    { "isa", 0, CLI_TEXT, &(o)->settings.isa, "<name>",                                                                \
      "highest instruction set to use: " VACT_ISA_NAMES " (default: the best)", 0, 0, NULL },                            \
    { "reference", 0, CLI_FLAG, &(o)->settings.reference, NULL,                                                        \
      "compute in scalar double precision without fusion: slow, to check the rest", 0, 0, NULL },                      \
    { "act", 0, CLI_CHOICE, &(o)->settings.activations, "f32|int8",                                                      \
      "what q8_0 and q4_0 matrices multiply: int8 is faster and less exact (default: f32)", 0, 0, NULL },              \
    { "verbose", 'v', CLI_FLAG, &(o)->verbose, NULL, "say on stderr what is loaded and how much memory it takes",      \
      0, 0, NULL }
/* clang-format on */

/* Has the settings' log on stderr, "vact: ...": warnings, and with --verbose all of it. */
void cli_listen(cli_model_options *options);

/* What a settings' log does with a line: to stderr, "vact: ...". */
void cli_say(vact_log_level level, const char *line);

/* ---- files from a hub ---- */

/* The rows of whatever reads a model or another file that may lie on a hub; h is a hub_settings. */
/* clang-format off */
#define CLI_HUB_OPTIONS(h)                                                                                             \
    { "hub", 0, CLI_TEXT, &(h)->base, "<url>", "where hf: names are fetched from (default: " HUB_BASE ")", 0, 0,       \
      NULL },                                                                                                          \
    { "hub-token", 0, CLI_TEXT, &(h)->token, "<file>",                                                                 \
      "holds the token for private repositories (default, for " HUB_BASE ": ~/.cache/huggingface/token)",              \
      0, 0, NULL },                                                                                                    \
    { "cache", 0, CLI_TEXT, &(h)->cache, "<folder>", "keeps what was fetched (default: ~/.cache/vact)", 0, 0, NULL },  \
    { "offline", 0, CLI_FLAG, &(h)->offline, NULL, "take hf: names from the cache alone", 0, 0, NULL }
/* clang-format on */

/* The path, or where "hf:user/repo[@revision][/file]" lies in the cache: in the arena, after fetching what is missing.
 * NULL for NULL, and after a complaint. */
const char *cli_resolve(const char *path, const hub_settings *hub, vact_arena *arena);

/* ---- files ---- */

/* The whole of a file or, for "-", of standard input; at most 512 MiB. NULL after a complaint. */
char *cli_read(const char *path, vact_arena *arena, size_t *length);

/* CLI_FAILED after a complaint: not all that was printed has reached standard output. */
int cli_flush(void);

/* ---- progress ---- */

/* A bar on stderr, once a second has passed and if stderr is a terminal. */
typedef struct cli_progress {
    const char *label;
    double start, drawn;
} cli_progress;

cli_progress cli_progress_start(const char *label);
void cli_progress_update(void *progress, double done); /* a vact_progress_fn */
void cli_progress_end(cli_progress *progress);

/* ---- subcommands ---- */

extern const cli_command cli_run, cli_demo, cli_bench, cli_inspect, cli_synth, cli_convert, cli_quantize, cli_merge,
    cli_diff, cli_tokenize;

/* What inspect does with --embed-tokenizer; the exit code. */
int cli_embed_tokenizer(const char *in, const char *tokenizer_path, const char *out);

#endif
