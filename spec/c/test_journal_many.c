/* SPDX-License-Identifier: MIT */

/* Many processes on one file, one that dies, one that sits on the lock. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "support/journal_child.h"

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? atoi(text) : otherwise;
}

static int64_t steady_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- many ---- */

/* A run of its own with so many steps, one after the other. */
static int write_run(journal_rig *rig, int out)
{
    int steps = number("EBB_JOURNAL_STEPS", 100);
    char id[32], path[32];
    ebb_journal_run *run;

    (void)out;
    snprintf(id, sizeof id, "run-%d", (int)getpid());
    run = rig_claim(rig, id);
    if (run == NULL)
        return 1;
    for (int i = 0; i < steps; i++) {
        snprintf(path, sizeof path, "%d", i);
        if (rig_intent(rig, &run->claim, path) != EBB_OK ||
            rig_outcome(rig, &run->claim, path, "{\"ok\":true}") != EBB_OK) {
            fprintf(stderr, "%s\n", rig->err.msg);
            return 2;
        }
    }
    return rig_end(rig, &run->claim, EBB_JOURNAL_DONE, "1") == EBB_OK ? 0 : 3;
}

/* As `make test`: 8 x 100; EBB_JOURNAL_PROCESSES=16 EBB_JOURNAL_STEPS=500. */
static void many_processes_on_one_file_lose_nothing_a17(void **state)
{
    journal_rig *rig = *state;
    int processes = number("EBB_JOURNAL_PROCESSES", 8);
    int steps = number("EBB_JOURNAL_STEPS", 100);
    rig_child *children = calloc((size_t)processes, sizeof *children);
    char id[32];

    rig_close(rig);
    unlink(rig->path); /* each of them makes the file, or finds it made */
    for (int i = 0; i < processes; i++)
        children[i] = rig_fork(rig, write_run);
    for (int i = 0; i < processes; i++)
        assert_int_equal(rig_join(&children[i]), 0);
    rig_open(rig);
    for (int i = 0; i < processes; i++) {
        ebb_journal_run *run;

        snprintf(id, sizeof id, "run-%d", (int)children[i].pid);
        run = ebb_journal_get_run(rig->journal, id, &rig->err);
        assert_non_null(run);
        assert_int_equal(run->state, EBB_JOURNAL_DONE);
        assert_int_equal(run->steps_n, steps);
        for (int k = 0; k < steps; k++) {
            assert_int_equal(run->steps[k].seq, k + 1);
            assert_int_equal(atoi(run->steps[k].path), k);
        }
        ebb_journal_run_free(run);
    }
    print_message("# %d processes, %d steps each\n", processes, steps);
    free(children);
}

/* Has the new file's lock, in the mode that it is made in, for a moment. */
static int make_it_slowly(journal_rig *rig, int out)
{
    char path[160];
    sqlite3 *db;

    snprintf(path, sizeof path, "%s/new.db", rig->folder);
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return 1;
    rig_say(out);
    usleep(300000);
    return sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
}

static void a_file_that_another_is_making_is_waited_for(void **state)
{
    journal_rig *rig = *state;
    rig_child child;

    rig_close(rig);
    child = rig_fork(rig, make_it_slowly);
    rig_await_child(&child);
    strcpy(strrchr(rig->path, '/'), "/new.db");
    rig_open(rig);
    assert_non_null(rig->journal);
    assert_int_equal(rig_join(&child), 0);
    ebb_journal_run_free(rig_claim(rig, "r"));
}

/* ---- one that dies ---- */

/* Writes steps for ever, and says each that was answered. */
static int write_for_ever(journal_rig *rig, int out)
{
    ebb_journal_run *run = rig_claim(rig, "r");
    char path[32];

    if (run == NULL)
        return 1;
    for (int i = (int)run->steps_n;; i++) {
        snprintf(path, sizeof path, "%d", i);
        if (rig_outcome(rig, &run->claim, path, "1") != EBB_OK)
            return 2;
        rig_say(out);
    }
}

static void a_writer_killed_anywhere_has_what_was_answered(void **state)
{
    journal_rig *rig = *state;
    int answered = 0, rounds = 10;
    ebb_journal_run *run;
    char byte;

    for (int i = 0; i < rounds; i++) {
        rig_child child;

        rig_close(rig);
        child = rig_fork(rig, write_for_ever);
        rig_await_child(&child);
        answered++;
        usleep((useconds_t)(1000 + 1700 * i));
        kill(child.pid, SIGKILL);
        while (read(child.in, &byte, 1) == 1)
            answered++;
        assert_int_equal(rig_join(&child), -SIGKILL);
        rig_open(rig);
        run = ebb_journal_get_run(rig->journal, "r", &rig->err);
        assert_non_null(run);
        /* One more may be written whose answer the kill cut off. */
        assert_in_range(run->steps_n, answered, answered + i + 1);
        for (size_t k = 0; k < run->steps_n; k++)
            assert_int_equal(run->steps[k].seq, k + 1);
        ebb_journal_run_free(run);
    }
    run = rig_claim(rig, "r");
    assert_int_equal(run->recoveries, rounds);
    ebb_journal_run_free(run);
}

