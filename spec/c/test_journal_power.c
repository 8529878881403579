/* SPDX-License-Identifier: MIT */

/*
 * Power loss and failing disks: A17 and A18 of the cases. What was answered
 * is there, whatever the disk has made of what was not synced.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/journal_power.h"
#include "support/journal_rig.h"

static int make_on_vfs(void **state)
{
    vfs_install();
    return rig_make(state);
}

static int clear_on_vfs(void **state)
{
    vfs_world.on_step = NULL;
    vfs_world.fail_writes = 0;
    vfs_world.fail_syncs = 0;
    vfs_world.fail_reads = 0;
    vfs_world.room = 0;
    rig_clear(state);
    vfs_uninstall();
    return 0;
}

/* ---- power loss ---- */

#define IMAGES_MAX 2000

/* Images of the disk, each with what had been answered when it was taken. */
typedef struct losses {
    const char *folder;
    unsigned seed;
    int steps_n;  /* intents and outcomes to write */
    size_t bytes; /* of each outcome */
    int every;    /* the power is lost at one write or sync of so many */
    int writes;
    int answered; /* written by the test between jobs, under the lock */
    int n;
    int had[IMAGES_MAX];
} losses;

static void image_path(char *to, size_t n, const losses *l, int image,
                       const char *end)
{
    snprintf(to, n, "%s/image-%d%s", l->folder, image, end);
}

/* On the journal's thread, under the VFS's lock. */
static void lose_power(void *context)
{
    losses *l = context;
    char path[256];

    if (l->n == IMAGES_MAX || l->writes++ % l->every != 0)
        return;
    for (int i = 0; i < vfs_world.disks_n; i++) {
        vfs_disk *disk = &vfs_world.disks[i];
        const char *end = strrchr(disk->path, '-');

        if (end == NULL || strcmp(end, "-wal") != 0)
            end = "";
        image_path(path, sizeof path, l, l->n, end);
        vfs_image(disk, path, &l->seed);
    }
    l->had[l->n++] = l->answered;
}

static void count_answered(losses *l, int answered)
{
    pthread_mutex_lock(&vfs_world.lock);
    l->answered = answered;
    pthread_mutex_unlock(&vfs_world.lock);
}

/* Large ones make checkpoints happen. */
static void write_steps(journal_rig *rig, losses *l)
{
    ebb_journal_run *run = rig_claim(rig, "r");
    char *json = rig_json(l->bytes), path[16];

    assert_non_null(run);
    count_answered(l, 0);
    for (int i = 0; i < l->steps_n; i++) {
        snprintf(path, sizeof path, "%d", i / 2 + 1);
        assert_int_equal(i % 2 == 0 ? rig_intent(rig, &run->claim, path)
                                    : rig_outcome(rig, &run->claim, path, json),
                         EBB_OK);
        count_answered(l, i + 1);
    }
    free(json);
    ebb_journal_run_free(run);
}

static void note_problem(void *context, const char *run, const char *what)
{
    (void)context;
    fprintf(stderr, "problem of %s: %s\n", run, what);
}

/* Everything that was answered before the image is in it, and it is whole. */
static void check_image(const losses *l, int image)
{
    journal_rig rig = { 0 };
    ebb_journal_run *run;
    char path[16];

    image_path(rig.path, sizeof rig.path, l, image, "");
    rig_open(&rig);
    assert_non_null(rig.journal);
    assert_int_equal(
        ebb_journal_check(rig.journal, note_problem, NULL, &rig.err), 0);
    run = ebb_journal_claim_run(
        rig.journal,
        &(ebb_journal_claim_config){ .id = "r", .take_over = true }, &rig.err);
    assert_non_null(run);
    assert_true(run->steps_n >= (size_t)(l->had[image] + 1) / 2);
    for (int i = 0; i < l->had[image] / 2; i++) {
        snprintf(path, sizeof path, "%d", i + 1);
        assert_string_equal(run->steps[i].path, path);
        assert_int_equal(run->steps[i].seq, i + 1);
    }
    ebb_journal_run_free(run);
    rig_close(&rig);
}

