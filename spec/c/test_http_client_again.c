/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */

/*
 * The proof that a request was not seen, on real TCP connections whose other
 * end does one thing each. How a call is begun anew with it is tested in
 * test_http_client_once and in spec/faults.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "net/http_client_private.h"
#include "support/peer.h"

#define BODY "body of a request"

typedef struct ends {
    peer client, server;
    ebb_http_call call;
} ends;

/* A connection that has carried a call before, and the head of a new one. */
static ends *kept_connection(void)
{
    ends *e = calloc(1, sizeof *e);
    uint16_t port = 0;
    int listen_fd = peer_listen(&port);
    char bytes[64];

    e->client = peer_connect(port);
    e->server = peer_of(-1);
    while (e->server.fd < 0)
        e->server.fd = accept(listen_fd, NULL, NULL);
    close(listen_fd);
    assert_int_equal(send(e->client.fd, "head", 4, MSG_NOSIGNAL), 4);
    while (recv(e->server.fd, bytes, sizeof bytes, 0) <= 0)
        continue;
    e->call = (ebb_http_call){ .fd = e->client.fd, .reused = true };
    return e;
}

static void free_ends(ends *e)
{
    close(e->client.fd);
    if (e->server.fd >= 0)
        close(e->server.fd);
    free(e);
}

static void hand_over(ends *e)
{
    assert_true(ebb_http_again_mark(&e->call));
    assert_true(e->call.marked);
    e->call.handed = sizeof BODY - 1;
}

static void send_body(const ends *e)
{
    send(e->client.fd, BODY, sizeof BODY - 1, MSG_NOSIGNAL);
    usleep(20000); /* what comes back has come */
}

static bool is_unseen(ends *e)
{
    ebb_http_again_note(&e->call, e->client.fd);
    return e->call.unseen;
}

static void leave(ends *e, bool reset)
{
    if (reset)
        peer_reset(&e->server);
    else
        close(e->server.fd);
    e->server.fd = -1;
    usleep(20000);
}

static void a_peer_that_had_closed_has_not_seen_it(void **state)
{
    ends *e = kept_connection();

    (void)state;
    hand_over(e);
    leave(e, false);
    send_body(e);
    assert_true(is_unseen(e));
    free_ends(e);
}

static void a_body_that_could_not_leave_was_not_seen(void **state)
{
    ends *e = kept_connection();

    (void)state;
    hand_over(e);
    leave(e, true);
    send_body(e);
    assert_true(is_unseen(e));
    free_ends(e);
}

static void a_peer_that_read_it_may_have_acted(void **state)
{
    ends *e = kept_connection();
    char bytes[64];

    (void)state;
    hand_over(e);
    send_body(e);
    assert_int_equal(recv(e->server.fd, bytes, sizeof bytes, 0),
                     sizeof BODY - 1);
    leave(e, false);
    assert_false(is_unseen(e));
    free_ends(e);
}

static void a_peer_that_had_it_unread_may_have_acted(void **state)
{
    (void)state;
    for (int reset = 0; reset <= 1; reset++) {
        ends *e = kept_connection();

        hand_over(e);
        send_body(e);
        leave(e, reset == 1);
        assert_false(is_unseen(e));
        free_ends(e);
    }
}

static void a_peer_that_goes_on_reading_after_its_end_may_have_acted(
    void **state)
{
    ends *e = kept_connection();

    (void)state;
    hand_over(e);
    shutdown(e->server.fd, SHUT_WR);
    send_body(e);
    assert_false(is_unseen(e));
    free_ends(e);
}

static void a_connection_that_has_ended_takes_no_body(void **state)
{
    (void)state;
    for (int reset = 0; reset <= 1; reset++) {
        ends *e = kept_connection();

        leave(e, reset == 1);
        assert_false(ebb_http_again_mark(&e->call));
        free_ends(e);
    }
}

static void nothing_is_claimed_about_what_is_not_tcp(void **state)
{
    ends *e = kept_connection();
    int pair[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    e->call.fd = pair[0];
    assert_true(ebb_http_again_mark(&e->call));
    assert_false(e->call.marked);
    e->call.handed = 1;
    close(pair[1]);
    ebb_http_again_note(&e->call, pair[0]);
    assert_false(e->call.unseen);
    close(pair[0]);
    free_ends(e);
}

static void an_answer_that_began_is_no_end(void **state)
{
    ends *e = kept_connection();

    (void)state;
    hand_over(e);
    leave(e, false);
    e->call.head.bytes = 9;
    assert_false(is_unseen(e));
    assert_false(ebb_http_again(&e->call));
    free_ends(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_that_had_closed_has_not_seen_it),
        cmocka_unit_test(a_body_that_could_not_leave_was_not_seen),
        cmocka_unit_test(a_peer_that_read_it_may_have_acted),
        cmocka_unit_test(a_peer_that_had_it_unread_may_have_acted),
        cmocka_unit_test(
            a_peer_that_goes_on_reading_after_its_end_may_have_acted),
        cmocka_unit_test(a_connection_that_has_ended_takes_no_body),
        cmocka_unit_test(nothing_is_claimed_about_what_is_not_tcp),
        cmocka_unit_test(an_answer_that_began_is_no_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
