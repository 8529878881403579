/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include "support/served.h"

/* Requests, bodies and whole answers. */

static void count_close(void *context, ebb_exchange *e)
{
    fixture *f = context;

    if (f->last == e)
        f->last = NULL;
    f->closed++;
}

static void say_path(ebb_exchange *e)
{
    char text[512];
    const char *q = ebb_exchange_query(e, "q");

    snprintf(text, sizeof text, "%s %s q=%s empty=%s h=%s",
             ebb_exchange_method(e), ebb_exchange_path(e),
             q == NULL ? "(none)" : q,
             ebb_exchange_query(e, "empty") == NULL ? "(none)" : "there",
             ebb_exchange_header(e, "x-THING") == NULL
                 ? "(none)"
                 : ebb_exchange_header(e, "x-THING"));
    ebb_exchange_reply(e, 200, "text/plain", text, strlen(text));
}

static void echo(void *context, ebb_exchange *e)
{
    const ebb_buf *body = ebb_exchange_body(e);

    (void)context;
    if (ebb_exchange_too_long(e))
        ebb_exchange_reply(e, 413, NULL, "long", 4);
    else
        ebb_exchange_reply(e, 200, "text/plain", body->bytes, body->n);
}

static int keep_piece(void *context, ebb_exchange *e, const char *bytes,
                      size_t n)
{
    fixture *f = context;

    ebb_buf_add(&f->seen, bytes, n);
    if (strcmp(ebb_exchange_path(e), "/pause") == 0)
        ebb_exchange_pause(e);
    return strcmp(ebb_exchange_path(e), "/refuse") == 0 ? -1 : 0;
}

static void say_done(void *context, ebb_exchange *e)
{
    (void)context;
    ebb_exchange_reply(e, 200, NULL, "done", 4);
}

static void count_header(void *context, const char *name, const char *value)
{
    (void)name;
    (void)value;
    ++*(int *)context;
}

static void say_headers(ebb_exchange *e)
{
    char text[64];
    int count = 0;

    ebb_exchange_headers(e, count_header, &count);
    snprintf(text, sizeof text, "%d headers", count);
    assert_int_equal(ebb_exchange_add_header(e, "X-A", "1"), 0);
    assert_int_equal(ebb_exchange_add_header(e, "X-Empty", ""), 0);
    assert_int_equal(ebb_exchange_add_header(e, "X-Bad", "a\r\nX: y"), -1);
    assert_int_equal(ebb_exchange_add_header(e, "X Bad", "a"), -1);
    assert_int_equal(ebb_exchange_add_header(e, "Content-Length", "3"), -1);
    ebb_exchange_reply(e, 201, "", text, strlen(text));
    assert_int_equal(ebb_exchange_add_header(e, "X-Late", "1"), -1);
}

static void say_file(ebb_exchange *e)
{
    FILE *file = tmpfile();

    fputs("0123456789", file);
    fflush(file);
    ebb_exchange_reply_file(e, 200, "text/plain", dup(fileno(file)), 2, 5);
    fclose(file);
}

static void handle(void *context, ebb_exchange *e)
{
    fixture *f = context;
    const char *path = ebb_exchange_path(e);

    f->requests++;
    ebb_exchange_on_close(e, count_close, f);
    if (strcmp(path, "/echo") == 0) {
        ebb_exchange_collect(e, 1000, echo, f);
    } else if (strcmp(path, "/pieces") == 0 || strcmp(path, "/pause") == 0 ||
               strcmp(path, "/refuse") == 0) {
        f->last = e;
        ebb_exchange_receive(e, keep_piece, say_done, f);
    } else if (strcmp(path, "/later") == 0) {
        f->last = e;
    } else if (strcmp(path, "/headers") == 0) {
        say_headers(e);
    } else if (strcmp(path, "/file") == 0) {
        say_file(e);
    } else if (strcmp(path, "/204") == 0) {
        ebb_exchange_reply(e, 204, NULL, "x", 1);
    } else {
        say_path(e);
    }
}

static int setup(void **state)
{
    return serve(state, handle);
}

static void answers(fixture *f, const char *request, const char *wanted)
{
    peer p = ask(f, request);

    if (!peer_wait(&p, f->loop, wanted, SOON))
        fail_msg("%s\nwanted %s\ngot %.*s", request, wanted, (int)p.got.n,
                 p.got.n == 0 ? "" : p.got.bytes);
    peer_close(&p);
}

