/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include "support/served.h"

#include <sys/stat.h>

/* How connections and streamed answers live and end. */

#define OK_200 "HTTP/1.1 200 OK\r\n"

static void count_close(void *context, ebb_exchange *e)
{
    fixture *f = context;

    if (f->last == e)
        f->last = NULL;
    f->closed++;
    /* Anything may be called in on_close; nothing comes of it. */
    assert_int_equal(ebb_exchange_write(e, "x", 1), -1);
    ebb_exchange_abort(e);
}

static void count_hangup(void *context, ebb_exchange *e)
{
    fixture *f = context;

    (void)e;
    f->hangups++;
}

static void write_next(void *context, ebb_exchange *e)
{
    fixture *f = context;
    static char piece[32768];

    f->drains++;
    assert_int_equal(ebb_exchange_unsent(e), 0);
    if (f->to_drain-- > 0)
        assert_int_equal(ebb_exchange_write(e, piece, sizeof piece), 0);
    else
        ebb_exchange_end(e);
}

static int drop(void *context, ebb_exchange *e, const char *bytes, size_t n)
{
    (void)context;
    (void)e;
    (void)bytes;
    (void)n;
    return 0;
}

static void handle(void *context, ebb_exchange *e)
{
    fixture *f = context;
    const char *path = ebb_exchange_path(e);

    f->requests++;
    f->last = e;
    ebb_exchange_on_close(e, count_close, f);
    if (strcmp(path, "/chunked") == 0) {
        ebb_exchange_begin(e, 200, "text/plain", -1);
    } else if (strcmp(path, "/length") == 0) {
        ebb_exchange_begin(e, 200, NULL, 6);
    } else if (strcmp(path, "/drain") == 0) {
        f->to_drain = 320;
        ebb_exchange_on_drain(e, write_next, f);
        ebb_exchange_begin(e, 200, NULL, -1);
        ebb_exchange_write(e, "begin", 5);
    } else if (strcmp(path, "/body") == 0) {
        ebb_exchange_receive(e, drop, NULL, NULL);
    } else if (strcmp(path, "/close-server") == 0) {
        ebb_http_server_close(f->server);
        f->server = NULL;
    } else if (strcmp(path, "/later") != 0) {
        ebb_exchange_reply(e, 200, NULL, "now", 3);
    }
}

static int setup(void **state)
{
    return serve(state, handle);
}

/* Runs until *count is at least n. */
static void await(fixture *f, const int *count, int n)
{
    int64_t end = peer_now_ms() + SOON;

    while (*count < n) {
        assert_true(peer_now_ms() < end);
        ebb_loop_run(f->loop, 5);
    }
}

static peer begin(fixture *f, const char *path)
{
    int before = f->requests;
    char request[200];
    peer p;

    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n" HOST "\r\n", path);
    p = ask(f, request);
    await(f, &f->requests, before + 1);
    return p;
}

static void a_streamed_answer_comes_piece_by_piece(void **state)
{
    fixture *f = *state;
    peer p = begin(f, "/chunked");

    assert_true(peer_wait(&p, f->loop, "chunked\r\n", SOON));
    assert_int_equal(ebb_exchange_write(f->last, "one", 3), 0);
    assert_int_equal(ebb_exchange_unsent(f->last), 3);
    assert_true(peer_wait(&p, f->loop, "3\r\none\r\n", SOON));
    assert_int_equal(ebb_exchange_unsent(f->last), 0);
    ebb_exchange_write(f->last, "tw", 2);
    ebb_exchange_write(f->last, "o", 1);
    assert_true(peer_wait(&p, f->loop, "3\r\ntwo\r\n", SOON));
    assert_int_equal(f->closed, 0);
    ebb_exchange_end(f->last);
    assert_int_equal(ebb_exchange_write(f->last, "x", 1), -1);
    assert_true(peer_wait(&p, f->loop, "0\r\n\r\n", SOON));
    await(f, &f->closed, 1);
    peer_send(&p, "GET / HTTP/1.1\r\n" HOST "\r\n");
    assert_true(peer_wait(&p, f->loop, "now", SOON));
    peer_close(&p);
}

