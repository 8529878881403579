/* SPDX-License-Identifier: MIT */
#include "e2b/errors.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/redact.h"
#include "base/utf8.h"
#include "e2b/state.h"
#include "task/retry.h"

#define ERROR_VALUES_MAX 1000

static ebb_code code_of(int status)
{
    switch (status) {
    case 401:
        return EBB_UNAUTHORIZED;
    case 403:
        return EBB_FORBIDDEN;
    case 404:
    case 410:
        return EBB_NOT_FOUND;
    case 408:
        return EBB_TIMEOUT;
    case 409:
        return EBB_CONFLICT;
    case 413:
    case 507:
        return EBB_LIMIT_EXCEEDED;
    case 405:
    case 406:
    case 415:
    case 501:
        return EBB_UNSUPPORTED;
    case 429:
        return EBB_RATE_LIMITED;
    default:
        break;
    }
    if (status >= 400 && status < 500)
        return EBB_INVALID_INPUT;
    return status >= 500 && status < 600 ? EBB_SERVER : EBB_PROTOCOL;
}

static const char *advice(ebb_code code, int status)
{
    if (code == EBB_UNAUTHORIZED)
        return "; check E2B_API_KEY";
    if (code == EBB_PROTOCOL && status >= 300 && status < 400)
        return "; check E2B_API_URL: it redirects";
    if (status == 507)
        return "; the sandbox's disk is full";
    return "";
}

void ebb_e2b_error_redact(const ebb_e2b_job *job, char *text)
{
    const ebb_value *envs = ebb_value_find(job->input, "envs");
    void *place = NULL;
    const char *key;
    ebb_value *value;

    ebb_redact(text, job->e2b->place.api_key, EBB_REDACT_KEY_BYTES_MIN);
    ebb_redact(text, job->target.token, EBB_REDACT_KEY_BYTES_MIN);
    ebb_redact(text, job->target.traffic_token, EBB_REDACT_KEY_BYTES_MIN);
    if (ebb_value_type(envs) != EBB_OBJECT)
        return;
    while (ebb_value_next(envs, &place, &key, &value))
        ebb_redact(text, ebb_value_get_string(value, NULL),
                   EBB_REDACT_ENV_BYTES_MIN);
}

typedef struct quote {
    char *out;
    size_t n, room;
} quote;

static void add_quoted(void *context, const char *text, size_t n)
{
    quote *q = context;

    for (size_t i = 0; i < n;) {
        size_t width = 1;
        while (i + width < n && ((unsigned char)text[i + width] & 0xC0) == 0x80)
            width++;
        if (q->n + width > q->room) {
            q->room = q->n; /* nothing shorter after it either */
            return;
        }
        memcpy(q->out + q->n, text + i, width);
        q->n += width;
        i += width;
    }
}

void ebb_e2b_error_quote(const ebb_e2b_job *job, const char *text, size_t n,
                         char words[EBB_E2B_WORDS_BYTES])
{
    static const char mark[] = "…";
    char all[1024];
    quote long_one = { all, 0, sizeof all - 1 };
    quote q = { words, 0, EBB_E2B_WORDS_BYTES - 1 };
    ebb_utf8 decoder;
    bool is_cut;

    /* Decode and redact more than is shown, so that no key is cut in two. */
    ebb_utf8_init(&decoder);
    ebb_utf8_add(&decoder, text, n, add_quoted, &long_one);
    all[long_one.n] = '\0';
    for (size_t i = 0; i < long_one.n; i++)
        if ((unsigned char)all[i] < ' ')
            all[i] = ' ';
    ebb_e2b_error_redact(job, all);
    is_cut = strlen(all) > q.room;
    if (is_cut)
        q.room -= sizeof mark - 1;
    add_quoted(&q, all, strlen(all));
    while (q.n > 0 && words[q.n - 1] == ' ')
        q.n--;
    words[q.n] = '\0';
    if (is_cut)
        memcpy(words + q.n, mark, sizeof mark);
}

static ebb_value *body_json(const ebb_e2b_transfer *transfer)
{
    const ebb_buf *body = ebb_e2b_transfer_body(transfer);
    ebb_err ignored = { 0 };

    if (body->n == 0)
        return NULL;
    return ebb_value_parse(body->bytes, body->n, ERROR_VALUES_MAX, &ignored);
}

