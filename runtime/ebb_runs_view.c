/* SPDX-License-Identifier: MIT */

/* Runs and their steps as values, for people and programs. */

#include "ebb_runs.h"

#include <string.h>

static ebb_value *time_value(int64_t wall_ms)
{
    char text[EBB_CLOCK_ISO_BYTES];

    ebb_clock_iso(wall_ms, text);
    return ebb_value_text(text);
}

/* A damaged text is shown as such, not hidden. */
static ebb_value *json_value(const char *json, size_t n)
{
    ebb_err ignored = { 0 };
    ebb_value *value = ebb_value_parse(json, n, 0, &ignored);

    return value != NULL ? value : ebb_value_text("(damaged)");
}

static int set_text(ebb_value *object, const char *key, const char *text)
{
    return text != NULL ? ebb_value_set(object, key, ebb_value_text(text))
                        : 0;
}

static int set_time(ebb_value *object, const char *key, int64_t wall_ms)
{
    return wall_ms > 0 ? ebb_value_set(object, key, time_value(wall_ms)) : 0;
}

static int set_json(ebb_value *object, const char *key, const char *json,
                    size_t n)
{
    return json != NULL ? ebb_value_set(object, key, json_value(json, n)) : 0;
}

/* "running" and "interrupted" are what "active" means to people. */
static const char *state_name(const ebb_journal_run *run)
{
    if (run->state != EBB_JOURNAL_ACTIVE)
        return ebb_journal_state_name(run->state);
    return run->owner_pid != 0 && run->owner_alive ? "running"
                                                   : "interrupted";
}

/* When it ended, or what it did last. */
static int64_t last_ms(const ebb_journal_run *run, int64_t now_ms)
{
    if (run->ended_ms > 0)
        return run->ended_ms;
    return run->owner_alive ? now_ms : run->updated_ms;
}

static int set_owner(ebb_value *object, const ebb_journal_run *run)
{
    ebb_value *owner;

    if (run->owner_pid == 0 || run->state != EBB_JOURNAL_ACTIVE)
        return 0;
    owner = ebb_value_object();
    if (ebb_value_set(owner, "pid", ebb_value_int(run->owner_pid)) < 0 ||
        ebb_value_set(owner, "alive", ebb_value_bool(run->owner_alive)) < 0) {
        ebb_value_free(owner);
        return -1;
    }
    return ebb_value_set(object, "owner", owner);
}

ebb_value *ebb_runs_value(const ebb_journal_run *run, int64_t now_ms)
{
    ebb_value *object = ebb_value_object();
    int bad = 0;

    bad |= set_text(object, "id", run->id);
    bad |= set_text(object, "script", run->script);
    bad |= set_text(object, "scriptSha256", run->script_sha256);
    if (run->args != NULL)
        bad |= set_json(object, "args", run->args, strlen(run->args));
    bad |= set_text(object, "state", state_name(run));
    bad |= set_text(object, "forkedFrom", run->forked_from);
    bad |= set_text(object, "backend", run->backend);
    bad |= set_time(object, "startedAt", run->started_ms);
    bad |= set_time(object, "updatedAt", run->updated_ms);
    bad |= set_time(object, "endedAt", run->ended_ms);
    bad |= ebb_value_set(object, "ageMs",
                         ebb_value_int(now_ms - run->started_ms));
    bad |= ebb_value_set(object, "ms",
                         ebb_value_int(last_ms(run, now_ms) -
                                       run->started_ms));
    bad |= set_owner(object, run);
    bad |= ebb_value_set(object, "recoveries",
                         ebb_value_int(run->recoveries));
    bad |= ebb_value_set(object, "stepsCount",
                         ebb_value_int(run->steps_count));
    if (run->cancel_asked)
        bad |= ebb_value_set(object, "cancelAsked", ebb_value_bool(true));
    bad |= set_json(object,
                    run->state == EBB_JOURNAL_DONE ? "result" : "error",
                    run->outcome, run->outcome_bytes);
    if (bad == 0)
        return object;
    ebb_value_free(object);
    return NULL;
}

/* ---- the steps ---- */

