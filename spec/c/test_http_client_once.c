/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include "support/calls.h"

/*
 * Connections that die and peers that are silent: a request with a body is
 * received once at most, and each limit ends its call.
 */

#define SOON 5000

static ebb_http_request post(fixture *f)
{
    ebb_http_request request = request_for(&f->o, "POST", f->url);

    request.body = "body";
    request.body_n = 4;
    request.once = true;
    return request;
}

/* A connection that has served one request and is kept open. */
static peer kept_connection(fixture *f)
{
    ebb_http_request request = request_for(&f->o, "GET", f->url);
    peer p;

    start(f, &request);
    p = receive(f, "\r\n\r\n");
    peer_send(&p, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_true(f->o.ok);
    clear_outcome(&f->o);
    ebb_buf_reset(&p.got);
    return p;
}

static void ends_in_network_error_sent(fixture *f, bool sent)
{
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_false(f->o.ok);
    assert_int_equal(f->o.err.code, EBB_NETWORK);
    assert_int_equal(f->o.sent, sent);
}

/* No other connection brings the request again. */
static void nothing_more_comes(fixture *f)
{
    peer p = accept_peer(f->listen_fd, f->loop, 60);

    if (p.fd < 0)
        return;
    assert_false(peer_wait(&p, f->loop, "\r\n\r\n", 60));
    peer_close(&p);
}

static void a_fresh_connection_that_dies_is_an_error(void **state)
{
    fixture *f = *state;

    for (int i = 0; i < 3; i++) {
        ebb_http_request request = post(f);
        peer p;

        start(f, &request);
        p = i == 0 ? accept_peer(f->listen_fd, f->loop, SOON)
                   : receive(f, "body");
        if (i == 2)
            peer_reset(&p);
        else
            peer_close(&p);
        assert_true(run_to_end(&f->o, f->loop, SOON));
        ends_in_network_error_sent(f, i > 0 || f->o.sent);
        nothing_more_comes(f);
        clear_outcome(&f->o);
    }
}

static void a_kept_connection_that_dies_after_the_body_is_an_error(void **state)
{
    fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        peer p = kept_connection(f);
        ebb_http_request request = post(f);

        start(f, &request);
        assert_true(peer_wait(&p, f->loop, "\r\n\r\nbody", SOON));
        if (i == 1)
            peer_reset(&p);
        else
            peer_close(&p);
        ends_in_network_error_sent(f, true);
        nothing_more_comes(f);
        clear_outcome(&f->o);
    }
}

