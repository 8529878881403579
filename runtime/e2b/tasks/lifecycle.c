/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/tasks.h"

#include <string.h>

#include "base/mem.h"
#include "e2b/connection.h"
#include "e2b/control.h"
#include "e2b/tasks/result.h"
#include "e2b/state.h"

/* One call of the control plane about the job's sandbox. */
static void ask(ebb_e2b_job *job, const char *method, const char *prefix,
                const char *suffix, ebb_value *body,
                ebb_e2b_answer_fn *on_answer)
{
    char *path = ebb_e2b_path(prefix, job->sandbox_id, suffix);
    ebb_e2b_control control = {
        .method = method,
        .path = path,
        .body = body,
        .on_answer = on_answer,
    };

    ebb_e2b_control_start(job, &control);
    ebb_mem_free(path);
    ebb_value_free(body);
}

static void finish_changed(ebb_e2b_job *job, const char *status, bool changed)
{
    ebb_value *result = ebb_e2b_result_new(job);

    result = ebb_e2b_result_with(result, "status", ebb_value_text(status));
    result = ebb_e2b_result_with(result, "changed", ebb_value_bool(changed));
    ebb_e2b_job_finish(job, result);
}

/* ---- getSandbox ---- */

static void got(ebb_e2b_job *job, const ebb_e2b_answer *answer)
{
    ebb_err err = { 0 };
    ebb_value *sandbox;

    if (answer->err != NULL) {
        ebb_e2b_job_fail(job, answer->err, NULL);
        return;
    }
    sandbox = ebb_e2b_sandbox(answer->json, &err);
    sandbox = sandbox == NULL ? NULL : ebb_e2b_result_cap(sandbox, &err);
    if (sandbox == NULL)
        ebb_e2b_job_fail(job, &err, NULL);
    else
        ebb_e2b_job_finish(job, sandbox);
}

static void get_begin(ebb_e2b_job *job)
{
    ask(job, "GET", "", "", NULL, got);
}

void ebb_e2b_task_get(ebb_attempt *attempt)
{
    ebb_e2b_job_start(attempt, sizeof(ebb_e2b_job), get_begin, NULL);
}

/* ---- pauseSandbox ---- */

/* 409 is "already paused" and every other wrong moment: ask which. */
static void pause_checked(ebb_e2b_job *job, const ebb_e2b_answer *answer)
{
    const char *state = ebb_value_find_string(answer->json, "state");
    ebb_err err = { 0 };

    if (answer->err != NULL) {
        ebb_e2b_job_fail(job, answer->err, NULL);
    } else if (state != NULL && strcmp(state, "paused") == 0) {
        finish_changed(job, "paused", false);
    } else {
        ebb_err_set_status(&err, EBB_CONFLICT, 409,
                           "%s cannot be paused now: it is %.16s", job->subject,
                           state ? state : "in no known state");
        ebb_e2b_job_fail(job, &err, NULL);
    }
}

static void paused(ebb_e2b_job *job, const ebb_e2b_answer *answer)
{
    ebb_e2b_connection_drop(job->e2b, job->sandbox_id);
    if (answer->err == NULL)
        finish_changed(job, "paused", true);
    else if (answer->status == 409)
        ask(job, "GET", "", "", NULL, pause_checked);
    else
        ebb_e2b_job_fail(job, answer->err, NULL);
}

static void pause_begin(ebb_e2b_job *job)
{
    bool keep = ebb_value_find_bool(job->input, "keepMemory", true);
    ebb_value *body = ebb_value_object();

    if (!keep)
        body = ebb_e2b_result_with(body, "memory", ebb_value_bool(false));
    if (body == NULL)
        ebb_e2b_job_no_memory(job);
    else
        ask(job, "POST", "", "/pause", body, paused);
}

void ebb_e2b_task_pause(ebb_attempt *attempt)
{
    ebb_e2b_job_start(attempt, sizeof(ebb_e2b_job), pause_begin, NULL);
}

/* ---- resumeSandbox ---- */

static void resume_begin(ebb_e2b_job *job);

/* 200: it was running; 201: it was paused. */
static void resumed(ebb_e2b_job *job, const ebb_e2b_answer *answer)
{
    if (ebb_e2b_falls_back(job->e2b, answer)) {
        resume_begin(job);
        return;
    }
    ebb_e2b_connection_drop(job->e2b, job->sandbox_id);
    if (answer->err != NULL)
        ebb_e2b_job_fail(job, answer->err, NULL);
    else
        finish_changed(job, "running", answer->status == 201);
}

/* Without timeoutMs the server's default holds; v1 has to be told it. */
static void resume_begin(ebb_e2b_job *job)
{
    const ebb_value *timeout = ebb_value_find(job->input, "timeoutMs");
    bool v1 = job->e2b->routes == EBB_E2B_ROUTES_V1;
    double ms = timeout ? ebb_value_get_float(timeout) : EBB_E2B_LIFE_MS;
    ebb_value *body = ebb_value_object();

    if (timeout != NULL || v1)
        body = ebb_e2b_result_with(body, "timeout",
                                   ebb_value_int(ebb_e2b_seconds(ms)));
    if (body == NULL)
        ebb_e2b_job_no_memory(job);
    else
        ask(job, "POST", ebb_e2b_prefix(job->e2b), "/connect", body, resumed);
}

void ebb_e2b_task_resume(ebb_attempt *attempt)
{
    ebb_e2b_job_start(attempt, sizeof(ebb_e2b_job), resume_begin, NULL);
}

/* ---- killSandbox ---- */

static void killed(ebb_e2b_job *job, const ebb_e2b_answer *answer)
{
    ebb_e2b_connection_drop(job->e2b, job->sandbox_id);
    if (answer->err == NULL)
        finish_changed(job, "killed", true);
    else if (answer->status == 404)
        finish_changed(job, "killed", false);
    else
        ebb_e2b_job_fail(job, answer->err, NULL);
}

static void kill_begin(ebb_e2b_job *job)
{
    ask(job, "DELETE", "", "", NULL, killed);
}

void ebb_e2b_task_kill(ebb_attempt *attempt)
{
    ebb_e2b_job_start(attempt, sizeof(ebb_e2b_job), kill_begin, NULL);
}