/* ---- locks ---- */

/* Holds the file's write lock until it is killed. */
static int sit_on_it(journal_rig *rig, int out)
{
    sqlite3 *db;

    if (sqlite3_open(rig->path, &db) != SQLITE_OK ||
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return 1;
    rig_say(out);
    pause();
    return 0;
}

static rig_child sitter(journal_rig *rig)
{
    rig_child child;

    rig_close(rig);
    child = rig_fork(rig, sit_on_it);
    rig_await_child(&child);
    rig_open(rig);
    assert_non_null(rig->journal);
    return child;
}

static void tick(void *context)
{
    ++*(int *)context;
}

static void a_lock_held_elsewhere_does_not_stop_the_loop(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    rig_child child;
    ebb_loop_timer *timer;
    ebb_journal_step step = rig_step("1", "1");
    rig_answer answer = { 0 };
    int ticks = 0;
    int64_t begun;

    child = sitter(rig);
    timer = ebb_loop_timer_new(rig->loop, tick, &ticks);
    begun = steady_ms();
    assert_int_equal(ebb_journal_add_outcome(rig->journal, &run->claim, &step,
                                             rig_done(&answer), &rig->err),
                     0);
    assert_true(steady_ms() - begun < 10000);
    while (ticks < 20) {
        int seen = ticks;

        ebb_loop_timer_start(timer, 5);
        while (ticks == seen)
            ebb_loop_run(rig->loop, 1000);
    }
    assert_int_equal(answer.count, 0);
    rig_kill(&child);
    rig_await(rig, &answer, 1);
    assert_int_equal(answer.err.code, EBB_OK);
    ebb_loop_timer_free(timer);
    ebb_journal_run_free(run);
}

static void closing_does_not_wait_for_a_lock_held_elsewhere(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    rig_child child = sitter(rig);
    ebb_journal_step step = rig_step("1", "1");
    rig_answer answer = { 0 };
    int64_t begun;

    for (int i = 0; i < 5; i++)
        ebb_journal_add_outcome(rig->journal, &run->claim, &step,
                                rig_done(&answer), &rig->err);
    begun = steady_ms();
    ebb_journal_close(rig->journal);
    rig->journal = NULL;
    assert_true(steady_ms() - begun < 20000);
    assert_int_equal(answer.count, 5);
    assert_int_equal(answer.err.code, EBB_JOURNAL);
    assert_non_null(strstr(answer.err.msg, "locked by another process"));
    rig_kill(&child);
    ebb_journal_run_free(run);
}

static void reading_goes_on_while_another_writes(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    rig_child child = sitter(rig);

    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_non_null(run);
    ebb_journal_run_free(run);
    rig_kill(&child);
}

/* The whole 30 s, once: only where there is time for it. */
static void a_lock_held_too_long_is_said_a17(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run;
    rig_child child;
    int64_t begun;

    if (getenv("EBB_SOAK") == NULL)
        skip();
    run = rig_claim(rig, "r");
    child = sitter(rig);
    begun = steady_ms();
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "1"), EBB_JOURNAL);
    assert_in_range(steady_ms() - begun, EBB_JOURNAL_BUSY_MS - 100,
                    EBB_JOURNAL_BUSY_MS + 5000);
    assert_non_null(strstr(rig->err.msg, "locked by another process"));
    rig_kill(&child);
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "1"), EBB_OK);
    ebb_journal_run_free(run);
}

/* A long reader holds checkpoints up; writing goes on. */
static void a_long_reader_loses_nobody_anything_a17(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    char *json = rig_json(200000), path[16];
    sqlite3 *reader;

    assert_int_equal(sqlite3_open(rig->path, &reader), SQLITE_OK);
    sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM run", NULL, NULL, NULL);
    for (int i = 0; i < 40; i++) {
        snprintf(path, sizeof path, "%d", i);
        assert_int_equal(rig_outcome(rig, &run->claim, path, json), EBB_OK);
    }
    sqlite3_close(reader);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->steps_n, 40);
    ebb_journal_run_free(run);
    free(json);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_make, rig_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(many_processes_on_one_file_lose_nothing_a17),
        T(a_file_that_another_is_making_is_waited_for),
        T(a_writer_killed_anywhere_has_what_was_answered),
        T(a_lock_held_elsewhere_does_not_stop_the_loop),
        T(closing_does_not_wait_for_a_lock_held_elsewhere),
        T(reading_goes_on_while_another_writes),
        T(a_lock_held_too_long_is_said_a17),
        T(a_long_reader_loses_nobody_anything_a17),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
