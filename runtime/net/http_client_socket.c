/* SPDX-License-Identifier: MIT */
#include "net/http_client_private.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

/*
 * A socket of libcurl's. libcurl keeps the pointer while it wants the socket
 * watched; in between, when no call uses the connection, the client does.
 */
typedef struct ebb_http_socket {
    struct ebb_http_socket *next; /* of those that are not watched */
    ebb_http_client *client;
    ebb_loop_watch *watch;
    int fd;
} socket_watch;

static void on_socket_event(void *context, unsigned events)
{
    socket_watch *watch = context;
    int bits = 0;

    if (events & EBB_READABLE)
        bits |= CURL_CSELECT_IN;
    if (events & EBB_WRITABLE)
        bits |= CURL_CSELECT_OUT;
    if (events & EBB_HANGUP)
        bits = 0; /* an error: libcurl looks itself */
    ebb_http_client_turn(watch->client, watch->fd, bits);
}

/* That of a kept connection; NULL if the socket is new. */
static socket_watch *take_unwatched(ebb_http_client *client, int fd)
{
    socket_watch **at = &client->unwatched, *watch;

    while (*at != NULL && (*at)->fd != fd)
        at = &(*at)->next;
    watch = *at;
    if (watch != NULL)
        *at = watch->next;
    return watch;
}

static void free_watch(socket_watch *watch)
{
    if (watch == NULL)
        return;
    ebb_loop_watch_free(watch->watch);
    ebb_mem_free(watch);
}

static socket_watch *new_watch(ebb_http_client *client, int fd)
{
    socket_watch *watch = ebb_mem_zero(sizeof *watch);
    ebb_err err;

    if (watch == NULL)
        return NULL;
    watch->client = client;
    watch->fd = fd;
    watch->watch =
        ebb_loop_watch_new(client->loop, fd, on_socket_event, watch, &err);
    if (watch->watch != NULL)
        return watch;
    ebb_mem_free(watch);
    return NULL;
}

static socket_watch *watch_socket(ebb_http_client *client, int fd)
{
    socket_watch *watch = take_unwatched(client, fd);

    if (watch == NULL)
        watch = new_watch(client, fd);
    if (watch != NULL)
        curl_multi_assign(client->multi, fd, watch);
    return watch;
}

/*
 * Whether the socket is that of a connection. libcurl closes one that has not
 * become one by itself, and without a word to ebb_http_client_close.
 */
static bool is_connected(CURL *easy, int fd)
{
    curl_socket_t active = CURL_SOCKET_BAD;

    curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &active);
    return active == fd;
}

static void unwatch_socket(ebb_http_client *client, CURL *easy,
                           socket_watch *watch)
{
    if (watch == NULL)
        return;
    curl_multi_assign(client->multi, watch->fd, NULL);
    if (is_connected(easy, watch->fd)) {
        ebb_loop_watch_rest(watch->watch);
        watch->next = client->unwatched;
        client->unwatched = watch;
    } else {
        free_watch(watch);
    }
}

curl_socket_t ebb_http_client_open(void *context, curlsocktype purpose,
                                   struct curl_sockaddr *address)
{
    ebb_http_call *call = context;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC,
                    address->protocol);

    (void)purpose;
    if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        call->no_socket = errno;
    return fd;
}

int ebb_http_client_close(void *context, curl_socket_t fd)
{
    ebb_http_client *client = context;

    /* What failed before it was ever watched is let go of here. */
    for (ebb_http_call *call = client->calls; call != NULL; call = call->next)
        if (call->fd == fd && !call->finished) {
            ebb_http_again_note(call, fd);
            call->fd = -1;
        }
    /* Before the number can be another's. */
    free_watch(take_unwatched(client, fd));
    ebb_http_idle_del(client, fd);
    return close(fd);
}

int ebb_http_client_watch(CURL *easy, curl_socket_t fd, int what, void *context,
                          void *assigned)
{
    ebb_http_client *client = context;
    socket_watch *watch = assigned;
    ebb_http_call *call = NULL;
    unsigned events = 0;

    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &call);
    if (call != NULL)
        call->fd = what == CURL_POLL_REMOVE ? -1 : fd;
    if (what == CURL_POLL_REMOVE) {
        if (call != NULL)
            ebb_http_again_note(call, fd);
        unwatch_socket(client, easy, watch);
        return 0;
    }
    if (watch == NULL)
        watch = watch_socket(client, fd);
    if (what & CURL_POLL_IN)
        events |= EBB_READABLE;
    if (what & CURL_POLL_OUT)
        events |= EBB_WRITABLE;
    if ((watch == NULL || ebb_loop_watch_set(watch->watch, events) != 0) &&
        call != NULL) {
        /* Returning -1 would end every call, now and later. */
        ebb_http_call_fail(call, EBB_NO_MEMORY, "watch of a socket");
        ebb_http_call_ready(call);
    }
    return 0;
}
