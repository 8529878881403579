/* SPDX-License-Identifier: MIT */

/*
 * Whether an idle connection may carry another request. libcurl takes one on
 * which bytes have come that nobody asked for, such as the 408 of a server
 * that is about to close, and would read them as the next answer. libcurl
 * does not say which descriptor a request is about to use, but its two ends,
 * so the descriptors of idle connections are remembered and looked through.
 * The port alone is not enough: the kernel gives one to several connections
 * if they lead to different places.
 */

#include "net/http_client_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
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
        if (client->idle[i].port != 0 && client->idle[i].fd == fd)
            at = &client->idle[i];
    if (at == &client->idle[client->idle_next])
        client->idle_next = (client->idle_next + 1) % EBB_HTTP_IDLE_MAX;
    *at = (ebb_http_idle){ (int)port, fd };
}

/* One end of a connection, as getsockname and getpeername say it. */
typedef union end {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} end;

static bool has_address(const end *at, const char *address)
{
    bool is_v6 = at->any.sa_family == AF_INET6;
    const void *bytes = is_v6 ? (const void *)&at->v6.sin6_addr
                              : (const void *)&at->v4.sin_addr;
    struct in6_addr other;

    if (!is_v6 && at->any.sa_family != AF_INET)
        return false;
    return inet_pton(at->any.sa_family, address, &other) == 1 &&
           memcmp(bytes, &other, is_v6 ? 16 : 4) == 0;
}

/*
 * The remote port if fd has these ends but for that; -1: no, such as when it
 * was closed meanwhile and its number given to another.
 */
static int port_behind(int fd, const ebb_http_ends *ends)
{
    end local = { 0 }, remote = { 0 };
    socklen_t n = sizeof local, m = sizeof remote;

    if (getsockname(fd, &local.any, &n) != 0 ||
        getpeername(fd, &remote.any, &m) != 0 ||
        !has_address(&local, ends->local) ||
        !has_address(&remote, ends->remote) ||
        ntohs(local.v4.sin_port) != ends->local_port) /* v6: same place */
        return -1;
    return ntohs(remote.v4.sin_port);
}

int ebb_http_idle_find(const ebb_http_client *client, const ebb_http_ends *ends)
{
    int found = -1, count = 0;

    for (size_t i = 0; ends->local_port > 0 && i < EBB_HTTP_IDLE_MAX; i++) {
        const ebb_http_idle *idle = &client->idle[i];
        int port;

        if (idle->port != ends->local_port)
            continue;
        port = port_behind(idle->fd, ends);
        if (port == ends->remote_port)
            return idle->fd;
        if (port >= 0) { /* a proxy's, where libcurl says the URL's */
            found = idle->fd;
            count++;
        }
    }
    return count == 1 ? found : -1;
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

    if (fd >= 0 && call->body.n > 0 &&
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
