/* vact demo: a trained policy moves blocks on a made-up table, in closed loop. */
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/demo_report.h"
#include "cli/view.h"
#include "demo/film.h"
#include "file/line.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_REELS = 6, MOST_FRAMES = DEMO_MAX_STEPS + 1 };

typedef struct options {
    cli_model_options model;
    hub_settings hub;
    const char *path, *text, *wrong, *render;
    int32_t episodes, replan;
    uint64_t seed;
    bool view, json, blind, hard, held_out;
} options;

typedef struct recording {
    demo_table tables[MOST_FRAMES];
    int32_t n;
    char outcome[96];
} recording;

typedef struct show {
    const options *asked;
    demo_task task;
    cli_demo_tally tally;
    demo_episode *episodes;
    int32_t solved;
    recording *recordings; /* [MOST_REELS], of the first episodes */
    cli_view view;
    bool viewing;
    char png[PATH_MAX], gif[PATH_MAX]; /* of the film */
    vact_arena arena;
} show;

/* ---- the checkpoint in the box ---- */

/* A file of the program's own: beside the program in a build folder, or where both were installed. NULL after a
 * complaint. */
static const char *find_own(const char *name, vact_arena *arena)
{
    static const char *const folders[] = { "share/vact", VACT_DATA_FROM_BIN };
    char program[PATH_MAX], path[PATH_MAX + 256];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    char *slash = strrchr(program, '/');
    if (slash)
        slash[1] = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const int n = snprintf(path, sizeof path, "%s%s/%s", program, folders[i], name);
        if (access(path, R_OK) == 0)
            return vact_arena_text(arena, path, (size_t)n);
    }
    cli_fail("%s%s/%s: not there, expected it to be installed with the program; --model <file> takes another policy",
             program, VACT_DATA_FROM_BIN, name);
    return NULL;
}

/* ---- watching ---- */

static void draw_progress(const show *d)
{
    if (!d->viewing && isatty(STDERR_FILENO))
        fprintf(stderr, "\repisode %d of %d, %d solved\033[K", d->tally.n + 1, d->asked->episodes, d->solved);
}

