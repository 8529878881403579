/* SPDX-License-Identifier: MIT */
#include "e2b/connection.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "e2b/control.h"
#include "e2b/errors.h"
#include "e2b/state.h"

#define REUSE_MS       30000
#define TEXT_BYTES_MAX 4096 /* of a token or a name that a service gave */

/* ---- what is known ---- */

static void forget(ebb_e2b_known *known)
{
    ebb_e2b_target_clear(&known->target);
    ebb_mem_free(known->asked_id);
    *known = (ebb_e2b_known){ 0 };
}

void ebb_e2b_connections_clear(ebb_e2b_connections *connections)
{
    for (size_t i = 0; i < EBB_E2B_KNOWN_MAX; i++)
        forget(&connections->known[i]);
}

static ebb_e2b_known *find_known(ebb_e2b *e2b, const char *id)
{
    for (size_t i = 0; i < EBB_E2B_KNOWN_MAX; i++) {
        ebb_e2b_known *known = &e2b->connections.known[i];
        if (known->asked_id != NULL && strcmp(known->asked_id, id) == 0)
            return known;
    }
    return NULL;
}

void ebb_e2b_connection_drop(ebb_e2b *e2b, const char *sandbox_id)
{
    ebb_e2b_known *known = find_known(e2b, sandbox_id);

    if (known != NULL)
        forget(known);
}

/* A free place, or that of the oldest answer. */
static ebb_e2b_known *make_room(ebb_e2b *e2b)
{
    ebb_e2b_known *oldest = &e2b->connections.known[0];

    for (size_t i = 0; i < EBB_E2B_KNOWN_MAX; i++) {
        ebb_e2b_known *known = &e2b->connections.known[i];
        if (known->asked_id == NULL)
            return known;
        if (known->at_ms < oldest->at_ms)
            oldest = known;
    }
    forget(oldest);
    return oldest;
}

/* No memory to remember costs a round trip later, nothing else. */
static void remember(const ebb_e2b_job *job, const ebb_e2b_target *target)
{
    ebb_e2b_known *known;

    ebb_e2b_connection_drop(job->e2b, job->sandbox_id);
    known = make_room(job->e2b);
    known->asked_id = ebb_mem_dup(job->sandbox_id);
    known->at_ms = ebb_e2b_job_now(job);
    known->promised_end_ms = known->at_ms + job->life_ms;
    if (known->asked_id == NULL ||
        ebb_e2b_target_copy(&known->target, target) != 0)
        forget(known);
}

/* Whether a recent answer still covers the call; then it is the job's. */
static bool recall(ebb_e2b_job *job, int64_t call_ms)
{
    const ebb_e2b_known *known = find_known(job->e2b, job->sandbox_id);
    int64_t now = ebb_e2b_job_now(job);

    if (known == NULL || now - known->at_ms > REUSE_MS ||
        known->promised_end_ms < now + call_ms + EBB_E2B_LIFE_MARGIN_MS)
        return false;
    ebb_e2b_target_clear(&job->target);
    job->promised_end_ms = known->promised_end_ms;
    return ebb_e2b_target_copy(&job->target, &known->target) == 0;
}

/* ---- connecting ---- */

/* What goes into headers and host names; NULL for anything else. */
static const char *plain(const ebb_value *json, const char *key,
                         const char *also)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
    const char *text = ebb_value_find_string(json, key);

    if (text == NULL || *text == '\0' || strlen(text) > TEXT_BYTES_MAX)
        return NULL;
    for (const char *c = text; *c != '\0'; c++)
        if (strchr(allowed, *c) == NULL && strchr(also, *c) == NULL)
            return NULL;
    return text;
}

