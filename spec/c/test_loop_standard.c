/* SPDX-License-Identifier: MIT */

/* A loop in a process whose standard descriptors are closed. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

#include "net/loop.h"

/* A loop while fd is closed; what it was is there again afterwards. */
static ebb_loop *open_without(int fd, void *host_loop, ebb_err *err)
{
    int kept = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    ebb_loop *loop;

    close(fd);
    loop = ebb_loop_new(host_loop, err);
    dup2(kept, fd);
    close(kept);
    return loop;
}

static void a_closed_one_is_an_error_that_names_it(void **state)
{
    static const char *const named[] = { "descriptor 0 is closed",
                                         "descriptor 1 is closed",
                                         "descriptor 2 is closed" };

    (void)state;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        ebb_err err = { 0 };
        ebb_loop *loop = open_without(fd, NULL, &err);
        assert_null(loop);
        assert_int_equal(err.code, EBB_UNSUPPORTED);
        assert_non_null(strstr(err.msg, named[fd]));
        assert_non_null(strstr(err.msg, "/dev/null"));
    }
}

static void one_that_is_null_is_open(void **state)
{
    int kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    ebb_err err = { 0 };
    ebb_loop *loop;

    (void)state;
    dup2(null, STDIN_FILENO);
    loop = ebb_loop_new(NULL, &err);
    dup2(kept, STDIN_FILENO);
    close(kept);
    close(null);
    assert_non_null(loop);
    ebb_loop_free(loop);
}

static void a_hosts_loop_is_the_hosts_concern(void **state)
{
    uv_loop_t host;
    ebb_err err = { 0 };
    ebb_loop *loop;

    (void)state;
    assert_int_equal(uv_loop_init(&host), 0);
    loop = open_without(STDIN_FILENO, &host, &err);
    assert_non_null(loop);
    ebb_loop_free(loop);
    uv_run(&host, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&host), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_one_is_an_error_that_names_it),
        cmocka_unit_test(one_that_is_null_is_open),
        cmocka_unit_test(a_hosts_loop_is_the_hosts_concern),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
