/* quality: what other ways to compute a policy cost in closed loop, on the demo's table. docs/QUALITY.md says how to
 * read it.
 *
 * The baseline is the file as it is at its best speed. Every row is the same policy computed in another way; it meets
 * the same tables with the same start noise, and its chunks are compared with the baseline's on the baseline's own
 * observations. */
#include "base/error.h"
#include "base/statistics.h"
#include "cli/cli.h"
#include "convert/quantize.h"
#include "demo/episode.h"
#include "policy/model.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is measured ---- */

enum { AS_IS = -1 };

typedef struct row {
    const char *name;
    const char *what;
    int stored; /* vact_dtype of the matrices, or AS_IS */
    vact_settings settings;
    const char *file; /* another checkpoint; NULL: the baseline's */
} row;

static const row rows[] = {
    { "again", "the same file once more", AS_IS, { 0 }, NULL },
    { "f32", "matrices stored as f32", VACT_DTYPE_F32, { 0 }, NULL },
    { "f16", "matrices stored as f16", VACT_DTYPE_F16, { 0 }, NULL },
    { "q8_0", "matrices stored as q8_0", VACT_DTYPE_Q8_0, { 0 }, NULL },
    { "q4_0", "matrices stored as q4_0", VACT_DTYPE_Q4_0, { 0 }, NULL },
    { "q8_0_int8", "q8_0, int8 activations", VACT_DTYPE_Q8_0, { .activations = VACT_ACTIVATIONS_INT8 }, NULL },
    { "q4_0_int8", "q4_0, int8 activations", VACT_DTYPE_Q4_0, { .activations = VACT_ACTIVATIONS_INT8 }, NULL },
    { "reference", "scalar, unfused, double precision", AS_IS, { .reference = true }, NULL },
    { "scalar", "kernels without vectors", AS_IS, { .isa = "scalar" }, NULL },
    { "avx2", "kernels for AVX2", AS_IS, { .isa = "avx2" }, NULL },
    { "neon", "kernels for NEON", AS_IS, { .isa = "neon" }, NULL },
    { "steps5", "5 denoise steps", AS_IS, { .denoise_steps = 5 }, NULL },
    { "steps2", "2 denoise steps", AS_IS, { .denoise_steps = 2 }, NULL },
    { "steps1", "1 denoise step", AS_IS, { .denoise_steps = 1 }, NULL },
};
enum { ROWS = sizeof rows / sizeof *rows, OTHERS = sizeof((cli_list *)0)->items / sizeof(char *) };

typedef struct mode {
    const char *name;
    const demo_task *task;
    bool wanted;
} mode;

typedef struct options {
    const char *model, *rows;
    cli_list others;
    int32_t episodes, threads;
    uint64_t seed;
    bool plain, hard, json;
} options;

/* One way to compute, and what became of it in the present mode. */
typedef struct subject {
    const row *row;  /* NULL: the baseline */
    vact_model *own; /* its checkpoint, if that is not the baseline's */
    vact_session *session;
    bool *solved;   /* [episodes] */
    int32_t *steps; /* [episodes] */
    double *ms;     /* [n_ms] of each prediction in its own episodes */
    size_t n_ms;
    double squares, most; /* of the errors on the baseline's observations, in standard deviations of the action */
    int64_t values;
} subject;

typedef struct quality {
    const options *options;
    vact_arena arena;
    vact_model *model;
    subject baseline, subjects[ROWS + OTHERS];
    row others[OTHERS];
    int n;
    float *actions; /* [horizon, action_dim], of the row that is compared */
    cli_progress progress;
    int64_t done, all; /* episodes */
    vact_error err;
} quality;

/* ---- stopping ---- */

static volatile sig_atomic_t stopped;

static void on_signal(int signal_number)
{
    stopped = signal_number;
}

static void catch_signals(void)
{
    const struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit: writing fails and says so */
}

static vact_status check_stopped(vact_error *err)
{
    return stopped ? vact_fail(err, VACT_EIO, "stopped by signal %d", (int)stopped) : VACT_OK;
}

/* ---- opening ---- */

