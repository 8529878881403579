/* SPDX-License-Identifier: MIT */

/* POST /v2/sandboxes and /sandboxes. */

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "sandbox/service/control/body.h"
#include "sandbox/service/control/control.h"
#include "sandbox/service/control/describe.h"
#include "sandbox/service/control/idempotency.h"
#include "sandbox/service/lifecycle.h"
#include "sandbox/service/reply.h"
#include "sandbox/service/table.h"

#include <string.h>

#define TIMEOUT_V1_S 15
#define TIMEOUT_V2_S 300

static const ebb_body_bounds metadata_bounds = { .count_max = 256,
                                                 .bytes_max = 64 << 10 };
static const ebb_body_bounds envs_bounds = { .count_max = 4096,
                                             .bytes_max = 1 << 20,
                                             .environment = true };

static int check_absent(const ebb_value *body, const char *key, ebb_err *err)
{
    const ebb_value *member = ebb_value_find(body, key);

    if (ebb_value_type(member) == EBB_NULL ||
        ((ebb_value_type(member) == EBB_ARRAY ||
          ebb_value_type(member) == EBB_OBJECT) &&
         ebb_value_size(member) == 0))
        return 0;
    return ebb_err_set(err, EBB_INVALID_INPUT,
                       "%s is not supported by the local sandbox service", key);
}

/*
 * Rules that are taken and not enforced would be worse than none: whoever
 * writes them must hear that they do not hold here.
 */
static int check_network(const ebb_value *body, ebb_err *err)
{
    const ebb_value *network = ebb_value_find(body, "network");
    void *place = NULL;
    const char *key;
    ebb_value *member;

    if (ebb_value_type(network) == EBB_NULL)
        return 0;
    if (ebb_value_type(network) != EBB_OBJECT)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "network: expected an object");
    while (ebb_value_next(network, &place, &key, &member)) {
        if (strcmp(key, "allowPublicTraffic") == 0 &&
            ebb_value_get_bool(member))
            continue;
        if (check_absent(network, key, err) != 0)
            return ebb_err_wrap(err, "network");
    }
    return 0;
}

static int get_pause(const ebb_value *body, ebb_lifecycle_spec *spec,
                     ebb_err *err)
{
    bool resume;
    const ebb_value *memory = ebb_value_find(body, "autoPauseMemory");

    if (ebb_body_get_bool(body, "autoPause", false, &spec->auto_pause, err) !=
            0 ||
        ebb_body_get_bool(body, "autoPauseMemory", true,
                          &spec->auto_pause_memory, err) != 0 ||
        ebb_body_get_bool(ebb_value_find(body, "autoResume"), "enabled", false,
                          &resume, err) != 0)
        return -1;
    if (ebb_value_type(memory) == EBB_BOOL && !spec->auto_pause &&
        !spec->auto_pause_memory)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "autoPauseMemory: only with autoPause");
    if (resume)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "autoResume is not supported by the local sandbox "
                           "service");
    return 0;
}

static int check_unsupported(const ebb_value *body, ebb_err *err)
{
    if (check_absent(body, "volumeMounts", err) != 0 ||
        check_absent(body, "iam", err) != 0)
        return -1;
    return check_network(body, err);
}

static int get_spec(const ebb_control_call *call, ebb_lifecycle_spec *spec,
                    ebb_err *err)
{
    const ebb_value *body = call->body;
    bool allow;

    if (ebb_body_get_strings(body, "metadata", &metadata_bounds,
                             &spec->metadata, err) != 0 ||
        ebb_body_get_strings(body, "envVars", &envs_bounds, &spec->envs, err) !=
            0 ||
        ebb_body_get_bool(body, "secure", call->v2, &spec->secured, err) != 0 ||
        ebb_body_get_bool(body, "allow_internet_access", true, &allow, err) !=
            0 ||
        get_pause(body, spec, err) != 0 || check_unsupported(body, err) != 0)
        return -1;
    spec->secured |= call->v2;
    spec->allow_internet = ebb_value_find(body, "allow_internet_access");
    if (ebb_value_type(spec->allow_internet) != EBB_BOOL)
        spec->allow_internet = NULL;
    return 0;
}

/* The template, or it is answered why not. */
static const char *find_template(ebb_control_call *call)
{
    const ebb_value *member = ebb_value_find(call->body, "templateID");
    size_t n = 0;
    const char *name = ebb_value_get_string(member, &n);
    /* A name that goes on after a NUL is none of ours. */
    const char *found = name != NULL && strlen(name) == n
                            ? ebb_table_find_template(name)
                            : NULL;

    if (name == NULL || *name == '\0')
        ebb_service_reply_error(call->exchange, 400,
                                "validation error: templateID: expected a "
                                "string");
    else if (found == NULL)
        ebb_service_reply_error(call->exchange, 404,
                                "template '%.128s' not found; this service "
                                "has 'base' and 'code-interpreter-v1'",
                                name);
    return found;
}

/* What a key stands for: the body in its canonical form, and the version. */
static int digest_request(const ebb_control_call *call,
                          char digest[EBB_SHA256_HEX])
{
    size_t n;
    char *text = ebb_value_write(call->body, EBB_WRITE_SORTED, &n);

    if (text == NULL)
        return -1;
    ebb_digest_hex(text, n, digest);
    ebb_mem_free(text);
    digest[0] = call->v2 ? 'w' : 'v'; /* no digit of a digest */
    return 0;
}

