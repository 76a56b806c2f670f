/* vact synth: a checkpoint with made-up weights. */
#include "tensor/synth.h"
#include "cli/cli.h"
#include "models/registry.h"
#include <string.h>

static int complain_size(const vact_arch *arch, const char *size)
{
    char known[128] = "";
    for (const vact_preset *p = arch->schema.presets; p->name; p++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", known[0] ? ", " : "", p->name);
    return cli_fail_usage(&cli_synth, "size \"%s\" is not known, expected one of: %s", size, known);
}

static int run(int argc, char **argv)
{
    const char *size = "tiny", *path = NULL, *arch_name = NULL;
    vact_synth_options o = { 0 };
    const cli_option options[] = {
        { "size", 's', CLI_TEXT, &size, "<name>", "tiny, or full: the published geometry (default: tiny)", 0, 0, NULL },
        { "seed", 0, CLI_U64, &o.seed, "<n>", "which made-up weights (default: 0)", 0, 0, NULL },
        { "vocab", 0, CLI_INT, &o.vocab, "<n>", "rows of the embedding (default: the geometry's)", 1, INT32_MAX, NULL },
        { "output", 'o', CLI_TEXT, &path, "<file>", "the GGUF file to write", 0, 0, NULL },
        { 0 },
    };
    const int operands = cli_parse(&cli_synth, options, argc, argv, &arch_name, 1);
    if (operands < 0)
        return cli_parse_exit(operands);
    if (operands < 1 || !path)
        return cli_fail_usage(&cli_synth, "%s is missing", operands < 1 ? "the architecture" : "-o <file>");
    const vact_arch *arch = vact_arch_find(arch_name, strlen(arch_name));
    if (!arch) {
        char known[256];
        vact_arch_list(known, sizeof known, false);
        return cli_fail_usage(&cli_synth, "architecture \"%s\" is not known, expected one of: %s", arch_name, known);
    }
    const vact_preset *preset = arch->schema.presets;
    while (preset->name && strcmp(preset->name, size) != 0)
        preset++;
    if (!preset->name)
        return complain_size(arch, size);
    vact_error err = { 0 };
    cli_progress progress = cli_progress_start("writing");
    o.progress = cli_progress_update;
    o.user = &progress;
    const vact_status status = vact_synth_write(&arch->schema, preset, path, &o, &err);
    cli_progress_end(&progress);
    return status == VACT_OK ? CLI_OK : cli_fail("%s", err.text);
}

const cli_command cli_synth = {
    "synth",
    "vact synth <architecture> [--size tiny|full] [--seed <n>] [--vocab <n>] -o <file>",
    "make a checkpoint with made-up weights",
    run,
};