/* The checkpoint with other matrices. Mapped, it needs no name any more: its folder is gone when this returns. */
static vact_status open_converted(quality *q, subject *s)
{
    const char *set = getenv("TMPDIR"), *folder = set && *set ? set : "/tmp";
    char path[512], file[sizeof path + 16];
    const int length = snprintf(path, sizeof path, "%s/vact-quality-XXXXXX", folder);
    if (length >= (int)sizeof path || !mkdtemp(path))
        return vact_fail(&q->err, VACT_EIO, "%s: cannot make a temporary folder in it: %s", vact_path_end(folder),
                         strerror(length >= (int)sizeof path ? ENAMETOOLONG : errno));
    snprintf(file, sizeof file, "%s/%s.gguf", path, s->row->name);
    vact_status status = vact_quantize(q->options->model, file,
                                       &(vact_quantize_options){ .type = (vact_dtype)s->row->stored }, NULL, &q->err);
    if (status == VACT_OK)
        status = vact_model_open(&s->own, file, NULL, &q->err);
    unlink(file);
    rmdir(path);
    return status;
}

static vact_status open_other(quality *q, subject *s)
{
    const vact_status status = vact_model_open(&s->own, s->row->file, NULL, &q->err);
    if (status != VACT_OK)
        return status;
    const vact_model_info *a = vact_model_get_info(q->model), *b = vact_model_get_info(s->own);
    if (a->horizon == b->horizon && a->action_dim == b->action_dim)
        return VACT_OK;
    return vact_fail(&q->err, VACT_EMODEL, "%s: gives %d actions of %d values, expected %d of %d, the baseline's",
                     vact_path_end(s->row->file), b->horizon, b->action_dim, a->horizon, a->action_dim);
}

static vact_status open_subject(quality *q, subject *s)
{
    const size_t n = (size_t)q->options->episodes;
    vact_settings settings = { 0 };
    if (s->row)
        settings = s->row->settings;
    settings.threads = q->options->threads;
    settings.max_views = 1;
    s->solved = vact_arena_take(&q->arena, n, sizeof *s->solved);
    s->steps = vact_arena_take(&q->arena, n, sizeof *s->steps);
    s->ms = vact_arena_take(&q->arena, n * DEMO_MAX_STEPS, sizeof *s->ms);
    if (!s->solved || !s->steps || !s->ms)
        return vact_fail(&q->err, VACT_ENOMEM, "out of memory for %zu episodes", n);
    vact_status status = VACT_OK;
    if (s->row && s->row->stored != AS_IS)
        status = open_converted(q, s);
    else if (s->row && s->row->file)
        status = open_other(q, s);
    if (status == VACT_OK)
        status = vact_session_open(&s->session, s->own ? s->own : q->model, &settings, &q->err);
    return status == VACT_OK ? check_stopped(&q->err) : status;
}

static vact_status open_all(quality *q)
{
    vact_status status = vact_model_open(&q->model, q->options->model, NULL, &q->err);
    if (status == VACT_OK) {
        const vact_model_info *info = vact_model_get_info(q->model);
        q->actions = vact_arena_take(&q->arena, (size_t)info->horizon * (size_t)info->action_dim, sizeof *q->actions);
        status = q->actions ? open_subject(q, &q->baseline) : vact_fail(&q->err, VACT_ENOMEM, "out of memory");
    }
    for (int i = 0; i < q->n && status == VACT_OK; i++)
        status = open_subject(q, &q->subjects[i]);
    return status;
}

static void close_all(quality *q)
{
    for (int i = 0; i < q->n; i++) {
        vact_session_close(&q->subjects[i].session);
        vact_model_close(&q->subjects[i].own);
    }
    vact_session_close(&q->baseline.session);
    vact_model_close(&q->model);
    vact_arena_free(&q->arena);
}

/* ---- measuring ---- */

static void compare(quality *q, subject *s, const float *want)
{
    const vact_model_info *info = vact_model_get_info(q->model);
    const vact_statistics *statistics = &q->model->statistics.action;
    for (int32_t i = 0; i < info->horizon * info->action_dim; i++) {
        const int32_t column = i % info->action_dim;
        const double error =
            fabs((double)q->actions[i] - want[i]) / ((double)statistics->std[column] + statistics->eps);
        s->squares += error * error;
        s->most = fmax(s->most, error);
        s->values++;
    }
}

