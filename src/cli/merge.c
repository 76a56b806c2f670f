/* vact merge: a language model and its vision tower -> one file. */
#include "convert/merge.h"
#include "cli/cli.h"
#include "file/line.h"
#include <string.h>

static void tell_left_out(void *user, const vact_gguf_value *value)
{
    (void)user;
    char key[100], text[100];
    vact_gguf_format_value(value, text, sizeof text);
    fprintf(stderr, "vact: left out: %s %s\n", vact_printable(key, sizeof key, value->key, strlen(value->key)), text);
}

static int merge(const char *const paths[2], const char *out, bool verbose)
{
    vact_error err;
    vact_merge_report report;
    cli_progress progress = cli_progress_start("merging");
    const vact_merge_options options = { .left_out = verbose ? tell_left_out : NULL,
                                         .progress = cli_progress_update,
                                         .progress_user = &progress };
    const vact_status status = vact_merge(paths[0], paths[1], out, &options, &report, &err);
    cli_progress_end(&progress);
    if (status != VACT_OK)
        return cli_fail("%s", err.text);
    printf("%.1f MB, %llu keys (%llu of the second file's left out), %llu + %llu tensors\n",
           (double)report.bytes_after / 1e6, (unsigned long long)report.n_values, (unsigned long long)report.n_left_out,
           (unsigned long long)report.n_tensors[0], (unsigned long long)report.n_tensors[1]);
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    const char *paths[2] = { NULL }, *out = NULL;
    hub_settings hub = { 0 };
    bool verbose = false;
    const cli_option options[] = {
        { "output", 'o', CLI_TEXT, &out, "<file>", "the GGUF file to write", 0, 0, NULL },
        { "verbose", 'v', CLI_FLAG, &verbose, NULL, "say on stderr which keys of the second file are left out", 0, 0,
          NULL },
        CLI_HUB_OPTIONS(&hub),
        { 0 },
    };
    const int operands = cli_parse(&cli_merge, options, argc, argv, paths, 2);
    if (operands < 0)
        return cli_parse_exit(operands);
    if (operands < 2 || !out)
        return cli_fail_usage(&cli_merge, "%s is missing",
                              operands < 1   ? "the language model"
                              : operands < 2 ? "the vision tower"
                                             : "-o <file>");
    vact_arena arena = { 0 };
    const bool found =
        (paths[0] = cli_resolve(paths[0], &hub, &arena)) && (paths[1] = cli_resolve(paths[1], &hub, &arena));
    const int code = found ? merge(paths, out, verbose) : CLI_FAILED;
    vact_arena_free(&arena);
    return code;
}

const cli_command cli_merge = {
    "merge",
    "vact merge <lm.gguf> <mmproj.gguf> -o <out.gguf> [--verbose]",
    "put a language model and its vision tower into one file",
    run,
};
