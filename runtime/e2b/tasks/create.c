/* SPDX-License-Identifier: MIT */
/*
 * createSandbox: find or create, so that one key means one sandbox whatever is
 * lost on the way. List; create what is missing under an Idempotency-Key that
 * everyone derives from the same key; get it; list once more, because a server
 * that ignores the header may have made an older one meanwhile.
 */
#include "e2b/tasks/tasks.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/mem.h"
#include "e2b/connection.h"
#include "e2b/control.h"
#include "e2b/tasks/inputs.h"
#include "e2b/tasks/result.h"
#include "e2b/tasks/sandboxes.h"
#include "e2b/state.h"

#define KEY_FIELD       "_render_tasks_idempotency_key"
#define GENERATIONS_MAX 100
#define KEY_DIGITS      40
#define HEADER_BYTES    64

typedef struct create {
    ebb_e2b_job job;
    ebb_e2b_sandboxes listing;
    const char *key;
    unsigned generation;
    ebb_value *oldest; /* of those listed with the key; a SandboxDTO */
    char *made;        /* the id that our create was answered with */
    ebb_value *ours;   /* it, as a SandboxDTO */
} create;

/* A sandbox whose metadata pass the cap is there all the same: name it. */
static ebb_value *details_of(const ebb_value *sandbox)
{
    return ebb_e2b_result_with(
        ebb_value_object(), "sandboxId",
        ebb_value_text(ebb_value_find_string(sandbox, "sandboxId")));
}

static void finish(create *c, ebb_value *sandbox, bool created)
{
    ebb_value *details = NULL, *result;
    ebb_err err = { 0 };

    sandbox = ebb_e2b_result_with(sandbox, "created", ebb_value_bool(created));
    if (ebb_value_length(sandbox) > EBB_E2B_RESULT_BYTES_MAX)
        details = details_of(sandbox);
    result = ebb_e2b_result_cap(sandbox, &err);
    if (result != NULL)
        ebb_e2b_job_finish(&c->job, result);
    else
        ebb_e2b_job_fail(&c->job, &err, details);
}

static ebb_value *take(ebb_value **from)
{
    ebb_value *taken = *from;

    *from = NULL;
    return taken;
}

/* ---- listing ---- */

static bool has_key(const create *c, const ebb_value *item)
{
    const ebb_value *metadata = ebb_value_find(item, "metadata");
    const char *key = ebb_value_find_string(metadata, KEY_FIELD);
    const char *state = ebb_value_find_string(item, "state");

    return key != NULL && strcmp(key, c->key) == 0 && state != NULL &&
           (strcmp(state, "running") == 0 || strcmp(state, "paused") == 0);
}

/* By start, then by id: the same order for everyone who looks. */
static bool is_older(const ebb_value *a, const ebb_value *b)
{
    int order = strcmp(ebb_value_find_string(a, "startedAt"),
                       ebb_value_find_string(b, "startedAt"));

    if (order == 0)
        order = strcmp(ebb_value_find_string(a, "sandboxId"),
                       ebb_value_find_string(b, "sandboxId"));
    return order < 0;
}

static int on_item(ebb_e2b_job *job, const ebb_value *item, ebb_err *err)
{
    create *c = (create *)job;
    ebb_value *sandbox;

    if (!has_key(c, item))
        return 0;
    sandbox = ebb_e2b_sandbox(item, err);
    if (sandbox == NULL)
        return -1;
    if (c->oldest == NULL || is_older(sandbox, c->oldest)) {
        ebb_value_free(c->oldest);
        c->oldest = sandbox;
    } else {
        ebb_value_free(sandbox);
    }
    return 0;
}

static void list(create *c,
                 void (*on_end)(ebb_e2b_job *job, const ebb_err *err))
{
    ebb_value_free(take(&c->oldest));
    c->listing = (ebb_e2b_sandboxes){
        .key = KEY_FIELD,
        .value = c->key,
        .on_item = on_item,
        .on_end = on_end,
    };
    ebb_e2b_sandboxes_start(&c->listing, &c->job);
}

/* ---- after the create: is ours the one? ---- */

