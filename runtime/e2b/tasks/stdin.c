/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/stdin.h"

#include "e2b/process.h"
#include "e2b/rpc.h"

static void closed(void *context, ebb_e2b_transfer *transfer,
                   const ebb_err *err)
{
    ebb_e2b_stdin *input = context;
    int status = ebb_e2b_transfer_status(transfer);

    input->transfer = NULL;
    /* 404: it has ended meanwhile. */
    if (err != NULL || (status != 200 && status != 404))
        input->failed = true;
}

static void send(ebb_e2b_stdin *input, const char *path, const ebb_buf *message,
                 void (*on_done)(void *context, ebb_e2b_transfer *transfer,
                                 const ebb_err *err))
{
    ebb_e2b_rpc rpc = {
        .path = path,
        .message = message,
        .waits = true,
        .context = input,
        .on_done = on_done,
    };
    ebb_err ignored = { 0 };

    if (!message->failed)
        input->transfer = ebb_e2b_rpc_start(input->job, &rpc, &ignored);
    if (input->transfer == NULL)
        input->failed = true;
}

/*
 * 404 and 500 (broken pipe) are a command that ended or stopped reading, which
 * is its own affair; anything else lost bytes.
 */
static void fed(void *context, ebb_e2b_transfer *transfer, const ebb_err *err)
{
    ebb_e2b_stdin *input = context;
    int status = ebb_e2b_transfer_status(transfer);
    ebb_buf message;

    input->transfer = NULL;
    if (err != NULL || (status != 200 && status != 404 && status != 500))
        input->failed = true;
    ebb_buf_init(&message, 64);
    ebb_e2b_process_write_close(&message, input->pid);
    send(input, "/process.Process/CloseStdin", &message, closed);
    ebb_buf_clear(&message);
}

void ebb_e2b_stdin_start(ebb_e2b_stdin *input, ebb_e2b_job *job, uint32_t pid,
                         const char *bytes, size_t n)
{
    ebb_buf message;

    *input = (ebb_e2b_stdin){ .job = job, .pid = pid };
    ebb_buf_init(&message, 0);
    ebb_e2b_process_write_input(&message, pid, bytes, n);
    send(input, "/process.Process/SendInput", &message, fed);
    ebb_buf_clear(&message);
}

void ebb_e2b_stdin_clear(ebb_e2b_stdin *input)
{
    ebb_e2b_transfer_cancel(input->transfer);
    input->transfer = NULL;
}
