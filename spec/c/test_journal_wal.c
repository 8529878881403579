/* SPDX-License-Identifier: MIT */

/*
 * The log of the journal's file: made longer ahead of the commits, moved into
 * the file before it is long, and what a commit costs. That a power cut leaves
 * it sound is in test_journal_power.c.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "support/journal_rig.h"
#include "support/journal_vfs.h"

#define AHEAD_BYTES 262144
#define LOG_BYTES   (4 * 1024 * 1024)

static int make_on_vfs(void **state)
{
    vfs_install();
    return rig_make(state);
}

static int clear_on_vfs(void **state)
{
    vfs_world.fail_writes = 0;
    vfs_world.room = 0;
    rig_clear(state);
    vfs_uninstall();
    return 0;
}

static int64_t log_bytes(const journal_rig *rig)
{
    char path[160];
    struct stat st;

    snprintf(path, sizeof path, "%s-wal", rig->path);
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void write_steps(journal_rig *rig, const ebb_journal_claim *claim,
                        int from, int to, const char *json)
{
    char path[16];

    for (int i = from; i < to; i++) {
        snprintf(path, sizeof path, "%d", i);
        if (rig_outcome(rig, claim, path, json) != EBB_OK)
            fail_msg("step %s: %s", path, rig->err.msg);
    }
}

static void commits_write_over_what_is_there(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    int64_t bytes = 0;
    int grown = 0;

    for (int i = 0; i < 100; i++) {
        write_steps(rig, &run->claim, i, i + 1, "1");
        grown += log_bytes(rig) != bytes;
        bytes = log_bytes(rig);
        assert_true(bytes >= AHEAD_BYTES);
    }
    assert_in_range(grown, 1, 4);
    ebb_journal_run_free(run);
}

/* 40 MB go through it. */
static void a_long_run_does_not_make_the_log_long(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    char *json = rig_json(60000);

    for (int i = 0; i < 700; i += 100) {
        write_steps(rig, &run->claim, i, i + 100, json);
        assert_true(log_bytes(rig) < LOG_BYTES + LOG_BYTES / 2);
    }
    ebb_journal_run_free(run);
    rig_close(rig);
    rig_open(rig);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->steps_n, 700);
    ebb_journal_run_free(run);
    free(json);
}

static void a_disk_that_is_nearly_full_is_no_reason_to_fail(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run;

    vfs_world.room = 160000; /* the schema is in the log too */
    vfs_world.fail_writes = SQLITE_FULL;
    run = rig_claim(rig, "r");
    assert_non_null(run);
    write_steps(rig, &run->claim, 0, 3, "1");
    assert_true(log_bytes(rig) < AHEAD_BYTES);
    vfs_world.fail_writes = 0;
    write_steps(rig, &run->claim, 3, 6, "1");
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->steps_n, 6);
    ebb_journal_run_free(run);
}

/* ---- an intent that nobody waits for ---- */

static int syncs_so_far(void)
{
    int syncs = 0;

    pthread_mutex_lock(&vfs_world.lock);
    for (int i = 0; i < vfs_world.disks_n; i++)
        syncs += vfs_world.disks[i].syncs;
    pthread_mutex_unlock(&vfs_world.lock);
    return syncs;
}

static void add_intent(journal_rig *rig, const ebb_journal_claim *claim,
                       const char *path)
{
    ebb_journal_step step = rig_step(path, NULL);

    assert_int_equal(ebb_journal_add_intent(rig->journal, claim, &step,
                                            (ebb_journal_done){ 0 }, &rig->err),
                     0);
    usleep(20000); /* the thread could write it, if it would */
}

static void it_is_written_with_the_outcome(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    int before = syncs_so_far();

    for (int i = 0; i < 5; i++) {
        char path[16];

        snprintf(path, sizeof path, "%d", i);
        add_intent(rig, &run->claim, path);
        assert_int_equal(syncs_so_far(), before + i);
        write_steps(rig, &run->claim, i, i + 1, "1");
        assert_int_equal(syncs_so_far(), before + i + 1);
    }
    ebb_journal_run_free(run);
}

static void it_is_written_when_the_run_is_looked_after(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r"), *seen;

    add_intent(rig, &run->claim, "1");
    assert_int_equal(rig_poll(rig, &run->claim), EBB_OK);
    seen = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(seen->steps_n, 1);
    assert_int_equal(seen->steps[0].seq, 0);
    ebb_journal_run_free(seen);
    ebb_journal_run_free(run);
}

static void it_is_written_when_the_journal_is_closed(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");

    add_intent(rig, &run->claim, "1");
    ebb_journal_run_free(run);
    rig_close(rig);
    rig_open(rig);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->steps_n, 1);
    ebb_journal_run_free(run);
}

/* Readings that last: a script may begin more than a queue has room for. */
static void many_of_them_do_not_wait_for_another_job(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    int before = syncs_so_far();

    for (int i = 0; i < 1000; i++) {
        char path[16];
        ebb_journal_step step = rig_step(path, NULL);

        snprintf(path, sizeof path, "%d", i);
        assert_int_equal(ebb_journal_add_intent(rig->journal, &run->claim,
                                                &step, (ebb_journal_done){ 0 },
                                                &rig->err),
                         0);
    }
    for (int i = 0; i < 1000 && syncs_so_far() == before; i++)
        usleep(10000);
    assert_true(syncs_so_far() > before);
    ebb_journal_run_free(run);
}

#define T(f) cmocka_unit_test_setup_teardown(f, make_on_vfs, clear_on_vfs)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(commits_write_over_what_is_there),
        cmocka_unit_test_setup_teardown(a_long_run_does_not_make_the_log_long,
                                        rig_make, rig_clear),
        T(a_disk_that_is_nearly_full_is_no_reason_to_fail),
        T(it_is_written_with_the_outcome),
        T(it_is_written_when_the_run_is_looked_after),
        T(it_is_written_when_the_journal_is_closed),
        T(many_of_them_do_not_wait_for_another_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
