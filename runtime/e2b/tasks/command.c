/* SPDX-License-Identifier: MIT */
/*
 * runCommand. The server enforces timeoutMs; when it has not half a second
 * later, the command is killed by its pid, and half a second after that the
 * call ends whatever has come. A cancelled call ends the same way.
 */
#include "e2b/tasks/tasks.h"

#include <string.h>

#include "e2b/tasks/command.h"
#include "e2b/tasks/inputs.h"
#include "e2b/rpc.h"
#include "e2b/state.h"

#define COMMAND_BYTES_MAX 131071 /* of one argument of exec */
#define GRACE_MS          500
#define DRAIN_MS          100 /* at most, for what has come in time */
#define LATE_MS           20  /* we were held up if a timer comes so late */
#define QUIET_MS          10  /* nothing came so long: that was all */

/* ---- while it runs ---- */

static int on_body(void *context, const char *bytes, size_t n)
{
    ebb_e2b_running *c = context;

    c->received += n;
    return ebb_e2b_process_add(&c->process, bytes, n, &c->broken);
}

static void on_start(void *context)
{
    ebb_e2b_running *c = context;
    size_t n = 0;
    const char *text =
        ebb_value_get_string(ebb_value_find(c->job.input, "stdin"), &n);

    if (text != NULL)
        ebb_e2b_stdin_start(&c->input, &c->job, c->process.pid, text, n);
}

static void on_output(void *context, int stream, const char *bytes, size_t n)
{
    ebb_e2b_running *c = context;

    ebb_bounded_add(stream == 2 ? &c->err : &c->out, bytes, n);
}

static void on_done(void *context, ebb_e2b_transfer *transfer,
                    const ebb_err *failure)
{
    ebb_e2b_running *c = context;

    c->job.transfer = NULL;
    c->streaming = false;
    ebb_loop_timer_cancel(c->timer);
    ebb_e2b_running_done(c, transfer, failure);
}

/* ---- stopping it ---- */

static void kill_answered(void *context, ebb_e2b_transfer *transfer,
                          const ebb_err *err)
{
    ebb_e2b_running *c = context;

    (void)transfer;
    (void)err;
    c->kill = NULL; /* What counts is the end event, or the time. */
}

static void send_kill(ebb_e2b_running *c)
{
    ebb_buf message;
    ebb_err ignored = { 0 };
    ebb_e2b_rpc rpc = {
        .path = "/process.Process/SendSignal",
        .message = &message,
        .context = c,
        .on_done = kill_answered,
    };

    ebb_buf_init(&message, 64);
    if (ebb_e2b_process_write_kill(&message, c->process.pid) == 0)
        c->kill = ebb_e2b_rpc_start(&c->job, &rpc, &ignored);
    ebb_buf_clear(&message);
}

/* Kills what runs and gives it half a second to show its end. */
static void stop(ebb_e2b_running *c, ebb_code why)
{
    c->ending = why;
    if (!c->process.started || c->process.ended) {
        ebb_e2b_running_end_early(c);
        return;
    }
    send_kill(c);
    c->end_ms = ebb_e2b_job_now(&c->job) + GRACE_MS;
    ebb_loop_timer_start(c->timer, GRACE_MS - DRAIN_MS);
}

/*
 * The half second is nearly over. If we were held up in it, the output and the
 * end may have come long ago: they are taken as long as there is more, up to
 * DRAIN_MS from here. Else what goes on coming must not make the call longer.
 */
static bool takes_more(ebb_e2b_running *c)
{
    int64_t now = ebb_e2b_job_now(&c->job), left = c->end_ms - now;

    if (c->drain_end_ms == 0)
        c->drain_end_ms =
            left < DRAIN_MS - LATE_MS ? now + DRAIN_MS : c->end_ms;
    else if (c->received == c->looked_at || now + QUIET_MS > c->drain_end_ms)
        return false;
    c->looked_at = c->received;
    ebb_loop_timer_start(c->timer, left > QUIET_MS ? left : QUIET_MS);
    return true;
}

static void on_timer(void *context)
{
    ebb_e2b_running *c = context;

    if (c->ending == EBB_OK)
        stop(c, EBB_TIMEOUT);
    else if (!takes_more(c))
        ebb_e2b_running_end_early(c);
}

static void cancel(ebb_e2b_job *job)
{
    ebb_e2b_running *c = (ebb_e2b_running *)job;
    ebb_err err = { 0 };
    bool sent = c->streaming && ebb_e2b_transfer_was_sent(job->transfer);

    if (c->ending != EBB_OK) {
        c->ending = EBB_CANCELLED; /* already being killed */
    } else if (c->probe.under_way) {
        ebb_e2b_running_unknown(c, c->probe.why);
    } else if (sent && !c->process.started) {
        ebb_e2b_running_unknown(
            c, "cancelled before the command showed its start");
    } else if (sent) {
        stop(c, EBB_CANCELLED);
    } else {
        ebb_err_set(&err, EBB_CANCELLED, "the call was cancelled");
        ebb_e2b_job_fail(job, &err, NULL);
    }
}

