/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Durable runs in Lua: the paths of steps, and what a run makes the same in
 * every execution (time, random numbers, the order of pairs).
 *
 * A path is a number for each step of the script, in the order of its code:
 * "4". The branches of the combinator at 4 are 4.1, 4.2, …, and their steps
 * 4.2/1, 4.2/2, …; so a path does not depend on who is faster. What a task of
 * the script's own does (ebb.task) belongs to its step and has no paths.
 */

#include "lua/lsched.h"

#define LEBB_PATH_BYTES 1025

/* The run whose steps the branch's waits are, or NULL. branch may be NULL. */
ebb_run *lebb_durable_run(const lebb_branch *branch);

/* Whether time and random numbers are derived: in a run, but not in the
 * function of ebb.step. branch may be NULL. */
bool lebb_durable_derives(const lebb_branch *branch);

/* The run of what runs now, or NULL. */
ebb_run *lebb_durable_current(lua_State *L);

/* Writes the path of the next step. -1 with err: it is too long, or the run
 * stopped. */
int lebb_durable_next(lebb_branch *branch, char path[LEBB_PATH_BYTES],
                      ebb_err *err);

/* The path of the last step, or with 1 of the one that comes next. */
void lebb_durable_place(const lebb_branch *branch, int next,
                        char path[LEBB_PATH_BYTES]);

/* Makes child the index-th branch of the combinator at path. Raises when
 * there is no memory. */
void lebb_durable_adopt(lua_State *L, lebb_branch *child, const char *path,
                        lua_Integer index);

/* The journal and the script differ in what the core cannot see: every later
 * step fails with err. */
void lebb_durable_stop(lebb_sched *s, const ebb_err *err);

/* Before a poll, when no branch is ready. */
void lebb_durable_idle(lebb_sched *s);

/* Milliseconds since 1970. */
int64_t lebb_wall_ms(void);

/* ---- lderive.c, lpairs.c ---- */

/* uuid(): derived from run and path. Pushes it. */
void lebb_durable_uuid(lua_State *L, lebb_branch *branch);

/* Pushes 16 bytes as a version 4 UUID of RFC 9562. */
void lebb_push_uuid(lua_State *L, unsigned char b[16]);

/* Replaces os.time, os.date, os.clock, math.random and math.randomseed. */
void lebb_durable_install(lua_State *L);

/* Replaces pairs. */
void lebb_pairs_install(lua_State *L);
