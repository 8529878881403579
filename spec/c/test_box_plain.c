/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/case.h"

/*
 * The tests of the box once more as somebody without rights: no control
 * groups, no uid to give up, nothing that root could do on the way.
 */

#define PLAIN_UID 65534
#define SHOWN_BYTES_MAX 65536

static char dir[] = "/tmp/ebb-plain-XXXXXX";
static char build[PATH_MAX];

static int setup(void **state)
{
    ssize_t n = readlink("/proc/self/exe", build, sizeof build - 1);

    (void)state;
    build[n > 0 ? n : 0] = '\0';
    for (int i = 0; i < 2; i++)
        *strrchr(build, '/') = '\0';
    return mkdtemp(dir) == NULL || chmod(dir, 0755) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

/* The build may be below a directory that only its owner can enter. */
static int copy(const char *name)
{
    char command[2 * PATH_MAX + 64];

    snprintf(command, sizeof command, "cp '%s/%s' %s", build, name, dir);
    return system(command);
}

static void become_plain_and_run(const char *name, int log)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (dup2(log, 1) < 0 || dup2(log, 2) < 0 || chdir("/") < 0 ||
        setenv("EBB_LIBEXEC", dir, 1) < 0 || setgid(PLAIN_UID) < 0 ||
        setuid(PLAIN_UID) < 0)
        _exit(126);
    unsetenv("CMOCKA_MESSAGE_OUTPUT");
    execl(path, name, NULL);
    _exit(127);
}

static void works(const char *program, const char *name)
{
    static char shown[SHOWN_BYTES_MAX];
    int status, log;
    pid_t pid;
    ssize_t n;

    if (geteuid() != 0 || copy("libexec/ebb-agent") != 0 ||
        copy(program) != 0)
        skip();
    log = memfd_create("log", MFD_CLOEXEC);
    pid = fork();
    if (pid == 0)
        become_plain_and_run(name, log);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    n = pread(log, shown, sizeof shown - 1, 0);
    shown[n > 0 ? n : 0] = '\0';
    close(log);
    if (status != 0)
        fail_msg("%s", shown);
}

static void processes_work_for_a_plain_user(void **state)
{
    (void)state;
    works("spec/test_box", "test_box");
}

static void files_work_for_a_plain_user(void **state)
{
    (void)state;
    works("spec/test_box_files", "test_box_files");
}

static void ends_and_freezes_work_for_a_plain_user(void **state)
{
    (void)state;
    works("spec/test_box_life", "test_box_life");
}

static void limits_work_for_a_plain_user(void **state)
{
    (void)state;
    works("spec/test_box_limits", "test_box_limits");
}

static void a_killed_start_leaves_nothing_of_a_plain_user(void **state)
{
    (void)state;
    works("spec/test_box_left", "test_box_left");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_work_for_a_plain_user),
        CASE(files_work_for_a_plain_user, "A09"),
        CASE(ends_and_freezes_work_for_a_plain_user, "A11"),
        CASE(limits_work_for_a_plain_user, "C24"),
        cmocka_unit_test(a_killed_start_leaves_nothing_of_a_plain_user),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
