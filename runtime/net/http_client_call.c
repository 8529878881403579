/* SPDX-License-Identifier: MIT */
#include "net/http_client_private.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

#define CONNECT_MS_DEFAULT 10000

/* ---- what libcurl says: recorded, never passed on from here ---- */

static int64_t now(const ebb_http_call *call)
{
    return ebb_loop_now_ms(call->client->loop);
}

/*
 * A small body that nobody holds goes out in one piece with the head, if
 * afterwards it can be told whether it did: libcurl has it from here on, as if
 * on_read had given it. False if the connection has ended.
 */
static bool give_with_head(ebb_http_call *call)
{
    if (call->fd < 0 || call->held || call->body.copied == NULL ||
        call->body.n > EBB_HTTP_SMALL_BODY)
        return true;
    if (!ebb_http_again_mark(call))
        return false;
    if (!call->marked)
        return true;
    curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, call->body.copied);
    call->body.handed = call->body.n;
    call->hold_due = call->before_body != NULL && !call->hold_told;
    return true;
}

/* On a kept connection; false if the call must not use it. */
static bool begin_reused(ebb_http_call *call, const ebb_http_ends *ends)
{
    int fd = ebb_http_idle_find(call->client, ends);

    call->is_known = fd >= 0;
    call->fd = fd; /* the body may go out before libcurl watches it */
    if (!ebb_http_idle_is_quiet(fd) || !give_with_head(call))
        return false;
    ebb_http_idle_cork(call, fd);
    return true;
}

/* Connected; the head goes out next. */
static int on_connected(void *context, char *remote, char *local,
                        int remote_port, int local_port)
{
    ebb_http_call *call = context;
    const ebb_http_ends ends = { local, remote, local_port, remote_port };
    long connects = 1;

    /* libcurl begins again when a reused connection dies before the answer. It
     * would ask for a rewind only if a byte had reached the socket; one that
     * it has taken is enough for us. */
    if (call->body.handed > 0 || (call->once && call->sent))
        return CURL_PREREQFUNC_ABORT;
    /* A second try of libcurl's has another connection, a kept one, too. */
    call->is_known = false;
    if (!call->again)
        curl_easy_getinfo(call->easy, CURLINFO_NUM_CONNECTS, &connects);
    if (connects == 0) {
        call->reused = true;
        if (!begin_reused(call, &ends))
            return CURL_PREREQFUNC_ABORT;
    }
    call->connected = true;
    call->active_ms = now(call);
    if (call->body.handed == call->body.n) {
        call->sent = true;
        call->sent_ms = call->active_ms;
    }
    ebb_http_call_ready(call);
    return CURL_PREREQFUNC_OK;
}

static size_t on_read(char *to, size_t size, size_t count, void *context)
{
    ebb_http_call *call = context;
    size_t n;

    if (call->before_body != NULL && !call->hold_told) {
        call->hold_due = true;
        ebb_http_call_ready(call);
    }
    if (call->held)
        return CURL_READFUNC_PAUSE;
    if (call->body.handed == 0 && !ebb_http_again_mark(call))
        return CURL_READFUNC_ABORT;
    n = ebb_http_pieces_take(&call->body, to, size * count);
    call->sent = true;
    call->active_ms = now(call);
    if (call->body.handed == call->body.n && call->sent_ms < 0) {
        call->sent_ms = call->active_ms;
        ebb_http_call_ready(call);
    }
    return n;
}

static void fail_head(ebb_http_call *call)
{
    ebb_err err = { 0 };

    ebb_buf_check(&call->head.fields, "the answer's head", &err);
    if (err.code == EBB_NO_MEMORY)
        ebb_http_call_fail(call, EBB_NO_MEMORY, "the answer's head");
    else
        ebb_http_call_fail(call, EBB_PROTOCOL,
                           "the answer's head is broken or above %d bytes",
                           EBB_HTTP_HEAD_MAX);
}

static size_t on_header(char *line, size_t size, size_t count, void *context)
{
    ebb_http_call *call = context;
    size_t n = size * count;

    call->active_ms = now(call);
    if (ebb_http_head_add(&call->head, line, n) != 0) {
        fail_head(call);
        return 0;
    }
    if (call->head.done)
        ebb_http_call_ready(call);
    return n;
}

/*
 * A paused libcurl unpacks all it has read and keeps it: a gzip bomb's worth.
 * So a packed answer is not paused but held to its bound.
 */
