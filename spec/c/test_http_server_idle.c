/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include "support/served.h"

/* What a client that stands still, or sends what it likes, costs the server. */

#define HEAD_MS 200
#define IDLE_MS 400
#define LATE    3000 /* by then it has been cut off */
#define OK_200  "HTTP/1.1 200 OK\r\n"
#define LARGE   (8u << 20)

static void count_close(void *context, ebb_exchange *e)
{
    fixture *f = context;

    (void)e;
    f->closed++;
}

static int take(void *context, ebb_exchange *e, const char *bytes, size_t n)
{
    fixture *f = context;

    (void)e;
    return ebb_buf_add(&f->seen, bytes, n);
}

static void body_ended(void *context, ebb_exchange *e)
{
    (void)context;
    ebb_exchange_reply(e, 200, NULL, "whole", 5);
}

static void reply_large(ebb_exchange *e)
{
    char *bytes = calloc(1, LARGE);

    assert_non_null(bytes);
    ebb_exchange_reply(e, 200, NULL, bytes, LARGE);
    free(bytes);
}

static void handle(void *context, ebb_exchange *e)
{
    fixture *f = context;
    const char *path = ebb_exchange_path(e);

    f->requests++;
    f->last = e;
    ebb_exchange_on_close(e, count_close, f);
    if (strcmp(path, "/body") == 0) {
        ebb_exchange_receive(e, take, body_ended, f);
    } else if (strcmp(path, "/collect") == 0) {
        ebb_exchange_collect(e, 1000, body_ended, f);
    } else if (strcmp(path, "/patient") == 0) {
        ebb_exchange_set_idle(e, 0);
        ebb_exchange_receive(e, take, body_ended, f);
    } else if (strcmp(path, "/paused") == 0) {
        ebb_exchange_pause(e);
        ebb_exchange_receive(e, take, body_ended, f);
    } else if (strcmp(path, "/large") == 0) {
        reply_large(e);
    } else if (strcmp(path, "/later") != 0) {
        ebb_exchange_reply(e, 200, NULL, "now", 3);
    }
}

static int setup(void **state)
{
    ebb_http_server_config config;
    fixture *f;

    if (serve(state, handle) != 0)
        return -1;
    f = *state;
    ebb_http_server_close(f->server);
    ebb_http_server_config_init(&config);
    config.host = "127.0.0.1";
    config.head_ms = HEAD_MS;
    config.idle_ms = IDLE_MS;
    config.connections_max = 4;
    open_server(f, &config);
    return 0;
}

/* The connection ends between the two times. */
static void ends_within(fixture *f, peer *p, int64_t least, int64_t most)
{
    int64_t begun = peer_now_ms();

    assert_true(peer_wait_end(p, f->loop, most));
    assert_true(peer_now_ms() - begun >= least);
    peer_close(p);
}

static void a_head_that_stands_still_is_cut_off(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "GET / HTTP/1.1\r\nHost: a");

    ends_within(f, &p, HEAD_MS / 2, LATE);
    assert_int_equal(f->requests, 0);
}

/* Sends a byte of it every few ms until the server has had enough. */
static void drip(fixture *f, peer *p, const char *bytes)
{
    int64_t end = peer_now_ms() + LATE;

    for (size_t i = 0; !peer_wait_end(p, f->loop, HEAD_MS / 8); i++) {
        assert_true(peer_now_ms() < end);
        if (bytes[i] == '\0')
            i = strlen(bytes) - 1;
        peer_send_n(p, bytes + i, 1);
    }
    peer_close(p);
}

static void a_head_byte_by_byte_is_cut_off(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "GET / HTTP/1.1\r\n");

    drip(f, &p, "X-Slow: a");
    assert_int_equal(f->requests, 0);
}

static void a_request_line_byte_by_byte_is_cut_off(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "GET");

    drip(f, &p, " /aaaa");
    assert_int_equal(f->requests, 0);
}

static void a_connection_without_a_request_is_cut_off(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "");

    ends_within(f, &p, IDLE_MS / 2, LATE);
    p = ask(f, "GET / HTTP/1.1\r\n" HOST "\r\n");
    assert_true(peer_wait(&p, f->loop, OK_200, SOON));
    ends_within(f, &p, IDLE_MS / 2, LATE);
}

static void a_body_that_stands_still_is_cut_off(void **state)
{
    static const char *const requests[] = {
        "POST /body HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nhalf",
        "POST /body HTTP/1.1\r\n" HOST
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhal",
        "POST /collect HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nhalf",
        "POST /body HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\n",
        "POST /answered HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nhalf",
    };
    fixture *f = *state;

    for (int i = 0; i < 5; i++) {
        peer p = ask(f, requests[i]);
        ends_within(f, &p, IDLE_MS / 2, LATE);
        assert_int_equal(f->requests, i + 1);
        run_for(f->loop, 20);
        assert_int_equal(f->closed, i + 1);
    }
}