static int add_attempts(ebb_value *step, const ebb_journal_run *run,
                        const char *path)
{
    ebb_value *list = NULL, *row;
    int bad = 0;

    for (size_t i = 0; i < run->attempts_n; i++) {
        const ebb_journal_attempt *attempt = &run->attempts[i];
        if (strcmp(attempt->path, path) != 0)
            continue;
        if (list == NULL)
            list = ebb_value_array();
        row = ebb_value_object();
        bad |= ebb_value_set(row, "number", ebb_value_int(attempt->number));
        bad |= set_time(row, "at", attempt->at_ms);
        bad |= set_time(row, "nextAt", attempt->next_ms);
        bad |= set_json(row, "error", attempt->error, attempt->error_bytes);
        bad |= ebb_value_add(list, row);
    }
    if (list != NULL)
        bad |= ebb_value_set(step, "failedAttempts", list);
    return bad;
}

static const char *step_state(const ebb_journal_run *run,
                              const ebb_journal_step *step)
{
    if (step->seq > 0)
        return step->failed ? "failed" : "done";
    return run->state == EBB_JOURNAL_ACTIVE && run->owner_alive ? "running"
                                                                : "started";
}

static ebb_value *step_value(const ebb_journal_run *run,
                             const ebb_journal_step *step)
{
    ebb_value *object = ebb_value_object();
    int bad = 0;

    bad |= set_text(object, "path", step->path);
    bad |= set_text(object, "name", step->name);
    bad |= set_text(object, "class", step->step_class);
    bad |= set_text(object, "state", step_state(run, step));
    if (step->seq > 0)
        bad |= ebb_value_set(object, "seq", ebb_value_int(step->seq));
    bad |= set_time(object, "startedAt", step->began_ms);
    bad |= set_time(object, "endedAt", step->ended_ms);
    bad |= ebb_value_set(object, "offsetMs",
                         ebb_value_int(step->began_ms - run->started_ms));
    if (step->seq > 0)
        bad |= ebb_value_set(object, "ms",
                             ebb_value_int(step->ended_ms - step->began_ms));
    bad |= set_time(object, "wakesAt", step->wake_ms);
    if (step->attempts > 0)
        bad |= ebb_value_set(object, "attempts",
                             ebb_value_int(step->attempts));
    bad |= set_time(object, "nextAttemptAt", step->next_attempt_ms);
    bad |= add_attempts(object, run, step->path);
    bad |= set_text(object, "inputDigest", step->digest);
    bad |= set_json(object, "input", step->input, step->input_bytes);
    bad |= set_json(object, step->failed ? "error" : "output", step->outcome,
                    step->outcome_bytes);
    if (bad == 0)
        return object;
    ebb_value_free(object);
    return NULL;
}

static ebb_value *line_value(const ebb_journal_line *line)
{
    ebb_value *object = ebb_value_object();
    int bad = 0;

    bad |= set_time(object, "at", line->at_ms);
    bad |= set_text(object, "step", line->path);
    if (line->attempt > 0)
        bad |= ebb_value_set(object, "attempt", ebb_value_int(line->attempt));
    bad |= set_text(object, "level",
                    ebb_log_level_name((ebb_log_level)line->level));
    bad |= set_text(object, "message", line->message);
    bad |= set_json(object, "fields", line->fields, line->fields_bytes);
    if (bad == 0)
        return object;
    ebb_value_free(object);
    return NULL;
}

ebb_value *ebb_runs_value_whole(const ebb_journal_run *run, int64_t now_ms)
{
    ebb_value *object = ebb_runs_value(run, now_ms);
    ebb_value *steps = ebb_value_array(), *log = ebb_value_array();
    int bad = object == NULL || steps == NULL || log == NULL ? -1 : 0;

    for (size_t i = 0; i < run->steps_n && bad == 0; i++)
        bad |= ebb_value_add(steps, step_value(run, &run->steps[i]));
    for (size_t i = 0; i < run->lines_n && bad == 0; i++)
        bad |= ebb_value_add(log, line_value(&run->lines[i]));
    if (bad < 0) {
        ebb_value_free(steps);
        ebb_value_free(log);
    } else {
        bad |= ebb_value_set(object, "steps", steps);
        bad |= ebb_value_set(object, "log", log);
        bad |= ebb_value_set(object, "sandboxes", ebb_runs_sandboxes(run));
    }
    if (bad == 0)
        return object;
    ebb_value_free(object);
    return NULL;
}