/* Every row answers what the baseline was asked. */
static vact_status baseline_predicted(void *user, const vact_request *request, const vact_reply *reply, vact_error *err)
{
    quality *q = user;
    vact_status status = check_stopped(err);
    q->baseline.ms[q->baseline.n_ms++] = reply->timing.total;
    for (int i = 0; i < q->n && status == VACT_OK; i++) {
        vact_reply other = { .actions = q->actions };
        status = vact_predict(q->subjects[i].session, request, &other, err);
        if (status == VACT_OK)
            compare(q, &q->subjects[i], reply->actions);
    }
    return status;
}

static vact_status row_predicted(void *user, const vact_request *request, const vact_reply *reply, vact_error *err)
{
    (void)request;
    subject *s = user;
    s->ms[s->n_ms++] = reply->timing.total;
    return check_stopped(err);
}

static vact_status run_episodes(quality *q, subject *s, const demo_task *task, const demo_watch *watch)
{
    demo_runner *runner = NULL;
    const char *file = s->row && s->row->file ? s->row->file : q->options->model;
    vact_status status = demo_runner_open(&runner, file, s->own ? s->own : q->model, s->session, task, &q->err);
    for (int32_t i = 0; i < q->options->episodes && status == VACT_OK; i++) {
        demo_episode episode;
        status = demo_run(runner, q->options->seed + (uint64_t)i, watch, &episode, &q->err);
        s->solved[i] = episode.solved;
        s->steps[i] = episode.steps;
        cli_progress_update(&q->progress, (double)++q->done / (double)q->all);
    }
    demo_runner_close(&runner);
    return status;
}

static vact_status measure(quality *q, const demo_task *task)
{
    const demo_watch watch = { .user = q, .predicted = baseline_predicted };
    q->baseline.n_ms = 0;
    for (int i = 0; i < q->n; i++) {
        subject *s = &q->subjects[i];
        s->n_ms = 0;
        s->squares = s->most = 0;
        s->values = 0;
    }
    vact_status status = run_episodes(q, &q->baseline, task, &watch);
    for (int i = 0; i < q->n && status == VACT_OK; i++) {
        const demo_watch own = { .user = &q->subjects[i], .predicted = row_predicted };
        status = run_episodes(q, &q->subjects[i], task, &own);
    }
    return status;
}

/* ---- figures ---- */

/* NAN stands for a mean of nothing. */
typedef struct figures {
    int64_t solved, only_baseline, only_this;
    vact_interval rate, change; /* change: of the rate, this less baseline */
    double p, steps, more_steps, rms, most, ms;
} figures;

static figures figures_of(const quality *q, subject *s)
{
    const subject *base = &q->baseline;
    const int32_t n = q->options->episodes;
    figures f = { .most = s->most };
    int64_t steps = 0, more = 0, both = 0;
    for (int32_t i = 0; i < n; i++) {
        f.solved += s->solved[i];
        steps += s->solved[i] ? s->steps[i] : 0;
        f.only_baseline += base->solved[i] && !s->solved[i];
        f.only_this += !base->solved[i] && s->solved[i];
        if (base->solved[i] && s->solved[i]) {
            both++;
            more += s->steps[i] - base->steps[i];
        }
    }
    f.rate = vact_wilson(f.solved, n);
    f.change = vact_paired_difference(f.only_baseline, f.only_this, n);
    f.p = vact_mcnemar(f.only_baseline, f.only_this);
    f.steps = f.solved ? (double)steps / (double)f.solved : NAN;
    f.more_steps = both ? (double)more / (double)both : NAN;
    f.rms = s->values ? sqrt(s->squares / (double)s->values) : NAN;
    f.ms = vact_quantile(s->ms, s->n_ms, 0.5);
    return f;
}

static void print_row(const quality *q, subject *s)
{
    const figures f = figures_of(q, s);
    const double n = q->options->episodes;
    printf("%-10s %5lld %5.1f [%5.1f,%5.1f]", s->row ? s->row->name : "baseline", (long long)f.solved,
           100 * (double)f.solved / n, 100 * f.rate.low, 100 * f.rate.high);
    if (s->row)
        printf(" %6lld %6lld %6.1f [%5.1f,%5.1f] %8.2g", (long long)f.only_baseline, (long long)f.only_this,
               100 * (double)(f.only_this - f.only_baseline) / n, 100 * f.change.low, 100 * f.change.high, f.p);
    else
        printf("%52s", "");
    printf(" %6.1f", f.steps);
    if (s->row)
        printf(" %+7.2f %9.2g %9.2g", f.more_steps, f.rms, f.most);
    else
        printf("%28s", "");
    printf(" %6.1f  %s\n", f.ms, s->row ? s->row->what : "the file as it is");
}

