/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * envd of one sandbox, as its files share it: the calls in progress, the
 * processes, and how answers look. What the rest of the service sees of it is
 * in sandbox.h.
 *
 * A call is one HTTP exchange. It outlives whichever of three ends first: the
 * exchange (the client left), the sandbox, and the requests to the box that
 * will still call back; each of these is checked before use.
 */

#include "base/err.h"
#include "base/value.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "sandbox/service/box/box.h"
#include "sandbox/service/sandbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ebb_envd_call ebb_envd_call;
typedef struct ebb_envd_process ebb_envd_process;
typedef struct ebb_envd_ended ebb_envd_ended;
typedef struct ebb_envd_rpc ebb_envd_rpc;

struct ebb_envd {
    ebb_sandbox *sandbox;
    ebb_loop *loop;
    ebb_envd_call *calls;
    ebb_envd_process *processes; /* running, oldest first */
    size_t processes_count;
    ebb_envd_ended *ended; /* newest first, for a late Connect */
    size_t ended_count;
};

struct ebb_envd_call {
    ebb_envd_call *next, **at;
    ebb_envd *envd;         /* NULL: the sandbox is gone */
    ebb_exchange *exchange; /* NULL: over */
    bool answered;          /* the last word is said */
    unsigned holds;         /* requests to the box that will call back */
    const char *user;       /* "user" or "root"; static */
    ebb_envd_rpc *rpc;      /* owned; NULL for plain endpoints */

    /*
     * For the handler: called once when nobody waits any more (the client
     * left, the sandbox goes), unless the handler has answered.
     */
    void (*on_cancel)(ebb_envd_call *call);
    void *state;
};

/* The handler asks the box something and will get a call back. */
void ebb_envd_call_hold(ebb_envd_call *call);

/*
 * The box called back. False if the call cannot be answered any more; then it
 * may be freed already.
 */
bool ebb_envd_call_arrived(ebb_envd_call *call);

/* Whether an answer can still be given. */
bool ebb_envd_call_open(const ebb_envd_call *call);

/* Says the last word: no on_cancel comes after it. */
void ebb_envd_call_answered(ebb_envd_call *call);

/* Calls on_cancel if it has not been called. */
void ebb_envd_call_cancel(ebb_envd_call *call);

/* ---- plain answers ---- */

/* {"code":status,"message":…} and a newline, as envd says HTTP errors. */
void ebb_envd_reply_error(ebb_envd_call *call, int status, const char *fmt, ...)
    EBB_PRINTF(3, 4);

void ebb_envd_reply_text(ebb_envd_call *call, int status, const char *text);

/* status without a body. */
void ebb_envd_reply_empty(ebb_envd_call *call, int status);

/* value is borrowed; a newline follows it if newline. */
void ebb_envd_reply_value(ebb_envd_call *call, int status,
                          const char *content_type, const ebb_value *value,
                          bool newline);

/* {"code","message"} as Connect says errors, escaped as Go escapes. */
char *ebb_envd_error_json(const char *code, const char *message, size_t *n);

/* The static name of a user that exists inside, or NULL. "" is the default. */
const char *ebb_envd_user_find(const char *name);

/* ---- the other files ---- */

void ebb_envd_files_get(ebb_envd_call *call);  /* files.c */
void ebb_envd_files_post(ebb_envd_call *call); /* upload.c */

/*
 * The query of /files, in the real one's order: a bad expiry, the signature
 * for op ("read" or "write"), the user. -1 after an error was answered.
 */
int ebb_envd_files_check(ebb_envd_call *call, const char *op);

/* The path made absolute, or NULL after an error was answered. */
char *ebb_envd_files_path(ebb_envd_call *call, const char *path);

/* Kills nothing: the box is gone or going; ends what is open. */
void ebb_envd_processes_free(ebb_envd *envd); /* process.c */
