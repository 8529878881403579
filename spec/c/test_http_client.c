/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include "base/mem.h"
#include "net/gzip.h"
#include "support/calls.h"

/* Requests and answers; what dies and hangs is in test_http_client_once.c. */

#define SOON 5000

/* One GET that is answered with these bytes and then the connection's end. */
static void get(fixture *f, const char *answer)
{
    ebb_http_request request = request_for(&f->o, "GET", f->url);
    peer p;

    request.accept_gzip = true;
    start(f, &request);
    p = receive(f, "\r\n\r\n");
    peer_send(&p, answer);
    peer_close(&p);
    assert_true(run_to_end(&f->o, f->loop, SOON));
}

static void an_answer_is_told_in_order_and_once(void **state)
{
    fixture *f = *state;

    get(f, "HTTP/1.1 207 Some\r\nX-Thing:  a b \r\nContent-Length: 5\r\n\r\n"
           "hello");
    assert_true(f->o.ok);
    assert_int_equal(f->o.heads, 1);
    assert_int_equal(f->o.status, 207);
    assert_string_equal(f->o.header, "a b");
    assert_string_equal(f->o.body.bytes, "hello");
    run_for(f->loop, 20);
    assert_int_equal(f->o.dones, 1);
}

static void a_request_says_what_it_was_given(void **state)
{
    static const ebb_http_header headers[] = {
        { "X-One", "1" }, { "X-Empty", "" }, { "Accept", NULL }
    };
    fixture *f = *state;
    ebb_http_request request = request_for(&f->o, "PATCH", f->url);
    peer p;

    request.headers = headers;
    request.headers_count = 3;
    request.body = "the body";
    request.body_n = 8;
    start(f, &request);
    assert_int_equal(f->o.dones, 0);
    p = receive(f, "\r\n\r\nthe body");
    assert_true(peer_has(&p, "PATCH /p?q=1 HTTP/1.1\r\n"));
    assert_true(peer_has(&p, "\r\nX-One: 1\r\n"));
    assert_true(peer_has(&p, "\r\nX-Empty:\r\n"));
    assert_true(peer_has(&p, "\r\nContent-Length: 8\r\n"));
    assert_false(peer_has(&p, "\r\nAccept:"));
    assert_false(peer_has(&p, "\r\nContent-Type:"));
    assert_false(peer_has(&p, "\r\nExpect:"));
    assert_false(peer_has(&p, "gzip"));
    peer_send(&p, "HTTP/1.1 204 No\r\n\r\n");
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_true(f->o.ok && f->o.sent && f->o.status == 204);
    peer_close(&p);
}

static void methods_without_a_body(void **state)
{
    static const struct {
        const char *method;
        bool has_length;
    } cases[] = { { "POST", true },
                  { "PUT", true },
                  { "DELETE", false },
                  { "GET", false },
                  { "HEAD", false } };
    fixture *f = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ebb_http_request request =
            request_for(&f->o, cases[i].method, f->url);
        peer p;

        start(f, &request);
        p = receive(f, "\r\n\r\n");
        assert_int_equal(peer_has(&p, "Content-Length: 0\r\n"),
                         cases[i].has_length);
        peer_send(&p, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
        if (strcmp(cases[i].method, "HEAD") != 0)
            peer_send(&p, "123456789");
        assert_true(run_to_end(&f->o, f->loop, SOON));
        assert_true(f->o.ok);
        peer_close(&p);
        clear_outcome(&f->o);
    }
}

static void an_answer_may_come_byte_by_byte_after_1xx_heads(void **state)
{
    static const char answer[] =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nX-Thing: no\r\n"
        "\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n2\r\nde\r\n0\r\nX-Thing: trailer\r\n\r\n";
    fixture *f = *state;
    ebb_http_request request = request_for(&f->o, "GET", f->url);
    peer p;

    start(f, &request);
    p = receive(f, "\r\n\r\n");
    for (const char *c = answer; *c != '\0'; c++) {
        peer_send_n(&p, c, 1);
        ebb_loop_run(f->loop, 1);
    }
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_true(f->o.ok);
    assert_int_equal(f->o.heads, 1);
    assert_int_equal(f->o.status, 200);
    assert_string_equal(f->o.header, "");
    assert_string_equal(f->o.body.bytes, "abcde");
    peer_close(&p);
}

