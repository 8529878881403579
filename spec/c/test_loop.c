/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

#include "net/loop.h"

static int64_t steady_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

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

typedef struct trace {
    ebb_loop *loop;
    char text[64];
} trace;

static void note(trace *t, char c)
{
    size_t n = strlen(t->text);

    if (n + 1 < sizeof t->text)
        t->text[n] = c;
}

static void note_a(void *context)
{
    note(context, 'a');
}

static void note_b(void *context)
{
    note(context, 'b');
}

static void note_c_and_defer_a(void *context)
{
    trace *t = context;

    note(t, 'c');
    ebb_loop_defer(t->loop, note_a, t);
}

static void note_d_and_cancel_b(void *context)
{
    trace *t = context;

    note(t, 'd');
    ebb_loop_defer_cancel(t->loop, note_b, t);
}

static void deferred_calls_come_in_order_and_in_the_next_turn(void **state)
{
    trace t = { *state, "" };

    ebb_loop_defer(t.loop, note_c_and_defer_a, &t);
    ebb_loop_defer(t.loop, note_b, &t);
    assert_string_equal(t.text, "");
    ebb_loop_run(t.loop, -1);
    assert_string_equal(t.text, "cb");
    ebb_loop_run(t.loop, -1);
    assert_string_equal(t.text, "cba");
}

static void a_cancelled_call_does_not_come(void **state)
{
    trace t = { *state, "" };

    ebb_loop_defer(t.loop, note_b, &t);
    ebb_loop_defer(t.loop, note_d_and_cancel_b, &t);
    ebb_loop_defer(t.loop, note_b, &t);
    ebb_loop_post(t.loop, note_b, &t);
    ebb_loop_defer(t.loop, note_a, &t);
    ebb_loop_run(t.loop, 0);
    assert_string_equal(t.text, "bda");
}

static void count_up(void *context)
{
    ++*(int *)context;
}

static void the_queue_of_calls_has_a_bound(void **state)
{
    int count = 0, taken = 0;

    while (taken < 1000000 && ebb_loop_defer(*state, count_up, &count) == 0)
        taken++;
    assert_int_equal(taken, 65536);
    ebb_loop_run(*state, 0);
    assert_int_equal(count, 65536);
    assert_int_equal(ebb_loop_defer(*state, count_up, &count), 0);
    ebb_loop_run(*state, 0);
    assert_int_equal(count, 65537);
}

typedef struct poster {
    ebb_loop *loop;
    int count;
} poster;

static void *post_thousand(void *context)
{
    poster *p = context;

    for (int i = 0; i < 1000; i++)
        ebb_loop_post(p->loop, count_up, &p->count);
    return NULL;
}

static void posts_from_threads_all_arrive(void **state)
{
    poster p = { *state, 0 };
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, post_thousand, &p);
    while (p.count < 4000)
        ebb_loop_run(p.loop, -1);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(p.count, 4000);
}

static void a_run_ends_at_its_timeout(void **state)
{
    int64_t start = steady_ms();

    ebb_loop_run(*state, 30);
    assert_in_range(steady_ms() - start, 29, 1000);
    start = steady_ms();
    ebb_loop_run(*state, 0);
    assert_true(steady_ms() - start < 500);
}

static ebb_loop *woken_loop;

static void wake_it(int signum)
{
    (void)signum;
    ebb_loop_wake(woken_loop);
}

static void a_signal_handler_wakes_a_run_without_limit(void **state)
{
    struct sigaction action = { .sa_handler = wake_it }, old;
    struct itimerspec when = { .it_value = { 0, 20000000 } };
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
                              .sigev_signo = SIGUSR1 };
    timer_t timer;

    woken_loop = *state;
    sigaction(SIGUSR1, &action, &old);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &when, NULL);
    ebb_loop_run(*state, -1);
    timer_delete(timer);
    sigaction(SIGUSR1, &old, NULL);
    ebb_loop_wake(*state); /* and one before the run is not lost */
    ebb_loop_run(*state, -1);
}

static void a_due_timer_ends_a_run_without_limit(void **state)
{
    trace t = { *state, "" };
    ebb_loop_timer *timer = ebb_loop_timer_new(*state, note_a, &t);

    ebb_loop_timer_start(timer, 0);
    ebb_loop_run(*state, -1);
    assert_string_equal(t.text, "a");
    ebb_loop_timer_start(timer, 20);
    usleep(30000); /* due before the turn begins */
    ebb_loop_run(*state, -1);
    assert_string_equal(t.text, "aa");
    ebb_loop_timer_free(timer);
}

