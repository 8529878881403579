/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The service as a whole: its configuration, its state directory, its
 * listening sockets and the list of its sandboxes. What it does to a sandbox
 * is in lifecycle.h, what it says over HTTP in routes.h and proxy.h.
 *
 * One service owns a state directory at a time, by a lock on a file in it.
 */

#include "base/err.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "sandbox/service/box/box.h"
#include "sandbox/service/sandbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EBB_API_KEYS_MAX  16
#define EBB_API_KEY_BYTES 256 /* with the NUL */

/* The first host uid given to sandboxes by a root service, and how many. */
#define EBB_UID_FIRST 1879048192u
#define EBB_UID_COUNT 65536u

typedef struct ebb_service_config {
    const char *host;        /* address to listen at by TCP; NULL: none */
    uint16_t port;           /* 0: any free one */
    const char *socket_path; /* Unix socket; NULL: none */
    const char *state_dir;
    char api_keys[EBB_API_KEYS_MAX][EBB_API_KEY_BYTES]; /* for TCP */
    size_t api_keys_count; /* with TCP and none given: one is made */
    bool network;          /* sandboxes may share the host's network */
    ebb_box_limits limits;
    uint32_t uid_first, uid_count; /* for a root service; 0: the default */
    int64_t linger_ms; /* ends itself after so long without use; 0: never */
} ebb_service_config;

typedef struct ebb_idempotency ebb_idempotency; /* idempotency.h */
typedef struct ebb_graves ebb_graves;           /* table.h */

struct ebb_service {
    ebb_service_config config; /* strings borrowed from the program */
    ebb_loop *loop;
    int lock_fd;
    char *sandboxes_dir; /* holds a directory for each sandbox */
    ebb_http_server *tcp, *local;
    char *url; /* of tcp */
    ebb_sandbox *sandboxes;
    size_t sandboxes_count;
    uint32_t uid_next; /* offset in the range where to look next */
    ebb_idempotency *idempotency;
    ebb_graves *graves;
    ebb_loop_timer *meter_timer, *linger_timer;
    int64_t idle_since_ms; /* steady; -1 while in use */
    bool lingered;         /* the linger time has passed */
    bool stopping;
};

/* config and its strings must outlive the service. */
ebb_service *ebb_service_open(ebb_loop *loop, const ebb_service_config *config,
                              ebb_err *err);

/*
 * Stops listening and begins to end every sandbox that has a process; the
 * loop has to be run until ebb_service_is_stopped.
 */
void ebb_service_stop(ebb_service *service);
bool ebb_service_is_stopped(const ebb_service *service);

/* After it is stopped, or when it could not be opened wholly. */
void ebb_service_close(ebb_service *service);

/* No sandbox has a process and no client is connected but `mine`. */
bool ebb_service_is_idle(const ebb_service *service, unsigned mine);