static void lose_power_everywhere(journal_rig *rig, losses *l)
{
    int checked = 0;

    l->folder = rig->folder;
    l->answered = -1; /* the run itself is not answered yet */
    vfs_world.context = l;
    vfs_world.on_step = lose_power;
    write_steps(rig, l);
    rig_close(rig); /* checkpoints, under the same loss */
    vfs_world.on_step = NULL;
    sqlite3_vfs_register(vfs_real, 1); /* the images are real files */
    for (int i = 0; i < l->n; i++)
        if (l->had[i] >= 0) {
            check_image(l, i);
            checked++;
        }
    print_message("# power lost at %d points\n", checked);
    assert_true(checked >= l->steps_n);
    rig_open(rig);
}

static void power_loss_leaves_every_answered_row_a18(void **state)
{
    losses l = { .steps_n = 16, .bytes = 200, .every = 1, .seed = 1 };

    lose_power_everywhere(*state, &l);
}

static void power_loss_in_a_checkpoint_leaves_them_too_a18(void **state)
{
    losses l = { .steps_n = 40, .bytes = 250000, .every = 97, .seed = 2 };

    lose_power_everywhere(*state, &l);
}

/* ---- commits ---- */

/* Of every file, so far. */
static int syncs_so_far(void)
{
    int syncs = 0;

    pthread_mutex_lock(&vfs_world.lock);
    for (int i = 0; i < vfs_world.disks_n; i++)
        syncs += vfs_world.disks[i].syncs;
    pthread_mutex_unlock(&vfs_world.lock);
    return syncs;
}

static void what_has_gathered_is_one_commit(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    rig_answer answer = { 0 };
    char path[16];
    int before = syncs_so_far(), after;

    /* Held back by the VFS's lock, the first write is a group of its own. */
    pthread_mutex_lock(&vfs_world.lock);
    for (int i = 0; i < 400; i++) {
        ebb_journal_step step = rig_step(path, "1");

        snprintf(path, sizeof path, "%d", i);
        ebb_journal_add_outcome(rig->journal, &run->claim, &step,
                                rig_done(&answer), &rig->err);
        if (i == 0)
            usleep(20000);
    }
    pthread_mutex_unlock(&vfs_world.lock);
    rig_await(rig, &answer, 400);
    after = syncs_so_far();
    assert_int_equal(answer.err.code, EBB_OK);
    assert_in_range(after - before, 1, 6);
    ebb_journal_run_free(run);
}

static void each_lone_write_is_synced(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    int before = syncs_so_far();

    for (int i = 0; i < 10; i++) {
        char path[16];

        snprintf(path, sizeof path, "%d", i);
        assert_int_equal(rig_outcome(rig, &run->claim, path, "1"), EBB_OK);
        assert_true(syncs_so_far() >= before + i + 1);
    }
    ebb_journal_run_free(run);
}

static void a_failing_job_does_not_fail_its_group(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    rig_answer good = { 0 }, bad = { 0 };
    ebb_journal_step step = rig_step("1", "1");

    pthread_mutex_lock(&vfs_world.lock);
    ebb_journal_add_outcome(rig->journal, &run->claim, &step, rig_done(&good),
                            &rig->err);
    usleep(20000);
    for (int i = 0; i < 3; i++) {
        step = rig_step("1", "\"again\"");
        ebb_journal_add_outcome(rig->journal, &run->claim, &step,
                                rig_done(&bad), &rig->err);
        step = rig_step(i == 0 ? "2" : i == 1 ? "3" : "4", "1");
        ebb_journal_add_outcome(rig->journal, &run->claim, &step,
                                rig_done(&good), &rig->err);
    }
    pthread_mutex_unlock(&vfs_world.lock);
    rig_await(rig, &good, 4);
    assert_int_equal(bad.count, 3);
    assert_int_equal(bad.err.code, EBB_JOURNAL);
    assert_int_equal(good.err.code, EBB_OK);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->steps_n, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(run->steps[i].seq, i + 1);
    assert_int_equal(run->steps_count, 4);
    ebb_journal_run_free(run);
}

