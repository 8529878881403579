/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/process.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEEPALIVE_DEFAULT_S 90
#define KEEPALIVE_MAX_S     86400

/* Of one pipe in one turn of the loop, so that others come to their turn. */
#define READS_PER_TURN 16

/*
 * Of what is left in the pipe of a killed command: more than the largest pipe
 * (1 MiB), so that only a surviving child that keeps writing is cut.
 */
#define READS_AFTER_SIGNAL 64

struct ebb_envd_subscriber {
    ebb_envd_subscriber *next;
    ebb_envd_process *process;
    ebb_envd_call *call;
    bool starter;             /* its deadline is the process's */
    ebb_loop_timer *deadline; /* of a Connect */
    ebb_loop_timer *keepalive;
    int64_t keepalive_ms, sent_ms;
};

/* One loop, one thread: the bytes of a read are gone when it returns. */
struct chunk {
    char head[EBB_ENVD_DATA_HEAD_BYTES];
    char bytes[EBB_ENVD_READ_BYTES];
};

/* ---- subscribers ---- */

static void subscriber_free(ebb_envd_subscriber *subscriber)
{
    ebb_envd_subscriber **at = &subscriber->process->subscribers;

    while (*at != subscriber)
        at = &(*at)->next;
    *at = subscriber->next;
    if (subscriber->call->exchange)
        ebb_exchange_on_drain(subscriber->call->exchange, NULL, NULL);
    subscriber->call->state = NULL;
    ebb_loop_timer_free(subscriber->deadline);
    ebb_loop_timer_free(subscriber->keepalive);
    ebb_mem_free(subscriber);
}

static bool is_full(const ebb_envd_subscriber *subscriber)
{
    return ebb_envd_call_open(subscriber->call) &&
           ebb_exchange_unsent(subscriber->call->exchange) >
               EBB_ENVD_UNSENT_BYTES_MAX;
}

static void set_reading(ebb_envd_process *process, bool reading)
{
    int i;

    process->stalled = !reading;
    for (i = 0; i < 2; i++) {
        if (process->pipes[i].watch)
            ebb_loop_watch_set(process->pipes[i].watch,
                               reading ? EBB_READABLE : 0);
    }
}

/* Reads again if nobody is too far behind. */
static void check_stalled(ebb_envd_process *process)
{
    const ebb_envd_subscriber *subscriber = process->subscribers;

    if (!process->stalled)
        return;
    while (subscriber && !is_full(subscriber))
        subscriber = subscriber->next;
    if (!subscriber)
        set_reading(process, true);
}

static void on_drain(void *context, ebb_exchange *exchange)
{
    ebb_envd_subscriber *subscriber = context;

    (void)exchange;
    check_stalled(subscriber->process);
}

static void on_cancel(ebb_envd_call *call)
{
    ebb_envd_subscriber *subscriber = call->state;
    ebb_envd_process *process = subscriber->process;

    subscriber_free(subscriber);
    check_stalled(process);
}

/* Ends the stream of one subscriber with an error; the process lives on. */
static void expire(ebb_envd_subscriber *subscriber)
{
    ebb_envd_process *process = subscriber->process;
    ebb_envd_call *call = subscriber->call;

    subscriber_free(subscriber);
    ebb_envd_fail(call, EBB_CONNECT_DEADLINE_EXCEEDED,
                  "context deadline exceeded");
    check_stalled(process);
}

static void on_deadline(void *context)
{
    expire(context);
}

static void on_keepalive(void *context)
{
    ebb_envd_subscriber *subscriber = context;
    int64_t now = ebb_loop_now_ms(subscriber->process->envd->loop);
    int64_t left = subscriber->sent_ms + subscriber->keepalive_ms - now;

    if (left <= 0) {
        ebb_envd_call *call = subscriber->call;

        ebb_envd_send_keepalive(call);
        if (!ebb_envd_call_open(call))
            return; /* it failed, and with it the subscription */
        subscriber->sent_ms = now;
        left = subscriber->keepalive_ms;
    }
    ebb_loop_timer_start(subscriber->keepalive, left);
}

