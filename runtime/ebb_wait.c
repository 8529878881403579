/* SPDX-License-Identifier: MIT */

/* Calls that block: for programs with nothing else to do meanwhile. */

#include "ebb_private.h"

#include <string.h>

typedef struct waiting {
    bool ended;
    ebb_value *out;
    ebb_err err;
} waiting;

static void waited(void *context, ebb_value *out, const ebb_err *err)
{
    waiting *w = context;

    w->ended = true;
    w->out = out;
    if (err != NULL)
        w->err = *err;
}

int ebb_call(ebb_runtime *rt, const char *task, const ebb_value *input,
             ebb_value **out, ebb_err *err)
{
    waiting w = { 0 };

    *out = NULL;
    if (ebb_loop_is_hosted(rt->loop))
        return ebb_err_set(err, EBB_UNSUPPORTED,
                           "%s: ebb_call would block the host's loop; "
                           "use ebb_start", task);
    if (ebb_start(rt, task, input, waited, &w, err) == NULL)
        return -1;
    while (!w.ended)
        ebb_loop_run(rt->loop, -1);
    *out = w.out;
    if (w.err.code == EBB_OK)
        return 0;
    *err = w.err;
    return -1;
}

int ebb_call_json(ebb_runtime *rt, const char *task, const char *input,
                  char **out, ebb_err *err)
{
    ebb_value *in = NULL, *answer = NULL;
    int result;

    *out = NULL;
    if (input != NULL) {
        in = ebb_value_parse(input, strlen(input), 0, err);
        if (in == NULL) {
            err->code = EBB_INVALID_INPUT;
            return ebb_err_wrap(err, "%s: input", task);
        }
    }
    result = ebb_call(rt, task, in, &answer, err);
    if (answer != NULL)
        *out = ebb_value_write(answer, EBB_WRITE_COMPACT, NULL);
    if (result == 0 && *out == NULL)
        result = ebb_err_set(err, EBB_NO_MEMORY, "%s: result", task);
    ebb_value_free(in);
    ebb_value_free(answer);
    return result;
}
