/* SPDX-License-Identifier: MIT */
#include "e2b/interpreter.h"

#include <string.h>

#include "base/mem.h"

#define LINE_VALUES_MAX 200000

int ebb_e2b_execution_write(ebb_buf *out, const ebb_value *code,
                            const char *language, const ebb_value *envs)
{
    ebb_value *body = ebb_value_object();
    char *text = NULL;
    size_t n = 0;

    if (body == NULL ||
        ebb_value_set(body, "code", ebb_value_copy(code)) != 0 ||
        ebb_value_set(body, "language", ebb_value_text(language)) != 0 ||
        (envs != NULL &&
         ebb_value_set(body, "env_vars", ebb_value_copy(envs)) != 0) ||
        (text = ebb_value_write(body, EBB_WRITE_COMPACT, &n)) == NULL)
        out->failed = true;
    else
        ebb_buf_add(out, text, n);
    ebb_mem_free(text);
    ebb_value_free(body);
    return out->failed ? -1 : 0;
}

/* ---- one event ---- */

static int end_event(ebb_e2b_execution *execution, const char *type,
                     ebb_err *err)
{
    if (strcmp(type, "end_of_execution") == 0)
        execution->ended = true;
    else if (strcmp(type, "keepalive") != 0)
        return execution->on_event(execution->context, type, err);
    return 0;
}

static int take_member(ebb_e2b_execution *execution, const char *type,
                       const char *name, const ebb_value *member, ebb_err *err)
{
    size_t n = 0;
    const char *text = ebb_value_get_string(member, &n);

    if (text != NULL)
        return execution->on_text(execution->context, type, name, text, n, err);
    if (ebb_value_type(member) == EBB_INT)
        return execution->on_number(execution->context, type, name,
                                    ebb_value_get_int(member), err);
    return 0;
}

static int no_type(ebb_err *err)
{
    return ebb_err_set(err, EBB_PROTOCOL,
                       "a line of the code interpreter has no type");
}

static int take_event(ebb_e2b_execution *execution, const ebb_value *event,
                      ebb_err *err)
{
    const char *type = ebb_value_find_string(event, "type"), *name;
    void *next = NULL;
    ebb_value *member;

    if (type == NULL)
        return no_type(err);
    while (ebb_value_next(event, &next, &name, &member))
        if (take_member(execution, type, name, member, err) != 0)
            return -1;
    return end_event(execution, type, err);
}

/* ---- lines ---- */

/* What is shown before an event's type is known cannot be put anywhere. */
static int on_piece(void *context, const char *name, const char *bytes,
                    size_t n, ebb_err *err)
{
    ebb_e2b_execution *execution = context;
    size_t have = strlen(execution->type);

    if (strcmp(name, "type") == 0) {
        if (n >= sizeof execution->type - have)
            return no_type(err);
        memcpy(execution->type + have, bytes, n);
        execution->type[have + n] = '\0';
        return 0;
    }
    if (have == 0)
        return no_type(err);
    return execution->on_text(execution->context, execution->type, name, bytes,
                              n, err);
}

static int take_long(ebb_e2b_execution *execution, const char *bytes, size_t n,
                     ebb_err *err)
{
    if (ebb_e2b_long_line_add(&execution->long_line, bytes, n, err) != 0)
        return ebb_err_wrap(err, "the code interpreter");
    return 0;
}

/* The line passes what is parsed whole: from here on it is read as it comes. */
static int begin_long(ebb_e2b_execution *execution, ebb_err *err)
{
    ebb_buf *held = &execution->held;
    int failed;

    execution->is_long = true;
    execution->type[0] = '\0';
    ebb_e2b_long_line_init(&execution->long_line, on_piece, execution);
    failed = take_long(execution, held->bytes, held->n, err);
    ebb_buf_reset(held);
    return failed;
}

static int add_to_line(ebb_e2b_execution *execution, const char *bytes,
                       size_t n, ebb_err *err)
{
    ebb_buf *held = &execution->held;

    if (execution->is_long)
        return take_long(execution, bytes, n, err);
    if (n <= held->bytes_max - held->n) {
        ebb_buf_add(held, bytes, n);
        return ebb_buf_check(held, "a line of the code interpreter", err);
    }
    if (begin_long(execution, err) != 0)
        return -1;
    return take_long(execution, bytes, n, err);
}

static int end_line(ebb_e2b_execution *execution, ebb_err *err)
{
    ebb_buf *held = &execution->held;
    ebb_value *event;
    int failed;

    if (execution->is_long) {
        execution->is_long = false;
        if (ebb_e2b_long_line_finish(&execution->long_line, err) != 0)
            return ebb_err_wrap(err, "the code interpreter");
        return end_event(execution, execution->type, err);
    }
    if (held->n == 0)
        return 0;
    event = ebb_value_parse(held->bytes, held->n, LINE_VALUES_MAX, err);
    ebb_buf_reset(held);
    if (event == NULL)
        return ebb_err_wrap(err, "a line of the code interpreter");
    failed = take_event(execution, event, err);
    ebb_value_free(event);
    return failed;
}

void ebb_e2b_execution_init(ebb_e2b_execution *execution, void *context)
{
    *execution = (ebb_e2b_execution){ .context = context };
    ebb_buf_init(&execution->held, EBB_E2B_LINE_BYTES);
}

void ebb_e2b_execution_clear(ebb_e2b_execution *execution)
{
    ebb_buf_clear(&execution->held);
}

int ebb_e2b_execution_add(ebb_e2b_execution *execution, const char *bytes,
                          size_t n, ebb_err *err)
{
    while (n > 0 && !execution->ended) {
        const char *end = memchr(bytes, '\n', n);
        size_t piece = end == NULL ? n : (size_t)(end - bytes);

        if (add_to_line(execution, bytes, piece, err) != 0)
            return -1;
        if (end == NULL)
            return 0;
        if (end_line(execution, err) != 0)
            return -1;
        bytes += piece + 1;
        n -= piece + 1;
    }
    return 0;
}

int ebb_e2b_execution_finish(ebb_e2b_execution *execution, ebb_err *err)
{
    return end_line(execution, err);
}
