/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the files of the embedding API share: the runtime and a started call.
 * Nothing below runtime/ includes this.
 */

#include "ebb.h"

#include "base/clock.h"
#include "e2b/client.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "task/error_object.h"
#include "task/registry.h"

typedef struct ebb_host_task ebb_host_task; /* ebb_register.c */
typedef struct ebb_local ebb_local;         /* ebb_local.c */

struct ebb_runtime {
    ebb_config config; /* its strings are owned */
    const ebb_clock *clock;
    ebb_loop *loop;
    ebb_http_client *http;
    ebb_registry *registry;
    ebb_e2b *e2b;
    ebb_local *local; /* NULL unless the local service is used */
    ebb_op *ops;
    ebb_timer *timers;
    ebb_host_task *host_tasks;
    struct ebb_journal *journal; /* NULL until a run is asked for */
    ebb_run *runs;               /* that are open */
};

/* ---- ebb_limits.c ---- */

/* Fills in the limits that config leaves open: EBB_LIMITS, then defaults. */
int ebb_limits_read(ebb_config *config, ebb_err *err);

/* ---- ebb_call.c ---- */

/* Asks every started call to stop. */
void ebb_ops_cancel(ebb_runtime *rt);

/* ---- ebb_journal.c ---- */

/* Closes the runs that are open and the journal. */
void ebb_runtime_journal_close(ebb_runtime *rt);

/* Looks at every row; a line for people says what it found. */
bool ebb_journal_look(ebb_runtime *rt, char *line, size_t n);

/* ---- ebb_register.c ---- */

void ebb_host_tasks_free(ebb_runtime *rt);

/* ---- ebb_place.c: find_place of e2b/client.h ---- */

void ebb_place_find(void *runtime, ebb_e2b_place_fn *done,
                    void *done_context);
bool ebb_place_is_local(const ebb_config *config);

#define EBB_PLACE_LOCAL "local"

/*
 * The back end for people: EBB_PLACE_LOCAL or the API's address. A new string;
 * NULL: no key says which, or no memory.
 */
char *ebb_place_name(const ebb_config *config);

/* ---- ebb_local.c ---- */

typedef void ebb_local_fn(void *context, const char *socket_path,
                          const ebb_err *err);

/*
 * Finds this user's service or starts it; done is called once, at once or
 * later.
 * Several requests at once share one start.
 */
void ebb_local_find(ebb_runtime *rt, ebb_local_fn *done, void *context);

/* Requests still waiting are forgotten. NULL is fine. */
void ebb_local_free(ebb_local *local);

/* ---- ebb_launch.c: blocking steps of finding the service ---- */

/* A connection to the service's socket, or -1 with errno. */
int ebb_launch_connect(const char *socket_path);

/*
 * Takes the lock that lets one starter in. Returns its descriptor, -1 with
 * EBB_CONFLICT while another holds it, -1 with EBB_NO_SERVICE otherwise.
 */
int ebb_launch_lock(const char *socket_path, ebb_err *err);

/*
 * Starts ebb-sandboxd detached. Returns the reading end of a pipe on which it
 * says one line when it serves (or "error: …").
 */
int ebb_launch_service(const ebb_config *config, const char *socket_path,
                       ebb_err *err);

/* Ends the service with this pid and waits at most wait_ms for its end. */
int ebb_launch_stop(int pid, int wait_ms, ebb_err *err);
