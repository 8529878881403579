/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/process.h"

#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/*
 * One call that writes: SendInput once, StreamInput for as long as it sends.
 * Bytes go straight into the pipe; what does not fit waits here, in the
 * process's queue, and so does the call.
 */
struct ebb_envd_input {
    ebb_envd_input *next;
    ebb_envd_call *call;
    ebb_envd_process *process; /* in whose queue it is; NULL: in none */
    bool found;                /* StreamInput has named its process */
    uint32_t pid;
    bool stream, ended;
    ebb_buf bytes; /* from done on not yet written */
    size_t done;
    ebb_loop_timer *deadline;
};

static void take_from_queue(ebb_envd_input *input)
{
    ebb_envd_input **at;

    if (!input->process)
        return;
    at = &input->process->inputs;
    while (*at != input)
        at = &(*at)->next;
    *at = input->next;
    input->next = NULL;
    input->process->inputs_count--;
    input->process = NULL;
}

static void input_free(ebb_envd_input *input)
{
    take_from_queue(input);
    input->call->state = NULL;
    input->call->on_cancel = NULL;
    ebb_loop_timer_free(input->deadline);
    ebb_buf_clear(&input->bytes);
    ebb_mem_free(input);
}

static void on_cancel(ebb_envd_call *call)
{
    input_free(call->state);
}

/* What the call writes is in the pipe. */
static void succeed(ebb_envd_input *input)
{
    Process__SendInputResponse sent = PROCESS__SEND_INPUT_RESPONSE__INIT;
    Process__StreamInputResponse streamed =
        PROCESS__STREAM_INPUT_RESPONSE__INIT;
    ebb_envd_call *call = input->call;

    if (input->stream && !input->ended) {
        ebb_exchange_resume(call->exchange);
    } else if (input->stream) {
        input_free(input);
        ebb_envd_send(call, &streamed.base);
        ebb_envd_end(call);
    } else {
        input_free(input);
        ebb_envd_answer(call, &sent.base);
    }
}

static void fail_closed(ebb_envd_input *input)
{
    ebb_envd_call *call = input->call;

    input_free(input);
    ebb_envd_fail(call, EBB_CONNECT_INTERNAL,
                  "error writing to stdin: stdin not enabled or closed");
}

static void fail_write(ebb_envd_input *input, uint32_t pid, int error)
{
    ebb_envd_call *call = input->call;

    input_free(input);
    ebb_envd_fail(call, EBB_CONNECT_INTERNAL,
                  "error writing to stdin: error writing to stdin of process "
                  "'%" PRIu32 "': write |1: %s",
                  pid, error == EPIPE ? "broken pipe" : strerror(error));
}

static void on_deadline(void *context)
{
    ebb_envd_input *input = context;
    ebb_envd_call *call = input->call;

    input_free(input);
    ebb_envd_fail(call, EBB_CONNECT_DEADLINE_EXCEEDED,
                  "context deadline exceeded");
}

static ebb_envd_input *input_new(ebb_envd_call *call, bool stream)
{
    ebb_envd_input *input = ebb_mem_zero(sizeof *input);
    const ebb_envd_rpc *rpc = call->rpc;

    if (!input) {
        ebb_envd_fail(call, EBB_CONNECT_RESOURCE_EXHAUSTED, "no memory");
        return NULL;
    }
    input->call = call;
    input->stream = stream;
    ebb_buf_init(&input->bytes, EBB_ENVD_INPUT_BYTES_MAX);
    call->state = input;
    call->on_cancel = on_cancel;
    if (rpc->bound && rpc->timeout_ms > 0) {
        input->deadline =
            ebb_loop_timer_new(call->envd->loop, on_deadline, input);
        if (input->deadline)
            ebb_loop_timer_start(input->deadline, rpc->timeout_ms);
    }
    return input;
}

/* ---- writing ---- */

static void close_stdin(ebb_envd_process *process)
{
    ebb_loop_watch_free(process->stdin_watch);
    process->stdin_watch = NULL;
    if (process->stdin_fd >= 0)
        close(process->stdin_fd);
    process->stdin_fd = -1;
}

