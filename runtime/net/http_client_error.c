/* SPDX-License-Identifier: MIT */
#include "net/http_client_private.h"

#include <stdarg.h>
#include <stdio.h>

void ebb_http_call_fail(ebb_http_call *call, ebb_code code, const char *fmt,
                        ...)
{
    char text[EBB_ERR_MSG_BYTES];
    va_list args;

    if (call->failed)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    call->failed = true;
    ebb_err_set(&call->err, code, "%s: %s", call->where, text);
}

static ebb_code code_of(CURLcode result)
{
    switch (result) {
    case CURLE_OPERATION_TIMEDOUT:
        return EBB_TIMEOUT;
    case CURLE_OUT_OF_MEMORY:
        return EBB_NO_MEMORY;
    case CURLE_UNSUPPORTED_PROTOCOL: /* what came was no HTTP/1 */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_WRITE_ERROR: /* not ours, so the decoder's */
        return EBB_PROTOCOL;
    default:
        return EBB_NETWORK;
    }
}

static const char *text_of(const ebb_http_call *call)
{
    if (call->result == CURLE_SEND_FAIL_REWIND ||
        call->result == CURLE_ABORTED_BY_CALLBACK)
        return "the connection died after the request had begun; "
               "it was not sent again";
    if (call->result == CURLE_COULDNT_CONNECT && call->no_socket != 0)
        return "no socket for it: too many open files; raise `ulimit -n`, or "
               "do less at once";
    if (call->curl_msg[0] != '\0')
        return call->curl_msg;
    return curl_easy_strerror(call->result);
}

const ebb_err *ebb_http_call_outcome(ebb_http_call *call)
{
    if (call->failed)
        return &call->err;
    if (call->result == CURLE_OK && call->head.done)
        return NULL;
    if (call->result == CURLE_OK)
        ebb_http_call_fail(call, EBB_NETWORK,
                           "the connection ended in the answer's head");
    else if (call->result == CURLE_OPERATION_TIMEDOUT)
        ebb_http_call_fail(call, EBB_TIMEOUT, "not connected within %lld ms",
                           (long long)call->limits.connect_ms);
    else
        ebb_http_call_fail(call, code_of(call->result), "%s", text_of(call));
    call->err.status = (int)call->result;
    return &call->err;
}
