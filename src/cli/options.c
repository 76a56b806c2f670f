#include "base/error.h"
#include "base/nearest.h"
#include "cli/cli.h"
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPTIONS = 32, FIRST_LONG = 256 };

/* One line, whatever the arguments hold: what a user or a file names may not break it or drive the terminal. */
__attribute__((format(printf, 1, 0))) static void complain(const char *format, va_list args)
{
    vact_error line = { 0 };
    char text[sizeof line.text];
    vsnprintf(text, sizeof text, format, args);
    vact_fail(&line, VACT_EARG, "%s", text);
    fprintf(stderr, "vact: %s\n", line.text);
}

int cli_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(format, args);
    va_end(args);
    return CLI_FAILED;
}

int cli_fail_usage(const cli_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(format, args);
    va_end(args);
    fprintf(stderr, "usage: %s\n", command->usage);
    return CLI_USAGE;
}

static void print_help(const cli_command *command, const cli_option *options)
{
    printf("usage: %s\n\n    %s\n\n", command->usage, command->summary);
    for (const cli_option *o = options; o->name; o++) {
        char left[64];
        snprintf(left, sizeof left, "%c%c%s--%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
                 o->letter ? ", " : "  ", o->name, o->argument && o->kind != CLI_OPTIONAL ? " " : "",
                 o->argument ? o->argument : "");
        printf("    %-28s%s%s\n", left, strlen(left) >= 28 ? "\n                                " : "", o->help);
    }
    printf("    %-28s%s\n", "-h, --help", "show this help");
}

static bool whole_number(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    errno = 0;
    const long long v = strtoll(text, &end, 10);
    *out = v;
    return errno == 0 && end != text && *end == 0 && v >= min && v <= max;
}

/* Place of a word in "a|b|c", or -1. */
static int choice(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (int i = 0;; i++) {
        const size_t here = strcspn(words, "|");
        if (here == length && memcmp(words, word, length) == 0)
            return i;
        if (!words[here])
            return -1;
        words += here + 1;
    }
}

/* False after a complaint. */
static bool store(const cli_command *command, const cli_option *o, const char *value, const char *second)
{
    char *end;
    int64_t number;
    switch (o->kind) {
    case CLI_FLAG:
        *(bool *)o->target = true;
        return true;
    case CLI_OPTIONAL:
        if (value && !*value) {
            cli_fail_usage(command, "option --%s has nothing behind the =, expected %s", o->name, o->argument + 1);
            return false;
        }
        *(const char **)o->target = value ? value : "";
        return true;
    case CLI_TEXT:
        *(const char **)o->target = value;
        return true;
    case CLI_CHOICE: {
        const int place = choice(o->argument, value);
        if (place < 0) {
            cli_fail_usage(command, "option --%s is \"%s\", expected one of %s", o->name, value, o->argument);
            return false;
        }
        *(int *)o->target = place;
        return true;
    }
    case CLI_LIST: {
        cli_list *list = o->target;
        const int most = sizeof list->items / sizeof *list->items;
        if (list->n == most) {
            cli_fail_usage(command, "option --%s is given more than %d times", o->name, most);
            return false;
        }
        list->items[list->n++] = value;
        return true;
    }
    case CLI_PAIR:
        if (!second) {
            cli_fail_usage(command, "option --%s takes two arguments: %s", o->name, o->argument);
            return false;
        }
        ((const char **)o->target)[0] = value;
        ((const char **)o->target)[1] = second;
        return true;
    case CLI_INT:
        if (!whole_number(value, o->min, o->max, &number)) {
            cli_fail_usage(command, "option --%s is \"%s\", expected a whole number from %lld to %lld", o->name, value,
                           (long long)o->min, (long long)o->max);
            return false;
        }
        *(int32_t *)o->target = (int32_t)number;
        return true;
    case CLI_U64:
        if (!whole_number(value, 0, INT64_MAX, &number)) {
            cli_fail_usage(command, "option --%s is \"%s\", expected a whole number from 0 to 2^63-1", o->name, value);
            return false;
        }
        *(uint64_t *)o->target = (uint64_t)number;
        if (o->given)
            *o->given = true;
        return true;
    case CLI_DOUBLE:
        *(double *)o->target = strtod(value, &end);
        if (end == value || *end || !(*(double *)o->target >= 0)) {
            cli_fail_usage(command, "option --%s is \"%s\", expected a number of at least 0", o->name, value);
            return false;
        }
        return true;
    }
    return false;
}

