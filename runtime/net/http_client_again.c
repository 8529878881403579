/* SPDX-License-Identifier: MIT */

/*
 * Sending once more, on a fresh connection, what the server provably never
 * saw, because it had closed the kept connection when the request went out on
 * it. The proof is TCP's own, either of:
 *
 * - No byte of the body has left this host.
 * - The peer's end of stream came before any reset, and the peer acknowledged
 *   no byte of the body: it could not answer any more when the body arrived.
 *
 * A reset alone proves nothing: the acknowledgement may have been on its way.
 */

#include "net/http_client_private.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* tcpi_state; netinet/tcp.h, which names them, knows no tcpi_bytes_acked. */
#define STATE_ESTABLISHED 1
#define STATE_CLOSE_WAIT  8

/* False where it is not TCP, or a kernel before 4.19. */
static bool get_info(int fd, struct tcp_info *info)
{
    socklen_t n = sizeof *info;

    *info = (struct tcp_info){ 0 };
    return fd >= 0 && getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &n) == 0 &&
           n >= offsetof(struct tcp_info, tcpi_bytes_sent) +
                    sizeof info->tcpi_bytes_sent;
}

bool ebb_http_again_mark(ebb_http_call *call)
{
    struct tcp_info info;
    int queued = 0;

    /* What has carried a request has sent: a kernel without these counts, such
     * as gVisor's, leaves them zero, which would prove anything. */
    call->marked = call->reused && get_info(call->fd, &info) &&
                   info.tcpi_bytes_sent > 0 && info.tcpi_bytes_acked > 0;
    if (!call->marked)
        return true;
    if (info.tcpi_state != STATE_ESTABLISHED)
        return false;
    /* Of a head that is corked, or goes out with the body, nothing can be
     * acknowledged without the body. */
    if (call->connected && call->corked < 0)
        call->marked = ioctl(call->fd, SIOCOUTQ, &queued) == 0;
    call->marked_fd = call->fd;
    call->sent_before = info.tcpi_bytes_sent;
    call->acked_before = info.tcpi_bytes_acked + (uint64_t)queued;
    return true;
}

/* A reset after the end of stream is EPIPE, one without it ECONNRESET. */
static bool ended_first(int fd, const struct tcp_info *info)
{
    int error = 0;
    socklen_t n = sizeof error;

    return info->tcpi_state == STATE_CLOSE_WAIT ||
           (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 &&
            error == EPIPE);
}

void ebb_http_again_note(ebb_http_call *call, int fd)
{
    const struct linger drop = { .l_onoff = 1, .l_linger = 0 };
    struct tcp_info info;

    if (!call->marked || fd != call->marked_fd || call->head.bytes > 0 ||
        !get_info(fd, &info))
        return;
    call->marked = false;
    call->unseen =
        info.tcpi_bytes_sent <= call->sent_before ||
        (info.tcpi_bytes_acked <= call->acked_before && ended_first(fd, &info));
    /* What waits to leave, or to be sent again by TCP, must not reach a peer
     * that has only ended its own sending. */
    if (call->unseen)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
}

bool ebb_http_again(ebb_http_call *call)
{
    if (call->again || call->head.bytes > 0 ||
        (call->body.handed > 0 && !call->unseen))
        return false;
    ebb_http_call_stop(call);
    call->again = true;
    ebb_http_pieces_rewind(&call->body);
    if (call->body.n > 0)
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, NULL);
    call->connected = call->sent = call->marked = false;
    call->sent_ms = -1;
    call->result = CURLE_OK;
    call->curl_msg[0] = '\0';
    curl_easy_setopt(call->easy, CURLOPT_FRESH_CONNECT, 1L);
    if (curl_multi_add_handle(call->client->multi, call->easy) != CURLM_OK)
        return false;
    call->finished = false;
    ebb_http_limits_arm(call);
    return true;
}
