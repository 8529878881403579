/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/mem.h"
#include "sandbox/service/box/box_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* A message as received; the descriptors are closed unless taken. */
typedef struct incoming {
    ebb_agent_head head;
    const char *text;
    int fds[EBB_AGENT_FDS_MAX];
    unsigned fds_count;
} incoming;

static void close_fds(int *fds, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* ---- requests in flight ---- */

static ebb_box_request *take_request(ebb_box *box, uint32_t id)
{
    ebb_box_request **place = &box->requests;
    ebb_box_request *request;

    while (*place != NULL && (*place)->id != id)
        place = &(*place)->next;
    request = *place;
    if (request == NULL)
        return NULL;
    *place = request->next;
    request->next = NULL;
    box->requests_count--;
    return request;
}

static ebb_box_request *find_request(const ebb_box *box, uint32_t id)
{
    ebb_box_request *request = box->requests;

    while (request != NULL && request->id != id)
        request = request->next;
    return request;
}

static void finish_failed(void *context)
{
    ebb_box *box = context;
    ebb_box_request *request = box->failed;

    if (request == NULL)
        return;
    box->failed = request->next;
    ebb_box_request_finish(request, &request->err);
}

void ebb_box_request_fail(ebb_box *box, ebb_box_request *request)
{
    ebb_box_request **place = &box->failed;

    while (*place != NULL)
        place = &(*place)->next;
    request->next = NULL;
    *place = request;
    /* Without memory for a deferred call the end of the box finishes it. */
    (void)ebb_loop_defer(box->loop, finish_failed, box);
}

void ebb_box_requests_end(ebb_box *box)
{
    ebb_loop_defer_cancel(box->loop, finish_failed, box);
    while (box->failed != NULL)
        finish_failed(box);
    while (box->requests != NULL) {
        ebb_box_request *request = take_request(box, box->requests->id);

        ebb_err_set(&request->err, EBB_SANDBOX_NOT_RUNNING,
                    "%s: sandbox %s is not running", request->name,
                    box->config.id);
        ebb_box_request_finish(request, &request->err);
    }
}

/* ---- sending ---- */

/* 1: sent, 0: no room now, -1: the connection is over. */
static int send_now(int socket_fd, const void *bytes, size_t n,
                    const int *fds, unsigned fds_count)
{
    ebb_agent_control c;
    struct iovec part = { .iov_len = n };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    ssize_t sent;

    /* sendmsg only reads; its struct knows no const. */
    memcpy(&part.iov_base, &bytes, sizeof bytes);
    ebb_agent_control_set(&c, &message, fds, fds_count);
    do
        sent = sendmsg(socket_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return 1;
    return errno == EAGAIN || errno == ENOBUFS ? 0 : -1;
}

static void free_message(ebb_box_message *message)
{
    close_fds(message->fds, message->fds_count);
    ebb_mem_free(message);
}

static void flush(ebb_box *box)
{
    while (box->queue != NULL) {
        ebb_box_message *first = box->queue;
        int sent = send_now(box->socket_fd, first->bytes, first->n,
                            first->fds, first->fds_count);

        if (sent == 0)
            return;
        box->queue = first->next;
        if (box->queue == NULL)
            box->queue_end = &box->queue;
        box->queue_bytes -= first->n;
        free_message(first);
        /* A connection that is over is noticed by its watch. */
    }
    ebb_loop_watch_set(box->socket_watch, EBB_READABLE);
}

static int enqueue(ebb_box *box, const char *bytes, size_t n, const int *fds,
                   unsigned fds_count)
{
    ebb_box_message *message = NULL;

    if (box->queue_bytes + n <= EBB_BOX_QUEUE_BYTES_MAX)
        message = ebb_mem_zero(sizeof *message + n);
    if (message == NULL)
        return -1;
    message->n = n;
    memcpy(message->bytes, bytes, n);
    for (unsigned i = 0; i < fds_count; i++) {
        message->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
        message->fds_count++;
        if (message->fds[i] < 0) {
            free_message(message);
            return -1;
        }
    }
    *box->queue_end = message;
    box->queue_end = &message->next;
    box->queue_bytes += n;
    ebb_loop_watch_set(box->socket_watch, EBB_READABLE | EBB_WRITABLE);
    return 0;
}

static int send_message(ebb_box *box, const ebb_agent_head *head,
                        const char *text, const int *fds, unsigned fds_count)
{
    char bytes[EBB_AGENT_MESSAGE_BYTES_MAX];
    size_t inline_bytes =
        head->type == EBB_AGENT_SPAWN && head->flags & EBB_AGENT_MEMFD
            ? 0
            : head->bytes;
    size_t n = sizeof *head + inline_bytes;
    int sent = 0;

    memcpy(bytes, head, sizeof *head);
    if (inline_bytes > 0)
        memcpy(bytes + sizeof *head, text, inline_bytes);
    if (box->queue == NULL)
        sent = send_now(box->socket_fd, bytes, n, fds, fds_count);
    return sent != 0 ? 0 : enqueue(box, bytes, n, fds, fds_count);
}

ebb_box_request *ebb_box_request_new(uint32_t type, const char *name,
                                     void *context)
{
    ebb_box_request *request = ebb_mem_zero(sizeof *request);

    if (request != NULL) {
        request->type = type;
        request->name = name;
        request->context = context;
        request->stdin_fd = -1;
    }
    return request;
}

void ebb_box_request_start(ebb_box *box, ebb_box_request *request,
                           ebb_agent_head *head, const char *text,
                           const int *fds, unsigned fds_count)
{
    if (box->state != EBB_BOX_READY) {
        ebb_err_set(&request->err, EBB_SANDBOX_NOT_RUNNING,
                    "%s: sandbox %s is not running", request->name,
                    box->config.id);
        ebb_box_request_fail(box, request);
        return;
    }
    head->type = request->type;
    head->id = request->id = ++box->last_id != 0 ? box->last_id
                                                 : ++box->last_id;
    if (box->requests_count < EBB_BOX_REQUESTS_MAX &&
        send_message(box, head, text, fds, fds_count) == 0) {
        request->next = box->requests;
        box->requests = request;
        box->requests_count++;
        return;
    }
    ebb_err_set(&request->err, EBB_LIMIT_EXCEEDED,
                "%s: too many operations at once in sandbox %s",
                request->name, box->config.id);
    ebb_box_request_fail(box, request);
}

/* ---- receiving ---- */

/* 1: a message, 0: none now, -1: the end, -2: not a message of ours. */
static int receive(ebb_box *box, char *bytes, incoming *in)
{
    ebb_agent_control c;
    struct iovec part = { bytes, EBB_AGENT_MESSAGE_BYTES_MAX };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = c.bytes,
                              .msg_controllen = sizeof c.bytes };
    ssize_t n = recvmsg(box->socket_fd, &message,
                        MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    in->fds_count = 0;
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    in->fds_count = ebb_agent_control_get(&message, in->fds);
    if (n == 0)
        return -1;
    if ((size_t)n < sizeof in->head ||
        (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
        return -2;
    memcpy(&in->head, bytes, sizeof in->head);
    in->text = bytes + sizeof in->head;
    return in->head.bytes == (size_t)n - sizeof in->head ? 1 : -2;
}

static int greet(ebb_box *box, const incoming *in)
{
    if (box->greeted || in->head.value != EBB_AGENT_VERSION)
        return -1;
    box->greeted = true;
    ebb_box_proceed(box);
    return 0;
}

static int answer(ebb_box *box, incoming *in)
{
    const ebb_agent_head *head = &in->head;
    ebb_box_request *request;

    if (head->type == EBB_AGENT_ENTRIES) {
        request = find_request(box, head->id);
        return request == NULL
                   ? -1
                   : ebb_box_answer_entries(request, head, in->text);
    }
    request = take_request(box, head->id);
    if (request == NULL)
        return -1;
    if (head->type == EBB_AGENT_DONE)
        return ebb_box_answer_done(request, head->result);
    if (head->type == EBB_AGENT_STARTED && in->fds_count == 2)
        return ebb_box_answer_started(request, head->pid, in->fds);
    if (head->type == EBB_AGENT_FILE && in->fds_count == 1) {
        int fd = in->fds[0];

        in->fds_count = 0;
        return ebb_box_answer_file(request, fd);
    }
    ebb_err_set(&request->err, EBB_SANDBOX_NOT_RUNNING,
                "%s: sandbox %s is not running", request->name,
                box->config.id);
    ebb_box_request_fail(box, request);
    return -1;
}

static int handle(ebb_box *box, incoming *in)
{
    const ebb_agent_head *head = &in->head;

    if (head->type == EBB_AGENT_HELLO)
        return greet(box, in);
    if (!box->greeted)
        return -1;
    if (head->type != EBB_AGENT_EXIT)
        return answer(box, in);
    if (head->id != 0 || head->pid == 0)
        return -1;
    if (box->state == EBB_BOX_READY)
        box->config.on_exit(box->config.context, box, head->pid,
                            head->result);
    return 0;
}

static void on_socket(void *context, unsigned events)
{
    ebb_box *box = context;
    char bytes[EBB_AGENT_MESSAGE_BYTES_MAX];

    if (events & EBB_WRITABLE)
        flush(box);
    for (int i = 0; i < EBB_BOX_MESSAGES_PER_TURN_MAX; i++) {
        incoming in = { .fds_count = 0 };
        int got;

        /* A callback may have stopped the box. */
        if (box->socket_fd < 0)
            return;
        got = receive(box, bytes, &in);
        if (got == 1 && handle(box, &in) < 0)
            got = -2;
        close_fds(in.fds, in.fds_count);
        if (got == -2)
            ebb_box_condemn(box, "its agent broke the protocol (message "
                                 "type %u)",
                            in.head.type);
        else if (got == -1)
            ebb_box_condemn(box, "the connection to its agent ended");
        if (got <= 0)
            return;
    }
}

int ebb_box_link_open(ebb_box *box, ebb_err *err)
{
    ebb_agent_head head = { .type = EBB_AGENT_HELLO,
                            .value = EBB_AGENT_VERSION };

    box->socket_watch =
        ebb_loop_watch_new(box->loop, box->socket_fd, on_socket, box, err);
    if (box->socket_watch == NULL)
        return -1;
    if (ebb_loop_watch_set(box->socket_watch, EBB_READABLE) < 0 ||
        send_message(box, &head, NULL, NULL, 0) < 0)
        return ebb_err_set(err, EBB_SERVER, "greet the sandbox's agent");
    return 0;
}

void ebb_box_link_close(ebb_box *box)
{
    ebb_loop_watch_free(box->socket_watch);
    box->socket_watch = NULL;
    if (box->socket_fd >= 0)
        close(box->socket_fd);
    box->socket_fd = -1;
    while (box->queue != NULL) {
        ebb_box_message *first = box->queue;

        box->queue = first->next;
        free_message(first);
    }
    box->queue_end = &box->queue;
    box->queue_bytes = 0;
}
