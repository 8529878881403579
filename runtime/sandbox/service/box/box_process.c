/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/buf.h"
#include "sandbox/service/box/box_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The strings of a SPAWN, and the descriptors that go with it. */
typedef struct spawn {
    ebb_agent_head head;
    ebb_buf text;
    int fds[2]; /* stdin's read end, the memfd; as many as there are */
    unsigned fds_count;
} spawn;

static void add_string(spawn *s, const char *string)
{
    ebb_buf_add(&s->text, string, strlen(string) + 1);
    s->head.count++;
}

static int gather(spawn *s, const ebb_box_spawn_config *config, ebb_err *err)
{
    ebb_buf_init(&s->text, EBB_AGENT_MEMFD_BYTES_MAX);
    if (config->argv == NULL || config->argv[0] == NULL ||
        config->cwd == NULL || config->cwd[0] != '/')
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "start a process: it needs a program and an "
                           "absolute working directory");
    add_string(s, config->cwd);
    for (size_t i = 0; config->argv[i] != NULL; i++)
        add_string(s, config->argv[i]);
    s->head.value = s->head.count - 1;
    for (size_t i = 0; config->envp != NULL && config->envp[i] != NULL; i++)
        add_string(s, config->envp[i]);
    if (s->text.failed || s->head.count > EBB_AGENT_STRINGS_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "start a process: its arguments and environment "
                           "are longer than %u bytes or more than %u",
                           EBB_AGENT_MEMFD_BYTES_MAX, EBB_AGENT_STRINGS_MAX);
    s->head.bytes = (uint32_t)s->text.n;
    return 0;
}

/*
 * We make this pipe, not the agent: the end that we write to then shares its
 * flags with nobody.
 */
static int add_stdin(spawn *s, ebb_box_request *request, ebb_err *err)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return ebb_err_set_errno(err, EBB_LIMIT_EXCEEDED, "make a pipe");
    if (fcntl(fds[1], F_SETFL, O_NONBLOCK) < 0) {
        close(fds[0]);
        close(fds[1]);
        return ebb_err_set_errno(err, EBB_SERVER, "make a pipe");
    }
    s->fds[s->fds_count++] = fds[0];
    request->stdin_fd = fds[1];
    s->head.flags |= EBB_AGENT_STDIN;
    return 0;
}

static int add_memfd(spawn *s, ebb_err *err)
{
    int fd = memfd_create("arguments", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return ebb_err_set_errno(err, EBB_LIMIT_EXCEEDED, "make a memfd");
    s->fds[s->fds_count++] = fd;
    s->head.flags |= EBB_AGENT_MEMFD;
    for (size_t at = 0; at < s->text.n;) {
        ssize_t n = write(fd, s->text.bytes + at, s->text.n - at);

        if (n < 0 && errno != EINTR)
            return ebb_err_set_errno(err, EBB_LIMIT_EXCEEDED,
                                     "write a memfd");
        at += n > 0 ? (size_t)n : 0;
    }
    if (fcntl(fd, F_ADD_SEALS,
              F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return ebb_err_set_errno(err, EBB_SERVER, "seal a memfd");
    return 0;
}

void ebb_box_spawn(ebb_box *box, const ebb_box_spawn_config *config,
                   ebb_box_spawn_fn *done, void *context)
{
    ebb_box_request *request =
        ebb_box_request_new(EBB_AGENT_SPAWN, "start a process", context);
    spawn s = { .fds_count = 0 };
    ebb_err err;

    if (request == NULL) {
        ebb_err_set(&err, EBB_NO_MEMORY, "start a process");
        done(context, 0, -1, -1, -1, &err);
        return;
    }
    request->fn.spawned = done;
    if (gather(&s, config, &request->err) < 0 ||
        (config->stdin_pipe && add_stdin(&s, request, &request->err) < 0) ||
        (s.text.n > EBB_AGENT_TEXT_BYTES_MAX &&
         add_memfd(&s, &request->err) < 0))
        ebb_box_request_fail(box, request);
    else
        ebb_box_request_start(box, request, &s.head, s.text.bytes, s.fds,
                              s.fds_count);
    for (unsigned i = 0; i < s.fds_count; i++)
        close(s.fds[i]);
    ebb_buf_clear(&s.text);
}

void ebb_box_signal(ebb_box *box, uint32_t pid, int signum, bool group,
                    ebb_box_done_fn *done, void *context)
{
    ebb_box_request *request =
        ebb_box_request_new(EBB_AGENT_SIGNAL, "send a signal", context);
    ebb_agent_head head = { .pid = pid,
                            .value = (uint32_t)signum,
                            .flags = group ? EBB_AGENT_GROUP : 0 };
    ebb_err err;

    if (request == NULL) {
        ebb_err_set(&err, EBB_NO_MEMORY, "send a signal");
        done(context, &err);
        return;
    }
    request->fn.done = done;
    ebb_box_request_start(box, request, &head, NULL, NULL, 0);
}