static void a_slow_body_is_taken_to_its_end(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "POST /body HTTP/1.1\r\n" HOST "Content-Length: 8\r\n\r\n");

    for (int i = 0; i < 8; i++) {
        run_for(f->loop, IDLE_MS / 4);
        peer_send(&p, "x");
    }
    assert_true(peer_wait(&p, f->loop, "whole", SOON));
    assert_int_equal(f->seen.n, 8);
    peer_close(&p);
}

static void a_handler_may_be_patient(void **state)
{
    fixture *f = *state;
    peer p =
        ask(f, "POST /patient HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nx");

    run_for(f->loop, 3 * IDLE_MS);
    peer_send(&p, "y");
    assert_true(peer_wait(&p, f->loop, "whole", SOON));
    peer_close(&p);
}

static void the_time_of_the_handler_is_not_the_client_s(void **state)
{
    fixture *f = *state;
    peer later = ask(f, "GET /later HTTP/1.1\r\n" HOST "\r\n");
    peer paused;

    while (f->requests < 1)
        ebb_loop_run(f->loop, 5);
    run_for(f->loop, 3 * IDLE_MS);
    ebb_exchange_reply(f->last, 200, NULL, "late", 4);
    assert_true(peer_wait(&later, f->loop, "late", SOON));
    peer_close(&later);
    for (int i = 0; i < 2; i++) {
        paused = ask(f, "POST /paused HTTP/1.1\r\n" HOST
                        "Content-Length: 4\r\n\r\n");
        if (i == 0)
            peer_send(&paused, "half");
        run_for(f->loop, 3 * IDLE_MS);
        assert_int_equal(f->requests, 2 + i);
        ebb_exchange_resume(f->last);
        if (i == 1)
            peer_send(&paused, "half");
        assert_true(peer_wait(&paused, f->loop, "whole", SOON));
        peer_close(&paused);
    }
}

static void an_answer_that_nobody_takes_is_cut_off(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "GET /large HTTP/1.1\r\n" HOST "\r\n");
    int64_t end = peer_now_ms() + LATE;

    while (f->closed == 0) {
        assert_true(peer_now_ms() < end);
        ebb_loop_run(f->loop, 20);
    }
    peer_close(&p);
    /* One that takes it gets it all. */
    p = ask(f, "GET /large HTTP/1.1\r\n" HOST "\r\n");
    assert_true(peer_wait_end(&p, f->loop, LATE));
    assert_true(p.got.n > LARGE);
    peer_close(&p);
}

static void at_the_limit_the_longest_idle_one_makes_way(void **state)
{
    fixture *f = *state;
    peer held[4], next;

    ebb_http_server_config config;
    ebb_http_server_close(f->server);
    ebb_http_server_config_init(&config);
    config.host = "127.0.0.1";
    config.connections_max = 4;
    open_server(f, &config);
    for (int i = 0; i < 4; i++) {
        held[i] = ask(f, i == 1 ? "GET /later HTTP/1.1\r\n" HOST "\r\n"
                                : "GET / HTTP/1.1\r\n" HOST "\r\n");
        if (i != 1)
            assert_true(peer_wait(&held[i], f->loop, OK_200, SOON));
        run_for(f->loop, 20);
    }
    next = ask(f, "GET / HTTP/1.1\r\n" HOST "\r\n");
    assert_true(peer_wait(&next, f->loop, OK_200, LATE + SOON));
    assert_true(peer_wait_end(&held[0], f->loop, SOON));
    assert_int_equal(f->closed, 4); /* /later is still open */
    for (int i = 0; i < 4; i++)
        peer_close(&held[i]);
    peer_close(&next);
}

static void garbage_behind_a_request_ends_the_connection(void **state)
{
    static const char *const garbage[] = {
        "\1\2\3 not http\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    };
    fixture *f = *state;

    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        char bytes[512];
        peer p;
        snprintf(bytes, sizeof bytes, "GET / HTTP/1.1\r\n" HOST "\r\n%s",
                 garbage[i]);
        p = ask(f, bytes);
        assert_true(peer_wait(&p, f->loop, "now", SOON));
        assert_true(peer_wait_end(&p, f->loop, LATE));
        peer_close(&p);
        p = ask(f, "GET / HTTP/1.1\r\n" HOST "\r\n");
        assert_true(peer_wait(&p, f->loop, OK_200, SOON));
        peer_close(&p);
    }
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, setup, unserve)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(a_head_that_stands_still_is_cut_off),
        SERVED(a_head_byte_by_byte_is_cut_off),
        SERVED(a_request_line_byte_by_byte_is_cut_off),
        SERVED(a_connection_without_a_request_is_cut_off),
        SERVED(a_body_that_stands_still_is_cut_off),
        SERVED(a_slow_body_is_taken_to_its_end),
        SERVED(a_handler_may_be_patient),
        SERVED(the_time_of_the_handler_is_not_the_client_s),
        SERVED(an_answer_that_nobody_takes_is_cut_off),
        SERVED(at_the_limit_the_longest_idle_one_makes_way),
        SERVED(garbage_behind_a_request_ends_the_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