static void clear_progress(const show *d)
{
    if (!d->viewing && isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

/* Where it can't be drawn the demo runs on and says why. */
static void open_view(show *d)
{
    const char *why = cli_view_open(&d->view, stderr);
    d->viewing = !why;
    if (why)
        fprintf(stderr, "vact: warning: --view: %s\n", why);
}

static void on_move(void *user, const demo_table *table, int32_t step)
{
    const double step_ms = 60;
    show *d = user;
    recording *r = d->tally.n < MOST_REELS ? &d->recordings[d->tally.n] : NULL;
    if (r)
        r->tables[r->n++] = *table;
    if (d->viewing) {
        cli_view_draw(&d->view, table, d->episodes[d->tally.n].told, step);
        vact_clock_sleep_ms(step_ms);
    }
}

static vact_status on_predict(void *user, const vact_request *request, const vact_reply *reply, vact_error *err)
{
    (void)request, (void)err;
    show *d = user;
    const vact_timing *t = &reply->timing;
    const double ms[CLI_DEMO_TIMES] = { t->total, t->vision, t->prefix, t->denoise };
    for (int i = 0; i < CLI_DEMO_TIMES; i++)
        d->tally.ms[i][d->tally.predictions] = ms[i];
    d->tally.predictions++;
    draw_progress(d);
    return VACT_OK;
}

/* ---- the film ---- */

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* What would stop the film at its end is better known before the first episode. An exit code. */
static int check_target(const char *path)
{
    struct stat there;
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return cli_fail("%s: is no regular file, expected one or none to replace", path);
    if (access(slash ? folder : ".", W_OK) != 0)
        return cli_fail("%s: cannot write in its folder: %s", path, strerror(errno));
    return CLI_OK;
}

/* Where both files go: X.png and X.gif if `where` is one of them, otherwise a folder's demo.png and demo.gif. The folder
 * is made. An exit code. */
static int set_film_paths(show *d, const char *where)
{
    const bool file = ends_in(where, ".gif") || ends_in(where, ".png");
    const int stem = (int)strlen(where) - (file ? 4 : 0);
    struct stat there;
    if (!*where)
        return cli_fail_usage(&cli_demo, "option --render is empty, expected a folder or a name that ends in .gif");
    if (stem > (int)sizeof d->png - 16)
        return cli_fail("option --render: the path is too long");
    if (!file && stat(where, &there) == 0 && !S_ISDIR(there.st_mode))
        return cli_fail("%s: is no folder, expected one or a name that ends in .gif", where);
    if (!file && mkdir(where, 0777) != 0 && errno != EEXIST)
        return cli_fail("%s: %s", where, strerror(errno));
    snprintf(d->png, sizeof d->png, "%.*s%s.png", stem, where, file ? "" : "/demo");
    snprintf(d->gif, sizeof d->gif, "%.*s%s.gif", stem, where, file ? "" : "/demo");
    return check_target(d->png) == CLI_OK ? check_target(d->gif) : CLI_FAILED;
}

static int write_film(const show *d)
{
    vact_error err;
    demo_reel reels[MOST_REELS];
    const int32_t n = d->tally.n < MOST_REELS ? d->tally.n : MOST_REELS;
    for (int32_t i = 0; i < n; i++)
        reels[i] = (demo_reel){ d->recordings[i].tables, d->recordings[i].n, d->episodes[i].told,
                                d->recordings[i].outcome, d->episodes[i].solved };
    if (demo_film_png(d->png, reels, n, &err) != VACT_OK || demo_film_gif(d->gif, reels, n, &err) != VACT_OK)
        return cli_fail("%s", err.text);
    char png[256], gif[256];
    fprintf(stderr, "vact: wrote %s and %s\n", vact_printable(png, sizeof png, d->png, strlen(d->png)),
            vact_printable(gif, sizeof gif, d->gif, strlen(d->gif)));
    return CLI_OK;
}

/* ---- running ---- */

/* An exit code. */
static int run_episode(show *d, demo_runner *runner)
{
    const double pause_ms = 700;
    vact_error err;
    demo_episode *e = &d->episodes[d->tally.n];
    const demo_watch watch = { d, on_move, on_predict };
    if (demo_run(runner, d->asked->seed + (uint64_t)d->tally.n, &watch, e, &err) != VACT_OK)
        return clear_progress(d), cli_fail("%s", err.text);
    if (d->viewing)
        vact_clock_sleep_ms(pause_ms);
    e->told = vact_arena_text(&d->arena, e->told, strlen(e->told));
    if (!e->told)
        return cli_fail("out of memory");
    if (d->tally.n < MOST_REELS)
        cli_demo_outcome(e, d->recordings[d->tally.n].outcome, sizeof d->recordings[d->tally.n].outcome);
    d->solved += e->solved;
    d->tally.n++;
    return CLI_OK;
}

static int run_episodes(show *d, vact_model *model, vact_session *session)
{
    vact_error err;
    demo_runner *runner = NULL;
    if (demo_runner_open(&runner, d->tally.policy, model, session, &d->task, &err) != VACT_OK)
        return cli_fail("%s", err.text);
    if (d->asked->view)
        open_view(d);
    int code = CLI_OK;
    while (d->tally.n < d->asked->episodes && code == CLI_OK)
        code = run_episode(d, runner);
    clear_progress(d);
    if (d->viewing)
        cli_view_close(&d->view);
    demo_runner_close(&runner);
    return code;
}

/* Room for all that will be told of. */
static bool make_room(show *d)
{
    const size_t n = (size_t)d->asked->episodes;
    const size_t looks = n * (size_t)((d->task.max_steps + d->task.replan - 1) / d->task.replan);
    d->episodes = vact_arena_take(&d->arena, n, sizeof *d->episodes);
    d->tally.episodes = d->episodes;
    d->recordings = vact_arena_take(&d->arena, MOST_REELS, sizeof *d->recordings);
    bool ok = d->episodes && d->recordings;
    for (int i = 0; i < CLI_DEMO_TIMES; i++)
        ok &= (d->tally.ms[i] = vact_arena_take(&d->arena, looks, sizeof(double))) != NULL;
    return ok;
}

/* ---- the command ---- */

static int run_model(show *d)
{
    vact_error err;
    vact_model *model = NULL;
    vact_session *session = NULL;
    vact_settings settings = d->asked->model.settings;
    settings.max_views = 1;
    const bool ready = vact_model_open(&model, d->tally.policy, &settings, &err) == VACT_OK &&
                       vact_session_open(&session, model, &settings, &err) == VACT_OK;
    int code = ready ? run_episodes(d, model, session) : cli_fail("%s", err.text);
    if (code == CLI_OK) {
        code = d->asked->render ? write_film(d) : CLI_OK; /* first: whoever reads the report may leave early */
        if (!d->asked->json)
            cli_demo_print(&d->tally);
        else if (cli_demo_print_json(&d->tally) != CLI_OK)
            code = CLI_FAILED;
    }
    vact_session_close(&session);
    vact_model_close(&model);
    return code;
}

/* The task that the options ask for; an exit code. */
static int set_task(show *d, options *o)
{
    d->task = o->hard ? demo_hard : demo_plain;
    d->task.held_out |= o->held_out;
    d->task.blind = o->blind;
    d->task.text = o->text;
    d->task.held_out &= !o->text;
    if (o->replan)
        d->task.replan = o->replan;
    if (o->wrong && o->text)
        return cli_fail_usage(&cli_demo, "--wrong-text and --text are both given, expected one of them");
    if (o->held_out && o->text)
        return cli_fail_usage(&cli_demo, "--held-out and --text are both given, expected one of them");
    if (o->wrong && *o->wrong && strcmp(o->wrong, "zone") != 0 && strcmp(o->wrong, "colour") != 0)
        return cli_fail_usage(&cli_demo, "option --wrong-text is \"%s\", expected colour or zone", o->wrong);
    if (o->wrong)
        d->task.telling = strcmp(o->wrong, "zone") == 0 ? DEMO_TELL_ZONE : DEMO_TELL_COLOUR;
    if (o->text && o->episodes > 1)
        return cli_fail_usage(&cli_demo, "--text goes with one episode, found --episodes %d", o->episodes);
    if (!o->episodes)
        o->episodes = o->text ? 1 : 20;
    if (o->seed > (uint64_t)(INT64_MAX - (o->episodes - 1)))
        return cli_fail_usage(&cli_demo, "option --seed: the last table's is above 2^63-1");
    return CLI_OK;
}

static int run_demo(show *d, options *o)
{
    int code = set_task(d, o);
    if (code == CLI_OK && o->render)
        code = set_film_paths(d, o->render);
    if (code != CLI_OK)
        return code;
    cli_listen(&o->model);
    d->asked = o;
    d->tally.task = &d->task;
    d->tally.policy = o->path ? cli_resolve(o->path, &o->hub, &d->arena) : find_own("tabletop.gguf", &d->arena);
    if (!d->tally.policy)
        return CLI_FAILED;
    return make_room(d) ? run_model(d) : cli_fail("out of memory");
}

static int run(int argc, char **argv)
{
    options o = { .seed = 0 };
    vact_settings_default(&o.model.settings);
    const cli_option known[] = {
        { "episodes", 'n', CLI_INT, &o.episodes, "<n>", "how many tables (default: 20; with --text: 1)", 1, 10000,
          NULL },
        { "seed", 0, CLI_U64, &o.seed, "<n>", "of the first table (default: 0)", 0, 0, NULL },
        { "text", 0, CLI_TEXT, &o.text, "<sentence>",
          "your own sentence, such as \"push the red cube to the left edge\"", 0, 0, NULL },
        { "replan", 0, CLI_INT, &o.replan, "<k>", "actions carried out before it looks again (default: 4)", 1,
          DEMO_MAX_STEPS, NULL },
        { "held-out", 0, CLI_FLAG, &o.held_out, NULL, "sentences that the policy was never trained on", 0, 0, NULL },
        { "hard", 0, CLI_FLAG, &o.hard, NULL,
          "fewer steps, a noisy camera, whole chunks, sentences it never saw: docs/QUALITY.md", 0, 0, NULL },
        { "blind", 0, CLI_FLAG, &o.blind, NULL, "a control that must fail: black pictures", 0, 0, NULL },
        { "wrong-text", 0, CLI_OPTIONAL, &o.wrong, "=<what>",
          "a control that must fail: the sentence names another colour, or another zone", 0, 0, NULL },
        { "view", 0, CLI_FLAG, &o.view, NULL, "draw the table in the terminal as it moves", 0, 0, NULL },
        { "render", 0, CLI_TEXT, &o.render, "<folder or .gif>",
          "write a film strip (PNG) and an animation (GIF) of the first episodes", 0, 0, NULL },
        { "json", 0, CLI_FLAG, &o.json, NULL, "print the report as JSON", 0, 0, NULL },
        { "model", 'm', CLI_TEXT, &o.path, "<file>", "another policy for the same table", 0, 0, NULL },
        CLI_MODEL_OPTIONS(&o.model),
        CLI_HUB_OPTIONS(&o.hub),
        { 0 },
    };
    const int operands = cli_parse(&cli_demo, known, argc, argv, NULL, 0);
    if (operands < 0)
        return cli_parse_exit(operands);
    show d = { .asked = NULL };
    const int code = run_demo(&d, &o);
    vact_arena_free(&d.arena);
    return code;
}

const cli_command cli_demo = {
    "demo",
    "vact demo [--episodes <n>] [--text <sentence>] [--view] [--render <folder or .gif>] [<options>]",
    "watch a trained policy move blocks on a table",
    run,
};
