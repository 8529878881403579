/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The connections of the HTTP client that have carried a call, by their ends,
 * and whether one may carry another. Inside the client only. It closes none
 * and chooses none: libcurl does.
 *
 * Invariant: a connection is forgotten before its descriptor is closed.
 */

#include "net/http_client.h"

/* Connections that are kept open without a call. */
#define EBB_HTTP_IDLE_MAX 64

/* An IP address as text, the NUL counted: libcurl has no longer ones. */
#define EBB_HTTP_ADDRESS_BYTES 46

/* An open connection that has carried a call; in a call's use or idle. */
typedef struct ebb_http_idle {
    int local_port; /* 0: none */
    int remote_port;
    char local[EBB_HTTP_ADDRESS_BYTES], remote[EBB_HTTP_ADDRESS_BYTES];
    int fd;
} ebb_http_idle;

/* Of a connection, as libcurl names them; borrowed. */
typedef struct ebb_http_ends {
    const char *local, *remote;
    int local_port, remote_port;
} ebb_http_ends;

/* The call is complete: its connection, if it is kept, is idle now. */
void ebb_http_idle_note(ebb_http_call *call);

/* A connection by its ends, until its descriptor is about to be closed. */
void ebb_http_idle_add(ebb_http_client *client, int fd,
                       const ebb_http_ends *ends);
void ebb_http_idle_del(ebb_http_client *client, int fd);

/* The descriptor of an idle connection by its ends, or -1. */
int ebb_http_idle_find(const ebb_http_client *client,
                       const ebb_http_ends *ends);

/* Whether nothing has come on it; also of -1. */
bool ebb_http_idle_is_quiet(int fd);

/* Hold the head back until the body goes out with it; nothing of -1. */
void ebb_http_idle_cork(ebb_http_call *call, int fd);
void ebb_http_idle_uncork(ebb_http_call *call);