static void a_kept_connection_that_was_closed_is_not_used(void **state)
{
    fixture *f = *state;
    peer p = kept_connection(f);
    ebb_http_request request = post(f);

    peer_close(&p);
    run_for(f->loop, 20);
    start(f, &request);
    p = receive(f, "\r\n\r\nbody");
    peer_send(&p, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_true(f->o.ok);
    peer_close(&p);
    nothing_more_comes(f);
}

/* The connection dies while the request goes out, at any moment of it: the
 * body is whole and received once, or there is an error. */
static void a_connection_that_dies_at_any_moment_sends_once(void **state)
{
    fixture *f = *state;

    for (int turns = 0; turns < 12; turns++) {
        peer p = kept_connection(f);
        ebb_http_request request = post(f);
        peer again;
        int received;

        start(f, &request);
        for (int i = 0; i < turns; i++)
            ebb_loop_run(f->loop, 0);
        peer_read(&p);
        received = peer_has(&p, "body");
        peer_reset(&p);
        again = accept_peer(f->listen_fd, f->loop, 40);
        if (again.fd >= 0 && peer_wait(&again, f->loop, "\r\n\r\nbody", 40)) {
            received++;
            peer_send(&again, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
        assert_true(run_to_end(&f->o, f->loop, SOON));
        assert_in_range(received, 0, 1);
        if (received == 0)
            assert_false(f->o.ok);
        peer_close(&again);
        clear_outcome(&f->o);
    }
}

/* It is told of the body that is not its to hold, as it goes out. */
static void who_does_not_hold_is_told_once(void **state)
{
    fixture *f = *state;
    peer p = kept_connection(f);

    for (size_t n = 4; n <= 262144; n *= 16) {
        ebb_http_request request = post(f);
        char *body = calloc(1, n + 1);

        memset(body, 'x', n);
        request.body = body;
        request.body_n = n;
        request.before_body = note_hold;
        request.unheld = true;
        start(f, &request);
        assert_true(peer_wait(&p, f->loop, body, SOON));
        run_for(f->loop, 5);
        assert_int_equal(f->o.holds, 1);
        assert_true(ebb_http_was_sent(f->o.call));
        peer_send(&p, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        assert_true(run_to_end(&f->o, f->loop, SOON));
        assert_true(f->o.ok);
        assert_int_equal(f->o.holds, 1);
        clear_outcome(&f->o);
        ebb_buf_reset(&p.got);
        free(body);
    }
    peer_close(&p);
}

static void a_large_body_cut_in_the_middle_is_not_sent_again(void **state)
{
    fixture *f = *state;
    peer p = kept_connection(f);
    ebb_http_request request = post(f);
    char *body = calloc(1, 8 << 20);

    request.body = body;
    request.body_n = 8 << 20;
    start(f, &request);
    while (p.got.n < 100000) {
        ebb_loop_run(f->loop, 5);
        peer_read(&p);
    }
    peer_reset(&p);
    ends_in_network_error_sent(f, true);
    nothing_more_comes(f);
    free(body);
}

static peer held_on_a_kept_connection(fixture *f)
{
    peer p = kept_connection(f);
    ebb_http_request request = post(f);

    request.before_body = note_hold;
    start(f, &request);
    assert_true(peer_wait(&p, f->loop, "\r\n\r\n", SOON));
    while (f->o.holds == 0)
        ebb_loop_run(f->loop, 5);
    assert_false(ebb_http_was_sent(f->o.call));
    return p;
}

static void a_connection_that_ends_while_held_is_replaced(void **state)
{
    fixture *f = *state;
    peer p = held_on_a_kept_connection(f);

    peer_close(&p);
    run_for(f->loop, 20);
    ebb_http_continue(f->o.call);
    p = receive(f, "\r\n\r\nbody");
    peer_close(&p); /* once, and no more */
    ends_in_network_error_sent(f, true);
    assert_int_equal(f->o.holds, 1);
    nothing_more_comes(f);
}

static void a_connection_reset_while_held_is_replaced(void **state)
{
    fixture *f = *state;
    peer p = held_on_a_kept_connection(f);

    peer_reset(&p);
    p = receive(f, "\r\n\r\n"); /* the head alone: nobody acts on it */
    run_for(f->loop, 20);
    assert_false(ebb_http_was_sent(f->o.call));
    ebb_http_continue(f->o.call);
    assert_true(peer_wait(&p, f->loop, "\r\n\r\nbody", SOON));
    peer_send(&p, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_true(f->o.ok);
    assert_int_equal(f->o.holds, 1);
    peer_close(&p);
}

static void once_without_a_body_takes_a_fresh_connection(void **state)
{
    fixture *f = *state;
    peer p = kept_connection(f);
    ebb_http_request request = request_for(&f->o, "DELETE", f->url);
    peer fresh;

    request.once = true;
    start(f, &request);
    fresh = receive(f, "\r\n\r\n");
    assert_int_equal(p.got.n, 0);
    peer_close(&fresh);
    ends_in_network_error_sent(f, true);
    nothing_more_comes(f);
    peer_close(&p);
}

static void a_get_may_be_sent_again(void **state)
{
    fixture *f = *state;
    peer p = kept_connection(f);
    ebb_http_request request = request_for(&f->o, "GET", f->url);

    start(f, &request);
    assert_true(peer_wait(&p, f->loop, "\r\n\r\n", SOON));
    peer_close(&p);
    p = receive(f, "\r\n\r\n");
    peer_send(&p, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_true(f->o.ok);
    peer_close(&p);
}

static void a_refused_connection_was_not_sent(void **state)
{
    fixture *f = *state;
    ebb_http_request request = post(f);

    close(f->listen_fd);
    start(f, &request);
    ends_in_network_error_sent(f, false);
    clear_outcome(&f->o);
    request = post(f);
    request.socket_path = "/nonexistent/socket";
    start(f, &request);
    ends_in_network_error_sent(f, false);
    clear_outcome(&f->o);
    request = post(f);
    request.url = "http://no-such-name.invalid/";
    start(f, &request);
    assert_true(run_to_end(&f->o, f->loop, 20000));
    assert_int_equal(f->o.err.code, EBB_NETWORK);
    f->listen_fd = -1;
}

/* ---- limits ---- */

static void ends_in_timeout(fixture *f, int64_t limit_ms, const char *words)
{
    int64_t began = peer_now_ms();

    assert_true(run_to_end(&f->o, f->loop, limit_ms + 1000));
    assert_in_range(peer_now_ms() - began, limit_ms - 60, limit_ms + 1000);
    assert_int_equal(f->o.err.code, EBB_TIMEOUT);
    if (strstr(f->o.err.msg, words) == NULL)
        fail_msg("%s", f->o.err.msg);
    clear_outcome(&f->o);
}

static void a_connection_that_is_not_made_ends_at_its_limit(void **state)
{
    fixture *f = *state;
    ebb_http_request request = post(f);
    peer fill[40];
    uint16_t port = 0;
    char url[64];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t n = sizeof at;

    /* A full backlog drops what comes. */
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 0), 0);
    getsockname(fd, (struct sockaddr *)&at, &n);
    port = ntohs(at.sin_port);
    for (int i = 0; i < 40; i++) {
        fill[i] = peer_of(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
        connect(fill[i].fd, (struct sockaddr *)&at, sizeof at);
    }
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", port);
    request.url = url;
    request.limits.connect_ms = 200;
    start(f, &request);
    ends_in_timeout(f, 200, "not connected within 200 ms");
    for (int i = 0; i < 40; i++)
        peer_close(&fill[i]);
    close(fd);
}

static void a_silent_server_ends_at_the_first_byte_limit(void **state)
{
    fixture *f = *state;
    ebb_http_request request = post(f);
    peer p;

    request.limits.first_byte_ms = 150;
    start(f, &request);
    p = receive(f, "body");
    ends_in_timeout(f, 150, "no byte of the answer came within 150 ms");
    assert_true(peer_wait_end(&p, f->loop, SOON));
    peer_close(&p);
    request = request_for(&f->o, "GET", f->url); /* and without a body */
    request.limits.first_byte_ms = 150;
    start(f, &request);
    ends_in_timeout(f, 150, "no byte of the answer came within 150 ms");
}

static void an_answer_that_stops_ends_at_the_idle_limit(void **state)
{
    fixture *f = *state;
    ebb_http_request request = post(f);
    peer p;

    request.limits.idle_ms = 200;
    request.limits.first_byte_ms = 5000;
    start(f, &request);
    p = receive(f, "body");
    peer_send(&p, "HTTP/1.1 200 OK\r\n\r\n");
    for (int i = 0; i < 4; i++) { /* slow is not idle */
        run_for(f->loop, 100);
        peer_send(&p, "x");
    }
    assert_int_equal(f->o.dones, 0);
    run_for(f->loop, 20);
    ends_in_timeout(f, 180, "no byte moved within 200 ms");
    peer_close(&p);
}

static void an_upload_that_is_not_read_ends_at_the_idle_limit(void **state)
{
    fixture *f = *state;
    ebb_http_request request = post(f);
    char *body = calloc(1, 32 << 20);
    peer p;

    request.body = body;
    request.body_n = 32 << 20;
    request.limits.idle_ms = 200;
    start(f, &request);
    p = accept_peer(f->listen_fd, f->loop, SOON);
    ends_in_timeout(f, 200, "no byte moved within 200 ms");
    peer_close(&p);
    free(body);
}

static void a_call_that_goes_on_ends_at_the_total_limit(void **state)
{
    fixture *f = *state;
    ebb_http_request request = post(f);
    int64_t began = peer_now_ms();
    peer p;

    request.limits.total_ms = 300;
    start(f, &request);
    p = receive(f, "body");
    peer_send(&p, "HTTP/1.1 200 OK\r\n\r\n");
    while (f->o.dones == 0 && peer_now_ms() - began < SOON) {
        peer_send(&p, "x");
        run_for(f->loop, 10);
    }
    assert_in_range(peer_now_ms() - began, 290, 1300);
    assert_int_equal(f->o.err.code, EBB_TIMEOUT);
    assert_non_null(strstr(f->o.err.msg, "not done within 300 ms"));
    peer_close(&p);
}

static void time_while_held_is_not_idle(void **state)
{
    fixture *f = *state;
    ebb_http_request request = post(f);
    peer p;

    request.before_body = note_hold;
    request.limits.idle_ms = 100;
    request.limits.first_byte_ms = 100;
    start(f, &request);
    p = receive(f, "\r\n\r\n");
    run_for(f->loop, 250);
    assert_int_equal(f->o.dones, 0);
    ebb_http_continue(f->o.call);
    ends_in_timeout(f, 100, "within 100 ms");
    peer_close(&p);
}

#define CALLED(test) \
    cmocka_unit_test_setup_teardown(test, calls_setup, calls_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CALLED(a_fresh_connection_that_dies_is_an_error),
        CALLED(a_kept_connection_that_dies_after_the_body_is_an_error),
        CALLED(a_kept_connection_that_was_closed_is_not_used),
        CALLED(a_connection_that_dies_at_any_moment_sends_once),
        CALLED(who_does_not_hold_is_told_once),
        CALLED(a_large_body_cut_in_the_middle_is_not_sent_again),
        CALLED(a_connection_that_ends_while_held_is_replaced),
        CALLED(a_connection_reset_while_held_is_replaced),
        CALLED(once_without_a_body_takes_a_fresh_connection),
        CALLED(a_get_may_be_sent_again),
        CALLED(a_refused_connection_was_not_sent),
        CALLED(a_connection_that_is_not_made_ends_at_its_limit),
        CALLED(a_silent_server_ends_at_the_first_byte_limit),
        CALLED(an_answer_that_stops_ends_at_the_idle_limit),
        CALLED(an_upload_that_is_not_read_ends_at_the_idle_limit),
        CALLED(a_call_that_goes_on_ends_at_the_total_limit),
        CALLED(time_while_held_is_not_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