void ebb_e2b_error_words(const ebb_e2b_job *job,
                         const ebb_e2b_transfer *transfer,
                         char words[EBB_E2B_WORDS_BYTES])
{
    const ebb_buf *body = ebb_e2b_transfer_body(transfer);
    ebb_value *json = body_json(transfer);
    size_t n = 0;
    const char *message =
        ebb_value_get_string(ebb_value_find(json, "message"), &n);

    if (message != NULL)
        ebb_e2b_error_quote(job, message, n, words);
    else if (body->n > 0 && body->bytes[0] != '<')
        ebb_e2b_error_quote(job, body->bytes, body->n, words);
    else
        ebb_e2b_error_quote(job, "", 0, words);
    if (words[0] == '\0')
        snprintf(words, EBB_E2B_WORDS_BYTES, "the service gave no reason");
    ebb_value_free(json);
}

/*
 * Should-Retry says it outright; Retry-After counts on 429 and 503 only. An
 * answer that says "again" without a time gets the shortest one.
 */
static int64_t retry_after(const ebb_e2b_job *job,
                           const ebb_e2b_transfer *transfer, int status)
{
    const char *should = ebb_e2b_transfer_header(transfer, "Should-Retry");
    const char *after = ebb_e2b_transfer_header(transfer, "Retry-After");
    int64_t now = ebb_clock_wall_ms(job->attempt->clock);
    int64_t ms = ebb_retry_after_parse(after, now);

    if (should != NULL && strcasecmp(should, "false") == 0)
        return -1;
    if (should != NULL && strcasecmp(should, "true") == 0)
        return ms > 0 ? ms : 1;
    return status == 429 || status == 503 ? ms : 0;
}

void ebb_e2b_error_status(const ebb_e2b_job *job,
                          const ebb_e2b_transfer *transfer, const char *what,
                          ebb_err *err)
{
    int status = ebb_e2b_transfer_status(transfer);
    ebb_code code = code_of(status);
    char words[EBB_E2B_WORDS_BYTES];

    ebb_e2b_error_words(job, transfer, words);
    ebb_err_set_status(err, code, status, "%s: %s (HTTP %d)%s", what, words,
                       status, advice(code, status));
    err->retry_after_ms = retry_after(job, transfer, status);
}

bool ebb_e2b_error_refuses(int status)
{
    return status >= 400 && status < 500 && status != 408;
}

ebb_code ebb_e2b_error_file_code(ebb_connect_code code)
{
    switch (code) {
    case EBB_CONNECT_NOT_FOUND:
        return EBB_FILE_NOT_FOUND;
    case EBB_CONNECT_INVALID_ARGUMENT:
    case EBB_CONNECT_FAILED_PRECONDITION:
    case EBB_CONNECT_OUT_OF_RANGE:
        return EBB_INVALID_INPUT;
    case EBB_CONNECT_PERMISSION_DENIED:
        return EBB_FORBIDDEN;
    case EBB_CONNECT_UNAUTHENTICATED:
        return EBB_UNAUTHORIZED;
    case EBB_CONNECT_RESOURCE_EXHAUSTED: /* of a sandbox: no rate is meant */
        return EBB_LIMIT_EXCEEDED;
    case EBB_CONNECT_ALREADY_EXISTS:
    case EBB_CONNECT_ABORTED:
        return EBB_CONFLICT;
    case EBB_CONNECT_UNIMPLEMENTED:
        return EBB_UNSUPPORTED;
    case EBB_CONNECT_DEADLINE_EXCEEDED:
        return EBB_TIMEOUT;
    default:
        return EBB_SERVER;
    }
}

ebb_connect_code ebb_e2b_error_connect(const ebb_e2b_transfer *transfer)
{
    ebb_value *json = body_json(transfer);
    const char *name = ebb_value_find_string(json, "code");
    ebb_connect_code code = EBB_CONNECT_OK;

    if (name != NULL)
        code = ebb_connect_code_find(name);
    ebb_value_free(json);
    return code;
}