/* Ours was the younger one of two: it is gone, the older one stays. */
static void younger_killed(ebb_e2b_job *job, const ebb_e2b_answer *answer)
{
    create *c = (create *)job;

    if (answer->err != NULL && answer->status != 404)
        ebb_e2b_job_fail(job, answer->err, NULL);
    else
        finish(c, take(&c->oldest), false);
}

static void kill_ours(create *c)
{
    char *path = ebb_e2b_path("", c->made, "");
    ebb_e2b_control control = {
        .method = "DELETE",
        .path = path,
        .on_answer = younger_killed,
    };

    ebb_e2b_control_start(&c->job, &control);
    ebb_mem_free(path);
}

static void listed_again(ebb_e2b_job *job, const ebb_err *err)
{
    create *c = (create *)job;
    const char *id = ebb_value_find_string(c->oldest, "sandboxId");

    if (err != NULL)
        ebb_e2b_job_fail(job, err, NULL);
    else if (id != NULL && strcmp(id, c->made) != 0 &&
             is_older(c->oldest, c->ours))
        kill_ours(c);
    else
        finish(c, take(&c->ours), true);
}

/* ---- creating ---- */

static void send_create(create *c);

/* The key's sandbox of this generation is dead: the next one begins. */
static void next_generation(create *c, const ebb_err *why)
{
    if (++c->generation <= GENERATIONS_MAX)
        send_create(c);
    else
        ebb_e2b_job_fail(&c->job, why, NULL);
}

static void got(ebb_e2b_job *job, const ebb_e2b_answer *answer)
{
    create *c = (create *)job;
    ebb_err err = { 0 };

    if (answer->status == 404) {
        next_generation(c, answer->err);
        return;
    }
    if (answer->err != NULL) {
        ebb_e2b_job_fail(job, answer->err, NULL);
        return;
    }
    ebb_value_free(c->ours);
    c->ours = ebb_e2b_sandbox(answer->json, &err);
    if (c->ours == NULL)
        ebb_e2b_job_fail(job, &err, NULL);
    else
        list(c, listed_again);
}

static void get_made(create *c)
{
    char *path = ebb_e2b_path("", c->made, "");
    ebb_e2b_control control = {
        .method = "GET",
        .path = path,
        .on_answer = got,
    };

    ebb_e2b_control_start(&c->job, &control);
    ebb_mem_free(path);
}

static void listed_after_mismatch(ebb_e2b_job *job, const ebb_err *err)
{
    create *c = (create *)job;
    ebb_err mismatch = { 0 };

    if (err != NULL) {
        ebb_e2b_job_fail(job, err, NULL);
    } else if (c->oldest != NULL) {
        finish(c, take(&c->oldest), false);
    } else {
        ebb_err_set_status(&mismatch, EBB_CONFLICT, 409,
                           "create a sandbox: the service knows the key with "
                           "other input, %u times over; use another "
                           "idempotencyKey",
                           c->generation + 1);
        next_generation(c, &mismatch);
    }
}

static bool has_error_code(const ebb_e2b_answer *answer, const char *code)
{
    const char *given = ebb_value_find_string(answer->json, "error_code");

    return given != NULL && strcmp(given, code) == 0;
}

static void create_failed(create *c, const ebb_e2b_answer *answer)
{
    ebb_err err = *answer->err;

    if (has_error_code(answer, "idempotency_request_mismatch")) {
        list(c, listed_after_mismatch);
        return;
    }
    /* The same key again finds out what became of the first request. */
    if ((has_error_code(answer, "idempotency_in_progress") ||
         has_error_code(answer, "idempotency_outcome_unknown")) &&
        err.retry_after_ms == 0)
        err.retry_after_ms = 1;
    ebb_e2b_job_fail(&c->job, &err, NULL);
}

