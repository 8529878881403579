/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include "base/mem.h"
#include "support/calls.h"

/* Bodies that are not copied. */

#define SOON 5000

/* More than libcurl takes at once, so that it stops within a piece. */
static void a_body_in_pieces_is_sent_from_where_they_are(void **state)
{
    fixture *f = *state;
    ebb_http_request request = request_for(&f->o, "POST", f->url);
    size_t n = 150000;
    char *large = ebb_mem_zero(n);
    char last[] = "END";
    ebb_http_piece pieces[] = {
        { NULL, 0 }, { "ab", 2 }, { NULL, 0 }, { large, n },
        { "c", 1 },  { last, 3 }, { "", 0 },
    };
    const char *body;
    peer p;

    assert_non_null(large);
    request.pieces = pieces;
    request.pieces_count = sizeof pieces / sizeof *pieces;
    start(f, &request);
    memset(large, 'x', n);
    memcpy(last, "end", 3);
    p = receive(f, "cend");
    assert_true(peer_has(&p, "Content-Length: 150006\r\n"));
    body = strstr(p.got.bytes, "\r\n\r\n") + 4;
    assert_int_equal(p.got.bytes + p.got.n - body, n + 6);
    assert_memory_equal(body, "ab", 2);
    assert_int_equal(strspn(body + 2, "x"), n);
    peer_send(&p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_true(f->o.ok);
    ebb_mem_free(large);
    peer_close(&p);
}

/* The sanitizers would see a read of what is freed. */
static void pieces_may_go_once_their_call_is_cancelled(void **state)
{
    fixture *f = *state;
    ebb_http_request request = request_for(&f->o, "POST", f->url);
    size_t n = 32u << 20; /* more than sockets hold */
    char *large = ebb_mem_zero(n);
    ebb_http_piece piece = { large, n };
    peer p;

    assert_non_null(large);
    request.pieces = &piece;
    request.pieces_count = 1;
    start(f, &request);
    p = receive(f, "\r\n\r\n");
    ebb_http_cancel(f->o.call);
    ebb_mem_free(large);
    assert_true(peer_wait_end(&p, f->loop, SOON));
    assert_true(p.got.n < n);
    peer_close(&p);
}

#define CALLED(test) \
    cmocka_unit_test_setup_teardown(test, calls_setup, calls_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CALLED(a_body_in_pieces_is_sent_from_where_they_are),
        CALLED(pieces_may_go_once_their_call_is_cancelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
