/* vact inspect: what is in a file, what it would cost to run, and what is wrong with it. */
#include "base/error.h"
#include "cli/cli.h"
#include "file/line.h"
#include "kernels/kernels.h"
#include "models/registry.h"
#include "origin/origin.h"
#include <string.h>

static void print_values(const vact_gguf *gguf)
{
    printf("\nmetadata: %llu keys\n", (unsigned long long)gguf->n_values);
    for (uint64_t i = 0; i < gguf->n_values; i++) {
        const vact_gguf_value *v = &gguf->values[i];
        char text[100], key[200];
        vact_gguf_format_value(v, text, sizeof text);
        printf("    %-44s %-8s %s\n", vact_printable(key, sizeof key, v->key, strlen(v->key)),
               vact_gguf_type_name(v->element), text);
    }
}

static void print_tensors(const vact_gguf *gguf)
{
    uint64_t values = 0, bytes = 0;
    printf("\ntensors: %llu\n", (unsigned long long)gguf->n_tensors);
    for (uint64_t i = 0; i < gguf->n_tensors; i++) {
        const vact_gguf_tensor *t = &gguf->tensors[i];
        char shape[96], name[200];
        vact_gguf_format_shape(t, shape, sizeof shape);
        printf("    %-44s %-8s %s\n", vact_printable(name, sizeof name, t->name, strlen(t->name)),
               vact_dtype_get(t->dtype)->name, shape);
        values += vact_gguf_count(t);
        bytes += t->bytes;
    }
    printf("\n%llu values in %llu bytes of tensors\n", (unsigned long long)values, (unsigned long long)bytes);
}

static void print_fault(void *user, const char *line)
{
    (void)user;
    printf("    %s\n", line);
}

typedef struct reading {
    const vact_gguf *gguf;
    bool *read; /* of each tensor */
} reading;

static bool mark_read(void *user, const char *name, const vact_row *row, const vact_table *table, int layer)
{
    (void)row, (void)table, (void)layer;
    const reading *r = user;
    const vact_gguf_tensor *t = vact_gguf_find_tensor(r->gguf, name);
    if (t)
        r->read[t - r->gguf->tensors] = true;
    return true;
}

/* Tensors that a healthy file holds beside what its architecture reads. */
static vact_status print_unread(const vact_gguf *gguf, const vact_arch *arch, const void *model, vact_arena *arena,
                                vact_error *err)
{
    reading r = { gguf, vact_arena_take(arena, (size_t)gguf->n_tensors, sizeof(bool)) };
    if (!r.read)
        return vact_fail(err, VACT_ENOMEM, "out of memory");
    vact_schema_walk(&arch->schema, model, mark_read, &r);
    for (uint64_t i = 0; i < gguf->n_tensors; i++) {
        const char *name = gguf->tensors[i].name;
        char shown[200];
        if (!r.read[i])
            printf("    (%s is not read)\n", vact_printable(shown, sizeof shown, name, strlen(name)));
    }
    return VACT_OK;
}

/* Every fault of the file under its architecture's schema; their number in *count. */
static vact_status print_faults(const vact_gguf *gguf, const vact_arch *arch, int *count, vact_error *err)
{
    vact_arena arena = { 0 };
    vact_faults faults = { .report = print_fault };
    vact_kernels kernels;
    vact_kernels_init(&kernels, VACT_ISA_SCALAR);
    void *model = vact_arena_take(&arena, 1, arch->schema.model_bytes);
    printf("\nfaults:\n");
    vact_status status = model ? VACT_OK : vact_fail(err, VACT_ENOMEM, "out of memory");
    if (model)
        vact_schema_read(&arch->schema, gguf, model, &faults);
    if (model && faults.count == 0)
        status = vact_schema_bind(&arch->schema, gguf, model, kernels.decode, &arena, &faults, err);
    if (status == VACT_OK && faults.count == 0) {
        printf("    none\n");
        status = print_unread(gguf, arch, model, &arena, err);
    }
    vact_arena_free(&arena);
    *count = faults.count;
    return status;
}

static void print_name(const char *before, const char *name, size_t length)
{
    char shown[300];
    printf("%s%s", before, vact_printable(shown, sizeof shown, name, length));
}

/* "; state: shoulder_pan, gripper", if the file has such names. */
static void print_names(const vact_gguf *gguf, const char *key, const char *what)
{
    const vact_gguf_value *value = vact_gguf_find(gguf, key);
    if (!value || value->type != VACT_GGUF_ARRAY || value->element != VACT_GGUF_STRING || value->count == 0)
        return;
    printf("; %s:", what);
    vact_gguf_text name;
    const char *before = " ";
    for (vact_gguf_texts names = vact_gguf_texts_begin(value); vact_gguf_texts_next(&names, &name); before = ", ")
        print_name(before, name.data, (size_t)name.length);
}

