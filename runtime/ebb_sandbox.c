/* SPDX-License-Identifier: MIT */
#include "ebb_private.h"

typedef struct listing {
    bool ended;
    ebb_value *sandboxes;
    ebb_err err;
} listing;

static void listed(void *context, ebb_value *sandboxes, const ebb_err *err)
{
    listing *l = context;

    l->ended = true;
    l->sandboxes = sandboxes;
    if (err != NULL)
        l->err = *err;
}

int ebb_sandbox_list(ebb_runtime *rt, ebb_value **out, ebb_err *err)
{
    listing l = { 0 };

    *out = NULL;
    if (ebb_loop_is_hosted(rt->loop))
        return ebb_err_set(err, EBB_UNSUPPORTED,
                           "ebb_sandbox_list would block the host's loop");
    ebb_e2b_list(rt->e2b, listed, &l);
    while (!l.ended)
        ebb_loop_run(rt->loop, -1);
    *out = l.sandboxes;
    if (l.err.code == EBB_OK)
        return 0;
    *err = l.err;
    return -1;
}
