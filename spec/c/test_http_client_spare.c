/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include "support/calls.h"

#include <sys/resource.h>

/* What a call leaves for the next one: nothing that it would notice. */

#define SOON 5000

static const char nothing[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

static void ends_well(fixture *f)
{
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_string_equal(f->o.err.msg, "");
    assert_true(f->o.ok);
    clear_outcome(&f->o);
}

static ebb_http_request post(fixture *f)
{
    ebb_http_request request = request_for(&f->o, "POST", f->url);

    request.body = "body";
    request.body_n = 4;
    request.once = true;
    return request;
}

static void listen_anew(fixture *f)
{
    uint16_t port = 0;

    f->listen_fd = peer_listen(&port);
    snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d/p?q=1", port);
}

/*
 * libcurl notes that it would have to rewind, connects once more by itself,
 * and nobody is there: the note stays with its handle.
 */
static void a_body_that_found_nobody_is_not_the_next_one_s(void **state)
{
    fixture *f = *state;
    ebb_http_request request = request_for(&f->o, "GET", f->url);
    peer p;

    start(f, &request);
    p = receive(f, "\r\n\r\n");
    peer_send(&p, nothing);
    ends_well(f);
    ebb_buf_reset(&p.got);
    request = post(f);
    start(f, &request);
    assert_true(peer_wait(&p, f->loop, "\r\n\r\nbody", SOON));
    close(f->listen_fd);
    peer_close(&p);
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_false(f->o.ok);
    assert_true(f->o.sent);
    clear_outcome(&f->o);
    listen_anew(f);
    for (int i = 0; i < 5; i++) {
        request = post(f);
        start(f, &request);
        p = receive(f, "\r\n\r\nbody");
        peer_send(&p, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
                      "Connection: close\r\n\r\n");
        ends_well(f);
        peer_close(&p);
    }
}

static const char late[] = "HTTP/1.1 408 Request Timeout\r\n"
                           "Content-Length: 0\r\n\r\n";

/* Of a connection, too, that libcurl makes by itself for a second try. */
static void what_came_between_two_calls_is_no_answer(void **state)
{
    fixture *f = *state;
    ebb_http_request get = request_for(&f->o, "GET", f->url), request;
    peer p, fresh;

    start(f, &get);
    p = receive(f, "\r\n\r\n");
    peer_send(&p, nothing);
    ends_well(f);
    ebb_buf_reset(&p.got);
    start(f, &get);
    assert_true(peer_wait(&p, f->loop, "\r\n\r\n", SOON));
    peer_close(&p);
    p = receive(f, "\r\n\r\n");
    peer_send(&p, nothing);
    ends_well(f);
    peer_send(&p, late);
    run_for(f->loop, 20);
    request = post(f);
    start(f, &request);
    fresh = receive(f, "\r\n\r\nbody");
    peer_send(&fresh, nothing);
    ends_well(f);
    peer_close(&fresh);
    peer_close(&p);
}

/* Of two kept ones: the call's dies, and the other has heard something. */
static void a_second_try_leaves_what_has_said_more(void **state)
{
    fixture *f = *state;
    outcome other = { 0 };
    ebb_http_request get = request_for(&f->o, "GET", f->url);
    ebb_http_request beside = request_for(&other, "GET", f->url);
    peer p[2], fresh;
    int used;

    start(f, &get);
    p[0] = receive(f, "\r\n\r\n");
    assert_non_null(ebb_http_start(f->client, &beside, &other.err));
    p[1] = receive(f, "\r\n\r\n");
    for (int i = 0; i < 2; i++) {
        peer_send(&p[i], nothing);
        ebb_buf_reset(&p[i].got);
    }
    ends_well(f);
    assert_true(run_to_end(&other, f->loop, SOON));
    start(f, &get);
    run_for(f->loop, 20);
    peer_read(&p[0]);
    used = p[0].got.n > 0 ? 0 : 1;
    peer_send(&p[1 - used], late);
    peer_close(&p[used]);
    fresh = receive(f, "\r\n\r\n");
    peer_send(&fresh, nothing);
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_int_equal(f->o.status, 200);
    clear_outcome(&other);
    peer_close(&p[1 - used]);
    peer_close(&fresh);
}

static bool starts(fixture *f, const char *url)
{
    ebb_http_request request = request_for(&f->o, "GET", url);

    f->o.call = ebb_http_start(f->client, &request, &f->o.err);
    return f->o.call != NULL;
}

/* To one place, to another, to none at all, and to the first again. */
static void each_call_goes_where_its_url_says(void **state)
{
    fixture *f = *state;
    const char *where[] = { "/a", "/a", "/b?c=%2F", "/a", "/ab" };
    peer p = { .fd = -1 };
    char url[64], line[64];

    for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
        snprintf(url, sizeof url, "%.*s%s", (int)(strlen(f->url) - 6), f->url,
                 where[i]);
        snprintf(line, sizeof line, "GET %s HTTP/1.1\r\n", where[i]);
        assert_false(starts(f, "ftp://127.0.0.1/a"));
        assert_int_equal(f->o.err.code, EBB_INVALID_INPUT);
        assert_true(starts(f, url));
        if (i == 0)
            p = receive(f, "\r\n\r\n");
        assert_true(peer_wait(&p, f->loop, "\r\n\r\n", SOON));
        assert_true(peer_has(&p, line));
        ebb_buf_reset(&p.got);
        peer_send(&p, nothing);
        assert_true(run_to_end(&f->o, f->loop, SOON));
        assert_true(f->o.ok);
        clear_outcome(&f->o);
    }
    peer_close(&p);
}

static void without_a_socket_it_says_that_files_are_too_many(void **state)
{
    fixture *f = *state;
    ebb_http_request request = request_for(&f->o, "GET", f->url);
    struct rlimit was, few;
    int next = dup(f->listen_fd);

    close(next);
    getrlimit(RLIMIT_NOFILE, &was);
    few = was;
    few.rlim_cur = (rlim_t)next; /* the first that is free is beyond it */
    setrlimit(RLIMIT_NOFILE, &few);
    start(f, &request);
    assert_true(run_to_end(&f->o, f->loop, SOON));
    setrlimit(RLIMIT_NOFILE, &was);
    assert_false(f->o.ok);
    assert_false(f->o.sent);
    assert_int_equal(f->o.err.code, EBB_NETWORK);
    assert_non_null(strstr(f->o.err.msg, "too many open files; raise"));
    clear_outcome(&f->o);
}

#define CALLED(test) \
    cmocka_unit_test_setup_teardown(test, calls_setup, calls_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CALLED(a_body_that_found_nobody_is_not_the_next_one_s),
        CALLED(what_came_between_two_calls_is_no_answer),
        CALLED(a_second_try_leaves_what_has_said_more),
        CALLED(each_call_goes_where_its_url_says),
        CALLED(without_a_socket_it_says_that_files_are_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