static void a_stream_to_http_1_0_ends_with_the_connection(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "GET /chunked HTTP/1.0\r\n\r\n");

    await(f, &f->requests, 1);
    ebb_exchange_write(f->last, "whole", 5);
    ebb_exchange_end(f->last);
    assert_true(peer_wait_end(&p, f->loop, SOON));
    assert_true(peer_has(&p, "\r\n\r\nwhole"));
    assert_false(peer_has(&p, "chunked"));
    assert_int_equal(f->closed, 1);
    peer_close(&p);
}

static void a_stream_of_known_length_ends_with_its_last_byte(void **state)
{
    fixture *f = *state;
    peer p = begin(f, "/length");

    assert_int_equal(ebb_exchange_write(f->last, "abcdefg", 7), -1);
    ebb_exchange_write(f->last, "abc", 3);
    assert_int_equal(ebb_exchange_write(f->last, "defg", 4), -1);
    ebb_exchange_write(f->last, "def", 3);
    assert_true(peer_wait(&p, f->loop, "Content-Length: 6\r\n", SOON));
    assert_true(peer_wait(&p, f->loop, "\r\n\r\nabcdef", SOON));
    await(f, &f->closed, 1);
    peer_close(&p);
}

static void an_end_short_of_the_length_cuts_the_connection(void **state)
{
    fixture *f = *state;
    peer p = begin(f, "/length");

    ebb_exchange_write(f->last, "abc", 3);
    ebb_exchange_end(f->last);
    assert_true(peer_wait_end(&p, f->loop, SOON));
    assert_true(peer_has(&p, "\r\n\r\nabc"));
    peer_close(&p);
}

static void an_aborted_stream_has_no_end(void **state)
{
    fixture *f = *state;
    peer p = begin(f, "/chunked");

    ebb_exchange_write(f->last, "part", 4);
    assert_true(peer_wait(&p, f->loop, "4\r\npart\r\n", SOON));
    ebb_exchange_abort(f->last);
    ebb_exchange_end(f->last);
    assert_true(peer_wait_end(&p, f->loop, SOON));
    assert_false(peer_has(&p, "0\r\n\r\n"));
    await(f, &f->closed, 1);
    peer_close(&p);
    p = begin(f, "/later"); /* and before the answer, and in a body */
    ebb_exchange_abort(f->last);
    await(f, &f->closed, 2);
    assert_true(peer_wait_end(&p, f->loop, SOON));
    assert_int_equal(p.got.n, 0);
    peer_close(&p);
    p = ask(f, "PUT /body HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nabc");
    await(f, &f->requests, 3);
    ebb_exchange_abort(f->last);
    await(f, &f->closed, 3);
    assert_true(peer_wait_end(&p, f->loop, SOON));
    peer_close(&p);
}

static void a_drained_stream_asks_for_more(void **state)
{
    fixture *f = *state;
    peer p = begin(f, "/drain");

    while (f->closed == 0 && !p.ended) {
        ebb_loop_run(f->loop, 5);
        peer_read(&p);
    }
    assert_true(peer_wait(&p, f->loop, "\r\n0\r\n\r\n", SOON));
    assert_int_equal(f->drains, 321);
    assert_in_range(p.got.n, 320 * 32768, 320 * 32768 + 20000);
    peer_close(&p);
}

static void a_reader_that_stands_still_leaves_the_bytes_unsent(void **state)
{
    fixture *f = *state;
    peer p = begin(f, "/chunked");
    char *piece = calloc(1, 1 << 20);
    int written = 0;

    for (; written < 100; written++) {
        if (ebb_exchange_write(f->last, piece, 1 << 20) != 0)
            break;
        ebb_loop_run(f->loop, 0);
        assert_in_range(ebb_exchange_unsent(f->last), 0, (65 << 20));
    }
    assert_in_range(written, 63, 80); /* 64 MiB and what sockets hold */
    await(f, &f->closed, 1);          /* and is no whole answer */
    assert_true(peer_wait_end(&p, f->loop, SOON));
    assert_false(peer_has(&p, "\r\n0\r\n\r\n"));
    peer_close(&p);
    free(piece);
}