/* 0: all is written; EAGAIN: the pipe is full; else why not. */
static int write_some(int fd, const char *bytes, size_t n, size_t *done)
{
    while (*done < n) {
        ssize_t wrote = write(fd, bytes + *done, n - *done);

        if (wrote >= 0)
            *done += (size_t)wrote;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

static void on_writable(void *context, unsigned events)
{
    ebb_envd_process *process = context;
    int error = 0;

    (void)events;
    while (process->inputs && error != EAGAIN) {
        ebb_envd_input *input = process->inputs;

        error = write_some(process->stdin_fd, input->bytes.bytes,
                           input->bytes.n, &input->done);
        if (error == EAGAIN)
            break;
        if (error) {
            fail_write(input, process->pid, error);
            continue;
        }
        ebb_buf_reset(&input->bytes);
        input->done = 0;
        take_from_queue(input);
        succeed(input);
    }
    if (process->inputs)
        return;
    ebb_loop_watch_set(process->stdin_watch, 0);
    if (process->stdin_closing)
        close_stdin(process);
}

/* Lets the input wait for room in the pipe. */
static int enqueue(ebb_envd_input *input, ebb_envd_process *process)
{
    ebb_envd_input **at = &process->inputs;
    ebb_err err;

    if (!process->stdin_watch)
        process->stdin_watch = ebb_loop_watch_new(
            process->envd->loop, process->stdin_fd, on_writable, process, &err);
    if (!process->stdin_watch || process->inputs_count >= EBB_ENVD_INPUTS_MAX)
        return -1;
    while (*at)
        at = &(*at)->next;
    *at = input;
    process->inputs_count++;
    input->process = process;
    ebb_loop_watch_set(process->stdin_watch, EBB_WRITABLE);
    return 0;
}

/*
 * Writes n bytes or lets them wait. False if the call has failed, and the
 * input is freed.
 */
static bool feed(ebb_envd_input *input, ebb_envd_process *process,
                 const ProtobufCBinaryData *data)
{
    const char *bytes = (const char *)data->data;
    size_t done = 0;
    int error = EAGAIN;

    if (process->stdin_fd < 0 || process->stdin_closing) {
        fail_closed(input);
        return false;
    }
    if (!process->inputs)
        error = write_some(process->stdin_fd, bytes, data->len, &done);
    if (error != 0 && error != EAGAIN) {
        fail_write(input, process->pid, error);
        return false;
    }
    if (error == 0)
        return true;
    if (ebb_buf_add(&input->bytes, bytes + done, data->len - done) == 0 &&
        (input->process || enqueue(input, process) == 0)) {
        if (input->stream)
            ebb_exchange_pause(input->call->exchange);
        return true;
    }
    ebb_envd_fail(input->call, EBB_CONNECT_RESOURCE_EXHAUSTED,
                  "too much input waits for process %" PRIu32, process->pid);
    input_free(input);
    return false;
}

/* The bytes for stdin, or NULL after the call was failed. */
static const ProtobufCBinaryData *find_bytes(ebb_envd_call *call,
                                             const Process__ProcessInput *in)
{
    if (in && in->input_case == PROCESS__PROCESS_INPUT__INPUT_STDIN)
        return &in->stdin;
    if (in && in->input_case == PROCESS__PROCESS_INPUT__INPUT_PTY)
        ebb_envd_fail(call, EBB_CONNECT_INTERNAL,
                      "error writing to tty: tty not assigned to process — "
                      "input should be written to the stdin, not the tty");
    else
        ebb_envd_fail(call, EBB_CONNECT_UNIMPLEMENTED,
                      "invalid input type <nil>");
    return NULL;
}

void ebb_envd_input_close(ebb_envd_process *process)
{
    while (process->inputs)
        fail_write(process->inputs, process->pid, EPIPE);
    close_stdin(process);
}

/* ---- the calls ---- */

void ebb_envd_send_input(ebb_envd_call *call, const ProtobufCMessage *request)
{
    const Process__SendInputRequest *send =
        (const Process__SendInputRequest *)request;
    ebb_envd_process *process = ebb_envd_process_find(call, send->process);
    const ProtobufCBinaryData *bytes;
    ebb_envd_input *input;

    if (!process)
        return;
    bytes = find_bytes(call, send->input);
    input = bytes ? input_new(call, false) : NULL;
    if (input && feed(input, process, bytes) && !input->process)
        succeed(input);
}

static void stream_data(ebb_envd_call *call, ebb_envd_input *input,
                        const Process__ProcessInput *in)
{
    ebb_envd_process *process = NULL;
    const ProtobufCBinaryData *bytes;

    if (input->found)
        process = ebb_envd_process_of(call->envd, input->pid);
    if (!process) {
        input_free(input);
        ebb_envd_fail(call, EBB_CONNECT_NOT_FOUND,
                      "the process is gone or was not named by a start event");
        return;
    }
    bytes = find_bytes(call, in);
    if (bytes)
        feed(input, process, bytes);
    else
        input_free(input);
}

/* One message of the stream, or its end (NULL). */
void ebb_envd_stream_input(ebb_envd_call *call, const ProtobufCMessage *request)
{
    const Process__StreamInputRequest *message =
        (const Process__StreamInputRequest *)request;
    ebb_envd_input *input = call->state;
    const ebb_envd_process *process;

    if (!input)
        input = input_new(call, true);
    if (!input)
        return;
    if (!message) {
        input->ended = true;
        if (!input->process)
            succeed(input);
        return;
    }
    switch (message->event_case) {
    case PROCESS__STREAM_INPUT_REQUEST__EVENT_START:
        process = ebb_envd_process_find(call, message->start->process);
        input->found = process != NULL;
        if (process)
            input->pid = process->pid;
        else
            input_free(input);
        break;
    case PROCESS__STREAM_INPUT_REQUEST__EVENT_DATA:
        stream_data(call, input, message->data->input);
        break;
    default: /* a keepalive, or an event of a later protocol */
        break;
    }
}

void ebb_envd_close_stdin(ebb_envd_call *call, const ProtobufCMessage *request)
{
    const Process__CloseStdinRequest *close_request =
        (const Process__CloseStdinRequest *)request;
    Process__CloseStdinResponse response = PROCESS__CLOSE_STDIN_RESPONSE__INIT;
    ebb_envd_process *process =
        ebb_envd_process_find(call, close_request->process);

    if (!process)
        return;
    process->stdin_closing = true;
    if (!process->inputs)
        close_stdin(process);
    ebb_envd_answer(call, &response.base);
}
