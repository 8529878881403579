/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The Connect protocol as a server: unary calls and streams, in JSON and in
 * binary, through the one mapping of wire/proto_json. It knows no method's
 * meaning: a handler gets a message, gives messages, and ends the call with
 * an answer, an end or a failure.
 *
 * Compressed requests are read; answers are never compressed, as the protocol
 * leaves it to the server.
 */

#include "base/attr.h"
#include "sandbox/service/envd/envd.h"
#include "wire/connect.h"
#include "wire/proto_json.h"

/* Of one request message; longer is resource_exhausted. */
#define EBB_ENVD_MESSAGE_BYTES_MAX ((size_t)4 << 20)

typedef enum ebb_envd_kind {
    EBB_ENVD_UNARY,
    EBB_ENVD_SERVER_STREAM, /* one message in, a stream out */
    EBB_ENVD_CLIENT_STREAM  /* a stream in, one message out */
} ebb_envd_kind;

/*
 * A stream of messages in: each comes to handle as it arrives, then NULL once
 * at the end.
 */
typedef struct ebb_envd_method {
    const char *path;
    const ProtobufCMessageDescriptor *request; /* NULL: not offered here */
    ebb_envd_kind kind;
    void (*handle)(ebb_envd_call *call, const ProtobufCMessage *request);
} ebb_envd_method;

struct ebb_envd_rpc {
    const ebb_envd_method *method;
    bool binary;
    bool begun; /* the head of a streamed answer is out */
    bool bound; /* there is a time limit, and what it says */
    int64_t timeout_ms;
    char content_type[64];    /* of the answer */
    unsigned messages;        /* read so far, of a stream in */
    bool inflate;             /* the request's messages may be gzip */
    ebb_connect_code refused; /* why reading failed, if not the usual code */
    ebb_connect_reader reader;
    ProtobufCMessage *request; /* owned; a handler may take it */
};

const ebb_envd_method *ebb_envd_method_find(const char *path);

void ebb_envd_rpc_start(ebb_envd_call *call, const ebb_envd_method *method);
void ebb_envd_rpc_free(ebb_envd_rpc *rpc); /* NULL is fine */

/* The request, to be freed by the handler. */
ProtobufCMessage *ebb_envd_rpc_take(ebb_envd_call *call);

/* ---- what handlers say ---- */

/* The answer of a unary call. */
void ebb_envd_answer(ebb_envd_call *call, const ProtobufCMessage *message);

/* The same, already encoded. */
void ebb_envd_answer_bytes(ebb_envd_call *call, const char *bytes, size_t n);

/* One message of a stream; false: the call failed instead. */
bool ebb_envd_send(ebb_envd_call *call, const ProtobufCMessage *message);

/* One whole envelope of a stream, already encoded. */
void ebb_envd_send_frame(ebb_envd_call *call, const void *bytes, size_t n);

/* The good end of a stream. */
void ebb_envd_end(ebb_envd_call *call);

/* The bad end of either kind; nothing if the call is not open. */
void ebb_envd_fail(ebb_envd_call *call, ebb_connect_code code, const char *fmt,
                   ...) EBB_PRINTF(3, 4);

/* ---- errors before there is a call ---- */

void ebb_envd_rpc_reply_error(ebb_envd_call *call, ebb_connect_code code,
                              const char *message);

/*
 * The unknown user on a stream: an error in an envelope, but with a length,
 * as the real envd says it.
 */
void ebb_envd_rpc_refuse_user(ebb_envd_call *call, const char *content_type,
                              const char *message);

/* ---- envd_codec.c ---- */

/* Bytes to message, by the call's codec. */
ProtobufCMessage *ebb_envd_decode(const ebb_envd_rpc *rpc, const char *bytes,
                                  size_t n, ebb_err *err);

/* Appends message to out, by the call's codec. */
int ebb_envd_encode(const ebb_envd_rpc *rpc, const ProtobufCMessage *message,
                    ebb_buf *out, ebb_err *err);

/*
 * A listing built entry by entry: the message `repeated … entries = 1`, whose
 * members are encoded already. end makes an answer of what was added.
 */
void ebb_envd_list_add(const ebb_envd_rpc *rpc, ebb_buf *out,
                       const ebb_buf *entry);
void ebb_envd_list_end(const ebb_envd_rpc *rpc, ebb_buf *out);

/* Appends what gzip bytes hold, at most one message's bound. */
int ebb_envd_inflate(const char *bytes, size_t n, ebb_buf *out, ebb_err *err);

/*
 * The content type of the answer to this one, and whether it is binary; false
 * if it is none that a method of this kind takes.
 */
bool ebb_envd_content_type(const char *given, bool stream, char *out,
                           size_t room, bool *binary);
