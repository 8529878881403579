/* SPDX-License-Identifier: MIT */

/*
 * Jobs for the journal wait here until the loop has nothing else to do; then
 * some of them are done at once, and the loop waits for the answers. So what
 * is committed together, and what before a crash, follows from the seed.
 *
 * In some lives the journal's thread does them, as it would; in most this
 * thread does while that one sleeps, which saves half of the time.
 */

#include "spec/sim/sim.h"

#include "journal/journal_private.h"

static ebb_journal_jobs waiting, answers;
static ebb_journal *journal_here; /* a process has one */

/* Those that nobody waits for are committed with the next that is. */
bool sim_gate_waiting(void)
{
    for (const ebb_journal_job *job = waiting.first; job != NULL;
         job = job->next)
        if (!job->patient)
            return true;
    return false;
}

int sim_gate_count(void)
{
    return (int)waiting.n;
}

static void move_first(ebb_journal_jobs *to, ebb_journal_jobs *from)
{
    ebb_journal_job *job = from->first;

    from->first = job->next;
    if (from->first == NULL)
        from->last = NULL;
    from->n--;
    job->next = NULL;
    if (to->last != NULL)
        to->last->next = job;
    else
        to->first = job;
    to->last = job;
    to->n++;
}

/* The journal's thread does them, in its own groups. */
static void open_for_thread(ebb_journal *journal, int n)
{
    const ebb_journal_job *last = NULL;

    pthread_mutex_lock(&journal->lock);
    for (; n > 0; n--) {
        move_first(&journal->queue, &waiting);
        if (journal->queue.last->patient)
            continue;
        last = journal->queue.last;
        journal->urgent++;
    }
    if (last != NULL)
        pthread_cond_broadcast(&journal->asked);
    /* It is freed when it is answered, which is up to this thread. */
    while (last != NULL && !last->finished)
        pthread_cond_wait(&journal->told, &journal->lock);
    pthread_mutex_unlock(&journal->lock);
}

static void answer_all(void *context)
{
    ebb_journal_jobs one;

    (void)context;
    while (answers.first != NULL) {
        one = (ebb_journal_jobs){ 0 };
        move_first(&one, &answers);
        one.first->answer(one.first);
    }
}

static void add_answers(ebb_journal_jobs *group)
{
    ebb_journal_jobs first = { 0 };

    if (sim->broken == SIM_BREAK_ORDER && group->n > 1)
        move_first(&first, group);
    while (group->n > 0)
        move_first(&answers, group);
    if (first.n > 0)
        move_first(&answers, &first);
}

/* Answered as if it was done. */
static bool is_lost(const ebb_journal_job *job)
{
    switch (sim->broken) {
    case SIM_BREAK_INTENT:
        return job->run == ebb_journal_run_intent;
    case SIM_BREAK_ATTEMPT:
        return job->run == ebb_journal_run_attempt;
    case SIM_BREAK_OUTCOME:
        return job->run == ebb_journal_run_outcome && sim_chance(10);
    case SIM_BREAK_END:
        return job->run == ebb_journal_run_end;
    case SIM_BREAK_FORGET:
        return job->run == ebb_journal_run_del;
    default:
        return false;
    }
}

/* Writes that follow each other are one group, as for the thread. */
static void open_here(ebb_journal *journal, int n)
{
    ebb_journal_jobs group;

    while (n > 0) {
        if (is_lost(waiting.first)) {
            move_first(&answers, &waiting);
            n--;
            continue;
        }
        group = (ebb_journal_jobs){ 0 };
        do {
            move_first(&group, &waiting);
            n--;
        } while (n > 0 && group.first->writes && waiting.first->writes &&
                 !is_lost(waiting.first));
        if (group.first->writes)
            ebb_journal_run_group(journal, group.first, group.n);
        else
            ebb_journal_run_read(journal, group.first);
        add_answers(&group);
        ebb_journal_wal_checkpoint(journal, true);
    }
    ebb_loop_defer_cancel(journal->loop, answer_all, NULL);
    if (ebb_loop_defer(journal->loop, answer_all, NULL) < 0)
        sim_fail("no memory for an answer");
}

/* The first n jobs, and more if nobody waits for any of them. */
static int count_jobs(int n)
{
    int count = 0, urgent = 0;

    if (n < 0)
        return (int)waiting.n;
    for (const ebb_journal_job *job = waiting.first;
         job != NULL && (count < n || urgent == 0); job = job->next) {
        count++;
        urgent += !job->patient;
    }
    return urgent > 0 ? count : 0;
}

void sim_gate_open(int n)
{
    n = n == 0 ? 0 : count_jobs(n);
    if (n == 0)
        return;
    if (sim_self->threaded && sim->broken == SIM_WHOLE)
        open_for_thread(journal_here, n);
    else
        open_here(journal_here, n);
}

int __wrap_ebb_journal_post(ebb_journal *journal, ebb_journal_job *job,
                            ebb_err *err);
int __wrap_ebb_journal_wait(ebb_journal *journal, ebb_journal_job *job,
                            ebb_err *err);
int __real_ebb_journal_wait(ebb_journal *journal, ebb_journal_job *job,
                            ebb_err *err);
void __wrap_ebb_journal_close(ebb_journal *journal);
void __real_ebb_journal_close(ebb_journal *journal);

int __wrap_ebb_journal_post(ebb_journal *journal, ebb_journal_job *job,
                            ebb_err *err)
{
    ebb_journal_jobs one = { job, job, 1 };

    (void)err;
    journal_here = journal;
    job->next = NULL;
    move_first(&waiting, &one);
    return 0;
}

/* What was asked for before is done before. */
int __wrap_ebb_journal_wait(ebb_journal *journal, ebb_journal_job *job,
                            ebb_err *err)
{
    sim_gate_open(-1);
    return __real_ebb_journal_wait(journal, job, err);
}

void __wrap_ebb_journal_close(ebb_journal *journal)
{
    sim_gate_open(-1);
    answer_all(NULL);
    sim_gate_open(-1); /* what the answers asked for */
    answer_all(NULL);
    if (journal != NULL)
        ebb_loop_defer_cancel(journal->loop, answer_all, NULL);
    __real_ebb_journal_close(journal);
}