static void broken_answers_are_named(void **state)
{
    static const struct {
        const char *answer;
        ebb_code code;
    } cases[] = {
        { "", EBB_NETWORK },
        { "HTTP/1.1 200 OK\r\nContent-Le", EBB_NETWORK },
        { "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", EBB_NETWORK },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
          "5\r\nabcde\r\n", EBB_NETWORK },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
          "zz\r\nabc\r\n", EBB_NETWORK },
        { "SSH-2.0-OpenSSH_9.2p1\r\n", EBB_PROTOCOL },
        { "HTTP/1.1 101 Switching\r\n\r\n", EBB_NETWORK },
        { "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
          "Content-Length: 5\r\n\r\nplain", EBB_PROTOCOL },
    };
    fixture *f = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        get(f, cases[i].answer);
        assert_false(f->o.ok);
        if (f->o.err.code != cases[i].code)
            fail_msg("case %zu: %s", i, f->o.err.msg);
        assert_int_equal(strncmp(f->o.err.msg, "GET 127.0.0.1: ", 15), 0);
        clear_outcome(&f->o);
    }
}

static void a_head_above_its_maximum_is_an_error(void **state)
{
    fixture *f = *state;
    char line[1024];
    ebb_buf answer = { 0 };

    ebb_buf_add_text(&answer, "HTTP/1.1 200 OK\r\n");
    memset(line, 'x', sizeof line);
    memcpy(line, "X-Thing: ", 9);
    memcpy(line + sizeof line - 3, "\r\n", 3);
    for (int i = 0; i < 65; i++)
        ebb_buf_add_text(&answer, line);
    ebb_buf_add_text(&answer, "Content-Length: 0\r\n\r\n");
    get(f, answer.bytes);
    assert_int_equal(f->o.err.code, EBB_PROTOCOL);
    assert_int_equal(f->o.heads, 0);
    ebb_buf_clear(&answer);
}

/* The pieces come in turns of their own, and the second call finds the room
 * of the first, of which nothing may be left in it. */
static void a_gathered_body_is_whole_at_the_end(void **state)
{
    fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        ebb_http_request request = request_for(&f->o, "GET", f->url);
        peer p;

        request.gathers = true;
        request.body_max = i == 0 ? 10 : 3;
        f->o.gathers = true;
        start(f, &request);
        p = receive(f, "\r\n\r\n");
        peer_send(&p, "HTTP/1.1 200 OK\r\n\r\n");
        for (const char *c = i == 0 ? "0123456789" : "abc"; *c != '\0'; c++) {
            peer_send_n(&p, c, 1);
            run_for(f->loop, 5);
        }
        assert_int_equal(f->o.heads, 1);
        assert_int_equal(f->o.dones, 0);
        peer_close(&p);
        assert_true(run_to_end(&f->o, f->loop, SOON));
        assert_true(f->o.ok);
        assert_int_equal(f->o.body_n, 0); /* on_body was not called */
        assert_string_equal(f->o.body.bytes, i == 0 ? "0123456789" : "abc");
        clear_outcome(&f->o);
    }
}

static void a_gathered_body_above_its_maximum_is_an_error(void **state)
{
    fixture *f = *state;
    ebb_http_request request = request_for(&f->o, "GET", f->url);
    peer p;

    request.gathers = true;
    request.body_max = 4;
    start(f, &request);
    p = receive(f, "\r\n\r\n");
    peer_send(&p, "HTTP/1.1 200 OK\r\n\r\n12345");
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_false(f->o.ok);
    assert_int_equal(f->o.err.code, EBB_LIMIT_EXCEEDED);
    peer_close(&p);
}

