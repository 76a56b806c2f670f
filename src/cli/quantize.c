/* vact quantize: a checkpoint -> the same with its large matrices in another type. */
#include "convert/quantize.h"
#include "cli/cli.h"

static const vact_dtype types[] = { VACT_DTYPE_Q8_0, VACT_DTYPE_Q4_0, VACT_DTYPE_BF16, VACT_DTYPE_F16, VACT_DTYPE_F32 };
#define TYPES "q8_0|q4_0|bf16|f16|f32" /* in that order */

static int quantize(const char *in, const char *out, vact_quantize_options *options)
{
    vact_error err;
    vact_quantize_report report;
    cli_progress progress = cli_progress_start("quantizing");
    options->progress = cli_progress_update;
    options->progress_user = &progress;
    const vact_status status = vact_quantize(in, out, options, &report, &err);
    cli_progress_end(&progress);
    if (status != VACT_OK)
        return cli_fail("%s", err.text);
    if (report.n_unfit > 0)
        fprintf(stderr, "vact: %llu more tensors match --only, but cannot be stored as %s and stay as they are: %s%s\n",
                (unsigned long long)report.n_unfit, vact_dtype_get(options->type)->name, report.unfit,
                report.n_unfit > 1 ? ", ..." : "");
    printf("%.1f MB -> %.1f MB, %llu of %llu tensors are now %s\n", (double)report.bytes_before / 1e6,
           (double)report.bytes_after / 1e6, (unsigned long long)report.n_changed, (unsigned long long)report.n_tensors,
           vact_dtype_get(options->type)->name);
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    vact_quantize_options o = { 0 };
    hub_settings hub = { 0 };
    const char *in = NULL, *out = NULL;
    int type = -1;
    const cli_option options[] = {
        { "type", 0, CLI_CHOICE, &type, TYPES, "what the matrices become", 0, 0, NULL },
        { "output", 'o', CLI_TEXT, &out, "<file>", "the GGUF file to write", 0, 0, NULL },
        { "only", 0, CLI_TEXT, &o.only, "<regex>",
          "exactly the matrices whose names match (default: the language model's and the connector's)", 0, 0, NULL },
        { "keep", 0, CLI_TEXT, &o.keep, "<regex>", "but leave those whose names match as they are", 0, 0, NULL },
        CLI_HUB_OPTIONS(&hub),
        { 0 },
    };
    const int operands = cli_parse(&cli_quantize, options, argc, argv, &in, 1);
    if (operands < 0)
        return cli_parse_exit(operands);
    if (operands < 1 || !out || type < 0)
        return cli_fail_usage(&cli_quantize, "%s is missing",
                              operands < 1 ? "the file"
                              : !out       ? "-o <file>"
                                           : "--type " TYPES);
    o.type = types[type];
    vact_arena arena = { 0 };
    in = cli_resolve(in, &hub, &arena);
    const int code = in ? quantize(in, out, &o) : CLI_FAILED;
    vact_arena_free(&arena);
    return code;
}

const cli_command cli_quantize = {
    "quantize",
    "vact quantize <in.gguf> -o <out.gguf> --type " TYPES " [--only <regex>] [--keep <regex>]",
    "store a checkpoint's large matrices as another type",
    run,
};
