/* SPDX-License-Identifier: MIT */
#include "sandbox/service/remover.h"

#include "base/fs.h"

#include <unistd.h>

#define POST_RETRY_US 10000

static void finish(void *context)
{
    ebb_remover *r = context;

    if (r->threaded)
        pthread_join(r->thread, NULL);
    r->done(r->context, r->failed ? &r->err : NULL);
}

static void remove_tree(ebb_remover *r)
{
    r->failed = ebb_fs_remove_tree(r->path, &r->err) != 0;
}

static void *run(void *context)
{
    ebb_remover *r = context;

    remove_tree(r);
    /* It fails for want of memory only, and somebody waits for it. */
    while (ebb_loop_post(r->loop, finish, r) != 0)
        usleep(POST_RETRY_US);
    return NULL;
}

void ebb_remover_start(ebb_remover *remover, ebb_loop *loop, const char *path,
                       ebb_remover_fn *done, void *context)
{
    *remover = (ebb_remover){ .loop = loop,
                              .path = path,
                              .done = done,
                              .context = context,
                              .threaded = true };
    if (pthread_create(&remover->thread, NULL, run, remover) == 0)
        return;
    remover->threaded = false;
    remove_tree(remover);
    ebb_loop_defer(loop, finish, remover);
}
