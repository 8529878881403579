/* SPDX-License-Identifier: MIT */

/*
 * Whether an idle connection may carry another request. libcurl takes one on
 * which bytes have come that nobody asked for, such as the 408 of a server
 * that is about to close, and would read them as the next answer. libcurl
 * does not say which descriptor a request is about to use, but which local
 * port, so the descriptors of idle connections are remembered by theirs.
 */

#include "net/http_client_private.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

void ebb_http_idle_note(ebb_http_call *call)
{
    ebb_http_client *client = call->client;
    curl_socket_t fd = CURL_SOCKET_BAD;
    ebb_http_idle *at = &client->idle[client->idle_next];
    long port = 0;

    curl_easy_getinfo(call->easy, CURLINFO_ACTIVESOCKET, &fd);
    curl_easy_getinfo(call->easy, CURLINFO_LOCAL_PORT, &port);
    if (fd == CURL_SOCKET_BAD || port <= 0)
        return; /* closed, or a Unix socket */
    for (size_t i = 0; i < EBB_HTTP_IDLE_MAX; i++)
        if (client->idle[i].port == port)
            at = &client->idle[i];
    if (at == &client->idle[client->idle_next])
        client->idle_next = (client->idle_next + 1) % EBB_HTTP_IDLE_MAX;
    *at = (ebb_http_idle){ (int)port, fd };
}

/* Not closed meanwhile, and its number given to another. */
static bool has_port(int fd, int port)
{
    struct sockaddr_in6 at = { 0 }; /* sin_port is at the same place */
    socklen_t n = sizeof at;

    return getsockname(fd, (struct sockaddr *)&at, &n) == 0 &&
           (at.sin6_family == AF_INET || at.sin6_family == AF_INET6) &&
           ntohs(at.sin6_port) == port;
}

int ebb_http_idle_find(const ebb_http_client *client, int port)
{
    for (size_t i = 0; i < EBB_HTTP_IDLE_MAX; i++) {
        const ebb_http_idle *idle = &client->idle[i];

        if (port > 0 && idle->port == port && has_port(idle->fd, port))
            return idle->fd;
    }
    return -1;
}

bool ebb_http_idle_is_quiet(int fd)
{
    char byte;

    return fd < 0 ||
           (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN);
}

/*
 * libcurl sends the head by itself when the body comes from a callback. Held
 * back, both leave as one packet, and the server wakes up once.
 */
void ebb_http_idle_cork(ebb_http_call *call, int fd)
{
    int on = 1;

    if (fd >= 0 && call->body_n > 0 &&
        setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on) == 0)
        call->corked = fd;
}

void ebb_http_idle_uncork(ebb_http_call *call)
{
    int off = 0;

    /* Should the number be another's by now, its bytes leave a bit earlier. */
    if (call->corked >= 0)
        setsockopt(call->corked, IPPROTO_TCP, TCP_CORK, &off, sizeof off);
    call->corked = -1;
}
