/* SPDX-License-Identifier: MIT */

/* A host's own tasks: the same checks, retries and journal as the twelve. */

#include "ebb_op.h"
#include "ebb_run_private.h"

struct ebb_host_task {
    ebb_host_task *next;
    ebb_task task; /* name, help and fields are owned */
    char *name, *help;
    ebb_field *fields;
    void (*start)(void *context, ebb_request *request);
    void (*cancel)(void *context, ebb_request *request);
    void *context;
    void (*free_context)(void *context); /* NULL until registered */
};

struct ebb_request {
    ebb_attempt *attempt;
    ebb_host_task *host;
};

const ebb_value *ebb_request_input(const ebb_request *request)
{
    return request->attempt->input;
}

int ebb_request_attempt(const ebb_request *request)
{
    return request->attempt->number;
}

void ebb_request_finish(ebb_request *request, ebb_value *result)
{
    ebb_attempt *attempt = request->attempt;

    ebb_mem_free(request);
    ebb_attempt_finish(attempt, result);
}

void ebb_request_fail(ebb_request *request, const ebb_err *err,
                      ebb_value *details)
{
    ebb_attempt *attempt = request->attempt;

    ebb_mem_free(request);
    ebb_attempt_fail(attempt, err, details);
}

int ebb_request_log(const ebb_request *request, ebb_log_level level,
                    const char *message, const ebb_value *fields)
{
    const ebb_op *op = request->attempt->starter;
    int result = 0;

    if (op->run != NULL)
        result = ebb_flow_log(op->run->flow,
                              (ebb_journal_line){ .path = op->step->path,
                                                  .attempt = op->number,
                                                  .level = (int)level,
                                                  .message = message },
                              fields);
    return ebb_log(op->rt, level, message, fields) | result;
}

static void cancel_request(ebb_attempt *attempt)
{
    ebb_request *request = attempt->state;

    request->host->cancel(request->host->context, request);
}

/* Cancelled before it was started: the host never hears of it. */
static void drop_request(ebb_attempt *attempt)
{
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_CANCELLED, "the call was cancelled");
    ebb_request_fail(attempt->state, &err, NULL);
}

static void proceed(ebb_attempt *attempt)
{
    ebb_request *request = attempt->state;
    ebb_host_task *host = request->host;

    attempt->cancel = host->cancel != NULL ? cancel_request : NULL;
    host->start(host->context, request);
}

static void start_request(ebb_attempt *attempt)
{
    ebb_host_task *host = attempt->context;
    ebb_request *request = ebb_mem_zero(sizeof *request);
    ebb_err err = { 0 };

    if (request == NULL) {
        ebb_err_set(&err, EBB_NO_MEMORY, "%s", host->name);
        ebb_attempt_fail(attempt, &err, NULL);
        return;
    }
    request->attempt = attempt;
    request->host = host;
    attempt->state = request;
    attempt->cancel = drop_request;
    ebb_attempt_before_effect(attempt, proceed);
}

static void free_host_task(ebb_host_task *host)
{
    ebb_fields_free(host->fields, host->task.fields_count);
    ebb_mem_free(host->name);
    ebb_mem_free(host->help);
    ebb_mem_free(host);
}

void ebb_host_tasks_free(ebb_runtime *rt)
{
    while (rt->host_tasks != NULL) {
        ebb_host_task *host = rt->host_tasks;
        rt->host_tasks = host->next;
        if (host->free_context != NULL)
            host->free_context(host->context);
        free_host_task(host);
    }
}

static int fill(ebb_host_task *host, const ebb_task_config *from,
                ebb_err *err)
{
    const char *class_name =
        from->retry_class != NULL ? from->retry_class : "none";
    ebb_task *task = &host->task;

    if (from->name == NULL || *from->name == '\0' || from->start == NULL)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "ebb_register: a task needs a name and a start "
                           "function");
    if (ebb_retry_class_find(class_name, &task->retry_class) < 0)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "%s: unknown class '%s' (lifecycle, read or none)",
                           from->name, class_name);
    host->name = ebb_mem_dup(from->name);
    host->help = ebb_mem_dup(from->help != NULL ? from->help : "");
    if (host->name == NULL || host->help == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "register %s", from->name);
    if (from->fields != NULL) {
        host->fields =
            ebb_fields_parse(from->fields, &task->fields_count, err);
        if (host->fields == NULL)
            return ebb_err_wrap(err, "%s: fields", from->name);
    }
    task->name = host->name;
    task->help = host->help;
    task->fields = host->fields;
    task->start = start_request;
    task->context = host;
    host->start = from->start;
    host->cancel = from->cancel;
    host->context = from->context;
    return 0;
}

int ebb_register(ebb_runtime *rt, const ebb_task_config *task, ebb_err *err)
{
    ebb_host_task *host = ebb_mem_zero(sizeof *host);

    if (host == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "register a task");
    if (fill(host, task, err) < 0 ||
        ebb_registry_add(rt->registry, &host->task, err) < 0) {
        free_host_task(host);
        return -1;
    }
    host->free_context = task->free;
    host->next = rt->host_tasks;
    rt->host_tasks = host;
    return 0;
}

ebb_value *ebb_tasks(const ebb_runtime *rt)
{
    return ebb_registry_describe(rt->registry);
}
