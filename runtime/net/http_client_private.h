/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the files of the HTTP client, for nobody else. http_client.c owns
 * libcurl's multi handle and who is called when; http_client_socket.c the
 * descriptors that libcurl wants watched; http_client_call.c makes a call of a
 * request and records what libcurl says; http_client_url.c reads where it
 * goes, http_client_headers.c writes the request's head, http_client_head.c
 * keeps the answer's; http_client_limits.c has the deadlines;
 * http_client_pieces.c hands out the request's body; http_client_idle.c looks
 * at kept connections, http_client_spare.c what calls leave behind;
 * http_client_again.c begins anew what was not seen; http_client_error.c names
 * what went wrong.
 */

#include "net/http_client.h"

#include <curl/curl.h>

#include "base/buf.h"
#include "net/http_client_idle.h"

/* Decoded bytes that wait for delivery; libcurl is paused above this. */
#define EBB_HTTP_IN_MAX (1u << 20)

/* libcurl's own buffer of one transfer, and what one writing may bring. */
#define EBB_HTTP_READ_BYTES 65536

/* libcurl's smallest buffer for a body; else it takes 64 KiB for any. */
#define EBB_HTTP_SMALL_BODY 16384

/*
 * Above those 64 KiB, whose answer is short, it goes out in larger pieces. Both
 * buffers are not larger than they are together for others: more, freed at the
 * end of each call, would be given back to the kernel and asked for again.
 */
#define EBB_HTTP_LARGE_BODY       65536
#define EBB_HTTP_LARGE_SEND_BYTES (120 * 1024)
#define EBB_HTTP_LARGE_READ_BYTES (8 * 1024)

/* The heads of one answer together, 1xx included. */
#define EBB_HTTP_HEAD_MAX 65536

/* Handles of libcurl's that are kept without a call. */
#define EBB_HTTP_SPARE_MAX 4

typedef struct ebb_http_url {
    char *text;
    CURLU *parts;
    char *host; /* libcurl's memory */
} ebb_http_url;

struct ebb_http_client {
    ebb_loop *loop;
    CURLM *multi;
    CURL *spare[EBB_HTTP_SPARE_MAX]; /* without a call */
    size_t spare_n;
    ebb_buf spare_in; /* of a call; at most EBB_HTTP_IN_MAX */
    ebb_http_url spare_url;
    ebb_loop_timer *timer; /* libcurl's */
    char *ca_file;         /* SSL_CERT_FILE when the client was made */
    ebb_loop_timer *later; /* delivers what was recorded outside a turn */
    ebb_http_call *calls;
    ebb_http_call *ready; /* something was recorded, in order */
    ebb_http_call **ready_end;
    ebb_http_idle idle[EBB_HTTP_IDLE_MAX];
    size_t idle_next; /* whose place goes when none is free */
    struct ebb_http_socket *unwatched; /* of idle connections */
    unsigned depth; /* of turns on the stack */
    bool freed;
};

typedef struct ebb_http_head {
    ebb_buf fields; /* name NUL value NUL … of the last head */
    size_t bytes;   /* of all heads */
    int status;     /* of the head that is being read */
    bool done;      /* the final head is complete */
} ebb_http_head;

/* The body of a request, which libcurl takes bit by bit. */
typedef struct ebb_http_pieces {
    const ebb_http_piece *list; /* borrowed, or &one */
    size_t count;
    size_t n; /* bytes in all */
    size_t at, within; /* the piece, and the byte of it, that is next */
    size_t handed; /* bytes that libcurl has taken */
    ebb_http_piece one;
    char *copied; /* the bytes of one */
} ebb_http_pieces;

struct ebb_http_call {
    ebb_http_client *client;
    ebb_http_call *next;
    ebb_http_call *previous;
    ebb_http_call *ready_next;
    bool is_ready;
    bool busy;      /* one of its callbacks is on the stack */
    bool cancelled; /* while busy */

    int fd; /* its socket, as far as is known; -1 */
    int corked; /* its socket while its head is held back; -1 */
    CURL *easy;
    ebb_http_url url; /* libcurl's while the call lives */
    struct curl_slist *headers; /* one block */
    char *where; /* for messages: method and host */
    char curl_msg[CURL_ERROR_SIZE];
    int no_socket; /* errno of the socket that this process did not get */

    /* the request */
    ebb_http_pieces body;
    bool once;
    bool connected; /* the head is about to go out, or has */
    bool reused;    /* on a connection of an earlier call, at first */
    bool is_known;  /* its connection is among client->idle */
    bool again;     /* begun anew, see http_client_again.c */
    bool unseen;    /* the server cannot have seen a byte of the body */
    bool marked;    /* when the body began, these were the connection's: */
    int marked_fd;         /* its socket */
    uint64_t sent_before;  /* bytes that had left */
    uint64_t acked_before; /* bytes that might be acknowledged */
    bool sent;      /* see ebb_http_was_sent */
    bool hold_due;  /* before_body is to be called */
    bool held;      /* and ebb_http_continue has not come yet */
    bool hold_told;

    /* the answer */
    bool head_told;
    bool in_paused;
    ebb_http_head head;
    ebb_buf in;  /* recorded by libcurl's callback */
    ebb_buf out; /* being delivered */
    uint64_t received;
    size_t body_max;
    bool unpacks; /* the answer may be packed */
    bool gathers; /* the body stays in `in` until the end */

