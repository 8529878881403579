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

#define BODY       "body of a request"
#define HEAD       "next"
#define HEAD_BYTES ((ssize_t)sizeof HEAD - 1)

/* Where the head is when the body is handed over. */
typedef enum way {
    ON_ITS_WAY,
    HELD_BACK, /* until the body goes out with it */
    IN_ONE     /* with the body */
} way;

typedef struct ends {
    peer client, server;
    ebb_http_call call;
    way way;
} ends;

/* A connection that has carried a call before, and the head of a new one. */
static ends *kept_connection(const way *how)
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
    e->way = *how;
    e->call = (ebb_http_call){ .fd = e->client.fd,
                               .corked = -1,
                               .reused = true,
                               .connected = *how != IN_ONE,
                               .body.n = sizeof BODY - 1 };
    if (*how == HELD_BACK) {
        ebb_http_idle_cork(&e->call, e->client.fd);
        assert_int_equal(send(e->client.fd, HEAD, HEAD_BYTES, MSG_NOSIGNAL),
                         HEAD_BYTES);
    }
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
    e->call.body.handed = sizeof BODY - 1;
}

static void send_body(ends *e)
{
    if (e->way == IN_ONE)
        send(e->client.fd, HEAD BODY, sizeof HEAD BODY - 1, MSG_NOSIGNAL);
    else
        send(e->client.fd, BODY, sizeof BODY - 1, MSG_NOSIGNAL);
    ebb_http_idle_uncork(&e->call);
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
    ends *e = kept_connection(*state);

    hand_over(e);
    leave(e, false);
    send_body(e);
    assert_true(is_unseen(e));
    free_ends(e);
}

static void a_body_that_could_not_leave_was_not_seen(void **state)
{
    ends *e = kept_connection(*state);

    hand_over(e);
    leave(e, true);
    send_body(e);
    assert_true(is_unseen(e));
    free_ends(e);
}

/* A connection that is closed sends what waits in it, unless it is told. */
static void what_was_not_seen_does_not_leave_later(void **state)
{
    ends *e = kept_connection(*state);
    char bytes[64];

    ebb_http_idle_cork(&e->call, e->client.fd);
    hand_over(e);
    send(e->client.fd, BODY, sizeof BODY - 1, MSG_NOSIGNAL);
    assert_true(is_unseen(e));
    close(e->client.fd);
    usleep(20000);
    assert_true(recv(e->server.fd, bytes, sizeof bytes, 0) <= 0);
    e->client.fd = e->server.fd;
    e->server.fd = -1;
    free_ends(e);
}

static void a_peer_that_read_it_may_have_acted(void **state)
{
    ends *e = kept_connection(*state);
    char bytes[64];

    hand_over(e);
    send_body(e);
    /* A head that was held back comes in one piece with the body. */
    assert_int_equal(recv(e->server.fd, bytes, sizeof bytes, 0),
                     sizeof BODY - 1 + (e->way != ON_ITS_WAY ? HEAD_BYTES : 0));
    leave(e, false);
    assert_false(is_unseen(e));
    free_ends(e);
}

static void a_peer_that_had_it_unread_may_have_acted(void **state)
{
    for (int reset = 0; reset <= 1; reset++) {
        ends *e = kept_connection(*state);

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
    ends *e = kept_connection(*state);

    hand_over(e);
    shutdown(e->server.fd, SHUT_WR);
    send_body(e);
    assert_false(is_unseen(e));
    free_ends(e);
}

static void a_connection_that_has_ended_takes_no_body(void **state)
{
    for (int reset = 0; reset <= 1; reset++) {
        ends *e = kept_connection(*state);

        leave(e, reset == 1);
        assert_false(ebb_http_again_mark(&e->call));
        free_ends(e);
    }
}

static void nothing_is_claimed_about_what_is_not_tcp(void **state)
{
    ends *e = kept_connection(*state);
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    e->call.fd = pair[0];
    assert_true(ebb_http_again_mark(&e->call));
    assert_false(e->call.marked);
    e->call.body.handed = 1;
    close(pair[1]);
    ebb_http_again_note(&e->call, pair[0]);
    assert_false(e->call.unseen);
    close(pair[0]);
    free_ends(e);
}

/* As one on a kernel that does not count, such as gVisor's. */
static void what_counts_nothing_proves_nothing(void **state)
{
    uint16_t port = 0;
    int listen_fd = peer_listen(&port);
    peer client = peer_connect(port);
    ebb_http_call call = { .fd = client.fd, .corked = -1, .reused = true };

    (void)state;
    assert_true(ebb_http_again_mark(&call));
    assert_false(call.marked);
    close(client.fd);
    close(listen_fd);
}

/* Which of them the request went out on is not known, then. */
static void what_another_connection_counts_proves_nothing(void **state)
{
    ends *e = kept_connection(*state), *other = kept_connection(*state);

    hand_over(e);
    send_body(e);
    ebb_http_again_note(&e->call, other->client.fd);
    assert_false(e->call.unseen);
    free_ends(e);
    free_ends(other);
}

/* A connection to a port of 127.0.0.1 from a port that others have, too. */
static int connect_from(uint16_t *from, uint16_t to)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(*from) };
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    getsockname(fd, (struct sockaddr *)&at, &n);
    *from = ntohs(at.sin_port);
    at.sin_port = htons(to);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void connections_from_one_port_are_told_apart(void **state)
{
    ebb_http_client *client = calloc(1, sizeof *client);
    ebb_http_ends which = { .local = "127.0.0.1", .remote = "127.0.0.1" };
    uint16_t from = 0, to[2] = { 0, 0 };
    int listen_fd[2], fd[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        listen_fd[i] = peer_listen(&to[i]);
        fd[i] = connect_from(&from, to[i]);
        which.local_port = from;
        which.remote_port = to[i];
        ebb_http_idle_add(client, fd[i], &which);
    }
    for (int i = 0; i < 2; i++) {
        which.remote_port = to[i];
        assert_int_equal(ebb_http_idle_find(client, &which), fd[i]);
    }
    which.remote_port = 1; /* as through a proxy: which of them? */
    assert_int_equal(ebb_http_idle_find(client, &which), -1);
    ebb_http_idle_del(client, fd[1]);
    assert_int_equal(ebb_http_idle_find(client, &which), fd[0]);
    which.remote = "127.0.0.2";
    assert_int_equal(ebb_http_idle_find(client, &which), -1);
    which.remote = "127.0.0.1";
    which.local = "127.0.0.2";
    assert_int_equal(ebb_http_idle_find(client, &which), -1);
    which.local = "127.0.0.1";
    ebb_http_idle_del(client, fd[0]);
    assert_int_equal(ebb_http_idle_find(client, &which), -1);
    close(fd[0]);
    close(fd[1]);
    close(listen_fd[0]);
    close(listen_fd[1]);
    free(client);
}

