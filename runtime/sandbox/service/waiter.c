/* SPDX-License-Identifier: MIT */
#include "sandbox/service/waiter.h"

#include "base/mem.h"
#include "sandbox/service/lifecycle.h"

struct ebb_waiter {
    ebb_waiter *next;
    ebb_waiter_fn *fn;
    void *context;
    unsigned round; /* of the sandbox when the wait began */
};

int ebb_waiter_add(ebb_sandbox *sandbox, ebb_waiter_fn *fn, void *context,
                   ebb_err *err)
{
    ebb_waiter **link = &sandbox->life->waiters;
    ebb_waiter *w = ebb_mem_alloc(sizeof *w);

    if (w == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "wait for %s", sandbox->id);
    *w = (ebb_waiter){ .fn = fn,
                       .context = context,
                       .round = sandbox->life->round };
    while (*link != NULL)
        link = &(*link)->next;
    *link = w;
    return 0;
}

void ebb_waiter_cancel(ebb_service *service, const void *context)
{
    ebb_sandbox *s;

    for (s = service->sandboxes; s != NULL; s = s->next) {
        ebb_waiter **link = &s->life->waiters;

        while (*link != NULL) {
            ebb_waiter *w = *link;

            if (w->context == context) {
                *link = w->next;
                ebb_mem_free(w);
            } else {
                link = &w->next;
            }
        }
    }
}

/*
 * One at a time from the head, because a callback may cancel others or wait
 * again; the round tells the new waits from the old.
 */
void ebb_waiter_settle(ebb_sandbox *sandbox, bool gone, const ebb_err *err)
{
    ebb_lifecycle *life = sandbox->life;
    unsigned round = ++life->round;

    while (life->waiters != NULL && life->waiters->round != round) {
        ebb_waiter w = *life->waiters;

        ebb_mem_free(life->waiters);
        life->waiters = w.next;
        w.fn(w.context, gone ? NULL : sandbox, err);
    }
}
