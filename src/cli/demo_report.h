/* What vact demo says at its end. */
#ifndef VACT_CLI_DEMO_REPORT_H
#define VACT_CLI_DEMO_REPORT_H

#include "demo/episode.h"

enum { CLI_DEMO_TIMES = 4 }; /* total, vision, prefix, denoise */

typedef struct cli_demo_tally {
    const char *policy; /* its path */
    const demo_task *task;
    const demo_episode *episodes; /* [n], n > 0, one seed after the other */
    int32_t n;
    double *ms[CLI_DEMO_TIMES]; /* [predictions] each; sorted by the report */
    size_t predictions;
} cli_demo_tally;

void cli_demo_print(const cli_demo_tally *tally);

/* The same and every episode as one JSON object; an exit code. */
int cli_demo_print_json(const cli_demo_tally *tally);

/* "solved in 12 steps" */
void cli_demo_outcome(const demo_episode *episode, char *out, size_t size);

#endif