static size_t on_write(char *bytes, size_t size, size_t count, void *context)
{
    ebb_http_call *call = context;
    size_t n = size * count;

    call->active_ms = now(call);
    if (call->in.n > 0 && call->in.n + n > EBB_HTTP_IN_MAX && !call->gathers &&
        !(call->unpacks && call->body_max > 0)) {
        call->in_paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    if (call->body_max > 0 && n > call->body_max - call->received) {
        ebb_http_call_fail(call, EBB_LIMIT_EXCEEDED,
                           "the answer has more than %zu bytes",
                           call->body_max);
        return 0;
    }
    if (call->in.bytes == NULL)
        ebb_http_in_take(call);
    if (ebb_buf_add(&call->in, bytes, n) != 0) {
        ebb_http_call_fail(call, EBB_NO_MEMORY, "answer");
        return 0;
    }
    call->received += n;
    if (!call->gathers)
        ebb_http_call_ready(call);
    return n;
}

/* ---- what libcurl is told ---- */

/* What is said of the buffers' sizes at their names. */
static void set_room(ebb_http_call *call)
{
    CURL *easy = call->easy;

    if (call->body.n <= EBB_HTTP_SMALL_BODY) {
        curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE,
                         (long)EBB_HTTP_SMALL_BODY);
    } else if (call->body.n > EBB_HTTP_LARGE_BODY) {
        curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE,
                         (long)EBB_HTTP_LARGE_SEND_BYTES);
        curl_easy_setopt(easy, CURLOPT_BUFFERSIZE,
                         (long)EBB_HTTP_LARGE_READ_BYTES);
    }
}

static int set_body(ebb_http_call *call, const ebb_http_request *request,
                    ebb_err *err)
{
    CURL *easy = call->easy;
    const char *method = request->method;
    bool usual = strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
                 strcmp(method, "PATCH") == 0;

    if (ebb_http_pieces_init(&call->body, request) != 0)
        return ebb_err_set(err, EBB_NO_MEMORY, "%s", call->where);
    call->held =
        call->body.n > 0 && request->before_body != NULL && !request->unheld;
    if (call->body.n > 0) {
        /* From a callback, of fixed size, without seek function: libcurl
         * cannot rewind and so cannot send twice. */
        set_room(call);
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)call->body.n);
    } else if (usual) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
    } else if (strcmp(method, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    /* Without a body only a fresh connection is never tried twice. */
    if (request->once && call->body.n == 0)
        curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    return 0;
}

static void set_callbacks(ebb_http_call *call)
{
    CURL *easy = call->easy;

    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_msg);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(easy, CURLOPT_READDATA, call);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_write);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, ebb_http_client_open);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, ebb_http_client_close);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, call->client);
}

static void set_options(ebb_http_call *call, const ebb_http_request *request)
{
    CURL *easy = call->easy;

    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    /* On HTTP/2 "sent once" needs more: a GOAWAY or a refused stream makes
     * libcurl send again by rules of its own. */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)EBB_HTTP_READ_BYTES);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)call->limits.connect_ms);
    /* Ending a call must not wait for a name server that is silent. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    /* libcurl's own programs read it, the library does not. */
    if (call->client->ca_file != NULL)
        curl_easy_setopt(easy, CURLOPT_CAINFO, call->client->ca_file);
    if (request->accept_gzip)
        curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    if (request->socket_path != NULL)
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, request->socket_path);
}

static void copy_request(ebb_http_call *call, const ebb_http_request *request)
{
    call->once = request->once;
    call->unpacks = request->accept_gzip;
    call->body_max = request->body_max;
    call->gathers = request->gathers;
    call->limits = request->limits;
    if (call->limits.connect_ms <= 0)
        call->limits.connect_ms = CONNECT_MS_DEFAULT;
    call->context = request->context;
    call->on_head = request->on_head;
    call->on_body = request->on_body;
    call->before_body = request->before_body;
    call->on_done = request->on_done;
    call->sent_ms = -1;
    call->timer_at_ms = INT64_MAX;
    call->started_ms = now(call);
}

ebb_http_call *ebb_http_call_new(ebb_http_client *client,
                                 const ebb_http_request *request, ebb_err *err)
{
    ebb_http_call *call = ebb_mem_zero(sizeof *call);

    assert(request->on_done != NULL);
    assert(!request->gathers || request->body_max > 0);
    if (call == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "HTTP request");
        return NULL;
    }
    call->client = client;
    call->fd = -1;
    call->corked = -1;
    ebb_http_head_init(&call->head);
    ebb_buf_init(&call->in, 0); /* on_write bounds it */
    ebb_buf_init(&call->out, 0);
    copy_request(call, request);
    call->easy = ebb_http_easy_take(client);
    if (call->easy == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "HTTP request");
        ebb_http_call_free(call);
        return NULL;
    }
    set_callbacks(call);
    set_options(call, request);
    if (ebb_http_url_set(call, request, err) != 0 ||
        set_body(call, request, err) != 0 ||
        ebb_http_headers_set(call, request, err) != 0) {
        ebb_http_call_free(call);
        return NULL;
    }
    return call;
}

void ebb_http_call_free(ebb_http_call *call)
{
    ebb_http_easy_give(call->client, call->easy, call->whole);
    ebb_http_url_give(call->client, &call->url);
    ebb_mem_free(call->headers);
    ebb_loop_timer_free(call->timer);
    ebb_http_head_clear(&call->head);
    ebb_http_in_give(call->client, &call->in);
    ebb_http_in_give(call->client, &call->out);
    ebb_mem_free(call->where);
    ebb_http_pieces_clear(&call->body);
    ebb_mem_free(call);
}
