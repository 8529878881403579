/* SPDX-License-Identifier: MIT */

/* `ebb runs`: the journal for people, and going on with what it holds. */

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/runs.h"

#define FOLLOW_MS 500
#define LOOK_MS   50
#define CANCEL_MS 10000

/* ---- list, show ---- */

static int list(ebb_cli *cli, ebb_runtime *rt, const ebb_runs_options *options)
{
    ebb_value *runs = NULL;
    ebb_err err = { 0 };
    int status = EBB_EXIT_OK;

    (void)options;
    if (ebb_runs_list(rt, &runs, &err) < 0)
        return ebb_output_error(cli, &err, NULL);
    if (cli->json)
        status = ebb_output_value(cli, runs);
    else
        ebb_runs_show_list(runs);
    ebb_value_free(runs);
    return status;
}

static const ebb_value *find_step(const ebb_value *run, const char *path)
{
    const ebb_value *steps = ebb_value_find(run, "steps");

    for (size_t i = 0; i < ebb_value_size(steps); i++) {
        const ebb_value *step = ebb_value_at(steps, i);
        if (strcmp(ebb_output_text(step, "path"), path) == 0)
            return step;
    }
    return NULL;
}

static int show_step(ebb_cli *cli, const ebb_value *run, const char *path)
{
    const ebb_value *step = find_step(run, path);
    ebb_err err = { 0 };

    if (step == NULL) {
        ebb_err_set(&err, EBB_NOT_FOUND,
                    "run %s has no step %s; `ebb runs show %s` lists them",
                    ebb_output_text(run, "id"), path,
                    ebb_output_text(run, "id"));
        return ebb_output_error(cli, &err, NULL);
    }
    if (cli->json)
        return ebb_output_value(cli, step);
    ebb_runs_show_step(run, step);
    return EBB_EXIT_OK;
}

static bool is_running(const ebb_value *run)
{
    return strcmp(ebb_output_text(run, "state"), "running") == 0;
}

static void pause_ms(long ms)
{
    struct timespec wait = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&wait, NULL); /* Ctrl-C ends it early */
}

static void stop_following(void *context)
{
    (void)context; /* ebb_interrupted says so */
}

/* Steps that ended since: outcomes come first, in their order. */
static size_t show_new(const ebb_value *run, size_t shown)
{
    const ebb_value *steps = ebb_value_find(run, "steps");

    while (shown < ebb_value_size(steps) &&
           ebb_value_find(ebb_value_at(steps, shown), "seq") != NULL)
        ebb_runs_show_line(ebb_value_at(steps, shown++));
    return shown;
}

/* Until it ends or Ctrl-C; *run is replaced by what it became. */
static int follow(ebb_runtime *rt, const char *id, ebb_value **run,
                  ebb_err *err)
{
    size_t shown = 0;
    int result = 0;

    ebb_interrupt_on(stop_following, NULL);
    while (result == 0 && is_running(*run) && !ebb_interrupted()) {
        shown = show_new(*run, shown);
        pause_ms(FOLLOW_MS);
        ebb_value_free(*run);
        *run = NULL;
        result = ebb_runs_show(rt, id, run, err);
    }
    ebb_interrupt_off();
    if (result == 0 && !is_running(*run))
        putchar('\n');
    return result;
}

/* Those that may be alive are shown when nobody can be asked. */
static void find_alive(const ebb_cli *cli, ebb_runtime *rt, ebb_value *run)
{
    ebb_err err = { 0 };

    if (ebb_runs_find_alive(rt, run, &err) < 0 && !cli->quiet)
        fprintf(stderr, "ebb: note: whether its sandboxes are alive is not "
                        "known: %s\n",
                err.msg);
}

static int show_run(ebb_cli *cli, ebb_runtime *rt, const char *id,
                    ebb_value **run)
{
    ebb_err err = { 0 };

    if (cli->json) {
        find_alive(cli, rt, *run);
        return ebb_output_value(cli, *run);
    }
    ebb_runs_show_head(*run);
    if (is_running(*run)) {
        if (follow(rt, id, run, &err) < 0)
            return ebb_output_error(cli, &err, NULL);
        if (is_running(*run))
            return EBB_EXIT_OK; /* stopped following */
        ebb_runs_show_head(*run);
    }
    find_alive(cli, rt, *run);
    ebb_runs_show_steps(*run);
    ebb_runs_show_end(*run);
    return EBB_EXIT_OK;
}

static int show(ebb_cli *cli, ebb_runtime *rt, const ebb_runs_options *options)
{
    ebb_value *run = NULL;
    ebb_err err = { 0 };
    int status;

    if (ebb_runs_show(rt, options->id, &run, &err) < 0)
        return ebb_output_error(cli, &err, NULL);
    status = options->step != NULL
                 ? show_step(cli, run, options->step)
                 : show_run(cli, rt, options->id, &run);
    ebb_value_free(run);
    return status;
}

/* ---- cancel, prune ---- */

/* Until nobody executes it any more; whether that was for being cancelled. */
static int await_end(ebb_runtime *rt, const char *id, bool *cancelled,
                     ebb_err *err)
{
    ebb_value *run = NULL;
    bool running = true;

    for (int waited = 0; running && waited < CANCEL_MS; waited += LOOK_MS) {
        if (ebb_runs_show(rt, id, &run, err) < 0)
            return -1;
        running = is_running(run);
        *cancelled = strcmp(ebb_output_text(run, "state"), "cancelled") == 0;
        ebb_value_free(run);
        if (running)
            pause_ms(LOOK_MS);
    }
    if (!running)
        return 0;
    return ebb_err_set(err, EBB_TIMEOUT,
                       "run %s was asked to cancel, and its process has not "
                       "ended it within %d s; `ebb runs show %s` says which",
                       id, CANCEL_MS / 1000, id);
}