/* ---- the attempt ---- */

/* The time runs from here: the request goes out now. */
static void before_body(void *context)
{
    ebb_e2b_running *c = context;

    if (c->timeout_ms > 0)
        ebb_loop_timer_start(c->timer, c->timeout_ms + GRACE_MS);
    ebb_e2b_job_before_body(&c->job);
}

static void start(ebb_e2b_job *job)
{
    ebb_e2b_running *c = (ebb_e2b_running *)job;
    const ebb_value *in = job->input;
    ebb_e2b_command what = {
        .text = ebb_value_find_string(in, "command"),
        .cwd = ebb_value_find_string(in, "cwd"),
        .envs = ebb_value_find(in, "envs"),
        .wants_stdin = ebb_value_find(in, "stdin") != NULL,
    };
    ebb_buf message;
    ebb_e2b_rpc rpc = {
        .path = "/process.Process/Start",
        .message = &message,
        .is_stream = true,
        .timeout_ms = c->timeout_ms,
        .user = ebb_value_find_string(in, "user"),
        .before_body = before_body,
        .context = c,
        .on_body = on_body,
        .on_done = on_done,
    };
    ebb_err err = { 0 };

    ebb_buf_init(&message, 0);
    ebb_e2b_process_clear(&c->process);
    ebb_e2b_process_init(&c->process, c);
    c->process.on_start = on_start;
    c->process.on_output = on_output;
    if (ebb_e2b_process_write_start(&message, &what, &err) == 0)
        job->transfer = ebb_e2b_rpc_start(job, &rpc, &err);
    ebb_buf_clear(&message);
    c->streaming = job->transfer != NULL;
    if (!c->streaming)
        ebb_e2b_job_fail(job, &err, NULL);
    else if (job->promised_end_ms < ebb_e2b_job_now(job) + c->timeout_ms ||
             c->timeout_ms == 0)
        ebb_e2b_extension_start(&c->extension, job);
}

static void begin(ebb_e2b_job *job)
{
    ebb_e2b_running *c = (ebb_e2b_running *)job;
    const ebb_value *in = job->input;
    size_t max = (size_t)ebb_value_find_int(in, "maxOutputBytes", 0);
    ebb_err err = { 0 };

    job->cancel = cancel;
    c->timeout_ms = ebb_e2b_whole_ms(ebb_value_find(in, "timeoutMs"));
    c->timer = ebb_loop_timer_new(job->e2b->config.loop, on_timer, c);
    if (c->timer == NULL)
        ebb_err_set(&err, EBB_NO_MEMORY, "timer of a command");
    if (c->timer == NULL || ebb_bounded_init(&c->out, max, &err) != 0 ||
        ebb_bounded_init(&c->err, max, &err) != 0)
        ebb_e2b_job_fail(job, &err, NULL);
    else
        ebb_e2b_connect(job, c->timeout_ms, start);
}

static void clear(ebb_e2b_job *job)
{
    ebb_e2b_running *c = (ebb_e2b_running *)job;

    ebb_loop_timer_free(c->timer);
    ebb_e2b_extension_clear(&c->extension);
    ebb_e2b_stdin_clear(&c->input);
    ebb_e2b_transfer_cancel(c->kill);
    ebb_e2b_process_clear(&c->process);
    ebb_bounded_clear(&c->out);
    ebb_bounded_clear(&c->err);
}

int ebb_e2b_check_command(const ebb_value *input, ebb_err *err)
{
    const ebb_value *envs = ebb_value_find(input, "envs");
    const char *user = ebb_value_find_string(input, "user");
    size_t n = 0;

    ebb_value_get_string(ebb_value_find(input, "command"), &n);
    if (n > COMMAND_BYTES_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "e2b.runCommand: command: %zu bytes, at most %d "
                           "fit one argument; write it to a file with "
                           "e2b.writeFiles and run that",
                           n, COMMAND_BYTES_MAX);
    if (user != NULL && strchr(user, ':') != NULL)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "e2b.runCommand: user: must not hold a colon");
    return ebb_e2b_check_envs("e2b.runCommand", envs, err);
}

void ebb_e2b_task_command(ebb_attempt *attempt)
{
    ebb_e2b_job_start(attempt, sizeof(ebb_e2b_running), begin, clear);
}
