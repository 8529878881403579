/* SPDX-License-Identifier: MIT */
#include "e2b/interpreter.h"

#include <string.h>

#include "base/mem.h"

/* A picture of the largest size that a call may ask for, escaped, with room. */
#define LINE_BYTES_MAX  (8u << 20)
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

static int take_line(void *context, const char *line, size_t n, ebb_err *err)
{
    ebb_e2b_execution *execution = context;
    ebb_value *event;
    const char *type;
    int failed = 0;

    if (n == 0 || execution->ended)
        return 0;
    event = ebb_value_parse(line, n, LINE_VALUES_MAX, err);
    if (event == NULL)
        return ebb_err_wrap(err, "a line of the code interpreter");
    type = ebb_value_find_string(event, "type");
    execution->began = true;
    if (type == NULL)
        failed = ebb_err_set(err, EBB_PROTOCOL,
                             "a line of the code interpreter has no type");
    else if (strcmp(type, "end_of_execution") == 0)
        execution->ended = true;
    else if (strcmp(type, "keepalive") != 0)
        failed = execution->on_event(execution->context, type, event, err);
    ebb_value_free(event);
    return failed;
}

void ebb_e2b_execution_init(ebb_e2b_execution *execution, void *context)
{
    *execution = (ebb_e2b_execution){ .context = context };
    ebb_lines_init(&execution->lines, LINE_BYTES_MAX, take_line, execution);
}

void ebb_e2b_execution_clear(ebb_e2b_execution *execution)
{
    ebb_lines_clear(&execution->lines);
}

int ebb_e2b_execution_add(ebb_e2b_execution *execution, const char *bytes,
                          size_t n, ebb_err *err)
{
    return ebb_lines_add(&execution->lines, bytes, n, err);
}

int ebb_e2b_execution_finish(ebb_e2b_execution *execution, ebb_err *err)
{
    return ebb_lines_finish(&execution->lines, err);
}
