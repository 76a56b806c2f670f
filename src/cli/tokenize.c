/* vact tokenize: text from standard input, to its last byte -> the ids that a model would read. */
#include "cli/cli.h"
#include "text/tokenizer.h"

static void print_ids(const int32_t *ids, size_t n, bool json)
{
    fputs(json ? "{\"tokens\":[" : "", stdout);
    for (size_t i = 0; i < n; i++)
        printf("%s%d", i == 0 ? "" : json ? "," : " ", ids[i]);
    fputs(json ? "]}\n" : "\n", stdout);
}

static int encode(const vact_tokenizer *tokenizer, const char *text, size_t length, bool special, bool json)
{
    vact_error err = { 0 };
    vact_encoder *encoder = NULL;
    const int32_t *ids = NULL;
    size_t n = 0;
    vact_status status = vact_encoder_open(&encoder, tokenizer, length, &err);
    if (status == VACT_OK)
        status = vact_encode(encoder, text, length, special, &ids, &n, &err);
    if (status == VACT_OK)
        print_ids(ids, n, json);
    vact_encoder_close(&encoder);
    return status == VACT_OK ? CLI_OK : cli_fail("%s", err.text);
}

/* Standard input with the tokenizer in the file. */
static int tokenize(const char *path, bool special, bool json, vact_arena *arena)
{
    vact_error err = { 0 };
    vact_tokenizer *tokenizer = NULL;
    if (vact_tokenizer_open(&tokenizer, path, &err) != VACT_OK)
        return cli_fail("%s", err.text);
    size_t length;
    const char *text = cli_read("-", arena, &length);
    const int code = text ? encode(tokenizer, text, length, special, json) : CLI_FAILED;
    vact_tokenizer_close(&tokenizer);
    return code;
}

static int run(int argc, char **argv)
{
    const char *model = NULL, *file = NULL;
    bool bare = false, json = false;
    hub_settings hub = { .base = NULL };
    const cli_option options[] = {
        { "model", 'm', CLI_TEXT, &model, "<file>", "read text with the tokenizer in this checkpoint", 0, 0, NULL },
        { "tokenizer", 0, CLI_TEXT, &file, "<file>", "or with this tokenizer.json", 0, 0, NULL },
        { "no-special", 0, CLI_FLAG, &bare, NULL, "leave out the tokens put around every text", 0, 0, NULL },
        { "json", 0, CLI_FLAG, &json, NULL, "print {\"tokens\":[...]}", 0, 0, NULL },
        CLI_HUB_OPTIONS(&hub),
        { 0 },
    };
    const int operands = cli_parse(&cli_tokenize, options, argc, argv, NULL, 0);
    if (operands < 0)
        return cli_parse_exit(operands);
    if (!model == !file)
        return cli_fail_usage(&cli_tokenize, "expected one of --model and --tokenizer, found %s",
                              model ? "both" : "neither");
    vact_arena arena = { 0 };
    const char *path = cli_resolve(model ? model : file, &hub, &arena);
    const int code = path ? tokenize(path, !bare, json, &arena) : CLI_FAILED;
    vact_arena_free(&arena);
    return code;
}

const cli_command cli_tokenize = {
    "tokenize",
    "vact tokenize --model <file> | --tokenizer <file> [--no-special] [--json] < text",
    "print the token ids of a text",
    run,
};