static vact_status print_cost(const char *path, const vact_gguf *gguf, vact_error *err)
{
    vact_model *model = NULL;
    vact_status status = vact_model_open(&model, path, NULL, err);
    if (status != VACT_OK)
        return status;
    const vact_model_info *info = vact_model_get_info(model);
    printf("\n%s: %lld parameters; image %d, up to %d tokens, state %d (padded to %d), action chunk %d x %d (padded to "
           "%d), %d denoise steps\n",
           info->arch, (long long)info->parameters, info->image_size, info->max_tokens, info->state_dim,
           info->max_state_dim, info->horizon, info->action_dim, info->max_action_dim, info->denoise_steps);
    printf("reads text: %s; cameras:", info->reads_text ? "yes" : "no (no tokenizer in the file)");
    for (int32_t i = 0; i < info->n_cameras; i++)
        print_name(i ? ", " : " ", info->cameras[i], strlen(info->cameras[i]));
    printf("%s", info->n_cameras ? "" : " not named");
    print_names(gguf, "vact.state_names", "state");
    print_names(gguf, "vact.action_names", "actions");
    printf("\n");
    printf("\n%-6s %14s %14s %14s %14s %14s\n", "views", "vision GFLOP", "prefix", "denoise", "total", "session MB");
    for (int32_t views = 1; views <= VACT_DEFAULT_VIEWS && status == VACT_OK; views++) {
        const vact_settings one = { .max_views = views };
        vact_cost cost = { 0 };
        uint64_t bytes = 0;
        status = vact_session_bytes(model, &one, &bytes, err);
        if (status == VACT_OK)
            status = vact_session_cost(model, &one, views, info->max_tokens, &cost, err);
        if (status == VACT_OK)
            printf("%-6d %14.3f %14.3f %14.3f %14.3f %14.1f\n", views, cost.vision.flops / 1e9, cost.prefix.flops / 1e9,
                   cost.denoise.flops / 1e9, (cost.vision.flops + cost.prefix.flops + cost.denoise.flops) / 1e9,
                   (double)bytes / 1e6);
    }
    printf("(at %d tokens; the weights stay mapped: %.1f MB)\n", info->max_tokens, (double)info->file_bytes / 1e6);
    vact_model_close(&model);
    return status;
}

static int inspect(const char *path)
{
    vact_error err = { 0 };
    vact_gguf *gguf = NULL;
    const vact_arch *arch = NULL;
    char name[200];
    if (vact_checkpoint_open(&gguf, path, &err) != VACT_OK)
        return cli_fail("%s", err.text);
    printf("%s: ", vact_printable(name, sizeof name, path, strlen(path)));
    if (gguf->version)
        printf("GGUF version %u, %llu bytes, alignment %u\n", gguf->version, (unsigned long long)gguf->size,
               gguf->alignment);
    else
        printf("a directory that LeRobot saved, as vact convert would store it\n");
    print_values(gguf);
    print_tensors(gguf);
    vact_status status = vact_arch_detect(&arch, gguf, &err);
    int faults = 0;
    if (status == VACT_OK)
        status = print_faults(gguf, arch, &faults, &err);
    if (status == VACT_OK && faults == 0)
        status = print_cost(path, gguf, &err);
    vact_gguf_close(&gguf);
    if (status != VACT_OK)
        return cli_fail("%s", err.text);
    return faults == 0 ? CLI_OK : CLI_FAILED;
}

static int run(int argc, char **argv)
{
    bool embed = false;
    hub_settings hub = { .base = NULL };
    const cli_option options[] = {
        { "embed-tokenizer", 0, CLI_FLAG, &embed, NULL,
          "write a copy of the file that holds this tokenizer, in place of one it may hold", 0, 0, NULL },
        CLI_HUB_OPTIONS(&hub),
        { 0 },
    };
    const char *paths[3] = { NULL };
    const int operands = cli_parse(&cli_inspect, options, argc, argv, paths, 3);
    if (operands < 0)
        return cli_parse_exit(operands);
    if (embed && operands < 3)
        return cli_fail_usage(&cli_inspect, "%s is missing",
                              ((const char *[]){ "the file", "the tokenizer", "the file to write" })[operands]);
    if (operands < 1)
        return cli_fail_usage(&cli_inspect, "the file is missing");
    if (!embed && operands > 1)
        return cli_fail_usage(&cli_inspect, "unexpected argument \"%s\"", paths[1]);
    vact_arena arena = { 0 };
    const char *model = cli_resolve(paths[0], &hub, &arena);
    const char *tokenizer = model ? cli_resolve(paths[1], &hub, &arena) : NULL;
    int code = CLI_FAILED;
    if (model && !embed)
        code = inspect(model);
    else if (tokenizer)
        code = cli_embed_tokenizer(model, tokenizer, paths[2]);
    vact_arena_free(&arena);
    return code;
}

const cli_command cli_inspect = {
    "inspect",
    "vact inspect <model> | --embed-tokenizer <in.gguf> <tokenizer.json> <out.gguf>",
    "list a file's keys and tensors, its cost and its faults",
    run,
};
