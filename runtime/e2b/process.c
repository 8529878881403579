/* SPDX-License-Identifier: MIT */
#include "e2b/process.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "wire/process.pb-c.h"
#include "wire/proto_read.h"
#include "wire/proto_write.h"

#define PAYLOAD_BYTES_MAX (4u << 20) /* of one message */

/* ---- what is sent ---- */

/* The map as entries in one block, with a pointer to each in front. */
static int add_envs(Process__ProcessConfig *process, const ebb_value *envs)
{
    size_t n = ebb_value_size(envs), i = 0;
    Process__ProcessConfig__EnvsEntry *entries;
    void *next = NULL;
    const char *key;
    ebb_value *value;

    process->envs = ebb_mem_alloc(
        n * (sizeof(Process__ProcessConfig__EnvsEntry *) + sizeof *entries));
    if (process->envs == NULL)
        return -1;
    entries = (void *)(process->envs + n);
    while (ebb_value_next(envs, &next, &key, &value)) {
        process__process_config__envs_entry__init(&entries[i]);
        entries[i].key = ebb_proto_text(key);
        entries[i].value = ebb_proto_text(ebb_value_get_string(value, NULL));
        process->envs[i] = &entries[i];
        i++;
    }
    process->n_envs = n;
    return 0;
}

int ebb_e2b_process_write_start(ebb_buf *out, const ebb_e2b_command *command,
                                ebb_err *err)
{
    char *args[] = { ebb_proto_text("-l"), ebb_proto_text("-c"),
                     ebb_proto_text(command->text) };
    Process__ProcessConfig process = PROCESS__PROCESS_CONFIG__INIT;
    Process__StartRequest request = PROCESS__START_REQUEST__INIT;
    ebb_buf message;

    ebb_buf_init(&message, 0);
    process.cmd = ebb_proto_text("/bin/bash");
    process.n_args = sizeof args / sizeof *args;
    process.args = args;
    if (command->cwd != NULL) {
        process._cwd_case = PROCESS__PROCESS_CONFIG___CWD_CWD;
        process.cwd = ebb_proto_text(command->cwd);
    }
    request.process = &process;
    request._stdin_case = PROCESS__START_REQUEST___STDIN_STDIN;
    request.stdin = command->wants_stdin;
    if (add_envs(&process, command->envs) != 0 ||
        ebb_proto_write(&message, &request.base) != 0 ||
        ebb_connect_write(out, 0, message.bytes, message.n) != 0)
        out->failed = true;
    ebb_mem_free(process.envs);
    ebb_buf_clear(&message);
    return ebb_buf_check(out, "the request of a command", err);
}

static void select_pid(Process__ProcessSelector *selector, uint32_t pid)
{
    process__process_selector__init(selector);
    selector->selector_case = PROCESS__PROCESS_SELECTOR__SELECTOR_PID;
    selector->pid = pid;
}

int ebb_e2b_process_write_kill(ebb_buf *out, uint32_t pid)
{
    Process__SendSignalRequest request = PROCESS__SEND_SIGNAL_REQUEST__INIT;
    Process__ProcessSelector selector;

    select_pid(&selector, pid);
    request.process = &selector;
    request.signal = PROCESS__SIGNAL__SIGNAL_SIGKILL;
    return ebb_proto_write(out, &request.base);
}

int ebb_e2b_process_write_input(ebb_buf *out, uint32_t pid, const char *bytes,
                                size_t n)
{
    Process__SendInputRequest request = PROCESS__SEND_INPUT_REQUEST__INIT;
    Process__ProcessInput input = PROCESS__PROCESS_INPUT__INIT;
    Process__ProcessSelector selector;

    select_pid(&selector, pid);
    input.input_case = PROCESS__PROCESS_INPUT__INPUT_STDIN;
    input.stdin.data = (uint8_t *)ebb_proto_text(bytes);
    input.stdin.len = n;
    request.process = &selector;
    request.input = &input;
    return ebb_proto_write(out, &request.base);
}

int ebb_e2b_process_write_close(ebb_buf *out, uint32_t pid)
{
    Process__CloseStdinRequest request = PROCESS__CLOSE_STDIN_REQUEST__INIT;
    Process__ProcessSelector selector;

    select_pid(&selector, pid);
    request.process = &selector;
    return ebb_proto_write(out, &request.base);
}

/* ---- what comes ---- */

/*
 * One length-delimited field that fills all of n bytes, as every level of an
 * output event is: its number and contents, or 0. Protobuf encoding: a tag
 * byte (number << 3 | 2), a varint length.
 */