static void a_body_above_its_maximum_is_an_error(void **state)
{
    fixture *f = *state;

    for (size_t max = 4; max <= 5; max++) {
        ebb_http_request request = request_for(&f->o, "GET", f->url);
        peer p;

        request.body_max = max;
        start(f, &request);
        p = receive(f, "\r\n\r\n");
        peer_send(&p, "HTTP/1.1 200 OK\r\n\r\n12345");
        peer_close(&p);
        assert_true(run_to_end(&f->o, f->loop, SOON));
        assert_int_equal(f->o.ok, max == 5);
        if (max < 5)
            assert_int_equal(f->o.err.code, EBB_LIMIT_EXCEEDED);
        clear_outcome(&f->o);
    }
}

static void gzip_is_decoded_when_asked_for_and_its_bound_is_kept(void **state)
{
    fixture *f = *state;
    char *zeros = calloc(1, 20 << 20);
    ebb_buf packed = { 0 };
    char head[200];

    assert_int_equal(ebb_gzip(zeros, 20 << 20, &packed, &(ebb_err){ 0 }), 0);
    snprintf(head, sizeof head,
             "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
             "Content-Length: %zu\r\n\r\n", packed.n);
    for (int i = 0; i < 2; i++) {
        ebb_http_request request = request_for(&f->o, "GET", f->url);
        peer p;

        f->o.keep = false;
        request.accept_gzip = true;
        request.body_max = (20 << 20) - (size_t)i;
        start(f, &request);
        p = receive(f, "\r\n\r\n");
        assert_true(peer_has(&p, "Accept-Encoding: gzip\r\n"));
        peer_send(&p, head);
        peer_send_n(&p, packed.bytes, packed.n);
        assert_true(run_to_end(&f->o, f->loop, SOON));
        assert_int_equal(f->o.ok, i == 0);
        if (i == 0)
            assert_int_equal(f->o.body_n, 20 << 20);
        else
            assert_int_equal(f->o.err.code, EBB_LIMIT_EXCEEDED);
        peer_close(&p);
        clear_outcome(&f->o);
    }
    ebb_buf_clear(&packed);
    free(zeros);
}

