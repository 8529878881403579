/* SPDX-License-Identifier: MIT */
#include "net/http_client_private.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/crash.h"
#include "base/mem.h"

/* ---- the list of calls with something to deliver ---- */

void ebb_http_call_ready(ebb_http_call *call)
{
    ebb_http_client *client = call->client;

    if (call->is_ready)
        return;
    call->is_ready = true;
    call->ready_next = NULL;
    *client->ready_end = call;
    client->ready_end = &call->ready_next;
    if (client->depth == 0)
        ebb_loop_timer_start(client->later, 0);
}

static void unready(ebb_http_call *call)
{
    ebb_http_call **at = &call->client->ready;

    if (!call->is_ready)
        return;
    while (*at != call)
        at = &(*at)->ready_next;
    *at = call->ready_next;
    if (call->ready_next == NULL)
        call->client->ready_end = at;
    call->is_ready = false;
}

/* ---- one call ---- */

void ebb_http_call_stop(ebb_http_call *call)
{
    call->finished = true;
    ebb_http_idle_uncork(call);
    curl_multi_remove_handle(call->client->multi, call->easy);
    if (call->timer != NULL)
        ebb_loop_timer_cancel(call->timer);
    call->timer_at_ms = INT64_MAX;
}

static void forget(ebb_http_call *call)
{
    ebb_http_client *client = call->client;

    unready(call);
    if (call->previous != NULL)
        call->previous->next = call->next;
    else
        client->calls = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
}

static void unpause(ebb_http_call *call)
{
    int still = (call->held && call->hold_told ? CURLPAUSE_SEND : 0) |
                (call->in_paused ? CURLPAUSE_RECV : 0);

    if (!call->finished)
        curl_easy_pause(call->easy, still);
}

/* Returns false when the call is not to be touched any more. */
static bool tell_head(ebb_http_call *call)
{
    /* What was not held has gone out, even if that was the end. */
    if (call->hold_due && (!call->finished || !call->held)) {
        call->hold_due = false;
        call->hold_told = true;
        call->before_body(call->context, call);
        if (call->held)
            ebb_http_idle_uncork(call); /* for longer: the head may go */
    }
    if (call->head.done && !call->head_told && !call->cancelled) {
        call->head_told = true;
        if (call->on_head != NULL)
            call->on_head(call->context, call, call->head.status);
    }
    return !call->cancelled;
}

static bool tell_body(ebb_http_call *call)
{
    while (call->in.n > 0 && !call->gathers) {
        ebb_buf full = call->in;

        /* Taken out first: a callback may make libcurl record more. */
        call->in = call->out;
        call->out = full;
        if (call->on_body != NULL &&
            call->on_body(call->context, call, full.bytes, full.n) != 0 &&
            !call->cancelled) {
            ebb_http_call_fail(call, EBB_CANCELLED,
                               "the receiver wants no more");
            ebb_http_call_stop(call);
            ebb_buf_reset(&call->in);
        }
        if (call->cancelled)
            return false;
        ebb_buf_reset(&call->out);
        if (call->in_paused) {
            call->in_paused = false;
            unpause(call);
        }
    }
    return true;
}

/* Calls back for all that was recorded; the call may be freed by this. */
static void deliver(ebb_http_call *call)
{
    if (call->body.handed == call->body.n)
        ebb_http_idle_uncork(call);
    if (call->sent_ms >= 0 && !call->sent_passed) {
        call->sent_passed = true;
        ebb_crash_at(EBB_CRASH_SENT);
    }
    if (call->failed && !call->finished)
        ebb_http_call_stop(call);
    call->busy = true;
    if (tell_head(call) && tell_body(call)) {
        if (call->finished) {
            forget(call);
            call->over = true;
            call->on_done(call->context, call, ebb_http_call_outcome(call));
        } else {
            ebb_http_limits_arm(call);
        }
    }
    call->busy = false;
    if (call->over || call->cancelled)
        ebb_http_call_free(call);
}

/* ---- turns ---- */

static void take_finished(ebb_http_client *client)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
        ebb_http_call *call = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
        call->result = message->data.result;
        call->whole = call->result == CURLE_OK;
        if (call->whole)
            ebb_http_idle_note(call);
        ebb_http_call_stop(call); /* message is gone with this */
        if (call->whole || call->failed || !call->reused ||
            !ebb_http_again(call))
            ebb_http_call_ready(call);
    }
}

static void clear(ebb_http_client *client)
{
    ebb_http_spare_clear(client);
    curl_multi_cleanup(client->multi);
    ebb_loop_timer_free(client->timer);
    ebb_loop_timer_free(client->later);
    ebb_mem_free(client->ca_file);
    ebb_mem_free(client);
}

/* After libcurl has returned: callbacks may start, cancel and free. */
static void end_turn(ebb_http_client *client)
{
    take_finished(client);
    while (client->ready != NULL && !client->freed) {
        ebb_http_call *call = client->ready;

        unready(call);
        deliver(call);
    }
    client->depth--;
    if (client->freed && client->depth == 0)
        clear(client);
}

void ebb_http_client_turn(ebb_http_client *client, int fd, int events)
{
    int running;

    client->depth++;
    curl_multi_socket_action(client->multi, fd, events, &running);
    end_turn(client);
}

