/* SPDX-License-Identifier: MIT */
#include "e2b/share.h"

#include <string.h>

#include "e2b/job.h"
#include "e2b/state.h"

void ebb_e2b_share_add(ebb_e2b_jobs *list, ebb_e2b_job *job)
{
    ebb_e2b_job **last = &list->first;

    while (*last != NULL)
        last = &(*last)->share.next;
    *last = job;
    job->share.list = list;
}

void ebb_e2b_share_leave(ebb_e2b_job *job)
{
    ebb_e2b_job **at;

    if (job->share.list == NULL)
        return;
    at = &job->share.list->first;
    while (*at != job)
        at = &(*at)->share.next;
    *at = job->share.next;
    job->share.list = NULL;
    job->share.next = NULL;
}

ebb_e2b_job *ebb_e2b_share_next(ebb_e2b_jobs *list)
{
    ebb_e2b_job *job = list->first;

    if (job != NULL)
        ebb_e2b_share_leave(job);
    return job;
}

static void move(ebb_e2b_jobs *from, ebb_e2b_jobs *to)
{
    for (ebb_e2b_job *job = from->first; job != NULL; job = job->share.next)
        job->share.list = to;
    *to = *from;
    from->first = NULL;
}

void ebb_e2b_share_take(ebb_e2b_job *job, ebb_e2b_jobs *list)
{
    ebb_e2b_share_leave(job);
    move(&job->share.followers, list);
}

void ebb_e2b_share_lead(ebb_e2b_job *job, ebb_e2b_jobs *list)
{
    move(list, &job->share.followers);
    ebb_e2b_share_add(&job->e2b->connections.leaders, job);
}

static bool may_follow(const ebb_e2b_job *job, const ebb_e2b_job *leader)
{
    return strcmp(job->sandbox_id, leader->sandbox_id) == 0 &&
           job->life_ms <= leader->share.life_ms &&
           (!job->refused || leader->refused);
}

bool ebb_e2b_share_join(ebb_e2b_job *job)
{
    ebb_e2b_jobs *leaders = &job->e2b->connections.leaders;

    for (ebb_e2b_job *at = leaders->first; at != NULL; at = at->share.next) {
        if (!may_follow(job, at))
            continue;
        ebb_e2b_share_add(&at->share.followers, job);
        return true;
    }
    job->share.life_ms = job->life_ms;
    ebb_e2b_share_add(leaders, job);
    return false;
}