static void a_timer_starts_anew_and_can_be_cancelled(void **state)
{
    trace t = { *state, "" };
    ebb_loop_timer *a = ebb_loop_timer_new(*state, note_a, &t);
    ebb_loop_timer *b = ebb_loop_timer_new(*state, note_b, &t);
    int64_t start;

    usleep(50000); /* the cached time is old now */
    start = steady_ms();
    ebb_loop_timer_start(a, 40);
    ebb_loop_timer_start(b, 1);
    ebb_loop_timer_start(b, 20000);
    ebb_loop_timer_cancel(b);
    while (t.text[0] == '\0')
        ebb_loop_run(*state, -1);
    assert_string_equal(t.text, "a");
    assert_true(steady_ms() - start >= 39);
    ebb_loop_run(*state, 10);
    assert_string_equal(t.text, "a"); /* once */
    ebb_loop_timer_free(a);
    ebb_loop_timer_free(b);
    ebb_loop_timer_free(NULL);
}

static void the_timeout_for_hosts_is_that_of_the_next_timer(void **state)
{
    trace t = { *state, "" };
    ebb_loop_timer *timer = ebb_loop_timer_new(*state, note_a, &t);

    assert_int_equal(ebb_loop_timeout_ms(*state), 0); /* not polled yet */
    ebb_loop_run(*state, 0);
    assert_int_equal(ebb_loop_timeout_ms(*state), -1);
    ebb_loop_timer_start(timer, 1000);
    usleep(20000);
    assert_in_range(ebb_loop_timeout_ms(*state), 1, 981);
    ebb_loop_defer(*state, note_a, &t);
    assert_int_equal(ebb_loop_timeout_ms(*state), 0);
    ebb_loop_run(*state, 0);
    ebb_loop_timer_free(timer);
    assert_true(ebb_loop_fd(*state) >= 0);
}

typedef struct watched {
    ebb_loop *loop;
    ebb_loop_watch *watch;
    ebb_loop_timer *timer;
    unsigned events;
    int calls, timers;
} watched;

static void remember(void *context, unsigned events)
{
    watched *w = context;

    w->events = events;
    w->calls++;
}

static void a_watch_tells_what_was_asked_for(void **state)
{
    watched w = { .loop = *state };
    int pair[2];
    char byte;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    w.watch = ebb_loop_watch_new(*state, pair[0], remember, &w,
                                 &(ebb_err){ 0 });
    ebb_loop_watch_set(w.watch, EBB_READABLE);
    ebb_loop_run(*state, 5);
    assert_int_equal(w.calls, 0);
    assert_int_equal(write(pair[1], "x", 1), 1);
    ebb_loop_run(*state, -1);
    assert_int_equal(w.events, EBB_READABLE);
    assert_int_equal(read(pair[0], &byte, 1), 1);
    ebb_loop_watch_set(w.watch, EBB_WRITABLE);
    ebb_loop_run(*state, -1);
    assert_int_equal(w.events, EBB_WRITABLE);
    ebb_loop_watch_set(w.watch, 0);
    ebb_loop_run(*state, 5);
    assert_int_equal(w.calls, 2);
    ebb_loop_watch_set(w.watch, EBB_HANGUP);
    shutdown(pair[1], SHUT_WR);
    ebb_loop_run(*state, -1);
    assert_int_equal(w.events, EBB_HANGUP);
    ebb_loop_watch_free(w.watch);
    close(pair[0]);
    close(pair[1]);
}

static void again_at_once(void *context)
{
    watched *w = context;

    w->timers++;
    ebb_loop_timer_start(w->timer, 0);
}

static void a_timer_that_is_always_due_lets_descriptors_have_turns(void **state)
{
    watched w = { .loop = *state };
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    w.watch = ebb_loop_watch_new(*state, pair[0], remember, &w,
                                 &(ebb_err){ 0 });
    ebb_loop_watch_set(w.watch, EBB_WRITABLE);
    w.timer = ebb_loop_timer_new(*state, again_at_once, &w);
    ebb_loop_timer_start(w.timer, 0);
    for (int i = 1; i <= 10; i++) {
        ebb_loop_run(*state, -1);
        assert_true(w.timers >= i && w.timers <= 2 * i);
        assert_true(w.calls >= w.timers);
    }
    ebb_loop_timer_free(w.timer);
    ebb_loop_watch_free(w.watch);
    close(pair[0]);
    close(pair[1]);
}

static void an_error_is_readable_and_hangup_until_the_watch_is_set(void **state)
{
    watched w = { .loop = *state };
    int pipes[2];

    assert_int_equal(pipe(pipes), 0);
    w.watch = ebb_loop_watch_new(*state, pipes[1], remember, &w,
                                 &(ebb_err){ 0 });
    ebb_loop_watch_set(w.watch, EBB_HANGUP);
    close(pipes[0]); /* the write end of such a pipe is in error */
    ebb_loop_run(*state, -1);
    assert_int_equal(w.events, EBB_READABLE | EBB_HANGUP);
    ebb_loop_run(*state, 1000);
    assert_int_equal(w.calls, 2);
    ebb_loop_watch_set(w.watch, 0);
    ebb_loop_run(*state, 5);
    assert_int_equal(w.calls, 2);
    ebb_loop_watch_free(w.watch);
    close(pipes[1]);
}

static void what_cannot_be_watched_is_an_error(void **state)
{
    ebb_err err = { 0 };

    assert_null(ebb_loop_watch_new(*state, 12345, remember, NULL, &err));
    assert_int_equal(err.code, EBB_NETWORK);
}

