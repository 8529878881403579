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
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * EBB_AGENT_FDS_MAX)];
    } control;
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
    if (fds_count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * fds_count);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int) * fds_count);
        memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * fds_count);
    }
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
