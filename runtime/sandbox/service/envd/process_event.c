/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/process.h"

#include "base/base64.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define STATUS_BYTES 64

/* The names that Go gives signals, which clients have learned to read. */
static const char *const signal_names[] = {
    [1] = "hangup",
    [2] = "interrupt",
    [3] = "quit",
    [4] = "illegal instruction",
    [5] = "trace/breakpoint trap",
    [6] = "aborted",
    [7] = "bus error",
    [8] = "floating point exception",
    [9] = "killed",
    [10] = "user defined signal 1",
    [11] = "segmentation fault",
    [12] = "user defined signal 2",
    [13] = "broken pipe",
    [14] = "alarm clock",
    [15] = "terminated",
};

/* StartResponse and ConnectResponse look alike on the wire. */
static void send_event(ebb_envd_call *call, Process__ProcessEvent *event)
{
    Process__StartResponse response = PROCESS__START_RESPONSE__INIT;

    response.event = event;
    ebb_envd_send(call, &response.base);
}

void ebb_envd_send_start(ebb_envd_call *call, uint32_t pid)
{
    Process__ProcessEvent event = PROCESS__PROCESS_EVENT__INIT;
    Process__ProcessEvent__StartEvent start =
        PROCESS__PROCESS_EVENT__START_EVENT__INIT;

    start.pid = pid;
    event.event_case = PROCESS__PROCESS_EVENT__EVENT_START;
    event.start = &start;
    send_event(call, &event);
}

void ebb_envd_send_keepalive(ebb_envd_call *call)
{
    Process__ProcessEvent event = PROCESS__PROCESS_EVENT__INIT;
    Process__ProcessEvent__KeepAlive keepalive =
        PROCESS__PROCESS_EVENT__KEEP_ALIVE__INIT;

    event.event_case = PROCESS__PROCESS_EVENT__EVENT_KEEPALIVE;
    event.keepalive = &keepalive;
    send_event(call, &event);
}

static void write_status(int status, char text[STATUS_BYTES])
{
    int signum = WTERMSIG(status);
    const char *core = WCOREDUMP(status) ? " (core dumped)" : "";

    if (WIFEXITED(status))
        snprintf(text, STATUS_BYTES, "exit status %d", WEXITSTATUS(status));
    else if (signum > 0 && signum < 16)
        snprintf(text, STATUS_BYTES, "signal: %s%s", signal_names[signum],
                 core);
    else
        snprintf(text, STATUS_BYTES, "signal: signal %d%s", signum, core);
}

void ebb_envd_send_end(ebb_envd_call *call, int status)
{
    Process__ProcessEvent event = PROCESS__PROCESS_EVENT__INIT;
    Process__ProcessEvent__EndEvent end =
        PROCESS__PROCESS_EVENT__END_EVENT__INIT;
    char text[STATUS_BYTES];

    write_status(status, text);
    end.exited = WIFEXITED(status);
    end.exit_code = end.exited ? WEXITSTATUS(status) : -1;
    end.status = text;
    if (end.exit_code != 0) {
        end._error_case = PROCESS__PROCESS_EVENT__END_EVENT___ERROR_ERROR;
        end.error = text;
    }
    event.event_case = PROCESS__PROCESS_EVENT__EVENT_END;
    event.end = &end;
    send_event(call, &event);
}

/* Writes a varint so that it ends before end; returns where it begins. */
static char *varint_before(char *end, size_t value)
{
    char bytes[10];
    size_t n = 0;

    do {
        bytes[n++] = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value > 0);
    memcpy(end - n, bytes, n);
    return end - n;
}

/* The head of a field of bytes that ends at end. */
static char *head_before(char *begin, const char *end, unsigned field)
{
    begin = varint_before(begin, (size_t)(end - begin));
    *--begin = (char)(field << 3 | 2); /* length-delimited */
    return begin;
}

const char *ebb_envd_data_binary(char *data, size_t n, unsigned field,
                                 size_t *size)
{
    const char *end = data + n;
    char *p = head_before(data, end, field); /* DataEvent */
    size_t payload;

    p = head_before(p, end, 2); /* ProcessEvent.data */
    p = head_before(p, end, 1); /* StartResponse.event */
    payload = (size_t)(end - p);
    p -= EBB_CONNECT_HEAD_BYTES;
    p[0] = 0;
    p[1] = (char)(payload >> 24);
    p[2] = (char)(payload >> 16);
    p[3] = (char)(payload >> 8);
    p[4] = (char)payload;
    *size = payload + EBB_CONNECT_HEAD_BYTES;
    return p;
}

int ebb_envd_data_json(const char *data, size_t n, unsigned field, ebb_buf *out)
{
    static const char after[] = "\"}}}";
    const char *before = field == 1 ? "{\"event\":{\"data\":{\"stdout\":\""
                                    : "{\"event\":{\"data\":{\"stderr\":\"";
    size_t payload = strlen(before) + (n + 2) / 3 * 4 + sizeof after - 1;
    char head[EBB_CONNECT_HEAD_BYTES] = { 0, (char)(payload >> 24),
                                          (char)(payload >> 16),
                                          (char)(payload >> 8), (char)payload };

    ebb_buf_add(out, head, sizeof head);
    ebb_buf_add_text(out, before);
    ebb_base64_write(out, data, n);
    ebb_buf_add_text(out, after);
    return out->failed ? -1 : 0;
}
