/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * ebb for Lua: scripts on a runtime. It is not a second API of the core: what
 * a script can do, ebb.h can do. Everything here belongs to the runtime's one
 * thread, except ebb_lua_cancel.
 *
 *     ebb_lua *lua = ebb_lua_open(&config, &err);
 *     ebb_lua_script script = { .path = "report.lua" };
 *     if (ebb_lua_start(lua, &script, &err) == 0)
 *         while (!ebb_lua_done(lua) && ebb_lua_poll(lua, -1, &err) == 0)
 *             ;
 *     int failed = ebb_lua_take(lua, &value, &err);
 *
 * Invariant: Lua runs only inside ebb_lua_start, ebb_lua_poll and
 * ebb_lua_close, never from a callback of the core.
 */

#include "ebb.h"

EBB_C_BEGIN

#include <lua.h> /* knows nothing of C++ */

typedef struct ebb_lua ebb_lua;

typedef struct ebb_lua_config {
    size_t size;
    ebb_runtime *runtime; /* borrowed; closed after the state */
    /*
     * Called before Lua runs, from ebb_lua_start and ebb_lua_poll: a program
     * wipes its progress line there. NULL: nothing.
     */
    void (*before)(void *context);
    void *context;
    /*
     * A durable run for one script, whose calls are then its steps: borrowed,
     * closed after the state. NULL: nothing is recorded.
     */
    ebb_run *run;
} ebb_lua_config;

EBB_API void ebb_lua_config_init(ebb_lua_config *config);
EBB_API ebb_lua *ebb_lua_open(const ebb_lua_config *config, ebb_err *err);

/*
 * Cancels what runs, lets its cleanup calls end (at most 10 s), closes the
 * state. NULL is fine.
 */
EBB_API void ebb_lua_close(ebb_lua *lua);

/* ---- one script or chunk at a time ---- */

typedef struct ebb_lua_script {
    const char *path; /* the file, or the name of text in messages */
    const char *text; /* the script itself; NULL: read the file at path */
    size_t text_n;
    /* `...` and arg[1], arg[2], …; arg[0] is path. Copied. */
    const char *const *args;
    size_t args_count;
} ebb_lua_script;

/*
 * Starts a script, or at a prompt a chunk: an expression or statements that
 * share their globals with the chunks before. -1 if it is no Lua (EBB_SCRIPT),
 * cannot be read (EBB_FILE_NOT_FOUND), or if another runs (EBB_CONFLICT); then
 * there is nothing to take. *incomplete (may be NULL) tells whether more lines
 * could mend a chunk.
 */
EBB_API int ebb_lua_start(ebb_lua *lua, const ebb_lua_script *script,
                          ebb_err *err);
EBB_API int ebb_lua_start_chunk(ebb_lua *lua, const char *text, size_t n,
                                bool *incomplete, ebb_err *err);

/* Whether nothing runs: what was started has ended, or nothing was. */
EBB_API bool ebb_lua_done(const ebb_lua *lua);

/*
 * ebb_poll, then Lua for whoever is ready. Returns when something happened,
 * when timeout_ms is over (-1: no limit), or after ebb_lua_cancel.
 */
EBB_API int ebb_lua_poll(ebb_lua *lua, int timeout_ms, ebb_err *err);

/*
 * Ctrl-C: raises `cancelled` at the call that waits, or in the loop that
 * computes; cleanup calls still go out. The second time it gives up: what is
 * in flight is dropped, calls fail at once. Safe in a signal handler. In a run
 * the first is recorded with the step it ends: a loop that computes goes on
 * until its next step.
 */
EBB_API void ebb_lua_cancel(ebb_lua *lua);

/*
 * How it ended, once ebb_lua_done. 0: *out is what the script returned first,
 * NULL for nothing or nil. -1: err, and *out is the error object {code,
 * message, traceback?, …} as ebb_call gives it; EBB_SCRIPT for a plain Lua
 * error or a result that is not JSON. *out is the caller's.
 *
 * With a run its end is committed first, which waits for the journal: done,
 * failed, or cancelled. A run that was given up (a second ebb_lua_cancel) or
 * that cannot go on (EBB_REPLAY_MISMATCH, EBB_LOST_OWNERSHIP, EBB_JOURNAL)
 * stays interrupted.
 */
EBB_API int ebb_lua_take(ebb_lua *lua, ebb_value **out, ebb_err *err);

/* ebb_lua_take for a prompt: every result, printed prettily, one a line. */
#define EBB_LUA_COLOUR 1u
EBB_API int ebb_lua_take_text(ebb_lua *lua, unsigned how, char **text,
                              ebb_value **error, ebb_err *err);

/*
 * The status a script asked for with os.exit, which ends the script as a
 * cancel does, cleanup included; -1 if it did not. Valid after ebb_lua_take.
 */
EBB_API int ebb_lua_exit_status(const ebb_lua *lua);

/* ---- what a program shows ---- */

typedef struct ebb_lua_activity {
    const char *task;  /* "e2b.runCode", "ebb.sleep"; borrowed till a poll */
    int attempt;       /* 1 for the first; 0 if it has none */
    int64_t wait_ms;   /* until the next attempt or the end of a sleep */
    double elapsed_ms; /* since the call began */
} ebb_lua_activity;

/* What is in flight, the oldest first; returns how many there are, of which
 * at most max are written to list. */
EBB_API size_t ebb_lua_activities(const ebb_lua *lua, ebb_lua_activity *list,
                                  size_t max);

/*
 * Names that could stand where text ends ("e2b.run" → ["e2b.runCode",
 * "e2b.runCommand"]; globals and table members, no calls are made).
 */
EBB_API ebb_value *ebb_lua_complete(ebb_lua *lua, const char *text,
                                    ebb_err *err);

/* ---- a host's own lua_State ---- */

/*
 * Ties a state to a runtime, once, before the two below. Task calls from the
 * host's Lua then wait by running the loop. coroutine's functions are replaced
 * by ones that let waiting calls through. Returns -1 with err.
 */
EBB_API int ebb_lua_attach(lua_State *L, ebb_runtime *rt, ebb_err *err);

/* Before the runtime is closed, if the state lives on: calls then raise. */
EBB_API void ebb_lua_detach(lua_State *L);

/* The modules, for package.preload or luaL_requiref. */
EBB_API int luaopen_ebb(lua_State *L);
EBB_API int luaopen_e2b(lua_State *L);

EBB_C_END
