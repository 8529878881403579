/* SPDX-License-Identifier: MIT */
/*
 * The fake E2B's HTTP/1.1: one thread, one epoll, kept connections. Prints
 * its port, serves loopback until it is killed. Only for clients that behave.
 */
#define _GNU_SOURCE
#include "answers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

#define EVENTS     256
#define READ_BYTES 65536

typedef struct connection {
    int fd;
    bool busy; /* an answer is under way */
    bool writable_wanted;
    ebb_buf in;
    size_t taken; /* bytes of in that the request has */
    request request;
    answer answer;
    size_t sent;    /* bytes of the answer */
    int64_t due_ms; /* of a held answer, or 0 */
    struct connection *held_next;
} connection;

static int poller;
static connection *held, **held_end = &held; /* in order of due_ms */

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- requests ---- */

static void copy_field(char *to, size_t room, const char *from)
{
    size_t n = strcspn(from, "\r ");

    snprintf(to, room, "%.*s", (int)n, from);
}

/* Undoes chunks in place; the bytes of the body, or -1 until it is whole. */
static long take_chunks(connection *c, size_t begin)
{
    size_t from = begin, to = begin;

    for (;;) {
        char *line = c->in.bytes + from;
        char *end = memchr(line, '\n', c->in.n - from);
        size_t n, at;

        if (end == NULL)
            return -1;
        n = strtoul(line, NULL, 16);
        at = (size_t)(end + 1 - c->in.bytes);
        if (c->in.n < at + n + 2)
            return -1;
        if (n == 0) {
            c->taken = at + 2;
            return (long)(to - begin);
        }
        memmove(c->in.bytes + to, c->in.bytes + at, n);
        to += n;
        from = at + n + 2;
    }
}

/* Whether the chunks are all there, before they are undone. */
static bool has_end(const connection *c)
{
    static const char end[] = "\r\n0\r\n\r\n";
    size_t n = sizeof end - 1;

    return c->in.n >= n && memcmp(c->in.bytes + c->in.n - n, end, n) == 0;
}

/* Reads one request of what has come; false until it is whole. */
static bool take_request(connection *c)
{
    request *r = &c->request;
    char *end =
        c->in.n == 0 ? NULL : memmem(c->in.bytes, c->in.n, "\r\n\r\n", 4);
    long length = 0;
    size_t begin;
    bool chunked = false;

    if (end == NULL)
        return false;
    begin = (size_t)(end + 4 - c->in.bytes);
    r->content_type[0] = '\0';
    sscanf(c->in.bytes, "%7s %1023s", r->method, r->path);
    for (char *at = c->in.bytes; at < end; at = strstr(at, "\r\n") + 2) {
        if (strncasecmp(at, "content-length:", 15) == 0)
            length = atol(at + 15);
        else if (strncasecmp(at, "transfer-encoding:", 18) == 0)
            chunked = true;
        else if (strncasecmp(at, "content-type: ", 14) == 0)
            copy_field(r->content_type, sizeof r->content_type, at + 14);
    }
    if (chunked)
        length = has_end(c) ? take_chunks(c, begin) : -1;
    else
        c->taken = begin + (size_t)length;
    if (length < 0 || c->in.n < c->taken)
        return false;
    r->body = c->in.bytes + begin;
    r->body_n = (size_t)length;
    return true;
}

/* ---- answers ---- */

static void want_writable(connection *c, bool wanted)
{
    struct epoll_event event = { .events = EPOLLIN | (wanted ? EPOLLOUT : 0),
                                 .data.ptr = c };

    if (c->writable_wanted != wanted)
        epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
    c->writable_wanted = wanted;
}

/* What is to be sent next; 0 when nothing is left. */
static size_t next_bytes(const connection *c, const char **bytes)
{
    const answer *a = &c->answer;
    size_t at = c->sent;

    if (at < a->head.n) {
        *bytes = a->head.bytes + at;
        return a->head.n - at;
    }
    at -= a->head.n;
    if (c->due_ms != 0)
        return 0;
    if (at < a->batch_bytes) {
        size_t from = at % a->batch->n, n = a->batch->n - from;

        *bytes = a->batch->bytes + from;
        return n < a->batch_bytes - at ? n : a->batch_bytes - at;
    }
    at -= a->batch_bytes;
    *bytes = a->tail.bytes + at;
    return a->tail.n - at;
}