static unsigned only_field(const unsigned char **p, size_t *n)
{
    size_t length = 0, at = 1;
    unsigned number;
    unsigned char byte = 0x80;

    if (*n < 2 || ((*p)[0] & 7) != 2 || (*p)[0] >= 0x80)
        return 0;
    number = (*p)[0] >> 3;
    for (unsigned shift = 0; byte >= 0x80 && at < *n && shift <= 21;
         shift += 7) {
        byte = (*p)[at++];
        length |= (size_t)(byte & 0x7F) << shift;
    }
    if (byte >= 0x80 || length == 0 || length != *n - at)
        return 0;
    *p += at;
    *n = length;
    return number;
}

/*
 * StartResponse.event (1), ProcessEvent.data (2), DataEvent.stdout, stderr or
 * pty (1, 2, 3): read in place, because a copy of every byte of output would
 * cost more than all the rest. Returns false for any other event or form.
 */
static bool take_output(ebb_e2b_process *process, const char *payload, size_t n)
{
    const unsigned char *p = (const unsigned char *)payload;
    unsigned stream;

    for (unsigned level = 1; level <= 2; level++)
        if (only_field(&p, &n) != level)
            return false;
    stream = only_field(&p, &n);
    if (stream < 1 || stream > 3)
        return false;
    process->on_output(process->context, stream == 2 ? 2 : 1, (const char *)p,
                       n);
    return true;
}

static void copy_text(char *to, size_t room, const ebb_proto_field *text)
{
    size_t n = text->n < room ? text->n : room - 1;

    memcpy(to, text->bytes, n);
    to[n] = '\0';
}

/* The events of a ProcessEvent, as process.proto numbers them. */
enum { START = 1, DATA = 2, END = 3, KEEPALIVE = 4 };

/*
 * The last field of a message up to that number, all of which exclude each
 * other; its number is 0 if there is none. -1 if the message is damaged.
 */
static int find_field(const ProtobufCMessageDescriptor *descriptor,
                      const char *bytes, size_t n, unsigned last,
                      ebb_proto_field *found, ebb_err *err)
{
    ebb_proto_reader reader;
    ebb_proto_field field;
    int more;

    *found = (ebb_proto_field){ .number = 0 };
    ebb_proto_reader_init(&reader, descriptor, bytes, n);
    while ((more = ebb_proto_next(&reader, &field, err)) > 0)
        if (field.number <= last)
            *found = field;
    return more;
}

static int take_start(ebb_e2b_process *process, const ebb_proto_field *event,
                      ebb_err *err)
{
    ebb_proto_field pid;

    if (find_field(&process__process_event__start_event__descriptor,
                   event->bytes, event->n, 1, &pid, err) < 0)
        return -1;
    process->started = true;
    process->pid = (uint32_t)pid.value;
    process->on_start(process->context);
    return 0;
}

/* In a form that take_output does not know. */
static int take_data(ebb_e2b_process *process, const ebb_proto_field *event,
                     ebb_err *err)
{
    ebb_proto_field output;

    if (find_field(&process__process_event__data_event__descriptor,
                   event->bytes, event->n, 3, &output, err) < 0)
        return -1;
    if (output.n > 0)
        process->on_output(process->context, output.number == 2 ? 2 : 1,
                           output.bytes, output.n);
    return 0;
}

static int take_exit(ebb_e2b_process *process, const ebb_proto_field *event,
                     ebb_err *err)
{
    enum { EXIT_CODE = 1, STATUS = 3 };
    ebb_proto_reader reader;
    ebb_proto_field field;
    int more;

    process->ended = true;
    process->exit_code = 0;
    process->status[0] = '\0';
    ebb_proto_reader_init(&reader,
                          &process__process_event__end_event__descriptor,
                          event->bytes, event->n);
    while ((more = ebb_proto_next(&reader, &field, err)) > 0) {
        if (field.number == EXIT_CODE) /* sint32 is zigzag */
            process->exit_code = (int32_t)((uint32_t)field.value >> 1 ^
                                           -((uint32_t)field.value & 1));
        else if (field.number == STATUS)
            copy_text(process->status, sizeof process->status, &field);
    }
    return more;
}