    /* limits */
    ebb_http_limits limits;
    ebb_loop_timer *timer;
    int64_t timer_at_ms; /* INT64_MAX: it does not run */
    int64_t started_ms;
    int64_t active_ms; /* when a byte last moved */
    int64_t sent_ms;   /* when the whole request was handed over; -1 */
    bool sent_passed;  /* the crash switch's point after it */

    /* the end */
    bool finished; /* out of libcurl's hands */
    bool whole;    /* libcurl has said that the transfer was complete */
    bool over;     /* on_done is being called */
    bool failed;   /* err says why; else result does */
    ebb_err err;
    CURLcode result;

    void *context;
    void (*on_head)(void *context, ebb_http_call *call, int status);
    int (*on_body)(void *context, ebb_http_call *call, const char *bytes,
                   size_t n);
    void (*before_body)(void *context, ebb_http_call *call);
    void (*on_done)(void *context, ebb_http_call *call, const ebb_err *err);
};

/* ---- http_client.c ---- */

/* Something was recorded: the call is looked at after libcurl has returned. */
void ebb_http_call_ready(ebb_http_call *call);

/* Ends the transfer, not yet the call: delivery is what is left. */
void ebb_http_call_stop(ebb_http_call *call);

/* Lets libcurl act on fd (or its timeout), then delivers. */
void ebb_http_client_turn(ebb_http_client *client, int fd, int events);

/* ---- http_client_socket.c ---- */

/* CURLMOPT_SOCKETFUNCTION; context is the client. */
int ebb_http_client_watch(CURL *easy, curl_socket_t fd, int what,
                          void *context, void *assigned);

/*
 * CURLOPT_OPENSOCKETFUNCTION; context is the call. A child of the host's that
 * becomes another program must not keep a connection open that we have closed.
 */
curl_socket_t ebb_http_client_open(void *context, curlsocktype purpose,
                                   struct curl_sockaddr *address);

/* CURLOPT_CLOSESOCKETFUNCTION; context is the client. */
int ebb_http_client_close(void *context, curl_socket_t fd);

/* ---- http_client_call.c ---- */

/* Everything but adding it to the multi handle; NULL with err. */
ebb_http_call *ebb_http_call_new(ebb_http_client *client,
                                 const ebb_http_request *request, ebb_err *err);
void ebb_http_call_free(ebb_http_call *call);

/* ---- http_client_pieces.c ---- */

/* The request's body or pieces, or nothing; -1: no memory. */
int ebb_http_pieces_init(ebb_http_pieces *pieces,
                         const ebb_http_request *request);
void ebb_http_pieces_clear(ebb_http_pieces *pieces);

/* Writes the next bytes, at most so many; returns how many. */
size_t ebb_http_pieces_take(ebb_http_pieces *pieces, char *to, size_t room);

/* Begins at the first byte again. */
void ebb_http_pieces_rewind(ebb_http_pieces *pieces);

/* ---- http_client_url.c ---- */

/* Checks the request's URL and gives it to libcurl; sets call->where. */
int ebb_http_url_set(ebb_http_call *call, const ebb_http_request *request,
                     ebb_err *err);

/* To the next call, which may have the same. Nothing is left in url. */
void ebb_http_url_give(ebb_http_client *client, ebb_http_url *url);
void ebb_http_url_clear(ebb_http_url *url);

/* ---- http_client_headers.c ---- */

/* Checks the request's headers and gives them to libcurl. */
int ebb_http_headers_set(ebb_http_call *call, const ebb_http_request *request,
                         ebb_err *err);

/* ---- http_client_head.c ---- */

void ebb_http_head_init(ebb_http_head *head);
void ebb_http_head_clear(ebb_http_head *head);

/* One line with its end; -1 when the head is too large or without memory. */
int ebb_http_head_add(ebb_http_head *head, const char *line, size_t n);

/* ---- http_client_limits.c ---- */

/* Sets the call's timer to its next deadline. */
void ebb_http_limits_arm(ebb_http_call *call);

/*
 * Whether a limit is reached: then the call has failed with EBB_TIMEOUT, which
 * says which.
 */
bool ebb_http_limits_reached(ebb_http_call *call);

/* ---- http_client_again.c ---- */

/* The body begins; false if its connection has ended, as far as is known. */
bool ebb_http_again_mark(ebb_http_call *call);

/* libcurl lets go of the call's socket: was the body seen? */
void ebb_http_again_note(ebb_http_call *call, int fd);

/*
 * Begins a call without an answer anew, once, if the server cannot have seen
 * its body. Returns whether it did.
 */
bool ebb_http_again(ebb_http_call *call);

/* ---- http_client_spare.c ---- */

/* A handle without any option; NULL without memory. */
CURL *ebb_http_easy_take(ebb_http_client *client);

/* Back, out of the multi handle; whole: its transfer was. NULL is fine. */
void ebb_http_easy_give(ebb_http_client *client, CURL *easy, bool whole);

/*
 * A call's `in`, empty: taken when the first byte comes, so that a call which
 * is started by the end of another finds what that one leaves.
 */
void ebb_http_in_take(ebb_http_call *call);
void ebb_http_in_give(ebb_http_client *client, ebb_buf *in);

void ebb_http_spare_clear(ebb_http_client *client);

/* ---- http_client_error.c ---- */

/* The call fails for a reason of ours; the first one stays. */
void ebb_http_call_fail(ebb_http_call *call, ebb_code code, const char *fmt,
                        ...) EBB_PRINTF(3, 4);

/* What a finished call ended with: NULL for a complete answer. */
const ebb_err *ebb_http_call_outcome(ebb_http_call *call);