static void a_receiver_may_stop_the_body(void **state)
{
    fixture *f = *state;

    f->o.refuse = true;
    get(f, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    assert_int_equal(f->o.err.code, EBB_CANCELLED);
    assert_int_equal(f->o.dones, 1);
}

static void a_call_may_be_cancelled_in_each_callback(void **state)
{
    static const char places[] = "hbdw";
    fixture *f = *state;

    for (const char *at = places; *at != '\0'; at++) {
        ebb_http_request request = request_for(&f->o, "POST", f->url);
        peer p;

        f->o.cancel_at = *at;
        f->o.go_on = *at != 'w';
        request.body = "body";
        request.body_n = 4;
        request.before_body = note_hold;
        start(f, &request);
        p = receive(f, *at == 'w' ? "\r\n\r\n" : "\r\n\r\nbody");
        peer_send(&p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        run_for(f->loop, 30);
        assert_int_equal(f->o.dones, *at == 'd');
        assert_null(f->o.call);
        peer_close(&p);
        clear_outcome(&f->o);
    }
}

static void a_cancelled_call_is_silent_and_its_connection_gone(void **state)
{
    fixture *f = *state;
    ebb_http_request request = request_for(&f->o, "GET", f->url);
    peer p;

    start(f, &request);
    ebb_http_cancel(f->o.call); /* before anything happened */
    start(f, &request);
    p = receive(f, "\r\n\r\n");
    ebb_http_cancel(f->o.call);
    assert_true(peer_wait_end(&p, f->loop, SOON));
    run_for(f->loop, 20);
    assert_int_equal(f->o.dones + f->o.heads, 0);
    peer_close(&p);
}

static void the_client_may_be_freed_in_a_callback(void **state)
{
    fixture *f = *state;
    outcome other = { 0 };
    ebb_http_request waits = request_for(&other, "GET", f->url);
    peer p;

    other.call = ebb_http_start(f->client, &waits, &(ebb_err){ 0 });
    p = receive(f, "\r\n\r\n");
    f->o.free_client = f->client;
    get(f, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    f->client = NULL;
    run_for(f->loop, 20);
    assert_int_equal(f->o.dones, 1);
    assert_int_equal(other.dones, 0);
    assert_true(peer_wait_end(&p, f->loop, SOON));
    peer_close(&p);
}

static void before_body_holds_the_body_back(void **state)
{
    fixture *f = *state;
    ebb_http_request request = request_for(&f->o, "POST", f->url);
    peer p;

    request.body = "body";
    request.body_n = 4;
    request.before_body = note_hold;
    start(f, &request);
    p = receive(f, "\r\n\r\n");
    run_for(f->loop, 30);
    peer_read(&p);
    assert_false(peer_has(&p, "body"));
    assert_int_equal(f->o.holds, 1);
    assert_false(ebb_http_was_sent(f->o.call));
    ebb_http_continue(f->o.call);
    assert_true(peer_wait(&p, f->loop, "\r\n\r\nbody", SOON));
    assert_true(ebb_http_was_sent(f->o.call));
    peer_send(&p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_true(f->o.ok);
    assert_int_equal(f->o.holds, 1);
    peer_close(&p);
}

static void an_unheld_body_goes_out_and_before_body_says_so(void **state)
{
    fixture *f = *state;
    ebb_http_request request = request_for(&f->o, "POST", f->url);
    peer p;

    request.body = "body";
    request.body_n = 4;
    request.before_body = note_hold;
    request.unheld = true;
    start(f, &request);
    assert_int_equal(f->o.holds, 0);
    p = receive(f, "\r\n\r\nbody");
    assert_int_equal(f->o.holds, 1);
    assert_true(ebb_http_was_sent(f->o.call));
    peer_send(&p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_true(f->o.ok);
    assert_int_equal(f->o.holds, 1);
    peer_close(&p);
}

static void what_is_no_request_is_refused_by_start(void **state)
{
    fixture *f = *state;
    static const char *const urls[] = { "", "nope", "ftp://a/", "http://",
                                        "http://a b/" };
    ebb_http_header bad = { "X", "a\r\nY: b" };
    ebb_http_request request = request_for(&f->o, "GET", f->url);
    ebb_err err = { 0 };

    request.headers = &bad;
    request.headers_count = 1;
    assert_null(ebb_http_start(f->client, &request, &err));
    assert_int_equal(err.code, EBB_INVALID_INPUT);
    request.headers_count = 0;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        request.url = urls[i];
        assert_null(ebb_http_start(f->client, &request, &err));
        assert_int_equal(err.code, EBB_INVALID_INPUT);
    }
    assert_int_equal(f->o.dones, 0);
}

static void escape_keeps_what_is_unreserved(void **state)
{
    char *text = ebb_http_escape("aZ9-._~ /?&=%+\xC3\xA9\0b", 18);

    (void)state;
    assert_string_equal(text,
                        "aZ9-._~%20%2F%3F%26%3D%25%2B%C3%A9%00b");
    ebb_mem_free(text);
}

#define CALLED(test) \
    cmocka_unit_test_setup_teardown(test, calls_setup, calls_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CALLED(an_answer_is_told_in_order_and_once),
        CALLED(a_request_says_what_it_was_given),
        CALLED(methods_without_a_body),
        CALLED(an_answer_may_come_byte_by_byte_after_1xx_heads),
        CALLED(broken_answers_are_named),
        CALLED(a_head_above_its_maximum_is_an_error),
        CALLED(a_body_above_its_maximum_is_an_error),
        CALLED(a_gathered_body_is_whole_at_the_end),
        CALLED(a_gathered_body_above_its_maximum_is_an_error),
        CALLED(gzip_is_decoded_when_asked_for_and_its_bound_is_kept),
        CALLED(a_receiver_may_stop_the_body),
        CALLED(a_call_may_be_cancelled_in_each_callback),
        CALLED(a_cancelled_call_is_silent_and_its_connection_gone),
        CALLED(the_client_may_be_freed_in_a_callback),
        CALLED(before_body_holds_the_body_back),
        CALLED(an_unheld_body_goes_out_and_before_body_says_so),
        CALLED(what_is_no_request_is_refused_by_start),
        cmocka_unit_test(escape_keeps_what_is_unreserved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
