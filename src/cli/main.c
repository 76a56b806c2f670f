/* vact: git-style subcommands over libvact. */
#include "base/nearest.h"
#include "cli/cli.h"
#include <signal.h>
#include <string.h>

static const cli_command *const commands[] = {
    &cli_demo,    &cli_run,      &cli_bench, &cli_inspect, &cli_synth,
    &cli_convert, &cli_quantize, &cli_merge, &cli_diff,    &cli_tokenize,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *out)
{
    fputs("usage: vact [--version] [--help] <command> [<args>]\n\n", out);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "    %-10s%s\n", commands[i]->name, commands[i]->summary);
    fputs("\n'vact <command> -h' shows a command's options.\n", out);
}

static const cli_command *find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int complain(const char *name)
{
    const char *names[COMMANDS + 1] = { NULL };
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i]->name;
    const char *near = vact_nearest(name, names);
    if (near)
        cli_fail("'%s' is not a vact command, did you mean '%s'?", name, near);
    else
        cli_fail("'%s' is not a vact command, see 'vact --help'", name);
    return CLI_USAGE;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return CLI_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
        printf("vact %s\n", vact_version());
        return CLI_OK;
    }
    const bool help = strcmp(word, "help") == 0;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (help && argc == 2)) {
        print_usage(stdout);
        return CLI_OK;
    }
    const cli_command *command = find(help ? argv[2] : word);
    if (!command)
        return complain(help ? argv[2] : word);
    if (help)
        return command->run(2, (char *[]){ argv[2], "-h", NULL });
    return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit: writing fails, says so and leaves nothing behind */
    const int code = dispatch(argc, argv);
    return code == CLI_OK ? cli_flush() : code;
}