/*
 * The interval the client asks for. The real envd dies of 0 and less; here
 * they are the shortest.
 */
static int64_t keepalive_ms(const ebb_envd_call *call)
{
    const char *text =
        ebb_exchange_header(call->exchange, "Keepalive-Ping-Interval");
    char *end;
    long long seconds = text ? strtoll(text, &end, 10) : KEEPALIVE_DEFAULT_S;

    if (text && (end == text || *end))
        seconds = KEEPALIVE_DEFAULT_S;
    if (seconds < 1)
        seconds = 1;
    if (seconds > KEEPALIVE_MAX_S)
        seconds = KEEPALIVE_MAX_S;
    return seconds * 1000;
}

void ebb_envd_subscribe(ebb_envd_process *process, ebb_envd_call *call,
                        bool starter)
{
    ebb_loop *loop = process->envd->loop;
    ebb_envd_subscriber *added = ebb_mem_zero(sizeof *added);

    if (!added) {
        ebb_envd_fail(call, EBB_CONNECT_RESOURCE_EXHAUSTED, "no memory");
        return;
    }
    added->process = process;
    added->call = call;
    added->starter = starter;
    added->next = process->subscribers;
    process->subscribers = added;
    call->state = added;
    call->on_cancel = on_cancel;
    ebb_envd_send_start(call, process->pid);
    if (!ebb_envd_call_open(call))
        return; /* it failed, and with it the subscription */
    added->keepalive_ms = keepalive_ms(call);
    added->sent_ms = ebb_loop_now_ms(loop);
    added->keepalive = ebb_loop_timer_new(loop, on_keepalive, added);
    if (added->keepalive)
        ebb_loop_timer_start(added->keepalive, added->keepalive_ms);
    if (!call->rpc->bound)
        return;
    if (call->rpc->timeout_ms <= 0) {
        expire(added);
    } else if (!starter) {
        added->deadline = ebb_loop_timer_new(loop, on_deadline, added);
        if (added->deadline)
            ebb_loop_timer_start(added->deadline, call->rpc->timeout_ms);
    }
}

void ebb_envd_output_expire(ebb_envd_process *process)
{
    ebb_envd_subscriber *subscriber = process->subscribers;

    while (subscriber && !subscriber->starter)
        subscriber = subscriber->next;
    if (subscriber)
        expire(subscriber);
}

void ebb_envd_output_end(ebb_envd_process *process)
{
    while (process->subscribers) {
        ebb_envd_call *call = process->subscribers->call;

        subscriber_free(process->subscribers);
        ebb_envd_send_end(call, process->status);
        ebb_envd_end(call);
    }
}

/* ---- pipes ---- */

/* Sends one read's bytes to everyone, each in its codec, encoded once. */
static void publish(ebb_envd_pipe *pipe, struct chunk *chunk, size_t n)
{
    ebb_envd_process *process = pipe->process;
    int64_t now = ebb_loop_now_ms(process->envd->loop);
    ebb_envd_subscriber *each;
    bool full = false;
    ebb_buf json;

    ebb_buf_init(&json, 0);
    for (each = process->subscribers; each; each = each->next) {
        const char *frame;
        size_t size;

        if (each->call->rpc->binary) {
            frame = ebb_envd_data_binary(chunk->bytes, n, pipe->field, &size);
        } else {
            if (json.n == 0)
                ebb_envd_data_json(chunk->bytes, n, pipe->field, &json);
            frame = json.bytes;
            size = json.n;
        }
        if (json.failed)
            ebb_exchange_abort(each->call->exchange);
        else
            ebb_envd_send_frame(each->call, frame, size);
        each->sent_ms = now;
        if (is_full(each)) {
            ebb_exchange_on_drain(each->call->exchange, on_drain, each);
            full = true;
        }
    }
    ebb_buf_clear(&json);
    if (full)
        set_reading(process, false);
}