static void a_leaving_client_closes_a_waiting_exchange(void **state)
{
    static const char *const paths[] = { "/later", "/chunked", "/length" };
    fixture *f = *state;

    for (int i = 0; i < 3; i++) {
        peer p = begin(f, paths[i]);

        run_for(f->loop, 10);
        peer_close(&p);
        await(f, &f->closed, i + 1);
    }
    run_for(f->loop, 20);
    assert_int_equal(f->closed, 3);
    assert_int_equal(ebb_http_server_connections(f->server), 0);
}

static void a_client_that_leaves_in_its_body_closes_the_exchange(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "PUT /body HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nx");

    await(f, &f->requests, 1);
    peer_reset(&p);
    await(f, &f->closed, 1);
    p = ask(f, "PUT /body HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nx");
    await(f, &f->requests, 2);
    peer_close(&p);
    await(f, &f->closed, 2);
}

/* The end of what it sends comes with the last bytes, in one wake. */
static void a_body_that_a_half_close_cuts_closes_the_exchange(void **state)
{
    static const char *const paths[] = { "/body", "/now" };
    fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        char request[200];
        peer p;

        snprintf(request, sizeof request,
                 "PUT %s HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nx",
                 paths[i]);
        p = ask(f, request);
        shutdown(p.fd, SHUT_WR);
        await(f, &f->closed, i + 1);
        peer_close(&p);
    }
    run_for(f->loop, 20);
    assert_int_equal(ebb_http_server_connections(f->server), 0);
}

static void a_hangup_is_told_and_leaves_the_exchange_usable(void **state)
{
    fixture *f = *state;
    peer p = begin(f, "/later");

    ebb_exchange_on_hangup(f->last, count_hangup, f);
    run_for(f->loop, 10);
    assert_int_equal(f->hangups, 0);
    shutdown(p.fd, SHUT_WR);
    await(f, &f->hangups, 1);
    run_for(f->loop, 10);
    assert_int_equal(f->hangups, 1); /* once */
    ebb_exchange_reply(f->last, 200, NULL, "still", 5);
    assert_true(peer_wait(&p, f->loop, "still", SOON));
    await(f, &f->closed, 1);
    peer_close(&p);
}

static void connections_above_the_limit_wait(void **state)
{
    fixture *f = *state;
    ebb_http_server_config config;
    peer peers[3];

    ebb_http_server_close(f->server);
    ebb_http_server_config_init(&config);
    config.host = "::1";
    config.connections_max = 2;
    open_server(f, &config);
    config.host = NULL;
    config.listen_fd = peer_listen(&config.port);
    ebb_http_server_close(f->server);
    open_server(f, &config);
    for (int i = 0; i < 3; i++)
        peers[i] = ask(f, "GET / HTTP/1.1\r\n" HOST "\r\n");
    assert_true(peer_wait(&peers[0], f->loop, OK_200, SOON));
    assert_true(peer_wait(&peers[1], f->loop, OK_200, SOON));
    assert_false(peer_wait(&peers[2], f->loop, OK_200, 50));
    assert_int_equal(ebb_http_server_connections(f->server), 2);
    peer_close(&peers[0]);
    assert_true(peer_wait(&peers[2], f->loop, OK_200, SOON));
    peer_close(&peers[1]);
    peer_close(&peers[2]);
}