static void reply_full(ebb_control_call *call)
{
    ebb_service_reply_error(call->exchange, 429,
                            "too many requests with an idempotency key");
}

/* Whether to go on; else it is answered. */
static bool begin_key(ebb_control_call *call)
{
    int64_t now_ms = ebb_clock_steady_ms(ebb_clock_real());
    char digest[EBB_SHA256_HEX];
    const ebb_value *answer = NULL;

    if (digest_request(call, digest) != 0) {
        reply_full(call);
        return false;
    }
    switch (ebb_idempotency_start(call->service->idempotency, call->key, digest,
                                  now_ms, &answer)) {
    case EBB_IDEMPOTENCY_NEW:
        return true;
    case EBB_IDEMPOTENCY_DONE:
        ebb_service_reply_json(call->exchange, 201, answer);
        break;
    case EBB_IDEMPOTENCY_RUNNING:
        ebb_exchange_add_header(call->exchange, "Should-Retry", "true");
        ebb_service_reply_error_code(call->exchange, 409,
                                     "idempotency_in_progress",
                                     "the first request with this key is "
                                     "still running");
        break;
    case EBB_IDEMPOTENCY_MISMATCH:
        ebb_service_reply_error_code(call->exchange, 422,
                                     "idempotency_request_mismatch",
                                     "this key was used for another request");
        break;
    case EBB_IDEMPOTENCY_FULL:
        reply_full(call);
        break;
    }
    return false;
}

/*
 * The outcome belongs to the key, not to the connection: it is noted also
 * when the client has left. So this waiter is the sandbox's own.
 */
typedef struct keyed {
    ebb_service *service;
    char key[];
} keyed;

static void key_settled(void *context, ebb_sandbox *s, const ebb_err *err)
{
    keyed *k = context;
    ebb_value *answer = s != NULL ? ebb_describe_sandbox(s) : NULL;

    (void)err;
    if (answer != NULL)
        ebb_idempotency_finish(k->service->idempotency, k->key, answer);
    else
        ebb_idempotency_del(k->service->idempotency, k->key);
    ebb_value_free(answer);
    ebb_mem_free(k);
}

static int watch_key(ebb_control_call *call, ebb_sandbox *s, ebb_err *err)
{
    size_t n = strlen(call->key) + 1;
    keyed *k = ebb_mem_alloc(sizeof *k + n);

    if (k == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "idempotency key");
    k->service = call->service;
    memcpy(k->key, call->key, n);
    if (ebb_waiter_add(s, key_settled, k, err) == 0)
        return 0;
    ebb_mem_free(k);
    return -1;
}

static void drop_key(ebb_control_call *call)
{
    if (call->key != NULL)
        ebb_idempotency_del(call->service->idempotency, call->key);
}

static void reply_failed(ebb_control_call *call, const char *why)
{
    ebb_service_reply_error_code(call->exchange, 500, "sandbox_create_failed",
                                 "the sandbox did not start: %s", why);
}

static void created(void *context, ebb_sandbox *s, const ebb_err *err)
{
    ebb_control_call *call = context;

    if (s != NULL)
        ebb_service_reply_take(call->exchange, 201, ebb_describe_sandbox(s));
    else
        reply_failed(call, err != NULL ? err->msg : "it was killed");
}

static void start(ebb_control_call *call, const ebb_lifecycle_spec *spec)
{
    ebb_err err;
    ebb_sandbox *s = ebb_lifecycle_start(call->service, spec, &err);

    if (s == NULL) {
        drop_key(call);
        if (err.code == EBB_LIMIT_EXCEEDED)
            ebb_service_reply_err(call->exchange, &err);
        else
            reply_failed(call, err.msg);
    } else if ((call->key != NULL && watch_key(call, s, &err) != 0) ||
               ebb_waiter_add(s, created, call, &err) != 0) {
        drop_key(call);
        ebb_lifecycle_kill(s, "there was no memory for its creation");
        ebb_service_reply_err(call->exchange, &err);
    }
}

void ebb_control_create(ebb_control_call *call)
{
    ebb_lifecycle_spec spec = { 0 };
    ebb_err err;

    call->key = ebb_exchange_header(call->exchange, "Idempotency-Key");
    if (call->key != NULL && !ebb_idempotency_is_key(call->key)) {
        ebb_service_reply_error(call->exchange, 400,
                                "validation error: Idempotency-Key: 1 to %d "
                                "visible ASCII characters",
                                EBB_IDEMPOTENCY_KEY_MAX);
        return;
    }
    spec.template_id = find_template(call);
    if (spec.template_id == NULL ||
        !ebb_control_get_timeout(call, call->v2 ? TIMEOUT_V2_S : TIMEOUT_V1_S,
                                 1, &spec.timeout_ms))
        return;
    if (get_spec(call, &spec, &err) != 0)
        ebb_control_reply_invalid(call, &err);
    else if (call->key == NULL || begin_key(call))
        start(call, &spec);
}