static void close_pipe(ebb_envd_pipe *pipe)
{
    ebb_loop_watch_free(pipe->watch);
    pipe->watch = NULL;
    if (pipe->fd >= 0)
        close(pipe->fd);
    pipe->fd = -1;
}

/* Reads at most reads times; stops early when stalled, unless at the end. */
static void read_pipe(ebb_envd_pipe *pipe, int reads, bool last)
{
    struct chunk chunk;

    while (pipe->fd >= 0 && reads-- > 0 && (last || !pipe->process->stalled)) {
        ssize_t n = read(pipe->fd, chunk.bytes, sizeof chunk.bytes);

        if (n > 0) {
            publish(pipe, &chunk, (size_t)n);
        } else if (n < 0 && errno == EAGAIN) {
            return;
        } else if (n == 0 || errno != EINTR) {
            close_pipe(pipe);
        }
    }
}

static void on_readable(void *context, unsigned events)
{
    ebb_envd_pipe *pipe = context;

    (void)events;
    read_pipe(pipe, READS_PER_TURN, false);
    ebb_envd_output_check(pipe->process);
}

int ebb_envd_output_open(ebb_envd_process *process, int stdout_fd,
                         int stderr_fd, ebb_err *err)
{
    int i;

    for (i = 0; i < 2; i++) {
        process->pipes[i].process = process;
        process->pipes[i].fd = i == 0 ? stdout_fd : stderr_fd;
        process->pipes[i].field = (unsigned)i + 1;
    }
    for (i = 0; i < 2; i++) {
        ebb_envd_pipe *pipe = &process->pipes[i];

        pipe->watch = ebb_loop_watch_new(process->envd->loop, pipe->fd,
                                         on_readable, pipe, err);
        if (!pipe->watch)
            return -1;
        ebb_loop_watch_set(pipe->watch, EBB_READABLE);
    }
    return 0;
}

void ebb_envd_output_close(ebb_envd_process *process)
{
    close_pipe(&process->pipes[0]);
    close_pipe(&process->pipes[1]);
}

void ebb_envd_output_check(ebb_envd_process *process)
{
    bool open = process->pipes[0].fd >= 0 || process->pipes[1].fd >= 0;

    if (!process->exited || (open && !process->signalled))
        return;
    read_pipe(&process->pipes[0], READS_AFTER_SIGNAL, true);
    read_pipe(&process->pipes[1], READS_AFTER_SIGNAL, true);
    ebb_envd_process_finish(process);
}

/* ---- Connect ---- */

static const ebb_envd_ended *find_ended(const ebb_envd *envd,
                                        const Process__ProcessSelector *by)
{
    int64_t now = ebb_loop_now_ms(envd->loop);
    const ebb_envd_ended *each;

    for (each = envd->ended; each; each = each->next) {
        if (now - each->ended_ms > EBB_ENVD_RETENTION_MS)
            return NULL; /* the others are older */
        if (by->selector_case == PROCESS__PROCESS_SELECTOR__SELECTOR_PID
                ? each->pid == by->pid
                : each->tag && strcmp(each->tag, by->tag) == 0)
            return each;
    }
    return NULL;
}

void ebb_envd_connect(ebb_envd_call *call, const ProtobufCMessage *request)
{
    const Process__ConnectRequest *connect =
        (const Process__ConnectRequest *)request;
    const ebb_envd_ended *ended = NULL;
    ebb_envd_process *process;

    if (connect->process && connect->process->selector_case != 0 &&
        !ebb_envd_process_match(call->envd, connect->process))
        ended = find_ended(call->envd, connect->process);
    if (ended) {
        ebb_envd_send_start(call, ended->pid);
        ebb_envd_send_end(call, ended->status);
        ebb_envd_end(call);
        return;
    }
    process = ebb_envd_process_find(call, connect->process);
    if (process)
        ebb_envd_subscribe(process, call, false);
}
