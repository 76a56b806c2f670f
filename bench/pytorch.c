/* How far every stage is off LeRobot's in PyTorch, float32, for checkpoints of several types: the table of
 * docs/numerics.md.
 *
 *     pytorch GOLDEN.json CASE [NAME=]CHECKPOINT[,int8] ...        goldens: tools/reference/run_smolvla.py */
#include "origin/pytorch.h"

#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 16 };

typedef struct column {
    char name[64];
    pytorch_errors errors;
} column;

/* False after a complaint. */
static bool measure(column *c, const char *argument, const json_t *one)
{
    vact_error err = { 0 };
    vact_model *model = NULL;
    vact_session *session = NULL;
    char path[512];
    const char *equals = strchr(argument, '='), *comma = strrchr(argument, ',');
    const bool int8 = comma && strcmp(comma, ",int8") == 0;
    const char *start = equals ? equals + 1 : argument;
    snprintf(c->name, sizeof c->name, "%.*s", (int)(equals ? equals - argument : (long)strlen(argument)), argument);
    snprintf(path, sizeof path, "%.*s", (int)(int8 ? comma - start : (long)strlen(start)), start);
    const vact_settings settings = { .activations = int8 ? VACT_ACTIVATIONS_INT8 : VACT_ACTIVATIONS_F32 };
    vact_status status = vact_model_open(&model, path, &settings, &err);
    if (status == VACT_OK)
        status = vact_session_open(&session, model, &settings, &err);
    if (status == VACT_OK)
        status = pytorch_predict(session, one, &c->errors, &err);
    if (status != VACT_OK)
        fprintf(stderr, "%s: %s\n", argument, err.text);
    vact_session_close(&session);
    vact_model_close(&model);
    return status == VACT_OK;
}

static void print(const column *columns, int n)
{
    printf("| stage | largest value |");
    for (int c = 0; c < n; c++)
        printf(" %s |", columns[c].name);
    printf("\n|---|---|");
    for (int c = 0; c < n; c++)
        printf("---|");
    printf("\n");
    for (int s = 0; s < PYTORCH_STAGES; s++) {
        const pytorch_error *first = &columns[0].errors.stages[s];
        if (!first->stage)
            continue;
        printf("| %s | %.3g |", first->stage, first->largest);
        for (int c = 0; c < n; c++) {
            const pytorch_error *e = &columns[c].errors.stages[s];
            printf(" %.1e (%.1e) |", e->worst, e->rms);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    static column columns[MOST_COLUMNS];
    json_error_t where;
    if (argc < 4 || argc > 3 + MOST_COLUMNS) {
        fprintf(stderr, "usage: %s <golden.json> <case> [<name>=]<checkpoint>[,int8] ...\n", argv[0]);
        return 2;
    }
    json_t *golden = json_load_file(argv[1], 0, &where);
    const json_t *one = golden ? pytorch_case(golden, argv[2]) : NULL;
    if (!one)
        fprintf(stderr, "%s: %s\n", argv[1], golden ? "has no such case" : where.text);
    bool good = one != NULL;
    for (int i = 3; i < argc && good; i++)
        good = measure(&columns[i - 3], argv[i], one);
    if (good)
        print(columns, argc - 3);
    json_decref(golden);
    return good ? 0 : 1;
}
