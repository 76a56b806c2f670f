/* vact diff: what two checkpoints differ in; exit codes are those of diff. */
#include "convert/diff.h"
#include "cli/cli.h"
#include "file/json.h"
#include "file/line.h"
#include "origin/origin.h"
#include <math.h>
#include <string.h>

enum { SAME = CLI_OK, DIFFERENT = 1, TROUBLE = 2 };

typedef struct report {
    bool all, json;
    bool keys_begun, tensors_begun;
    json_t *keys, *tensors; /* arrays, for json; a failure to fill them is `lost` */
    bool lost;
    cli_progress progress;
} report;

/* ---- for people ---- */

static const char *shown(char *out, size_t size, const char *name)
{
    return vact_printable(out, size, name, strlen(name));
}

static void print_value(const char *before, const vact_gguf_value *v)
{
    char text[100];
    vact_gguf_format_value(v, text, sizeof text);
    printf("%s%s %s", before, vact_gguf_type_name(v->element), text);
}

static void print_key(report *r, const vact_diff_key *k)
{
    char name[200];
    if (!r->keys_begun)
        printf("keys\n");
    r->keys_begun = true;
    printf("    %-44s", shown(name, sizeof name, k->a ? k->a->key : k->b->key));
    if (k->a)
        print_value(k->b ? " " : " only in A: ", k->a);
    if (k->b && !k->same)
        print_value(k->a ? " -> " : " only in B: ", k->b);
    if (k->at > 0)
        printf(" (the first %llu elements are the same)", (unsigned long long)k->at);
    printf("%s\n", k->same ? " same" : "");
}

static const char *type_of(const vact_gguf_tensor *t)
{
    return t ? vact_dtype_get(t->dtype)->name : "-";
}

static void print_tensor(report *r, const vact_diff_tensor *t)
{
    char name[200], a[96], b[96];
    if (!r->tensors_begun)
        printf("%-48s %-8s %-8s %12s %12s %12s\n", "tensors", "A", "B", "max error", "at value", "relative");
    r->tensors_begun = true;
    printf("    %-44s %-8s %-8s ", shown(name, sizeof name, t->a ? t->a->name : t->b->name), type_of(t->a),
           type_of(t->b));
    if (!t->a || !t->b) {
        printf("only in %s\n", t->a ? "A" : "B");
    } else if (!t->same_shape) {
        vact_gguf_format_shape(t->a, a, sizeof a);
        vact_gguf_format_shape(t->b, b, sizeof b);
        printf("%s -> %s\n", a, b);
    } else if (t->same) {
        printf("same\n");
    } else if (!t->compared) {
        printf("other bytes, whose values cannot be decoded\n");
    } else {
        printf("%12.3e %12llu %12.3e\n", t->largest, (unsigned long long)t->at, t->relative);
    }
}

static void print_summary(const vact_diff_summary *s)
{
    printf("%llu of %llu keys and %llu of %llu tensors differ", (unsigned long long)s->n_keys_different,
           (unsigned long long)s->n_keys, (unsigned long long)s->n_tensors_different, (unsigned long long)s->n_tensors);
    if (s->largest > 0)
        printf("; largest error %.3e, relative %.3e", s->largest, s->relative);
    printf("\n");
}

/* ---- for programs ---- */

/* Text of any origin as JSON can hold it. */
static json_t *text_json(const char *text)
{
    char printable[400];
    json_t *out = json_string(text);
    return out ? out : json_string(shown(printable, sizeof printable, text));
}

static json_t *number_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *value_json(const vact_gguf_value *v)
{
    char text[400];
    if (!v)
        return json_null();
    vact_gguf_format_value(v, text, sizeof text);
    return json_pack("{s:s,s:b,s:s}", "type", vact_gguf_type_name(v->element), "array", v->type == VACT_GGUF_ARRAY,
                     "value", text);
}

static json_t *tensor_json(const vact_gguf_tensor *t)
{
    if (!t)
        return json_null();
    json_t *shape = json_array();
    for (uint32_t d = t->n_dims; d-- > 0;)
        json_array_append_new(shape, json_integer((json_int_t)t->ne[d]));
    return json_pack("{s:s,s:o}", "type", type_of(t), "shape", shape);
}

static void add_key(report *r, const vact_diff_key *k)
{
    json_t *item = json_pack("{s:o,s:b,s:o,s:o}", "key", text_json(k->a ? k->a->key : k->b->key), "same", k->same, "a",
                             value_json(k->a), "b", value_json(k->b));
    r->lost |= json_array_append_new(r->keys, item) != 0;
}