static void a_request_is_shown_to_the_handler(void **state)
{
    answers(*state,
            "GET /a%2Fb/%zz?q=x%20y+z%26&empty HTTP/1.1\r\n" HOST
            "X-Thing: v\r\n\r\n",
            "GET /a%2Fb/%zz q=x y z& empty=there h=v");
    answers(*state, "PUT /? HTTP/1.1\r\n" HOST "\r\n",
            "PUT / q=(none) empty=(none) h=(none)");
    answers(*state, "GET /?a&q=1=2&q=3&&=%00 HTTP/1.1\r\n" HOST "\r\n",
            "GET / q=1=2 empty");
}

static void an_answer_has_the_headers_it_was_given(void **state)
{
    peer p = ask(*state, "GET /headers HTTP/1.1\r\n" HOST "A: b\r\n\r\n");
    fixture *f = *state;

    assert_true(peer_wait(&p, f->loop, "2 headers", SOON));
    assert_true(peer_has(&p, "HTTP/1.1 201 Created\r\n"));
    assert_true(peer_has(&p, "\r\nX-A: 1\r\n"));
    assert_true(peer_has(&p, "\r\nX-Empty:"));
    assert_true(peer_has(&p, "\r\nContent-Type:"));
    assert_false(peer_has(&p, "X-Bad"));
    peer_close(&p);
}

static void a_connection_serves_one_request_after_another(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "GET /1 HTTP/1.1\r\n" HOST "\r\nGET /2 HTTP/1.1\r\n" HOST
                    "\r\n");

    assert_true(peer_wait(&p, f->loop, "GET /2", SOON));
    assert_true(peer_has(&p, "GET /1"));
    peer_send(&p, "POST /echo HTTP/1.1\r\n" HOST
                  "Content-Length: 4\r\n\r\nlast");
    assert_true(peer_wait(&p, f->loop, "\r\n\r\nlast", SOON));
    assert_int_equal(ebb_http_server_connections(f->server), 1);
    peer_close(&p);
    run_for(f->loop, 30);
    assert_int_equal(ebb_http_server_connections(f->server), 0);
    assert_int_equal(f->closed, 3);
}

static void bodies_come_by_length_by_chunks_or_not_at_all(void **state)
{
    answers(*state,
            "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello",
            "\r\n\r\nhello");
    answers(*state,
            "POST /echo HTTP/1.1\r\n" HOST
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n"
            "0\r\nT: x\r\n\r\n",
            "\r\n\r\nabcde");
    answers(*state, "POST /echo HTTP/1.1\r\n" HOST "\r\n",
            "Content-Length: 0\r\n");
    answers(*state, "POST /pieces HTTP/1.1\r\n" HOST "\r\n", "done");
    assert_int_equal(((fixture *)*state)->seen.n, 0);
}

static void a_body_above_its_maximum_is_read_and_dropped(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "POST /echo HTTP/1.1\r\n" HOST
                    "Content-Length: 1001\r\n\r\n");
    char bytes[1001];

    memset(bytes, 'x', sizeof bytes);
    peer_send_n(&p, bytes, sizeof bytes);
    assert_true(peer_wait(&p, f->loop, "\r\n\r\nlong", SOON));
    assert_true(peer_has(&p, "HTTP/1.1 413"));
    peer_send(&p, "GET /next HTTP/1.1\r\n" HOST "\r\n");
    assert_true(peer_wait(&p, f->loop, "GET /next", SOON));
    peer_close(&p);
}

static void a_refused_body_comes_no_more(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "POST /refuse HTTP/1.1\r\n" HOST
                    "Content-Length: 8\r\n\r\nab");

    while (f->seen.n == 0)
        ebb_loop_run(f->loop, 2);
    peer_send(&p, "cdefgh");
    assert_true(peer_wait(&p, f->loop, "done", SOON));
    assert_int_equal(f->seen.n, 2);
    peer_close(&p);
}

static void a_paused_body_waits(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "POST /pause HTTP/1.1\r\n" HOST
                    "Content-Length: 6\r\n\r\nab");

    while (f->seen.n < 2)
        ebb_loop_run(f->loop, 2);
    peer_send(&p, "cdef");
    run_for(f->loop, 40);
    assert_int_equal(f->seen.n, 2);
    ebb_exchange_resume(f->last);
    while (f->seen.n < 6)
        ebb_loop_run(f->loop, 2);
    run_for(f->loop, 40);
    assert_false(peer_has(&p, "done")); /* the end waits too */
    ebb_exchange_resume(f->last);
    assert_true(peer_wait(&p, f->loop, "done", SOON));
    peer_close(&p);
}

static void continue_100_is_sent_when_a_body_is_wanted(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "POST /echo HTTP/1.1\r\n" HOST
                    "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");

    assert_true(peer_wait(&p, f->loop, "HTTP/1.1 100 Continue\r\n\r\n", SOON));
    peer_send(&p, "ok");
    assert_true(peer_wait(&p, f->loop, "\r\n\r\nok", SOON));
    peer_close(&p);
}