static void created(ebb_e2b_job *job, const ebb_e2b_answer *answer)
{
    create *c = (create *)job;
    const char *id = ebb_value_find_string(answer->json, "sandboxID");
    ebb_err err = { 0 };

    if (ebb_e2b_falls_back(job->e2b, answer)) {
        send_create(c);
        return;
    }
    if (answer->err != NULL) {
        create_failed(c, answer);
        return;
    }
    if (id == NULL) {
        ebb_err_set(&err, EBB_PROTOCOL,
                    "create a sandbox: the answer names none");
        ebb_e2b_job_fail(job, &err, NULL);
        return;
    }
    ebb_mem_free(c->made);
    c->made = ebb_mem_dup(id);
    if (c->made == NULL)
        ebb_e2b_job_no_memory(job);
    else
        get_made(c);
}

static ebb_value *with_copy(ebb_value *body, const char *key,
                            const ebb_value *value)
{
    return value == NULL
               ? body
               : ebb_e2b_result_with(body, key, ebb_value_copy(value));
}

/* What was not given is left out: the server's defaults are its own. */
static ebb_value *write_body(const create *c)
{
    const ebb_value *in = c->job.input;
    const ebb_value *given = ebb_value_find(in, "metadata");
    const ebb_value *timeout = ebb_value_find(in, "timeoutMs");
    bool v1 = c->job.e2b->routes == EBB_E2B_ROUTES_V1;
    double ms = timeout ? ebb_value_get_float(timeout) : EBB_E2B_LIFE_MS;
    ebb_value *metadata = given ? ebb_value_copy(given) : ebb_value_object();
    ebb_value *body = with_copy(ebb_value_object(), "templateID",
                                ebb_value_find(in, "template"));

    metadata = ebb_e2b_result_with(metadata, KEY_FIELD, ebb_value_text(c->key));
    body = ebb_e2b_result_with(body, "metadata", metadata);
    if (timeout != NULL || v1)
        body = ebb_e2b_result_with(body, "timeout",
                                   ebb_value_int(ebb_e2b_seconds(ms)));
    if (v1)
        body = ebb_e2b_result_with(body, "secure", ebb_value_bool(true));
    body = with_copy(body, "envVars", ebb_value_find(in, "envs"));
    return with_copy(body, "allow_internet_access",
                     ebb_value_find(in, "allowInternetAccess"));
}

static void send_create(create *c)
{
    ebb_value *body = write_body(c);
    char *path = ebb_e2b_path(ebb_e2b_prefix(c->job.e2b), NULL, "");
    char hex[EBB_SHA256_HEX], header[HEADER_BYTES];
    ebb_e2b_control control = {
        .method = "POST",
        .path = path,
        .body = body,
        .idempotency_key = header,
        .on_answer = created,
    };

    ebb_digest_hex(c->key, strlen(c->key), hex);
    snprintf(header, sizeof header, "ebb-%.*s-g%u", KEY_DIGITS, hex,
             c->generation);
    if (body == NULL)
        ebb_e2b_job_no_memory(&c->job);
    else
        ebb_e2b_control_start(&c->job, &control);
    ebb_value_free(body);
    ebb_mem_free(path);
}

/* ---- the attempt ---- */

static void listed(ebb_e2b_job *job, const ebb_err *err)
{
    create *c = (create *)job;

    if (err != NULL)
        ebb_e2b_job_fail(job, err, NULL);
    else if (c->oldest != NULL)
        finish(c, take(&c->oldest), false);
    else
        send_create(c);
}

static void begin(ebb_e2b_job *job)
{
    create *c = (create *)job;

    snprintf(job->subject, sizeof job->subject, "create a sandbox");
    c->key = ebb_value_find_string(job->input, "idempotencyKey");
    list(c, listed);
}

static void clear(ebb_e2b_job *job)
{
    create *c = (create *)job;

    ebb_e2b_sandboxes_clear(&c->listing);
    ebb_value_free(c->oldest);
    ebb_value_free(c->ours);
    ebb_mem_free(c->made);
}

int ebb_e2b_check_create(const ebb_value *input, ebb_err *err)
{
    return ebb_e2b_check_envs("e2b.createSandbox",
                              ebb_value_find(input, "envs"), err);
}

void ebb_e2b_task_create(ebb_attempt *attempt)
{
    ebb_e2b_job_start(attempt, sizeof(create), begin, clear);
}