static void print_table(quality *q, const mode *m)
{
    const demo_task *t = m->task;
    printf("%s: %d tables from seed %llu, at most %d steps, %d actions of a chunk, camera noise %g, %s sentences\n",
           m->name, q->options->episodes, (unsigned long long)q->options->seed, t->max_steps, t->replan,
           t->camera_noise, t->held_out ? "held-out" : "trained");
    printf("%-10s %5s %5s %-14s %6s %6s %6s %-14s %8s %6s %7s %9s %9s %6s\n", "", "", "", "", "only", "only", "change",
           "", "", "", "more", "rms", "largest", "median");
    printf("%-10s %5s %5s %-14s %6s %6s %6s %-14s %8s %6s %7s %9s %9s %6s\n", "", "solved", "%", "95%", "base", "this",
           "points", "95%", "p", "steps", "steps", "error", "error", "ms");
    print_row(q, &q->baseline);
    for (int i = 0; i < q->n; i++)
        print_row(q, &q->subjects[i]);
    printf("\n");
}

/* JSON knows no NAN. */
static void print_number(const char *name, double x)
{
    if (isnan(x))
        printf(",\"%s\":null", name);
    else
        printf(",\"%s\":%.6g", name, x);
}

static void print_json_row(const quality *q, subject *s)
{
    const figures f = figures_of(q, s);
    printf("{\"name\":\"%s\",\"solved\":%lld", s->row ? s->row->name : "baseline", (long long)f.solved);
    print_number("low", f.rate.low);
    print_number("high", f.rate.high);
    print_number("steps", f.steps);
    print_number("median_ms", f.ms);
    if (s->row) {
        printf(",\"only_baseline\":%lld,\"only_this\":%lld", (long long)f.only_baseline, (long long)f.only_this);
        print_number("change", (double)(f.only_this - f.only_baseline) / q->options->episodes);
        print_number("change_low", f.change.low);
        print_number("change_high", f.change.high);
        print_number("p", f.p);
        print_number("more_steps", f.more_steps);
        print_number("rms_error", f.rms);
        print_number("max_error", f.most);
    }
    printf("}");
}

static void print_json(quality *q, const mode *m, bool first)
{
    printf("%s\n {\"mode\":\"%s\",\"baseline\":\n  ", first ? "" : ",", m->name);
    print_json_row(q, &q->baseline);
    printf(",\n  \"rows\":[");
    for (int i = 0; i < q->n; i++) {
        printf("%s\n  ", i ? "," : "");
        print_json_row(q, &q->subjects[i]);
    }
    printf("]}");
}

/* ---- the command ---- */

static int run(int argc, char **argv);

static const cli_command command = {
    "quality",
    "quality [--model <model.gguf>] [--rows <a,b,...>] [--other <model.gguf>] [<options>]",
    "success in closed loop and error of the actions, for every way to compute a policy",
    run,
};

/* Levels of this machine but its best, which is the baseline. */
static bool is_default(const row *r)
{
    const int isa = r->settings.isa ? vact_isa_from_name(r->settings.isa) : -1;
    return isa < 0 || (vact_cpu_has((vact_isa)isa) && (vact_isa)isa != vact_cpu_isa());
}

/* False after a complaint. */
static bool take_row(quality *q, const char *name)
{
    char known[256] = "";
    for (int i = 0; i < ROWS; i++) {
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", rows[i].name);
        if (strcmp(rows[i].name, name) != 0)
            continue;
        for (int j = 0; j < q->n; j++)
            if (q->subjects[j].row == &rows[i])
                return cli_fail_usage(&command, "option --rows: %s is there twice", name), false;
        q->subjects[q->n++].row = &rows[i];
        return true;
    }
    return cli_fail_usage(&command, "option --rows: \"%s\" is not known, expected some of: %s", name, known), false;
}

/* Rows of other checkpoints, named after their files. */
static bool take_others(quality *q)
{
    const cli_list *others = &q->options->others;
    for (int i = 0; i < others->n; i++) {
        const char *file = others->items[i], *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
        char *kept = vact_arena_text(&q->arena, name, strlen(name));
        if (!kept)
            return cli_fail("out of memory"), false;
        for (char *c = kept; *c; c++) /* as it will stand in JSON */
            if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
                *c = '?';
        q->others[i] = (row){ kept, "another checkpoint", AS_IS, { 0 }, file };
        q->subjects[q->n++].row = &q->others[i];
    }
    return true;
}

