/* SPDX-License-Identifier: MIT */
#include "task/error_object.h"

#include "task/retry.h"

/* Moves a member of details up, where people look for it. */
static int lift(ebb_value *object, ebb_value *details, const char *key)
{
    const ebb_value *member = ebb_value_find(details, key);

    if (member == NULL)
        return 0;
    if (ebb_value_set(object, key, ebb_value_copy(member)) < 0)
        return -1;
    return ebb_value_del(details, key);
}

static int add_details(ebb_value *object, ebb_value *details)
{
    if (details == NULL)
        return 0;
    if (lift(object, details, "hint") < 0) {
        ebb_value_free(details);
        return -1;
    }
    if (ebb_value_size(details) == 0) {
        ebb_value_free(details);
        return 0;
    }
    return ebb_value_set(object, "details", details);
}

static int add_facts(ebb_value *object, const char *task,
                     const ebb_value *input, const ebb_err *err,
                     int attempts)
{
    const char *id = ebb_value_find_string(input, "sandboxId");
    int bad = 0;

    bad |= ebb_value_set(object, "code",
                         ebb_value_text(ebb_code_name(err->code)));
    bad |= ebb_value_set(object, "message", ebb_value_text(err->msg));
    bad |= ebb_value_set(object, "task", ebb_value_text(task));
    if (id != NULL)
        bad |= ebb_value_set(object, "sandboxId", ebb_value_text(id));
    if (err->status != 0)
        bad |= ebb_value_set(object, "status", ebb_value_int(err->status));
    bad |= ebb_value_set(object, "retryable",
                         ebb_value_bool(ebb_retry_helps(err)));
    bad |= ebb_value_set(object, "attempts", ebb_value_int(attempts));
    if (err->retry_after_ms > 0)
        bad |= ebb_value_set(object, "retryAfterMs",
                             ebb_value_int(err->retry_after_ms));
    return bad;
}

ebb_value *ebb_error_object(const char *task, const ebb_value *input,
                            const ebb_err *err, int attempts,
                            ebb_value *details)
{
    ebb_value *object = ebb_value_object();

    if (object == NULL) {
        ebb_value_free(details);
        return NULL;
    }
    if (add_facts(object, task, input, err, attempts) < 0) {
        ebb_value_free(details);
        ebb_value_free(object);
        return NULL;
    }
    if (add_details(object, details) < 0) {
        ebb_value_free(object);
        return NULL;
    }
    return object;
}

void ebb_error_from_object(const ebb_value *object, ebb_err *err)
{
    const char *code = ebb_value_find_string(object, "code");
    const char *message = ebb_value_find_string(object, "message");
    bool retryable = ebb_value_find_bool(object, "retryable", false);
    int64_t after = ebb_value_find_int(object, "retryAfterMs", 0);

    ebb_err_set(err, code != NULL ? ebb_code_find(code) : EBB_SCRIPT, "%s",
                message != NULL ? message : "failed");
    if (err->code == EBB_OK)
        err->code = EBB_SCRIPT;
    err->status = (int)ebb_value_find_int(object, "status", 0);
    err->retry_after_ms = after;
    if (after == 0 && !retryable && ebb_code_retryable(err->code))
        err->retry_after_ms = -1;
}
