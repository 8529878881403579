/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A server process of its own that answers everything with a lot: so that the
 * memory of the test's process is the client's alone. Blocking, one child a
 * connection; it understands just enough HTTP to know where a request ends.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "ebb.h"

/* An answer to the requests that begin so, in one piece or two. */
typedef struct flood_route {
    const char *line; /* "POST /files"; NULL ends the list */
    const char *also; /* what its head holds besides, or NULL */
    const char *body;
    size_t n;    /* 0: strlen(body) */
    int status;  /* 0: 200 */
    bool closes; /* instead of an answer */
    /* What follows after pause_us (0: FLOOD_PAUSE_US), or NULL. */
    const char *later;
    size_t later_n;
    unsigned pause_us;
} flood_route;

#define FLOOD_PAUSE_US 2000

/*
 * What no route answers and is no "POST …/connect" gets head, then block
 * times, then tail.
 */
typedef struct flood {
    ebb_buf head, block, tail;
    uint64_t times;
    unsigned pause_us; /* behind the head */
    const flood_route *routes;
    bool at_once; /* connect is answered so, too */
    pid_t pid;
    uint16_t port;
} flood;

static inline void flood_send(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0)
            _exit(0);
        bytes += sent;
        n -= (size_t)sent;
    }
}

/* Reads one request whole; its first line stays in request. */
static inline void flood_receive(int fd, char *request, size_t size)
{
    size_t n = 0, want = 0;

    for (;;) {
        ssize_t got = recv(fd, request + n, size - 1 - n, 0);
        char *end, *length;
        if (got <= 0)
            _exit(0);
        n += (size_t)got;
        request[n] = '\0';
        end = strstr(request, "\r\n\r\n");
        length = strstr(request, "Content-Length: ");
        if (end == NULL)
            continue;
        want = (size_t)(end + 4 - request);
        if (length != NULL && length < end)
            want += strtoul(length + 16, NULL, 10);
        if (n >= want)
            return;
    }
}

static inline const flood_route *flood_find(const flood *f, const char *request)
{
    const flood_route *r = f->routes;

    while (r != NULL && r->line != NULL &&
           (strncmp(request, r->line, strlen(r->line)) != 0 ||
            (r->also != NULL && strstr(request, r->also) == NULL)))
        r++;
    return r != NULL && r->line != NULL ? r : NULL;
}

static inline void flood_answer(const flood_route *r, int fd)
{
    char head[128];
    size_t n;

    if (r->closes)
        _exit(0);
    n = r->n > 0 ? r->n : strlen(r->body);
    snprintf(head, sizeof head,
             "HTTP/1.1 %d Said\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n",
             r->status > 0 ? r->status : 200, n + r->later_n);
    flood_send(fd, head, strlen(head));
    flood_send(fd, r->body, n);
    if (r->later != NULL)
        usleep(r->pause_us > 0 ? r->pause_us : FLOOD_PAUSE_US);
    flood_send(fd, r->later, r->later_n);
}

static inline void flood_serve(const flood *f, int fd)
{
    static const char connected[] =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        "Content-Length: 18\r\n\r\n{\"sandboxID\":\"i1\"}";
    static char request[65536];

    for (;;) {
        const flood_route *route;

        flood_receive(fd, request, sizeof request);
        route = flood_find(f, request);
        if (route != NULL) {
            flood_answer(route, fd);
            continue;
        }
        *strchr(request, '\r') = '\0';
        if (!f->at_once && strstr(request, "/connect ") != NULL) {
            flood_send(fd, connected, sizeof connected - 1);
            continue;
        }
        flood_send(fd, f->head.bytes, f->head.n);
        if (f->pause_us > 0)
            usleep(f->pause_us);
        for (uint64_t i = 0; i < f->times; i++)
            flood_send(fd, f->block.bytes, f->block.n);
        flood_send(fd, f->tail.bytes, f->tail.n);
    }
}

static inline void flood_start(flood *f)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 1024), 0);
    getsockname(fd, (struct sockaddr *)&at, &n);
    f->port = ntohs(at.sin_port);
    f->pid = fork();
    if (f->pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGCHLD, SIG_IGN);
        alarm(1800);
        for (;;) {
            int peer = accept(fd, NULL, NULL);
            int yes = 1;

            setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
            if (peer >= 0 && fork() == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                flood_serve(f, peer);
            }
            close(peer);
        }
    }
    setpgid(f->pid, f->pid);
    close(fd);
}

