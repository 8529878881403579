/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/agent/agent.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

void ebb_agent_send(ebb_agent *agent, const ebb_agent_head *head,
                    const void *text, const int *fds, unsigned fds_count)
{
    ebb_agent_control control;
    struct iovec parts[2];
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    ssize_t sent;

    if (agent->socket_fd < 0)
        return;
    /* sendmsg only reads; its struct knows no const. */
    memcpy(&parts[0].iov_base, &(const void *){ head }, sizeof(void *));
    parts[0].iov_len = sizeof *head;
    memcpy(&parts[1].iov_base, &text, sizeof(void *));
    parts[1].iov_len = head->bytes;
    ebb_agent_control_set(&control, &message, fds, fds_count);
    do
        sent = sendmsg(agent->socket_fd, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        close(agent->socket_fd);
        agent->socket_fd = -1;
    }
}

void ebb_agent_send_done(ebb_agent *agent, uint32_t id, int error)
{
    ebb_agent_head head = { .type = EBB_AGENT_DONE,
                            .id = id,
                            .result = error };

    ebb_agent_send(agent, &head, NULL, NULL, 0);
}