/* ---- disks that fail ---- */

/* A step fails with words of the message; after the mend it is written. */
static void fails_then_goes_on(journal_rig *rig, int *fault, int code,
                               const char *words)
{
    ebb_journal_run *run = rig_claim(rig, "r");

    assert_non_null(run);
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "1"), EBB_OK);
    *fault = code;
    assert_int_equal(rig_outcome(rig, &run->claim, "2", "2"), EBB_JOURNAL);
    assert_non_null(strstr(rig->err.msg, words));
    assert_non_null(strstr(rig->err.msg, "journal.db"));
    *fault = 0;
    assert_int_equal(rig_outcome(rig, &run->claim, "2", "2"), EBB_OK);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->steps_n, 2);
    assert_int_equal(run->steps[1].seq, 2);
    ebb_journal_run_free(run);
}

static void a_full_disk_is_said_and_nothing_is_half_written_a17(void **state)
{
    fails_then_goes_on(*state, &vfs_world.fail_writes, SQLITE_FULL,
                       "disk is full; free some space");
}

static void a_write_error_is_said(void **state)
{
    fails_then_goes_on(*state, &vfs_world.fail_writes, SQLITE_IOERR_WRITE,
                       "disk reports an error");
}

static void a_sync_error_is_said(void **state)
{
    fails_then_goes_on(*state, &vfs_world.fail_syncs, SQLITE_IOERR_FSYNC,
                       "disk reports an error");
}

static void a_disk_that_turned_read_only_is_said(void **state)
{
    fails_then_goes_on(*state, &vfs_world.fail_writes, SQLITE_READONLY,
                       "may not be written");
}

static void a_read_error_is_said(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    char *json = rig_json(3000000);

    rig_outcome(rig, &run->claim, "1", json);
    ebb_journal_run_free(run);
    rig_close(rig);
    rig_open(rig);
    vfs_world.fail_reads = SQLITE_IOERR_READ;
    assert_null(ebb_journal_get_run(rig->journal, "r", &rig->err));
    assert_int_equal(rig->err.code, EBB_JOURNAL);
    vfs_world.fail_reads = 0;
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_non_null(run);
    ebb_journal_run_free(run);
    free(json);
}

/* What still fits is written, though it was asked for in one group. */
static void one_too_large_for_the_disk_does_not_stop_the_others(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    rig_answer small = { 0 }, large = { 0 };
    char *json = rig_json(2000000);
    ebb_journal_step step = rig_step("0", "1");

    pthread_mutex_lock(&vfs_world.lock);
    vfs_world.fail_writes = SQLITE_FULL;
    vfs_world.room = 1000000;
    ebb_journal_add_outcome(rig->journal, &run->claim, &step, rig_done(&small),
                            &rig->err);
    usleep(20000);
    step = rig_step("1", json);
    ebb_journal_add_outcome(rig->journal, &run->claim, &step, rig_done(&large),
                            &rig->err);
    step = rig_step("2", "2");
    ebb_journal_add_outcome(rig->journal, &run->claim, &step, rig_done(&small),
                            &rig->err);
    pthread_mutex_unlock(&vfs_world.lock);
    rig_await(rig, &small, 2);
    assert_int_equal(small.err.code, EBB_OK);
    assert_int_equal(large.err.code, EBB_JOURNAL);
    free(json);
    ebb_journal_run_free(run);
}

#define T(f) cmocka_unit_test_setup_teardown(f, make_on_vfs, clear_on_vfs)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(power_loss_leaves_every_answered_row_a18),
        T(power_loss_in_a_checkpoint_leaves_them_too_a18),
        T(what_has_gathered_is_one_commit),
        T(each_lone_write_is_synced),
        T(a_failing_job_does_not_fail_its_group),
        T(a_full_disk_is_said_and_nothing_is_half_written_a17),
        T(a_write_error_is_said),
        T(a_sync_error_is_said),
        T(a_disk_that_turned_read_only_is_said),
        T(a_read_error_is_said),
        T(one_too_large_for_the_disk_does_not_stop_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