static void a_unix_socket_is_private_and_replaces_a_dead_one(void **state)
{
    fixture *f = *state;
    ebb_http_server_config config;
    char path[100], moved[100];
    struct stat st;
    ebb_err err = { 0 };
    peer p;

    snprintf(path, sizeof path, "%s/s", f->dir);
    ebb_http_server_close(f->server);
    ebb_http_server_config_init(&config);
    config.socket_path = path;
    for (int i = 0; i < 2; i++) {
        open_server(f, &config);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        p = peer_connect_unix(path);
        peer_send(&p, "GET /later HTTP/1.1\r\n" HOST "\r\n");
        while (f->last == NULL)
            ebb_loop_run(f->loop, 2);
        assert_true(ebb_exchange_is_unix(f->last));
        assert_int_equal(ebb_exchange_peer_uid(f->last), getuid());
        assert_null(ebb_http_server_open(f->loop, &config, &err));
        assert_int_equal(err.code, EBB_CONFLICT); /* somebody serves it */
        if (i == 0) { /* the server does not find it and leaves it there */
            snprintf(moved, sizeof moved, "%s/moved", f->dir);
            assert_int_equal(rename(path, moved), 0);
            strcpy(path, moved);
        }
        ebb_http_server_close(f->server);
        f->server = NULL;
        assert_int_equal(stat(path, &st), i == 0 ? 0 : -1);
        peer_close(&p);
    }
}

static void what_cannot_be_listened_on_is_an_error(void **state)
{
    fixture *f = *state;
    ebb_http_server_config config;
    ebb_err err = { 0 };
    char path[200];

    ebb_http_server_config_init(&config);
    config.on_request = handle;
    assert_null(ebb_http_server_open(f->loop, &config, &err));
    assert_int_equal(err.code, EBB_INVALID_INPUT);
    config.host = "localhost";
    assert_null(ebb_http_server_open(f->loop, &config, &err));
    assert_int_equal(err.code, EBB_INVALID_INPUT);
    config.host = "127.0.0.1";
    config.port = ebb_http_server_port(f->server);
    assert_null(ebb_http_server_open(f->loop, &config, &err));
    assert_int_equal(err.code, EBB_CONFLICT);
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    config.socket_path = path;
    assert_null(ebb_http_server_open(f->loop, &config, &err));
    assert_int_equal(err.code, EBB_INVALID_INPUT);
    config.socket_path = f->dir;
    assert_null(ebb_http_server_open(f->loop, &config, &err));
    assert_int_equal(err.code, EBB_CONFLICT);
}

static void closing_the_server_closes_each_exchange(void **state)
{
    fixture *f = *state;
    peer later = ask(f, "GET /later HTTP/1.1\r\n" HOST "\r\n");
    peer body = ask(f, "POST /body HTTP/1.1\r\n" HOST
                       "Content-Length: 9\r\n\r\nx");
    peer last;

    await(f, &f->requests, 2);
    last = ask(f, "GET /close-server HTTP/1.1\r\n" HOST "\r\n");
    await(f, &f->closed, 3);
    assert_true(peer_wait_end(&later, f->loop, SOON));
    assert_true(peer_wait_end(&body, f->loop, SOON));
    assert_true(peer_wait_end(&last, f->loop, SOON));
    peer_close(&later);
    peer_close(&body);
    peer_close(&last);
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, setup, unserve)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(a_streamed_answer_comes_piece_by_piece),
        SERVED(a_stream_to_http_1_0_ends_with_the_connection),
        SERVED(a_stream_of_known_length_ends_with_its_last_byte),
        SERVED(an_end_short_of_the_length_cuts_the_connection),
        SERVED(an_aborted_stream_has_no_end),
        SERVED(a_drained_stream_asks_for_more),
        SERVED(a_reader_that_stands_still_leaves_the_bytes_unsent),
        SERVED(a_leaving_client_closes_a_waiting_exchange),
        SERVED(a_client_that_leaves_in_its_body_closes_the_exchange),
        SERVED(a_body_that_a_half_close_cuts_closes_the_exchange),
        SERVED(a_hangup_is_told_and_leaves_the_exchange_usable),
        SERVED(connections_above_the_limit_wait),
        SERVED(a_unix_socket_is_private_and_replaces_a_dead_one),
        SERVED(what_cannot_be_listened_on_is_an_error),
        SERVED(closing_the_server_closes_each_exchange),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
