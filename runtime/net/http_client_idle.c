/* SPDX-License-Identifier: MIT */

/*
 * Whether an idle connection may carry another request. libcurl takes one on
 * which bytes have come that nobody asked for, such as the 408 of a server
 * that is about to close, and would read them as the next answer. libcurl
 * does not say which descriptor a request is about to use, but its two ends,
 * so those of each connection that has carried a call are remembered until it
 * is closed. The port alone is not enough: the kernel gives one to several
 * connections if they lead to different places.
 */

#include "net/http_client_private.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

/* Its own place, a free one, or when all are taken one in turn. */
static ebb_http_idle *place_of(ebb_http_client *client, int fd)
{
    ebb_http_idle *at = NULL;

    for (size_t i = 0; i < EBB_HTTP_IDLE_MAX; i++) {
        ebb_http_idle *idle = &client->idle[i];

        if (idle->local_port != 0 && idle->fd == fd)
            return idle;
        if (idle->local_port == 0 && at == NULL)
            at = idle;
    }
    if (at != NULL)
        return at;
    at = &client->idle[client->idle_next];
    client->idle_next = (client->idle_next + 1) % EBB_HTTP_IDLE_MAX;
    return at;
}

void ebb_http_idle_add(ebb_http_client *client, int fd,
                       const ebb_http_ends *ends)
{
    size_t local = strlen(ends->local), remote = strlen(ends->remote);
    ebb_http_idle *at;

    if (local >= EBB_HTTP_ADDRESS_BYTES || remote >= EBB_HTTP_ADDRESS_BYTES)
        return;
    at = place_of(client, fd);
    at->fd = fd;
    at->local_port = ends->local_port;
    at->remote_port = ends->remote_port;
    memcpy(at->local, ends->local, local + 1);
    memcpy(at->remote, ends->remote, remote + 1);
}

void ebb_http_idle_del(ebb_http_client *client, int fd)
{
    for (size_t i = 0; i < EBB_HTTP_IDLE_MAX; i++)
        if (client->idle[i].fd == fd)
            client->idle[i].local_port = 0;
}

void ebb_http_idle_note(ebb_http_call *call)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    char *local = NULL, *remote = NULL;
    long local_port = 0, remote_port = 0;

    if (call->is_known)
        return;
    curl_easy_getinfo(call->easy, CURLINFO_ACTIVESOCKET, &fd);
    curl_easy_getinfo(call->easy, CURLINFO_LOCAL_IP, &local);
    curl_easy_getinfo(call->easy, CURLINFO_LOCAL_PORT, &local_port);
    curl_easy_getinfo(call->easy, CURLINFO_PRIMARY_IP, &remote);
    curl_easy_getinfo(call->easy, CURLINFO_PRIMARY_PORT, &remote_port);
    if (fd != CURL_SOCKET_BAD && local_port > 0) /* no Unix socket */
        ebb_http_idle_add(call->client, fd,
                          &(ebb_http_ends){ local, remote, (int)local_port,
                                            (int)remote_port });
}

/*
 * Of several that differ in the remote port alone it is the one with that
 * port. None may have it: through a proxy libcurl names the port of the URL.
 */
int ebb_http_idle_find(const ebb_http_client *client, const ebb_http_ends *ends)
{
    int same = -1, other = -1, same_n = 0, other_n = 0;

    for (size_t i = 0; ends->local_port > 0 && i < EBB_HTTP_IDLE_MAX; i++) {
        const ebb_http_idle *idle = &client->idle[i];

        if (idle->local_port != ends->local_port ||
            strcmp(idle->local, ends->local) != 0 ||
            strcmp(idle->remote, ends->remote) != 0)
            continue;
        if (idle->remote_port == ends->remote_port) {
            same = idle->fd;
            same_n++;
        } else {
            other = idle->fd;
            other_n++;
        }
    }
    if (same_n > 0)
        return same_n == 1 ? same : -1;
    return other_n == 1 ? other : -1;
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

    if (fd >= 0 && call->body.handed < call->body.n &&
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
