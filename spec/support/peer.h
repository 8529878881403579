/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The other end of a connection in a test: a plain non-blocking socket that
 * sends what the test says and keeps what comes. It knows no HTTP.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "net/loop.h"

typedef struct peer {
    int fd;
    ebb_buf got;
    bool ended; /* end of file, or an error: see error */
    int error;
} peer;

static inline int64_t peer_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline peer peer_of(int fd)
{
    peer p = { .fd = fd };

    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return p;
}

static inline peer peer_connect(uint16_t port)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons(port) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        close(fd);
        fd = -1;
    }
    return peer_of(fd);
}

static inline peer peer_connect_unix(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    strncpy(at.sun_path, path, sizeof at.sun_path - 1);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        close(fd);
        fd = -1;
    }
    return peer_of(fd);
}

/* A socket that listens on a free port of 127.0.0.1. */
static inline int peer_listen(uint16_t *port)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(fd, 16) != 0)
        return -1;
    getsockname(fd, (struct sockaddr *)&at, &n);
    *port = ntohs(at.sin_port);
    return fd;
}

static inline ssize_t peer_send_n(peer *p, const char *bytes, size_t n)
{
    return send(p->fd, bytes, n, MSG_NOSIGNAL);
}

static inline void peer_send(peer *p, const char *text)
{
    peer_send_n(p, text, strlen(text));
}

/* Takes what is there. */
static inline void peer_read(peer *p)
{
    char bytes[65536];

    for (int i = 0; i < 16 && !p->ended && p->fd >= 0; i++) {
        ssize_t n = recv(p->fd, bytes, sizeof bytes, 0);

        if (n > 0) {
            ebb_buf_add(&p->got, bytes, (size_t)n);
        } else if (n == 0 || errno != EAGAIN) {
            p->ended = true;
            p->error = n == 0 ? 0 : errno;
        } else {
            return;
        }
    }
}

static inline bool peer_has(const peer *p, const char *text)
{
    return p->got.n >= strlen(text) &&
           memmem(p->got.bytes, p->got.n, text, strlen(text)) != NULL;
}

/* Runs the loop until text has come; false after ms or at the end. */
static inline bool peer_wait(peer *p, ebb_loop *loop, const char *text,
                             int64_t ms)
{
    int64_t end = peer_now_ms() + ms;

    for (;;) {
        peer_read(p);
        if (peer_has(p, text))
            return true;
        if (p->ended || peer_now_ms() > end)
            return false;
        ebb_loop_run(loop, 2);
    }
}

/* Runs the loop until the connection has ended; false after ms. */
static inline bool peer_wait_end(peer *p, ebb_loop *loop, int64_t ms)
{
    int64_t end = peer_now_ms() + ms;

    while (!p->ended && peer_now_ms() < end) {
        ebb_loop_run(loop, 2);
        peer_read(p);
    }
    return p->ended;
}

static inline void peer_close(peer *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    ebb_buf_clear(&p->got);
}

/* Closes with a reset. */
static inline void peer_reset(peer *p)
{
    struct linger now = { 1, 0 };

    setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    peer_close(p);
}

static inline void run_for(ebb_loop *loop, int64_t ms)
{
    int64_t end = peer_now_ms() + ms;

    while (peer_now_ms() < end)
        ebb_loop_run(loop, 2);
}