static void continue_100_is_not_sent_before_the_handler_decides(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "POST /later HTTP/1.1\r\n" HOST
                    "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");

    while (f->last == NULL)
        ebb_loop_run(f->loop, 2);
    run_for(f->loop, 20);
    peer_read(&p);
    assert_int_equal(p.got.n, 0);
    ebb_exchange_reply(f->last, 401, NULL, "no", 2);
    assert_true(peer_wait(&p, f->loop, "no", SOON));
    assert_false(peer_has(&p, "100 Continue"));
    assert_true(peer_wait_end(&p, f->loop, SOON));
    peer_close(&p);
}

static void an_early_answer_reaches_a_client_that_still_sends(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "POST /early HTTP/1.1\r\n" HOST
                    "Content-Length: 600000\r\n\r\n");
    char bytes[1000];

    memset(bytes, 'x', sizeof bytes);
    for (int sent = 0; sent < 600000; ebb_loop_run(f->loop, 1)) {
        ssize_t n = peer_send_n(&p, bytes, sizeof bytes);

        sent += n > 0 ? (int)n : 0;
    }
    assert_true(peer_wait(&p, f->loop, "POST /early", SOON));
    peer_close(&p);
}

static void an_answer_may_come_later(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "GET /later HTTP/1.1\r\n" HOST "\r\n");

    while (f->last == NULL)
        ebb_loop_run(f->loop, 2);
    ebb_exchange_reply(f->last, 200, NULL, "late", 4);
    ebb_exchange_reply(f->last, 500, NULL, "twice", 5); /* is ignored */
    assert_true(peer_wait(&p, f->loop, "\r\n\r\nlate", SOON));
    assert_int_equal(f->closed, 1);
    peer_close(&p);
}

static void a_body_may_be_asked_for_later(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "POST /later HTTP/1.1\r\n" HOST
                    "Content-Length: 4\r\n\r\nbody");

    while (f->last == NULL)
        ebb_loop_run(f->loop, 2);
    run_for(f->loop, 20);
    ebb_exchange_collect(f->last, 4, echo, f);
    assert_true(peer_wait(&p, f->loop, "\r\n\r\nbody", SOON));
    peer_close(&p);
}

static void a_file_is_sent_from_its_offset(void **state)
{
    answers(*state, "GET /file HTTP/1.1\r\n" HOST "\r\n",
            "Content-Length: 5\r\n\r\n23456");
}

static void answers_without_a_body_have_none(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "GET /204 HTTP/1.1\r\n" HOST "\r\n");

    assert_true(peer_wait(&p, f->loop, "\r\n\r\n", SOON));
    assert_false(peer_has(&p, "x"));
    peer_send(&p, "HEAD /h HTTP/1.1\r\n" HOST "\r\nGET /n HTTP/1.1\r\n" HOST
                  "\r\n");
    assert_true(peer_wait(&p, f->loop, "GET /n", SOON));
    assert_false(peer_has(&p, "HEAD /h"));
    peer_close(&p);
}

static void a_head_above_the_maximum_is_refused(void **state)
{
    fixture *f = *state;
    peer p = ask(f, "GET / HTTP/1.1\r\n" HOST "X: ");
    char bytes[70000];

    memset(bytes, 'x', sizeof bytes);
    for (size_t sent = 0; sent < sizeof bytes; ebb_loop_run(f->loop, 1)) {
        ssize_t n = peer_send_n(&p, bytes, sizeof bytes - sent);

        sent += n > 0 ? (size_t)n : 0;
    }
    peer_send(&p, "\r\n\r\n");
    assert_true(peer_wait(&p, f->loop, "HTTP/1.1 431", SOON));
    assert_int_equal(f->requests, 0);
    peer_close(&p);
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, setup, unserve)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(a_request_is_shown_to_the_handler),
        SERVED(an_answer_has_the_headers_it_was_given),
        SERVED(a_connection_serves_one_request_after_another),
        SERVED(bodies_come_by_length_by_chunks_or_not_at_all),
        SERVED(a_body_above_its_maximum_is_read_and_dropped),
        SERVED(a_refused_body_comes_no_more),
        SERVED(a_paused_body_waits),
        SERVED(continue_100_is_sent_when_a_body_is_wanted),
        SERVED(continue_100_is_not_sent_before_the_handler_decides),
        SERVED(an_early_answer_reaches_a_client_that_still_sends),
        SERVED(an_answer_may_come_later),
        SERVED(a_body_may_be_asked_for_later),
        SERVED(a_file_is_sent_from_its_offset),
        SERVED(answers_without_a_body_have_none),
        SERVED(a_head_above_the_maximum_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
