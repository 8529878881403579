/* SPDX-License-Identifier: MIT */
#include "e2b/control.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "e2b/errors.h"
#include "e2b/state.h"

#define ANSWER_BYTES_MAX  (8u << 20)
#define ANSWER_VALUES_MAX 200000

static void answer_failed(ebb_e2b_job *job, const ebb_e2b_transfer *transfer,
                          ebb_e2b_answer *answer, ebb_err *err)
{
    const ebb_buf *body = ebb_e2b_transfer_body(transfer);
    ebb_err ignored = { 0 };
    ebb_value *json = NULL;

    ebb_e2b_error_status(job, transfer, job->subject, err);
    if (body->n > 0)
        json =
            ebb_value_parse(body->bytes, body->n, ANSWER_VALUES_MAX, &ignored);
    answer->json = json;
    answer->err = err;
    job->on_answer(job, answer);
    ebb_value_free(json);
}

static void answered(ebb_e2b_job *job, const ebb_e2b_transfer *transfer,
                     ebb_e2b_answer *answer, ebb_err *err)
{
    const ebb_buf *body = ebb_e2b_transfer_body(transfer);
    ebb_value *json = NULL;

    if (body->n > 0) {
        json = ebb_value_parse(body->bytes, body->n, ANSWER_VALUES_MAX, err);
        if (json == NULL) {
            ebb_err_wrap(err, "%s: the answer cannot be read", job->subject);
            answer->err = err;
        }
    }
    answer->json = json;
    answer->next_token = ebb_e2b_transfer_header(transfer, "X-Next-Token");
    job->on_answer(job, answer);
    ebb_value_free(json);
}

static void on_done(void *context, ebb_e2b_transfer *transfer,
                    const ebb_err *failure)
{
    ebb_e2b_job *job = context;
    ebb_e2b_answer answer = { .status = ebb_e2b_transfer_status(transfer) };
    ebb_err err = { 0 };

    job->transfer = NULL;
    if (failure != NULL && ebb_e2b_job_begin_again(job, transfer, failure))
        return;
    if (failure != NULL) {
        err = *failure;
        ebb_err_wrap(&err, "%s", job->subject);
        answer.err = &err;
        answer.status = 0;
        job->on_answer(job, &answer);
    } else if (answer.status < 200 || answer.status > 299) {
        answer_failed(job, transfer, &answer, &err);
    } else {
        answered(job, transfer, &answer, &err);
    }
}

bool ebb_e2b_control_start(ebb_e2b_job *job, const ebb_e2b_control *control)
{
    ebb_http_header headers[] = { { "Idempotency-Key",
                                    control->idempotency_key } };
    ebb_e2b_transfer_config config = {
        .port = EBB_E2B_CONTROL,
        .method = control->method,
        .path = control->path,
        .headers = headers,
        .headers_count = control->idempotency_key != NULL,
        .limits = { .total_ms = job->e2b->config.unary_ms },
        .answer_max = ANSWER_BYTES_MAX,
        .context = job,
        .on_done = on_done,
    };
    ebb_err err = { 0 };
    char *body = NULL;

    if (control->path == NULL) {
        ebb_e2b_job_no_memory(job);
        return false;
    }
    if (control->body != NULL) {
        body =
            ebb_value_write(control->body, EBB_WRITE_COMPACT, &config.body_n);
        config.body = body;
        config.content_type = "application/json";
    }
    job->on_answer = control->on_answer;
    job->asked++;
    if (control->body != NULL && body == NULL)
        ebb_err_set(&err, EBB_NO_MEMORY, "request to E2B");
    else
        job->transfer = ebb_e2b_transfer_start(job->e2b, &config, &err);
    ebb_mem_free(body);
    if (job->transfer != NULL)
        return true;
    ebb_e2b_job_fail(job, &err, NULL);
    return false;
}

char *ebb_e2b_path(const char *prefix, const char *id, const char *suffix)
{
    char *escaped, *path;

    if (id == NULL)
        return ebb_mem_printf("%s/sandboxes%s", prefix, suffix);
    escaped = ebb_http_escape(id, strlen(id));
    if (escaped == NULL)
        return NULL;
    path = ebb_mem_printf("%s/sandboxes/%s%s", prefix, escaped, suffix);
    ebb_mem_free(escaped);
    return path;
}

const char *ebb_e2b_prefix(const ebb_e2b *e2b)
{
    return e2b->routes == EBB_E2B_ROUTES_V1 ? "" : "/v2";
}

/*
 * A 404 of a route that exists names what it did not find: a sandbox, a
 * template. One that names a route, or nothing at all, is an unknown route.
 */
static bool names_a_thing(const ebb_e2b_answer *answer)
{
    const char *message = ebb_value_find_string(answer->json, "message");

    if (message == NULL || strstr(message, "/v2/") != NULL)
        return false;
    return strstr(message, "andbox") != NULL ||
           strstr(message, "emplate") != NULL ||
           strstr(message, "exist") != NULL;
}

bool ebb_e2b_falls_back(ebb_e2b *e2b, const ebb_e2b_answer *answer)
{
    bool unknown = answer->status == 404 && !names_a_thing(answer);

    if (e2b->routes == EBB_E2B_ROUTES_V1 && unknown)
        e2b->routes = EBB_E2B_ROUTES_UNKNOWN; /* neither: learn anew */
    else if (e2b->routes == EBB_E2B_ROUTES_UNKNOWN && unknown)
        e2b->routes = EBB_E2B_ROUTES_V1;
    else if (e2b->routes == EBB_E2B_ROUTES_UNKNOWN &&
             (answer->err == NULL || answer->status == 404))
        e2b->routes = EBB_E2B_ROUTES_V2;
    return unknown && e2b->routes == EBB_E2B_ROUTES_V1;
}

int64_t ebb_e2b_seconds(double ms)
{
    return (int64_t)ceil(ms / 1000);
}
