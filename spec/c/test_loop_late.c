/* SPDX-License-Identifier: MIT */

/* A loop that comes late: what is ready comes before what is due. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/loop.h"

static int make_loop(void **state)
{
    *state = ebb_loop_new(NULL, &(ebb_err){ 0 });
    alarm(60);
    return *state == NULL ? -1 : 0;
}

static int free_loop(void **state)
{
    ebb_loop_free(*state);
    return 0;
}

/* A pipe's end that is watched, and a timer. */
typedef struct late {
    ebb_loop *loop;
    char trace[8]; /* w: the watch, t: the timer */
    int ends[2];
    ebb_loop_watch *watch;
    ebb_loop_timer *timer;
    int then; /* the watch cancels (1) or frees (2) the timer */
} late;

static void note(late *l, char c)
{
    size_t n = strlen(l->trace);

    assert_true(n + 1 < sizeof l->trace);
    l->trace[n] = c;
}

static void note_timer(void *context)
{
    note(context, 't');
}

static void note_byte(void *context, unsigned events)
{
    late *l = context;
    char byte;

    (void)events;
    assert_int_equal(read(l->ends[0], &byte, 1), 1);
    note(l, 'w');
    if (l->then == 1)
        ebb_loop_timer_cancel(l->timer);
    if (l->then == 2) {
        ebb_loop_timer_free(l->timer);
        l->timer = NULL;
    }
}

static void open_late(late *l, ebb_loop *loop, int then)
{
    *l = (late){ .loop = loop, .then = then };
    assert_int_equal(pipe(l->ends), 0);
    l->watch =
        ebb_loop_watch_new(loop, l->ends[0], note_byte, l, &(ebb_err){ 0 });
    ebb_loop_watch_set(l->watch, EBB_READABLE);
    l->timer = ebb_loop_timer_new(loop, note_timer, l);
}

static void close_late(late *l)
{
    ebb_loop_timer_free(l->timer);
    ebb_loop_watch_free(l->watch);
    close(l->ends[0]);
    close(l->ends[1]);
}

static void what_is_ready_comes_before_what_is_due(void **state)
{
    static const char *const traces[] = { "wt", "w", "w" };
    late l;

    for (int then = 0; then < 3; then++) {
        open_late(&l, *state, then);
        ebb_loop_timer_start(l.timer, 5);
        usleep(20000);
        assert_int_equal(write(l.ends[1], "x", 1), 1);
        for (int i = 0; i < 3; i++)
            ebb_loop_run(*state, 2);
        assert_string_equal(l.trace, traces[then]);
        close_late(&l);
    }
}

/* As a call does that has been told a part: it looks when its time is up. */
static void note_part(void *context, unsigned events)
{
    late *l = context;

    (void)events;
    if (strlen(l->trace) < 4)
        note(l, 'w');
    ebb_loop_timer_start(l->timer, 0);
}

static void what_is_always_ready_puts_off_nothing_that_is_due(void **state)
{
    late l;

    open_late(&l, *state, 0);
    ebb_loop_watch_free(l.watch);
    l.watch = ebb_loop_watch_new(*state, l.ends[0], note_part, &l,
                                 &(ebb_err){ 0 });
    ebb_loop_watch_set(l.watch, EBB_READABLE);
    assert_int_equal(write(l.ends[1], "x", 1), 1);
    for (int i = 0; i < 20 && strchr(l.trace, 't') == NULL; i++)
        ebb_loop_run(*state, 2);
    assert_non_null(strchr(l.trace, 't'));
    close_late(&l);
}

static int held_up_fd;

/* As a program that is stopped while it waits. */
static void hold_up(int signum)
{
    struct timespec pause = { 0, 80000000 };

    (void)signum;
    nanosleep(&pause, NULL);
    if (write(held_up_fd, "x", 1) != 1)
        _exit(1);
}

static void a_wait_that_is_held_up_looks_at_what_is_ready_first(void **state)
{
    struct sigaction action = { .sa_handler = hold_up }, old;
    struct itimerspec when = { .it_value = { 0, 10000000 } };
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
                              .sigev_signo = SIGUSR2 };
    timer_t timer;
    late l;

    open_late(&l, *state, 0);
    held_up_fd = l.ends[1];
    sigaction(SIGUSR2, &action, &old);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    ebb_loop_timer_start(l.timer, 40);
    timer_settime(timer, 0, &when, NULL);
    while (strlen(l.trace) < 2)
        ebb_loop_run(*state, -1);
    assert_string_equal(l.trace, "wt");
    timer_delete(timer);
    sigaction(SIGUSR2, &old, NULL);
    close_late(&l);
}

#define WITH_LOOP(test)                                                        \
    cmocka_unit_test_setup_teardown(test, make_loop, free_loop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LOOP(what_is_ready_comes_before_what_is_due),
        WITH_LOOP(what_is_always_ready_puts_off_nothing_that_is_due),
        WITH_LOOP(a_wait_that_is_held_up_looks_at_what_is_ready_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