static int read_target(const ebb_e2b_job *job, const ebb_value *json,
                       ebb_e2b_target *target, ebb_err *err)
{
    static const char token[] = "_~+/=:!$&'()*,;@%#?<>[]{}|^`\"\\";
    const char *id = plain(json, "sandboxID", "_");

    if (id == NULL)
        return ebb_err_set(err, EBB_PROTOCOL,
                           "%s: the answer to connect names no sandbox",
                           job->subject);
    ebb_e2b_target_clear(target);
    target->id = ebb_mem_dup(id);
    target->domain = ebb_mem_dup(plain(json, "domain", ":"));
    target->token = ebb_mem_dup(plain(json, "envdAccessToken", token));
    target->traffic_token =
        ebb_mem_dup(plain(json, "trafficAccessToken", token));
    target->envd_version = ebb_mem_dup(plain(json, "envdVersion", ""));
    if (target->id == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "answer to connect");
    return 0;
}

static bool ask(ebb_e2b_job *job);

/* What was there a moment ago has ended; it is not a wrong id. */
static void fail_connect(ebb_e2b_job *job, const ebb_e2b_answer *answer)
{
    ebb_err err = *answer->err;

    if (answer->status == 404 && job->refused)
        ebb_err_set_status(&err, err.code, err.status,
                           "%s has ended since it was last used (killed, or "
                           "its time was up); nothing was executed",
                           job->subject);
    ebb_e2b_job_fail(job, &err, NULL);
}

/*
 * The connect is over, for the one that asked and those that followed it. Each
 * may end here, and by its end others may: whoever is still in the list is
 * there.
 */
static void settle(ebb_e2b_job *leader, const ebb_e2b_answer *answer,
                   const ebb_e2b_target *target)
{
    int64_t end_ms = ebb_e2b_job_now(leader) + leader->life_ms;
    ebb_e2b_jobs all = { NULL };
    ebb_e2b_job *job;

    ebb_e2b_share_take(leader, &all);
    ebb_e2b_share_add(&all, leader);
    while ((job = ebb_e2b_share_next(&all)) != NULL) {
        if (answer->err != NULL) {
            fail_connect(job, answer);
            continue;
        }
        ebb_e2b_target_clear(&job->target);
        job->promised_end_ms = end_ms;
        if (ebb_e2b_target_copy(&job->target, target) == 0)
            job->connected(job);
        else
            ebb_e2b_job_no_memory(job);
    }
}

static void on_answer(ebb_e2b_job *job, const ebb_e2b_answer *answer)
{
    ebb_e2b_answer given = *answer;
    ebb_e2b_target target = { 0 };
    ebb_err err = { 0 };

    if (ebb_e2b_falls_back(job->e2b, answer)) {
        ask(job);
        return;
    }
    if (answer->status == 400 && job->life_ms > EBB_E2B_LIFE_MS) {
        /* Longer than the service allows: as long as it always does. */
        job->life_ms = EBB_E2B_LIFE_MS;
        ask(job);
        return;
    }
    if (given.err == NULL && read_target(job, answer->json, &target, &err) != 0)
        given.err = &err;
    if (given.err == NULL)
        remember(job, &target);
    else
        ebb_e2b_connection_drop(job->e2b, job->sandbox_id);
    settle(job, &given, &target);
    ebb_e2b_target_clear(&target);
}

static ebb_value *life_body(int64_t life_ms)
{
    ebb_value *body = ebb_value_object();
    int64_t seconds = ebb_e2b_seconds((double)life_ms);

    if (body == NULL ||
        ebb_value_set(body, "timeout", ebb_value_int(seconds)) == 0)
        return body;
    ebb_value_free(body);
    return NULL;
}

/* False: the job has ended. */
static bool ask(ebb_e2b_job *job)
{
    ebb_value *body = life_body(job->life_ms);
    char *path =
        ebb_e2b_path(ebb_e2b_prefix(job->e2b), job->sandbox_id, "/connect");
    ebb_e2b_control control = {
        .method = "POST",
        .path = path,
        .body = body,
        .on_answer = on_answer,
    };
    bool started = false;

    if (body == NULL)
        ebb_e2b_job_no_memory(job);
    else
        started = ebb_e2b_control_start(job, &control);
    ebb_value_free(body);
    ebb_mem_free(path);
    return started;
}