static void on_timeout(void *context)
{
    ebb_http_client_turn(context, CURL_SOCKET_TIMEOUT, 0);
}

static void on_later(void *context)
{
    ebb_http_client *client = context;

    client->depth++;
    end_turn(client);
}

static void on_limit(void *context)
{
    ebb_http_call *call = context;
    ebb_http_client *client = call->client;

    client->depth++;
    call->timer_at_ms = INT64_MAX;
    if (ebb_http_limits_reached(call)) {
        ebb_http_call_stop(call);
        ebb_http_call_ready(call);
    } else {
        ebb_http_limits_arm(call);
    }
    end_turn(client);
}

static int on_timer(CURLM *multi, long ms, void *context)
{
    ebb_http_client *client = context;

    (void)multi;
    if (ms < 0)
        ebb_loop_timer_cancel(client->timer);
    else
        ebb_loop_timer_start(client->timer, ms);
    return 0;
}

/* ---- public ---- */

static void init_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

ebb_http_client *ebb_http_client_new(ebb_loop *loop, ebb_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    ebb_http_client *client = ebb_mem_zero(sizeof *client);
    const char *ca_file = getenv("SSL_CERT_FILE");

    pthread_once(&once, init_curl);
    if (client == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "HTTP client");
        return NULL;
    }
    client->loop = loop;
    client->ready_end = &client->ready;
    client->multi = curl_multi_init();
    client->timer = ebb_loop_timer_new(loop, on_timeout, client);
    client->later = ebb_loop_timer_new(loop, on_later, client);
    if (ca_file != NULL && *ca_file == '\0')
        ca_file = NULL;
    client->ca_file = ebb_mem_dup(ca_file);
    if (client->multi == NULL || client->timer == NULL ||
        client->later == NULL || (ca_file != NULL && !client->ca_file)) {
        clear(client);
        ebb_err_set(err, EBB_NO_MEMORY, "HTTP client");
        return NULL;
    }
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION,
                      ebb_http_client_watch);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS,
                      (long)EBB_HTTP_IDLE_MAX);
    return client;
}

void ebb_http_client_free(ebb_http_client *client)
{
    if (client == NULL || client->freed)
        return;
    while (client->calls != NULL)
        ebb_http_cancel(client->calls);
    client->freed = true;
    if (client->depth == 0)
        clear(client);
}

static bool has_limits(const ebb_http_limits *limits)
{
    return limits->first_byte_ms > 0 || limits->idle_ms > 0 ||
           limits->total_ms > 0;
}

ebb_http_call *ebb_http_start(ebb_http_client *client,
                              const ebb_http_request *request, ebb_err *err)
{
    ebb_http_call *call = ebb_http_call_new(client, request, err);

    if (call == NULL)
        return NULL;
    if (has_limits(&call->limits))
        call->timer = ebb_loop_timer_new(client->loop, on_limit, call);
    if ((has_limits(&call->limits) && call->timer == NULL) ||
        curl_multi_add_handle(client->multi, call->easy) != CURLM_OK) {
        ebb_err_set(err, EBB_NO_MEMORY, "%s", call->where);
        ebb_http_call_free(call);
        return NULL;
    }
    call->next = client->calls;
    if (call->next != NULL)
        call->next->previous = call;
    client->calls = call;
    ebb_http_limits_arm(call);
    return call;
}

void ebb_http_cancel(ebb_http_call *call)
{
    if (call->cancelled || call->over)
        return;
    forget(call);
    if (!call->finished)
        ebb_http_call_stop(call);
    if (call->busy)
        call->cancelled = true; /* deliver frees it */
    else
        ebb_http_call_free(call);
}

/* Whether the connection of a held call has ended. */
static bool is_dead(const ebb_http_call *call)
{
    char byte;
    ssize_t n;

    /* A held connection is watched for reading until libcurl reads its end. */
    if (call->fd < 0)
        return call->hold_told;
    n = recv(call->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void ebb_http_continue(ebb_http_call *call)
{
    if (!call->held)
        return;
    call->held = false;
    call->active_ms = ebb_loop_now_ms(call->client->loop);
    ebb_http_call_ready(call); /* the idle limit begins */
    /* libcurl, paused, would hand the body to a dead connection, and nobody
     * could say any more that the server did not act. */
    if (!call->finished && is_dead(call) && !ebb_http_again(call)) {
        ebb_http_call_fail(call, EBB_NETWORK,
                           "the connection ended before the body was sent");
        ebb_http_call_stop(call);
        return;
    }
    unpause(call);
}

const ebb_buf *ebb_http_body(const ebb_http_call *call)
{
    return &call->in;
}

bool ebb_http_was_sent(const ebb_http_call *call)
{
    return call->sent;
}

char *ebb_http_escape(const char *text, size_t n)
{
    static const char digits[] = "0123456789ABCDEF";
    char *escaped = ebb_mem_alloc(3 * n + 1);
    char *out = escaped;

    if (escaped == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];

        /* RFC 3986 2.3, unreserved. */
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
            (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
            c == '~') {
            *out++ = (char)c;
        } else {
            *out++ = '%';
            *out++ = digits[c >> 4];
            *out++ = digits[c & 15];
        }
    }
    *out = '\0';
    return escaped;
}