static void free_all(watched *w)
{
    w->calls++;
    ebb_loop_watch_free(w->watch);
    ebb_loop_timer_free(w->timer);
}

static void free_at_event(void *context, unsigned events)
{
    (void)events;
    free_all(context);
}

static void free_at_timer(void *context)
{
    free_all(context);
}

static void handles_may_be_freed_in_their_own_callback(void **state)
{
    watched w = { .loop = *state };
    int pair[2];

    for (int i = 0; i < 2; i++) {
        w.calls = 0;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        w.watch = ebb_loop_watch_new(*state, pair[0], free_at_event, &w,
                                     &(ebb_err){ 0 });
        w.timer = ebb_loop_timer_new(*state, free_at_timer, &w);
        if (i == 0)
            ebb_loop_timer_start(w.timer, 0);
        else
            ebb_loop_watch_set(w.watch, EBB_WRITABLE);
        ebb_loop_run(*state, -1);
        ebb_loop_run(*state, 0);
        assert_int_equal(w.calls, 1);
        close(pair[0]);
        close(pair[1]);
    }
}

static void a_descriptor_number_may_be_used_again_at_once(void **state)
{
    watched w = { .loop = *state };
    int pipes[2], first;

    assert_int_equal(pipe(pipes), 0);
    first = pipes[0];
    w.watch = ebb_loop_watch_new(*state, first, remember, &w,
                                 &(ebb_err){ 0 });
    ebb_loop_watch_set(w.watch, EBB_READABLE);
    ebb_loop_watch_free(w.watch);
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(pipes[0], first);
    w.watch = ebb_loop_watch_new(*state, first, remember, &w,
                                 &(ebb_err){ 0 });
    assert_non_null(w.watch);
    ebb_loop_watch_set(w.watch, EBB_READABLE);
    assert_int_equal(write(pipes[1], "x", 1), 1);
    ebb_loop_run(*state, -1);
    assert_int_equal(w.calls, 1);
    ebb_loop_watch_free(w.watch);
    close(pipes[0]);
    close(pipes[1]);
}

static void each_signal_is_told(void **state)
{
    int count = 0;
    ebb_loop_signal *signal = ebb_loop_signal_new(*state, SIGUSR2, count_up,
                                                  &count, &(ebb_err){ 0 });

    assert_non_null(signal);
    raise(SIGUSR2);
    while (count == 0)
        ebb_loop_run(*state, -1);
    assert_int_equal(count, 1);
    ebb_loop_signal_free(signal);
    ebb_loop_signal_free(NULL);
}

static void a_hosts_loop_runs_it_and_outlives_it(void **state)
{
    uv_loop_t host;
    int count = 0;
    ebb_loop *loop;
    ebb_loop_timer *timer;

    (void)state;
    uv_loop_init(&host);
    loop = ebb_loop_new(&host, &(ebb_err){ 0 });
    assert_true(ebb_loop_is_hosted(loop));
    timer = ebb_loop_timer_new(loop, count_up, &count);
    ebb_loop_defer(loop, count_up, &count);
    ebb_loop_post(loop, count_up, &count);
    ebb_loop_timer_start(timer, 5);
    ebb_loop_run(loop, 0); /* not ours to run */
    assert_int_equal(count, 0);
    while (count < 3)
        uv_run(&host, UV_RUN_ONCE);
    ebb_loop_timer_free(timer);
    ebb_loop_free(loop);
    uv_run(&host, UV_RUN_DEFAULT); /* ends: nothing is left in it */
    assert_int_equal(uv_loop_close(&host), 0);
}

#define WITH_LOOP(test) \
    cmocka_unit_test_setup_teardown(test, make_loop, free_loop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LOOP(deferred_calls_come_in_order_and_in_the_next_turn),
        WITH_LOOP(a_cancelled_call_does_not_come),
        WITH_LOOP(the_queue_of_calls_has_a_bound),
        WITH_LOOP(posts_from_threads_all_arrive),
        WITH_LOOP(a_run_ends_at_its_timeout),
        WITH_LOOP(a_signal_handler_wakes_a_run_without_limit),
        WITH_LOOP(a_due_timer_ends_a_run_without_limit),
        WITH_LOOP(a_timer_starts_anew_and_can_be_cancelled),
        WITH_LOOP(the_timeout_for_hosts_is_that_of_the_next_timer),
        WITH_LOOP(a_watch_tells_what_was_asked_for),
        WITH_LOOP(a_timer_that_is_always_due_lets_descriptors_have_turns),
        WITH_LOOP(an_error_is_readable_and_hangup_until_the_watch_is_set),
        WITH_LOOP(what_cannot_be_watched_is_an_error),
        WITH_LOOP(handles_may_be_freed_in_their_own_callback),
        WITH_LOOP(a_descriptor_number_may_be_used_again_at_once),
        WITH_LOOP(each_signal_is_told),
        cmocka_unit_test(a_hosts_loop_runs_it_and_outlives_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
