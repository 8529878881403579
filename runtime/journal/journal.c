/* SPDX-License-Identifier: MIT */
#include "journal/journal.h"

#include "base/mem.h"
#include "journal/journal_private.h"

#include <signal.h>
#include <time.h>

#define GROUP_JOBS_MAX  512
#define GROUP_BYTES_MAX (16 * 1024 * 1024)
#define CLOSE_BUSY_MS   1000 /* for others' locks while it closes */
#define RETRY_MS        10   /* until the loop takes a call */

static int64_t steady_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void add_job(ebb_journal_jobs *jobs, ebb_journal_job *job)
{
    job->next = NULL;
    if (jobs->last != NULL)
        jobs->last->next = job;
    else
        jobs->first = job;
    jobs->last = job;
    jobs->n++;
}

static ebb_journal_job *take_job(ebb_journal_jobs *jobs)
{
    ebb_journal_job *job = jobs->first;

    if (job == NULL)
        return NULL;
    jobs->first = job->next;
    if (jobs->first == NULL)
        jobs->last = NULL;
    jobs->n--;
    return job;
}

/* Waits for asked at most ms; the lock is held. */
static void doze(ebb_journal *journal, int ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&journal->asked, &journal->lock, &until);
}

/*
 * Others hold the lock: waits a little, the longer the more often, and gives
 * up after EBB_JOURNAL_BUSY_MS, or soon when the journal is being closed.
 */
static int on_busy(void *context, int count)
{
    static const int waits_ms[] = { 1, 1, 2, 2, 3, 5, 5, 8 };
    const int last = sizeof waits_ms / sizeof *waits_ms - 1;
    ebb_journal *journal = context;
    int64_t now = steady_ms();
    bool again;

    if (count == 0)
        journal->busy_since = now;
    pthread_mutex_lock(&journal->lock);
    again = now - journal->busy_since < EBB_JOURNAL_BUSY_MS &&
            (journal->closing_since == 0 ||
             now - journal->closing_since < CLOSE_BUSY_MS);
    if (again)
        doze(journal, waits_ms[count < last ? count : last]);
    pthread_mutex_unlock(&journal->lock);
    return again;
}

/* Takes what is written together: at most so much, and never past a read. */
static ebb_journal_jobs take_group(ebb_journal *journal)
{
    ebb_journal_jobs group = { 0 }, *queue = &journal->queue;
    size_t bytes = 0;

    do {
        bytes += queue->first->bytes;
        journal->urgent -= !queue->first->patient;
        add_job(&group, take_job(queue));
    } while (queue->first != NULL && group.first->writes &&
             queue->first->writes && group.n < GROUP_JOBS_MAX &&
             bytes + queue->first->bytes <= GROUP_BYTES_MAX);
    return group;
}

/* ---- answers ---- */

/* Answers one by one, for an answer may close the journal. */
static void deliver(void *context)
{
    ebb_journal *journal = context;
    ebb_journal_job *job;
    bool gone = false;

    pthread_mutex_lock(&journal->lock);
    journal->woken = false;
    journal->gone = &gone;
    while ((job = take_job(&journal->answers)) != NULL) {
        pthread_mutex_unlock(&journal->lock);
        job->answer(job);
        if (gone)
            return;
        pthread_mutex_lock(&journal->lock);
    }
    journal->gone = NULL;
    pthread_mutex_unlock(&journal->lock);
}

/* The lock is held; doze lets it go while the loop has no room for a call. */
static void wake_loop(ebb_journal *journal)
{
    if (journal->woken || journal->answers.first == NULL)
        return;
    journal->woken = true;
    while (journal->closing_since == 0 &&
           ebb_loop_post(journal->loop, deliver, journal) != 0)
        doze(journal, RETRY_MS);
}

/* The lock is held. */
static void hand_over(ebb_journal *journal, ebb_journal_jobs *group)
{
    ebb_journal_job *job;

    while ((job = take_job(group)) != NULL) {
        job->finished = true;
        if (!job->waited)
            add_job(&journal->answers, job);
    }
    pthread_cond_broadcast(&journal->told);
    wake_loop(journal);
}

/* ---- the thread ---- */

/* The lock is held; false: closing, and nothing is left to do. */
static bool await_jobs(ebb_journal *journal)
{
    while (journal->urgent == 0 && journal->closing_since == 0)
        pthread_cond_wait(&journal->asked, &journal->lock);
    return journal->queue.first != NULL;
}

static void serve(ebb_journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    while (await_jobs(journal)) {
        ebb_journal_jobs group = take_group(journal);
        bool idle;

        pthread_mutex_unlock(&journal->lock);
        if (group.first->writes)
            ebb_journal_run_group(journal, group.first, group.n);
        else
            ebb_journal_run_read(journal, group.first);
        pthread_mutex_lock(&journal->lock);
        hand_over(journal, &group);
        idle = journal->urgent == 0;
        pthread_mutex_unlock(&journal->lock);
        ebb_journal_wal_checkpoint(journal, idle);
        pthread_mutex_lock(&journal->lock);
    }
    pthread_mutex_unlock(&journal->lock);
}