static void connect_or_follow(ebb_e2b_job *job)
{
    if (!ebb_e2b_share_join(job))
        ask(job);
}

void ebb_e2b_connect(ebb_e2b_job *job, int64_t call_ms,
                     ebb_e2b_job_fn *connected)
{
    job->connected = connected;
    job->life_ms = call_ms + EBB_E2B_LIFE_MARGIN_MS;
    if (job->life_ms < EBB_E2B_LIFE_MS)
        job->life_ms = EBB_E2B_LIFE_MS;
    if (recall(job, call_ms))
        connected(job);
    else
        connect_or_follow(job);
}

void ebb_e2b_connect_leave(ebb_e2b_job *job)
{
    ebb_e2b_jobs left = { NULL };
    ebb_e2b_job *next;

    ebb_e2b_share_take(job, &left);
    while ((next = ebb_e2b_share_next(&left)) != NULL) {
        next->share.life_ms = job->share.life_ms; /* covers all of them */
        next->life_ms = job->share.life_ms;
        if (!ask(next))
            continue;
        ebb_e2b_share_lead(next, &left);
        return;
    }
}

/* ---- refusals ---- */

ebb_e2b_refusal ebb_e2b_refusal_of(const ebb_e2b_transfer *transfer)
{
    int status = ebb_e2b_transfer_status(transfer);
    const ebb_buf *body = ebb_e2b_transfer_body(transfer);
    ebb_err ignored = { 0 };
    const char *message;
    ebb_value *json;
    bool absent;

    if (status == 401)
        return EBB_E2B_NOT_ALLOWED;
    if (status != 502 || body->n == 0)
        return EBB_E2B_NOT_REFUSED;
    json = ebb_value_parse(body->bytes, body->n, 100, &ignored);
    message = ebb_value_find_string(json, "message");
    absent = message != NULL && (strstr(message, "was not found") != NULL ||
                                 strstr(message, "port is not open") != NULL);
    ebb_value_free(json);
    return absent ? EBB_E2B_NOT_RUNNING : EBB_E2B_NOT_REFUSED;
}

bool ebb_e2b_connect_again(ebb_e2b_job *job, const ebb_e2b_transfer *transfer)
{
    ebb_e2b_refusal refusal = ebb_e2b_refusal_of(transfer);
    int status = ebb_e2b_transfer_status(transfer);
    char words[EBB_E2B_WORDS_BYTES];
    ebb_err err = { 0 };

    if (refusal == EBB_E2B_NOT_REFUSED)
        return false;
    ebb_e2b_connection_drop(job->e2b, job->sandbox_id);
    if (!job->refused) {
        job->refused = true;
        connect_or_follow(job);
        return true;
    }
    ebb_e2b_error_words(job, transfer, words);
    if (refusal == EBB_E2B_NOT_RUNNING)
        ebb_err_set_status(&err, EBB_SANDBOX_NOT_RUNNING, status,
                           "%s is not running: %s; nothing was executed",
                           job->subject, words);
    else
        ebb_err_set_status(&err, EBB_UNAUTHORIZED, status,
                           "%s refuses its access token: %s; nothing was "
                           "executed",
                           job->subject, words);
    ebb_e2b_job_fail(job, &err, NULL);
    return true;
}

bool ebb_e2b_refused(ebb_e2b_job *job, const ebb_e2b_transfer *transfer,
                     char why[EBB_E2B_WHY_BYTES])
{
    int status = ebb_e2b_transfer_status(transfer);
    char words[EBB_E2B_WORDS_BYTES];
    ebb_err err = { 0 };

    if (ebb_e2b_connect_again(job, transfer))
        return true;
    if (ebb_e2b_error_refuses(status)) {
        ebb_e2b_error_status(job, transfer, job->subject, &err);
        ebb_e2b_job_fail(job, &err, NULL);
        return true;
    }
    ebb_e2b_error_words(job, transfer, words);
    snprintf(why, EBB_E2B_WHY_BYTES, "%s (HTTP %d)", words, status);
    return false;
}
