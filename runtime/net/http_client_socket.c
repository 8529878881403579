/* SPDX-License-Identifier: MIT */
#include "net/http_client_private.h"

#include "base/mem.h"

/* One descriptor that libcurl wants watched; libcurl keeps the pointer. */
typedef struct socket_watch {
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

static socket_watch *watch_socket(ebb_http_client *client, int fd)
{
    socket_watch *watch = ebb_mem_zero(sizeof *watch);
    ebb_err err;

    if (watch == NULL)
        return NULL;
    watch->client = client;
    watch->fd = fd;
    watch->watch =
        ebb_loop_watch_new(client->loop, fd, on_socket_event, watch, &err);
    if (watch->watch == NULL) {
        ebb_mem_free(watch);
        return NULL;
    }
    curl_multi_assign(client->multi, fd, watch);
    return watch;
}

static void unwatch_socket(ebb_http_client *client, int fd, socket_watch *watch)
{
    if (watch == NULL)
        return;
    ebb_loop_watch_free(watch->watch);
    ebb_mem_free(watch);
    curl_multi_assign(client->multi, fd, NULL);
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
        unwatch_socket(client, fd, watch);
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
