/* vact convert: a checkpoint as its project saved it -> one GGUF file. */
#include "convert/convert.h"

#include "cli/cli.h"

static int convert(const char *in, const char *out, vact_conversion *conversion)
{
    vact_error err = { 0 };
    vact_converted made;
    cli_progress progress = cli_progress_start("converting");
    conversion->progress = cli_progress_update;
    conversion->user = &progress;
    const vact_status status = vact_convert(in, out, conversion, &made, &err);
    cli_progress_end(&progress);
    if (status != VACT_OK)
        return cli_fail("%s", err.text);
    printf("%s: %s, %.1f million parameters, %.1f MB\n", out, made.arch, (double)made.parameters / 1e6,
           (double)made.bytes / 1e6);
    if (!made.tokenizer)
        fprintf(stderr,
                "vact: %s has no tokenizer, so it takes token ids only; --tokenizer <tokenizer.json> puts one in\n",
                out);
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    static const vact_dtype types[] = { VACT_DTYPE_BF16, VACT_DTYPE_F32, VACT_DTYPE_Q8_0, VACT_DTYPE_Q4_0 };
    const char *in = NULL, *out = NULL, *tokenizer = NULL, *info = NULL;
    hub_settings hub = { 0 };
    int type = -1;
    const cli_option options[] = {
        { "output", 'o', CLI_TEXT, &out, "<file>", "the GGUF file to write", 0, 0, NULL },
        { "type", 0, CLI_CHOICE, &type, "bf16|f32|q8_0|q4_0", "what matrices are stored as (default: what they are)", 0,
          0, NULL },
        { "tokenizer", 0, CLI_TEXT, &tokenizer, "<file>",
          "a tokenizer.json to put in (default: the directory's, if it has one)", 0, 0, NULL },
        { "dataset-info", 0, CLI_TEXT, &info, "<file>",
          "the meta/info.json of a LeRobot data set, for the names of state and action values", 0, 0, NULL },
        CLI_HUB_OPTIONS(&hub),
        { 0 },
    };
    const int operands = cli_parse(&cli_convert, options, argc, argv, &in, 1);
    if (operands < 0)
        return cli_parse_exit(operands);
    if (operands < 1 || !out)
        return cli_fail_usage(&cli_convert, "%s is missing", operands < 1 ? "the directory" : "-o <file>");
    vact_arena arena = { 0 };
    in = cli_resolve(in, &hub, &arena);
    bool found = in && (!tokenizer || (tokenizer = cli_resolve(tokenizer, &hub, &arena)));
    found = found && (!info || (info = cli_resolve(info, &hub, &arena)));
    vact_conversion conversion = { .type = type < 0 ? VACT_DTYPE_END : types[type],
                                   .tokenizer = tokenizer,
                                   .dataset_info = info };
    const int code = found ? convert(in, out, &conversion) : CLI_FAILED;
    vact_arena_free(&arena);
    return code;
}

const cli_command cli_convert = {
    "convert",
    "vact convert <directory> -o <model.gguf> [--type bf16|f32|q8_0|q4_0] [--tokenizer <file>] "
    "[--dataset-info <file>]",
    "make one GGUF file from a LeRobot checkpoint",
    run,
};