static void complain_unknown(const cli_command *command, const cli_option *options, const char *word)
{
    const char *names[MOST_OPTIONS + 2] = { NULL };
    int n = 0;
    for (const cli_option *o = options; o->name; o++)
        names[n++] = o->name;
    names[n] = "help";
    char bare[64], letter[3] = { '-', (char)optopt, 0 };
    if (optopt > 0 && optopt < FIRST_LONG && word[1] != '-') /* one of "-xyz" */
        word = letter;
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word + strspn(word, "-"), "="), word + strspn(word, "-"));
    const char *near = word[0] == '-' && word[1] == '-' ? vact_nearest(bare, names) : NULL;
    if (near)
        cli_fail_usage(command, "unknown option %s, did you mean --%s?", word, near);
    else
        cli_fail_usage(command, "unknown option %s", word);
}

int cli_parse(const cli_command *command, const cli_option *options, int argc, char **argv, const char **operands,
              int max)
{
    struct option longs[MOST_OPTIONS + 2] = { { 0 } };
    char letters[2 * MOST_OPTIONS + 4] = "-:h"; /* operands come in order as option 1; a missing argument as ':' */
    int n = 0, found = 0;
    for (; options[n].name; n++) {
        const int argument = options[n].kind == CLI_FLAG       ? no_argument
                             : options[n].kind == CLI_OPTIONAL ? optional_argument
                                                               : required_argument;
        longs[n] = (struct option){ options[n].name, argument, NULL, FIRST_LONG + n };
        if (options[n].letter)
            snprintf(letters + strlen(letters), sizeof letters - strlen(letters), "%c%s", options[n].letter,
                     options[n].kind != CLI_FLAG ? ":" : "");
    }
    longs[n] = (struct option){ "help", 0, NULL, 'h' };
    optind = 0; /* glibc: start over, several parses in one process */
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        const cli_option *o = c >= FIRST_LONG ? &options[c - FIRST_LONG] : NULL;
        for (int i = 0; i < n && !o; i++)
            if (c != 1 && options[i].letter == c)
                o = &options[i];
        if (c == 'h') {
            print_help(command, options);
            return CLI_HELPED;
        }
        if (c == 1 && found == max) {
            cli_fail_usage(command, "unexpected argument \"%s\"", optarg);
            return CLI_COMPLAINED;
        }
        if (c == 1) {
            operands[found++] = optarg;
            continue;
        }
        if (c == ':') {
            cli_fail_usage(command, "option %s needs an argument", argv[optind - 1]);
            return CLI_COMPLAINED;
        }
        if (!o) {
            complain_unknown(command, options, argv[optind - 1]);
            return CLI_COMPLAINED;
        }
        const char *second = o->kind == CLI_PAIR && optind < argc ? argv[optind++] : NULL;
        if (!store(command, o, optarg, second))
            return CLI_COMPLAINED;
    }
    for (; optind < argc; optind++) {
        if (found == max) {
            cli_fail_usage(command, "unexpected argument \"%s\"", argv[optind]);
            return CLI_COMPLAINED;
        }
        operands[found++] = argv[optind];
    }
    return found;
}

/* Number of items in a comma list. */
static size_t items(const char *text)
{
    size_t n = 1;
    for (; *text; text++)
        n += *text == ',';
    return n;
}

int cli_floats(const char *what, const char *text, vact_arena *arena, float **out)
{
    const size_t n = items(text);
    float *values = vact_arena_take(arena, n, sizeof *values);
    if (!values)
        return cli_fail("out of memory"), -1;
    const char *at = text;
    for (size_t i = 0; i < n; i++) {
        char *end;
        values[i] = strtof(at, &end);
        if (end == at || *end != (i + 1 < n ? ',' : 0))
            return cli_fail("option --%s: item %zu of \"%s\" is not a number", what, i + 1, text), -1;
        at = end + 1;
    }
    *out = values;
    return (int)n;
}

int cli_ints(const char *what, const char *text, vact_arena *arena, int32_t **out)
{
    const size_t n = items(text);
    int32_t *values = vact_arena_take(arena, n, sizeof *values);
    if (!values)
        return cli_fail("out of memory"), -1;
    const char *at = text;
    for (size_t i = 0; i < n; i++) {
        char *end;
        errno = 0;
        const long v = strtol(at, &end, 10);
        if (errno || end == at || *end != (i + 1 < n ? ',' : 0) || v < INT32_MIN || v > INT32_MAX)
            return cli_fail("option --%s: item %zu of \"%s\" is not a whole number", what, i + 1, text), -1;
        values[i] = (int32_t)v;
        at = end + 1;
    }
    *out = values;
    return (int)n;
}