static void *run_thread(void *context)
{
    ebb_journal *journal = context;
    ebb_err err = { 0 };
    int opened = ebb_owner_init(&journal->self, &err);

    if (opened == 0)
        opened = ebb_journal_open_file(journal, on_busy, &err);
    pthread_mutex_lock(&journal->lock);
    if (opened != 0)
        journal->failure = err;
    journal->started = true;
    pthread_cond_broadcast(&journal->told);
    pthread_mutex_unlock(&journal->lock);
    if (opened == 0)
        serve(journal);
    ebb_sql_close(&journal->sql);
    return NULL;
}

/* The host's signals go to the host's threads. */
static int start_thread(ebb_journal *journal)
{
    sigset_t all, before;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&journal->thread, NULL, run_thread, journal);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static void init_locks(ebb_journal *journal)
{
    pthread_condattr_t steady;

    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_mutex_init(&journal->lock, NULL);
    pthread_cond_init(&journal->asked, &steady);
    pthread_cond_init(&journal->told, NULL);
    pthread_condattr_destroy(&steady);
}

static void free_journal(ebb_journal *journal)
{
    pthread_mutex_destroy(&journal->lock);
    pthread_cond_destroy(&journal->asked);
    pthread_cond_destroy(&journal->told);
    ebb_mem_free(journal->path);
    ebb_mem_free(journal);
}

/* Waits until the thread has opened the file, or why it could not. */
static int await_start(ebb_journal *journal, ebb_err *err)
{
    if (start_thread(journal) != 0)
        return ebb_err_set(err, EBB_JOURNAL, "journal: no thread for it");
    pthread_mutex_lock(&journal->lock);
    while (!journal->started)
        pthread_cond_wait(&journal->told, &journal->lock);
    pthread_mutex_unlock(&journal->lock);
    if (journal->failure.code == EBB_OK)
        return 0;
    pthread_join(journal->thread, NULL);
    *err = journal->failure;
    return -1;
}

ebb_journal *ebb_journal_open(ebb_loop *loop, const ebb_clock *clock,
                              const char *path, ebb_err *err)
{
    ebb_journal *journal = ebb_mem_zero(sizeof *journal);

    if (journal != NULL)
        journal->path = ebb_mem_dup(path);
    if (journal == NULL || journal->path == NULL) {
        ebb_mem_free(journal);
        ebb_err_set(err, EBB_NO_MEMORY, "journal %s", path);
        return NULL;
    }
    journal->loop = loop;
    journal->clock = clock;
    init_locks(journal);
    if (await_start(journal, err) != 0) {
        free_journal(journal);
        return NULL;
    }
    return journal;
}

void ebb_journal_close(ebb_journal *journal)
{
    ebb_journal_job *job;

    if (journal == NULL)
        return;
    pthread_mutex_lock(&journal->lock);
    journal->closing_since = steady_ms();
    pthread_cond_broadcast(&journal->asked);
    pthread_mutex_unlock(&journal->lock);
    pthread_join(journal->thread, NULL);
    ebb_loop_defer_cancel(journal->loop, deliver, journal);
    if (journal->gone != NULL)
        *journal->gone = true;
    while ((job = take_job(&journal->answers)) != NULL)
        job->answer(job);
    free_journal(journal);
}

int ebb_journal_post(ebb_journal *journal, ebb_journal_job *job, ebb_err *err)
{
    bool full, closing;

    pthread_mutex_lock(&journal->lock);
    closing = journal->closing_since != 0;
    full = journal->queue.n >= EBB_JOURNAL_JOBS_MAX;
    if (!full && !closing) {
        /* What waits for company has it, and must not fill the queue. */
        if (journal->queue.n + 1 >= GROUP_JOBS_MAX)
            job->patient = false;
        add_job(&journal->queue, job);
        journal->urgent += !job->patient;
        if (!job->patient)
            pthread_cond_broadcast(&journal->asked);
    }
    pthread_mutex_unlock(&journal->lock);
    if (closing)
        return ebb_err_set(err, EBB_JOURNAL, "the journal is being closed: %s",
                           journal->path);
    if (full)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "the journal is behind by %d writes; its disk is "
                           "slow: %s",
                           EBB_JOURNAL_JOBS_MAX, journal->path);
    return 0;
}

int ebb_journal_wait(ebb_journal *journal, ebb_journal_job *job, ebb_err *err)
{
    job->waited = true;
    if (ebb_journal_post(journal, job, err) != 0)
        return -1;
    pthread_mutex_lock(&journal->lock);
    while (!job->finished)
        pthread_cond_wait(&journal->told, &journal->lock);
    pthread_mutex_unlock(&journal->lock);
    if (job->err.code == EBB_OK)
        return 0;
    *err = job->err;
    return -1;
}