static void add_tensor(report *r, const vact_diff_tensor *t)
{
    json_t *item = json_pack("{s:o,s:b,s:o,s:o}", "name", text_json(t->a ? t->a->name : t->b->name), "same", t->same,
                             "a", tensor_json(t->a), "b", tensor_json(t->b));
    if (t->compared) {
        json_t *values =
            json_pack("{s:I,s:o,s:I,s:o}", "different", (json_int_t)t->n_different, "max_error",
                      number_json(t->largest), "at", (json_int_t)t->at, "relative", number_json(t->relative));
        r->lost |= json_object_set_new(item, "values", values) != 0;
    }
    r->lost |= json_array_append_new(r->tensors, item) != 0;
}

static bool dump(report *r, const char *const paths[2], const vact_diff_summary *s)
{
    const bool same = s->n_keys_different == 0 && s->n_tensors_different == 0;
    json_t *root = json_pack("{s:o,s:o,s:b,s:O,s:O,s:I,s:I,s:I,s:I,s:o,s:o}", "a", text_json(paths[0]), "b",
                             text_json(paths[1]), "same", same, "keys", r->keys, "tensors", r->tensors, "n_keys",
                             (json_int_t)s->n_keys, "n_keys_different", (json_int_t)s->n_keys_different, "n_tensors",
                             (json_int_t)s->n_tensors, "n_tensors_different", (json_int_t)s->n_tensors_different,
                             "max_error", number_json(s->largest), "relative", number_json(s->relative));
    const bool ok = root && !r->lost && json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0;
    json_decref(root);
    printf("\n");
    return ok;
}

/* ---- the whole ---- */

static void on_key(void *user, const vact_diff_key *key)
{
    report *r = user;
    if (key->same && !r->all)
        return;
    (r->json ? add_key : print_key)(r, key);
}

static void on_tensor(void *user, const vact_diff_tensor *tensor)
{
    report *r = user;
    if (tensor->same && !r->all)
        return;
    if (!r->json)
        cli_progress_end(&r->progress); /* the row takes the bar's line */
    (r->json ? add_tensor : print_tensor)(r, tensor);
}

static int print(report *r, const char *const paths[2], const vact_diff_summary *s)
{
    bool ok = true;
    cli_progress_end(&r->progress);
    if (r->json)
        ok = dump(r, paths, s);
    else
        print_summary(s);
    if (cli_flush() != CLI_OK)
        return TROUBLE;
    if (!ok)
        return cli_fail("out of memory"), TROUBLE;
    return s->n_keys_different || s->n_tensors_different ? DIFFERENT : SAME;
}

static int diff(const char *const paths[2], report *r)
{
    vact_error err = { 0 };
    vact_gguf *files[2] = { NULL, NULL };
    vact_diff_summary summary;
    r->progress = cli_progress_start("comparing");
    r->keys = json_array();
    r->tensors = json_array();
    const vact_diff_listener listener = {
        .key = on_key, .tensor = on_tensor, .user = r, .progress = cli_progress_update, .progress_user = &r->progress
    };
    vact_status status = vact_checkpoint_open(&files[0], paths[0], &err);
    if (status == VACT_OK)
        status = vact_checkpoint_open(&files[1], paths[1], &err);
    if (status == VACT_OK)
        status = vact_diff(files[0], files[1], &listener, &summary, &err);
    vact_gguf_close(&files[0]);
    vact_gguf_close(&files[1]);
    const int code = status == VACT_OK ? print(r, paths, &summary) : (cli_fail("%s", err.text), TROUBLE);
    json_decref(r->keys);
    json_decref(r->tensors);
    return code;
}

static int run(int argc, char **argv)
{
    report r = { 0 };
    hub_settings hub = { 0 };
    const char *paths[2] = { NULL };
    const cli_option options[] = {
        { "all", 0, CLI_FLAG, &r.all, NULL, "list what is the same, too", 0, 0, NULL },
        { "json", 0, CLI_FLAG, &r.json, NULL, "print one JSON object", 0, 0, NULL },
        CLI_HUB_OPTIONS(&hub),
        { 0 },
    };
    const int operands = cli_parse(&cli_diff, options, argc, argv, paths, 2);
    if (operands < 0)
        return cli_parse_exit(operands);
    if (operands < 2)
        return cli_fail_usage(&cli_diff, "%s is missing", operands < 1 ? "the first file" : "the second file");
    vact_arena arena = { 0 };
    const bool found =
        (paths[0] = cli_resolve(paths[0], &hub, &arena)) && (paths[1] = cli_resolve(paths[1], &hub, &arena));
    const int code = found ? diff(paths, &r) : TROUBLE;
    vact_arena_free(&arena);
    return code;
}

const cli_command cli_diff = {
    "diff",
    "vact diff <a> <b> [--all] [--json]",
    "what two checkpoints differ in; exit 0: nothing, 1: something, 2: trouble",
    run,
};