/* Sends what there is: 1 all, 0 later, -1 the peer is gone. */
static int send_answer(connection *c)
{
    const char *bytes;
    size_t n;

    while ((n = next_bytes(c, &bytes)) > 0) {
        ssize_t sent = send(c->fd, bytes, n, MSG_NOSIGNAL);

        if (sent < 0 && errno != EAGAIN)
            return -1;
        want_writable(c, sent < 0);
        if (sent < 0)
            return 0;
        c->sent += (size_t)sent;
    }
    return c->due_ms == 0 ? 1 : 0;
}

/* A short answer is one write: no delayed acknowledgement, no second wake. */
static void join(answer *a)
{
    if (a->batch_bytes > 0 || a->hold_ms > 0 || a->tail.n == 0)
        return;
    ebb_buf_add(&a->head, a->tail.bytes, a->tail.n);
    ebb_buf_reset(&a->tail);
}

static void hold(connection *c)
{
    c->due_ms = now_ms() + c->answer.hold_ms;
    c->held_next = NULL;
    *held_end = c; /* the bench holds all alike, so they stay in order */
    held_end = &c->held_next;
}

static void end_answer(connection *c)
{
    ebb_buf_reset(&c->answer.head);
    ebb_buf_reset(&c->answer.tail);
    c->answer.batch_bytes = 0;
    c->answer.hold_ms = 0;
    c->sent = 0;
    c->busy = false;
    ebb_buf_drop(&c->in, c->taken);
}

static void drop(connection *c)
{
    close(c->fd);
    c->fd = -1;
    if (c->due_ms != 0)
        return; /* the list of held ones frees it */
    ebb_buf_clear(&c->in);
    ebb_buf_clear(&c->answer.head);
    ebb_buf_clear(&c->answer.tail);
    ebb_mem_free(c);
}

static void proceed(connection *c)
{
    int done = 1;

    while (done == 1 && (c->busy || take_request(c))) {
        if (!c->busy) {
            answer_make(&c->answer, &c->request);
            join(&c->answer);
            if (c->answer.hold_ms > 0)
                hold(c);
            c->busy = true;
        }
        done = send_answer(c);
        if (done == 1)
            end_answer(c);
    }
    if (done < 0)
        drop(c);
}

/* ---- the loop ---- */

static void receive(connection *c)
{
    char *room = ebb_buf_reserve(&c->in, READ_BYTES);
    ssize_t n = room == NULL ? 0 : read(c->fd, room, READ_BYTES);

    if (n == 0 || (n < 0 && errno != EAGAIN)) {
        drop(c);
        return;
    }
    if (n > 0)
        ebb_buf_grew(&c->in, (size_t)n);
    proceed(c);
}

static void accept_all(int listener)
{
    int one = 1, fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        connection *c = ebb_mem_zero(sizeof *c);
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };

        if (c == NULL)
            die("memory");
        c->fd = fd;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
    }
}

static void release_held(void)
{
    int64_t now = held == NULL ? 0 : now_ms();

    while (held != NULL && held->due_ms <= now) {
        connection *c = held;

        held = c->held_next;
        if (held == NULL)
            held_end = &held;
        c->due_ms = 0;
        if (c->fd < 0)
            drop(c);
        else
            proceed(c);
    }
}

static int listen_loopback(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t n = sizeof address;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&address, n) < 0 || listen(fd, 4096) < 0)
        die("listen");
    getsockname(fd, (struct sockaddr *)&address, &n);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

int main(void)
{
    int listener = listen_loopback();
    struct epoll_event events[EVENTS] = { { .events = EPOLLIN } };

    poller = epoll_create1(0);
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &events[0]);
    for (;;) {
        int64_t left = held == NULL ? -1 : held->due_ms - now_ms();
        int n = epoll_wait(poller, events, EVENTS,
                           held != NULL && left < 0 ? 0 : (int)left);

        for (int i = 0; i < n; i++) {
            connection *c = events[i].data.ptr;

            if (c == NULL)
                accept_all(listener);
            else if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                receive(c);
            else
                proceed(c);
        }
        release_held();
    }
}