static inline void flood_stop(flood *f)
{
    kill(-f->pid, SIGKILL);
    waitpid(f->pid, NULL, 0);
    ebb_buf_clear(&f->head);
    ebb_buf_clear(&f->block);
    ebb_buf_clear(&f->tail);
}

/* ---- what to send ---- */

static inline void flood_chunk(ebb_buf *out, const ebb_buf *bytes)
{
    ebb_buf_printf(out, "%zx\r\n", bytes->n);
    ebb_buf_add(out, bytes->bytes, bytes->n);
    ebb_buf_add_text(out, "\r\n");
}

static inline void flood_chunk_text(ebb_buf *out, const char *text)
{
    ebb_buf one = { .bytes = (char *)(uintptr_t)text, .n = strlen(text) };

    flood_chunk(out, &one);
}

/* A text sent so often, as an answer of code. */
static inline void flood_lines(flood *f, const char *line, uint64_t times)
{
    ebb_buf_add_text(&f->head,
                     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                     "Content-Type: application/json\r\n\r\n");
    flood_chunk_text(&f->block, line);
    f->times = times;
}

/* Protobuf: field `number`, length-delimited, around what out holds. */
static inline void flood_wrap(ebb_buf *out, unsigned number)
{
    ebb_buf whole = { 0 };
    size_t n = out->n;

    ebb_buf_add_byte(&whole, (char)(number << 3 | 2));
    for (; n >= 0x80; n >>= 7)
        ebb_buf_add_byte(&whole, (char)(n | 0x80));
    ebb_buf_add_byte(&whole, (char)n);
    ebb_buf_add(&whole, out->bytes, out->n);
    ebb_buf_clear(out);
    *out = whole;
}

/* Adds a Connect envelope. */
static inline void flood_envelope(ebb_buf *out, char flags, const char *bytes,
                                  size_t n)
{
    const char head[5] = { flags, (char)(n >> 24), (char)(n >> 16),
                           (char)(n >> 8), (char)n };

    ebb_buf_add(out, head, sizeof head);
    ebb_buf_add(out, bytes, n);
}

/*
 * Process/Start: at least `total` bytes of stdout in events of `each` bytes;
 * how many bytes exactly comes back.
 */
static inline uint64_t flood_command(flood *f, uint64_t total, size_t each)
{
    static const char start[] = "\x0A\x04\x0A\x02\x08\x01";
    static const char end[] = "\x0A\x04\x1A\x02\x10\x01";
    ebb_buf event = { 0 }, some = { 0 };
    size_t n = each < 65536 ? 65536 / each : 1;

    ebb_buf_add_text(&f->head,
                     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                     "Content-Type: application/connect+proto\r\n\r\n");
    flood_envelope(&some, 0, start, sizeof start - 1);
    flood_chunk(&f->head, &some);
    for (size_t i = 0; i < each; i++)
        ebb_buf_add_byte(&event, 'x');
    flood_wrap(&event, 1); /* DataEvent.stdout */
    flood_wrap(&event, 2); /* ProcessEvent.data */
    flood_wrap(&event, 1); /* StartResponse.event */
    ebb_buf_reset(&some);
    for (size_t i = 0; i < n; i++)
        flood_envelope(&some, 0, event.bytes, event.n);
    flood_chunk(&f->block, &some);
    f->times = (total + n * each - 1) / (n * each);
    ebb_buf_reset(&some);
    flood_envelope(&some, 0, end, sizeof end - 1);
    flood_envelope(&some, 2, "{}", 2);
    flood_chunk(&f->tail, &some);
    ebb_buf_add_text(&f->tail, "0\r\n\r\n");
    ebb_buf_clear(&event);
    ebb_buf_clear(&some);
    return f->times * n * each;
}

/* A client's configuration for the server; url is room for its address. */
#define FLOOD_URL_BYTES 64
static inline void flood_config(const flood *f, ebb_config *config,
                                char url[FLOOD_URL_BYTES])
{
    snprintf(url, FLOOD_URL_BYTES, "http://127.0.0.1:%d", f->port);
    ebb_config_init(config);
    config->api_key = "e2b_cafecafecafe";
    config->api_url = config->sandbox_url = url;
    config->jitter = -1;
}