static void the_oldest_connection_makes_room(void **state)
{
    ebb_http_client *client = calloc(1, sizeof *client);
    ebb_http_ends which = { .local = "::1", .remote = "::1" };
    char far[EBB_HTTP_ADDRESS_BYTES + 1];

    (void)state;
    for (int i = 0; i <= EBB_HTTP_IDLE_MAX; i++) {
        which.local_port = which.remote_port = i + 1;
        ebb_http_idle_add(client, i, &which);
        ebb_http_idle_add(client, i, &which); /* still one */
        assert_int_equal(ebb_http_idle_find(client, &which), i);
    }
    which.local_port = which.remote_port = 1;
    assert_int_equal(ebb_http_idle_find(client, &which), -1);
    which.local_port = which.remote_port = 2;
    assert_int_equal(ebb_http_idle_find(client, &which), 1);
    memset(far, '1', sizeof far - 1);
    far[sizeof far - 1] = '\0';
    which.remote = far; /* longer than any */
    ebb_http_idle_add(client, 1, &which);
    assert_int_equal(ebb_http_idle_find(client, &which), -1);
    free(client);
}

static void a_closed_connection_makes_room_first(void **state)
{
    ebb_http_client *client = calloc(1, sizeof *client);
    ebb_http_ends which = { .local = "::1", .remote = "::1" };

    (void)state;
    for (int i = 0; i < 3 * EBB_HTTP_IDLE_MAX; i++) {
        which.local_port = which.remote_port = i + 1;
        ebb_http_idle_add(client, i, &which);
        if (i > 0)
            ebb_http_idle_del(client, i);
    }
    which.local_port = which.remote_port = 1;
    assert_int_equal(ebb_http_idle_find(client, &which), 0);
    free(client);
}

static void an_answer_that_began_is_no_end(void **state)
{
    ends *e = kept_connection(*state);

    hand_over(e);
    leave(e, false);
    e->call.head.bytes = 9;
    assert_false(is_unseen(e));
    assert_false(ebb_http_again(&e->call));
    free_ends(e);
}

#define EACH(test)                                                             \
    cmocka_unit_test_prestate(test, &on_its_way),                              \
        { #test ", its head held back", test, NULL, NULL, &held_back },        \
    {                                                                          \
#test ", in one with its head", test, NULL, NULL, &in_one              \
    }

int main(void)
{
    static way on_its_way = ON_ITS_WAY, held_back = HELD_BACK, in_one = IN_ONE;
    const struct CMUnitTest tests[] = {
        EACH(a_peer_that_had_closed_has_not_seen_it),
        EACH(a_body_that_could_not_leave_was_not_seen),
        EACH(what_was_not_seen_does_not_leave_later),
        EACH(a_peer_that_read_it_may_have_acted),
        EACH(a_peer_that_had_it_unread_may_have_acted),
        EACH(a_peer_that_goes_on_reading_after_its_end_may_have_acted),
        EACH(a_connection_that_has_ended_takes_no_body),
        EACH(nothing_is_claimed_about_what_is_not_tcp),
        EACH(what_another_connection_counts_proves_nothing),
        EACH(an_answer_that_began_is_no_end),
        cmocka_unit_test(what_counts_nothing_proves_nothing),
        cmocka_unit_test(connections_from_one_port_are_told_apart),
        cmocka_unit_test(the_oldest_connection_makes_room),
        cmocka_unit_test(a_closed_connection_makes_room_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