static int take_event(ebb_e2b_process *process, const char *payload, size_t n,
                      ebb_err *err)
{
    ebb_proto_field event;
    bool is_start;

    if (find_field(&process__start_response__descriptor, payload, n, 1, &event,
                   err) < 0)
        return -1;
    if (event.number == 0)
        return 0;
    if (find_field(&process__process_event__descriptor, event.bytes, event.n,
                   KEEPALIVE, &event, err) < 0)
        return -1;
    is_start = event.number == START;
    if (is_start == process->started)
        return ebb_err_set(err, EBB_PROTOCOL,
                           is_start ? "the command started twice"
                                    : "an event came before the start");
    if (is_start)
        return take_start(process, &event, err);
    if (event.number == DATA && !process->ended)
        return take_data(process, &event, err);
    if (event.number == END)
        return take_exit(process, &event, err);
    return 0;
}

/* The end-of-stream envelope: JSON in both codecs, with an error or not. */
static int take_end(ebb_e2b_process *process, const char *payload, size_t n,
                    ebb_err *err)
{
    bool is_usual = n == 2 && memcmp(payload, "{}", 2) == 0;
    ebb_value *json = is_usual ? NULL : ebb_value_parse(payload, n, 10000, err);
    const ebb_value *error = ebb_value_find(json, "error");
    const char *code = ebb_value_find_string(error, "code");
    const char *message = ebb_value_find_string(error, "message");

    if (json == NULL && !is_usual)
        return ebb_err_wrap(err, "the end of the stream");
    process->finished = true;
    if (ebb_value_type(error) == EBB_OBJECT) {
        process->code =
            code == NULL ? EBB_CONNECT_UNKNOWN : ebb_connect_code_find(code);
        if (process->code == EBB_CONNECT_OK)
            process->code = EBB_CONNECT_UNKNOWN;
        snprintf(process->message, sizeof process->message, "%s",
                 message == NULL ? "" : message);
    }
    ebb_value_free(json);
    return 0;
}

static int take_envelope(void *context, unsigned flags, const char *payload,
                         size_t n, ebb_err *err)
{
    ebb_e2b_process *process = context;

    if (process->finished)
        return 0;
    if (flags & EBB_CONNECT_COMPRESSED)
        return ebb_err_set(err, EBB_PROTOCOL,
                           "a compressed message, which was not asked for");
    if (flags & EBB_CONNECT_END)
        return take_end(process, payload, n, err);
    if (process->started && !process->ended && take_output(process, payload, n))
        return 0;
    return take_event(process, payload, n, err);
}

void ebb_e2b_process_init(ebb_e2b_process *process, void *context)
{
    *process = (ebb_e2b_process){ .context = context };
    ebb_connect_reader_init(&process->reader, PAYLOAD_BYTES_MAX, take_envelope,
                            process);
}

void ebb_e2b_process_clear(ebb_e2b_process *process)
{
    ebb_connect_reader_clear(&process->reader);
}

int ebb_e2b_process_add(ebb_e2b_process *process, const char *bytes, size_t n,
                        ebb_err *err)
{
    return ebb_connect_add(&process->reader, bytes, n, err);
}

bool ebb_e2b_process_signal(const ebb_e2b_process *process, char out[16])
{
    static const char prefix[] = "signal: ";
    static const struct {
        const char *words, *name;
    } signals[] = {
        { "hangup", "SIGHUP" },
        { "interrupt", "SIGINT" },
        { "quit", "SIGQUIT" },
        { "illegal instruction", "SIGILL" },
        { "trace/breakpoint trap", "SIGTRAP" },
        { "aborted", "SIGABRT" },
        { "bus error", "SIGBUS" },
        { "floating point exception", "SIGFPE" },
        { "killed", "SIGKILL" },
        { "user defined signal 1", "SIGUSR1" },
        { "segmentation fault", "SIGSEGV" },
        { "user defined signal 2", "SIGUSR2" },
        { "broken pipe", "SIGPIPE" },
        { "alarm clock", "SIGALRM" },
        { "terminated", "SIGTERM" },
        { "CPU time limit exceeded", "SIGXCPU" },
        { "file size limit exceeded", "SIGXFSZ" },
    };
    const char *words = process->status + sizeof prefix - 1;

    if (strncmp(process->status, prefix, sizeof prefix - 1) != 0)
        return false;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (strncmp(words, signals[i].words, strlen(signals[i].words)) == 0) {
            snprintf(out, 16, "%s", signals[i].name);
            return true;
        }
    /* Go writes the rest, such as the real-time ones, as "signal 34". */
    snprintf(out, 16, "SIG%.8s",
             words + (strncmp(words, "signal ", 7) ? 0 : 7));
    return true;
}
