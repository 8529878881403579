/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

#include "net/loop.h"

typedef struct watched {
    ebb_loop_watch *watch;
    unsigned events;
    int calls;
} watched;

static void remember(void *context, unsigned events)
{
    watched *w = context;

    w->events = events;
    w->calls++;
}

static void a_watch_that_rests_tells_nothing_until_it_is_set(void **state)
{
    ebb_loop *loop = ebb_loop_new(NULL, &(ebb_err){ 0 });
    watched w = { 0 };
    int pair[2];

    (void)state;
    alarm(60);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    w.watch = ebb_loop_watch_new(loop, pair[0], remember, &w, &(ebb_err){ 0 });
    ebb_loop_watch_set(w.watch, EBB_READABLE);
    ebb_loop_watch_rest(w.watch); /* nothing comes before it is set again */
    ebb_loop_watch_set(w.watch, EBB_READABLE);
    assert_int_equal(write(pair[1], "x", 1), 1);
    ebb_loop_run(loop, -1);
    assert_int_equal(w.calls, 1);
    ebb_loop_watch_rest(w.watch); /* something does, more than once */
    for (int i = 0; i < 3; i++)
        ebb_loop_run(loop, 5);
    assert_int_equal(w.calls, 1);
    ebb_loop_watch_set(w.watch, EBB_READABLE | EBB_WRITABLE);
    ebb_loop_run(loop, -1);
    assert_int_equal(w.calls, 2);
    assert_int_equal(w.events, EBB_READABLE | EBB_WRITABLE);
    ebb_loop_watch_rest(w.watch);
    ebb_loop_watch_free(w.watch);
    ebb_loop_free(loop);
    close(pair[0]);
    close(pair[1]);
}

/* Else a host's uv_run would wait for an idle connection. */
static void a_hosts_loop_does_not_wait_for_a_watch_that_rests(void **state)
{
    uv_loop_t host;
    int pair[2];
    ebb_loop *loop;
    ebb_loop_watch *watch;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    uv_loop_init(&host);
    loop = ebb_loop_new(&host, &(ebb_err){ 0 });
    watch = ebb_loop_watch_new(loop, pair[0], remember, &(watched){ 0 },
                               &(ebb_err){ 0 });
    assert_int_equal(host.active_handles, 1); /* the loop's own */
    ebb_loop_watch_set(watch, EBB_READABLE);
    assert_int_equal(host.active_handles, 2);
    ebb_loop_watch_rest(watch);
    assert_int_equal(host.active_handles, 1);
    ebb_loop_watch_set(watch, EBB_READABLE);
    assert_int_equal(host.active_handles, 2);
    ebb_loop_watch_free(watch);
    ebb_loop_free(loop);
    uv_run(&host, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&host), 0);
    close(pair[0]);
    close(pair[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_that_rests_tells_nothing_until_it_is_set),
        cmocka_unit_test(a_hosts_loop_does_not_wait_for_a_watch_that_rests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