static bool take_rows(quality *q)
{
    char *names = NULL, *save = NULL;
    if (!q->options->rows) {
        for (int i = 0; i < ROWS; i++)
            if (is_default(&rows[i]))
                q->subjects[q->n++].row = &rows[i];
        return true;
    }
    names = vact_arena_text(&q->arena, q->options->rows, strlen(q->options->rows));
    if (!names)
        return cli_fail("out of memory"), false;
    for (char *name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save))
        if (!take_row(q, name))
            return false;
    return q->n > 0 || (cli_fail_usage(&command, "option --rows is empty, expected names"), false);
}

static vact_status measure_modes(quality *q)
{
    const options *o = q->options;
    const bool both = o->plain == o->hard;
    const mode modes[] = { { "plain", &demo_plain, both || o->plain }, { "hard", &demo_hard, both || o->hard } };
    q->all = (int64_t)o->episodes * (q->n + 1) * (both ? 2 : 1);
    q->progress = cli_progress_start("measuring");
    vact_status status = open_all(q);
    for (int i = 0, printed = 0; i < 2 && status == VACT_OK; i++) {
        if (!modes[i].wanted)
            continue;
        status = measure(q, modes[i].task);
        if (status != VACT_OK)
            break;
        cli_progress_end(&q->progress);
        if (o->json && !printed)
            printf("{\"seed\":%llu,\"episodes\":%d,\"modes\":[", (unsigned long long)o->seed, o->episodes);
        if (o->json)
            print_json(q, &modes[i], printed == 0);
        else
            print_table(q, &modes[i]);
        fflush(stdout); /* the other mode may take long, or be stopped */
        printed++;
    }
    cli_progress_end(&q->progress);
    if (o->json && status == VACT_OK)
        printf("]}\n");
    return status;
}

static int run(int argc, char **argv)
{
    options o = { .model = "examples/demo/tabletop.gguf", .episodes = 400, .threads = 1 };
    const cli_option known[] = {
        { "model", 'm', CLI_TEXT, &o.model, "<file>", "the policy (default: examples/demo/tabletop.gguf)", 0, 0, NULL },
        { "rows", 'r', CLI_TEXT, &o.rows, "<a,...>", "ways to compute it (default: all that this machine has)", 0, 0,
          NULL },
        { "other", 0, CLI_LIST, &o.others, "<file>", "one more row: another checkpoint of the policy; again and again",
          0, 0, NULL },
        { "episodes", 'n', CLI_INT, &o.episodes, "<n>", "tables (default: 400)", 1, 1000000, NULL },
        { "seed", 0, CLI_U64, &o.seed, "<n>", "the first table's seed, the others follow (default: 0)", 0, 0, NULL },
        { "plain", 0, CLI_FLAG, &o.plain, NULL, "the task as the policy was trained for it (default: both)", 0, 0,
          NULL },
        { "hard", 0, CLI_FLAG, &o.hard, NULL, "the same against its limits (default: both)", 0, 0, NULL },
        { "threads", 't', CLI_INT, &o.threads, "<n>", "worker threads; 0: the CPUs there are (default: 1)", 0, 1024,
          NULL },
        { "json", 0, CLI_FLAG, &o.json, NULL, "print JSON", 0, 0, NULL },
        { 0 },
    };
    const int operands = cli_parse(&command, known, argc, argv, NULL, 0);
    if (operands < 0)
        return cli_parse_exit(operands);
    quality q = { .options = &o };
    if (!take_rows(&q) || !take_others(&q)) {
        vact_arena_free(&q.arena);
        return CLI_USAGE;
    }
    catch_signals();
    const vact_status status = measure_modes(&q);
    close_all(&q);
    if (stopped) {
        signal(stopped, SIG_DFL);
        raise(stopped);
    }
    return status == VACT_OK ? CLI_OK : cli_fail("%s", q.err.text);
}

int main(int argc, char **argv)
{
    const int code = run(argc, argv);
    if (code != CLI_OK || (fflush(stdout) == 0 && !ferror(stdout)))
        return code;
    return cli_fail("standard output: cannot write all of it");
}