static int cancel(ebb_cli *cli, ebb_runtime *rt,
                  const ebb_runs_options *options)
{
    const char *id = options->id;
    bool cancelled = false;
    ebb_err err = { 0 };

    if (ebb_runs_cancel(rt, id, &err) < 0 ||
        await_end(rt, id, &cancelled, &err) < 0)
        return ebb_output_error(cli, &err, NULL);
    /*
     * Again: for what its process left behind, for one that died before the
     * end, and to say so if the script went on to another end.
     */
    if (ebb_runs_cancel(rt, id, &err) < 0 &&
        !(cancelled && err.code == EBB_CONFLICT))
        return ebb_output_error(cli, &err, NULL);
    return EBB_EXIT_OK;
}

static void show_pruned(const ebb_value *result)
{
    const ebb_value *failed = ebb_value_find(result, "failed");

    printf("removed %zu runs, ended %zu sandboxes\n",
           ebb_value_size(ebb_value_find(result, "removed")),
           ebb_value_size(ebb_value_find(result, "killed")));
    for (size_t i = 0; i < ebb_value_size(failed); i++)
        fprintf(stderr, "ebb: kept run %s: %s\n",
                ebb_output_text(ebb_value_at(failed, i), "id"),
                ebb_output_text(ebb_value_at(failed, i), "message"));
}

static int prune(ebb_cli *cli, ebb_runtime *rt, const ebb_runs_options *options)
{
    ebb_value *result = NULL;
    ebb_err err = { 0 };
    int status = EBB_EXIT_OK;

    if (ebb_runs_prune(rt, options->kill, &result, &err) < 0)
        return ebb_output_error(cli, &err, NULL);
    if (cli->json)
        status = ebb_output_value(cli, result);
    else
        show_pruned(result);
    if (ebb_value_size(ebb_value_find(result, "failed")) > 0)
        status = EBB_EXIT_FAILED;
    ebb_value_free(result);
    return status;
}

/* ---- which ---- */

typedef enum wants_id { NO_ID, MAY_ID, NEEDS_ID } wants_id;

static const struct {
    const char *name;
    wants_id id;
    int (*run)(ebb_cli *cli, ebb_runtime *rt, const ebb_runs_options *options);
} verbs[] = {
    { "list", NO_ID, list },
    { "show", NEEDS_ID, show },
    { "resume", MAY_ID, ebb_runs_resume },
    { "cancel", NEEDS_ID, cancel },
    { "fork", NEEDS_ID, ebb_runs_fork_on },
    { "prune", NO_ID, prune },
};
#define VERBS (sizeof verbs / sizeof *verbs)

static int run_verb(ebb_cli *cli, size_t verb, const ebb_runs_options *options)
{
    int status = EBB_EXIT_FAILED;
    ebb_runtime *rt = ebb_cli_open(cli, &status);

    if (rt == NULL)
        return status;
    status = verbs[verb].run(cli, rt, options);
    ebb_close(rt);
    return status;
}

static int run(ebb_cli *cli, const ebb_command *self, int argc, char **argv)
{
    ebb_runs_options o = { 0 };
    const ebb_option options[] = {
        { "step", NULL, &o.step },       { "from", NULL, &o.from },
        { "take-over", &o.take_over, NULL }, { "force", &o.force, NULL },
        { "kill", &o.kill, NULL },       { 0 },
    };
    int first = ebb_options_parse(cli, self, argc, argv, options, true);
    size_t verb = 0;

    if (first < 0)
        return ebb_options_status(first);
    while (first < argc && verb < VERBS &&
           strcmp(argv[first], verbs[verb].name) != 0)
        verb++;
    if (verb == VERBS)
        return ebb_usage_error(self, "there is no `ebb runs %s`",
                               argv[first]);
    first++;
    if (first < argc && verbs[verb].id != NO_ID)
        o.id = argv[first++];
    if (first < argc)
        return ebb_usage_error(self, "what is '%s'?", argv[first]);
    if (o.id == NULL && verbs[verb].id == NEEDS_ID)
        return ebb_usage_error(self, "%s: which run?", verbs[verb].name);
    if (verbs[verb].run == ebb_runs_fork_on && o.from == NULL)
        return ebb_usage_error(self, "fork: from which step? --from PATH");
    return run_verb(cli, verb, &o);
}

const ebb_command ebb_cmd_runs = {
    .name = "runs",
    .synopsis = "[list | show ID [--step PATH] | resume [ID] [--take-over] "
                "[--force] | cancel ID | fork ID --from PATH | prune "
                "[--kill]]",
    .help = "durable runs: list, show, resume, cancel, fork, prune",
    .text = "  list    what the journal holds, newest first\n"
            "  show    a run with its steps; one that runs is followed\n"
            "  resume  go on with an interrupted or failed run; without an\n"
            "          ID with every run whose process is dead\n"
            "  cancel  ask its process to cancel it, or end it as cancelled;\n"
            "          then its sandboxes\n"
            "  fork    a new run with the steps recorded before PATH\n"
            "  prune   remove runs that have ended\n\n"
            "  --take-over  from a process that is alive\n"
            "  --force      run a step again whose outcome is unknown\n"
            "  --kill       end the sandboxes that the runs left behind\n",
    .run = run,
};
