/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the C files give to the Lua modules: each adds its functions to the
 * table at the top, which ebb.lua and e2b.lua get as their argument. Scripts
 * do not see that table.
 */

#include "lua/lsched.h"

void lebb_add_check(lua_State *L);   /* lcheck.c: raise, check_… */
void lebb_add_task(lua_State *L);    /* ltask.c: tasks, call, sleep, … */
void lebb_add_group(lua_State *L);   /* lgroup.c: group */
void lebb_add_shield(lua_State *L);  /* lshield.c: shield, hold_step, … */
void lebb_add_handler(lua_State *L); /* lhandler.c: register */
void lebb_add_host(lua_State *L);    /* lhost.c: monotonic, uuid */
void lebb_add_log(lua_State *L);     /* llog.c: log */
void lebb_add_json(lua_State *L);    /* ljson.c: json_encode, … */

/* Starts the branches of the requests that the core made; whether there are
 * any. */
void lebb_requests_start(lua_State *L, lebb_sched *s);
bool lebb_requests_waiting(const lebb_sched *s);

/* The request that the branch, or one that it waits for, runs; or NULL. */
ebb_request *lebb_branch_request(const lebb_branch *branch);

/* lgroup.c: who waits for the branch's group; NULL: it is in none. */
lebb_branch *lebb_branch_waiter(const lebb_branch *branch);

/* The state or the runtime goes: no task of the script's runs any more. */
void lebb_handlers_drop(lebb_sched *s);

/* Loaders for package.preload. */
int lebb_open_cjson(lua_State *L);
int lebb_open_cjson_safe(lua_State *L);

/* Runs an embedded module ("ebb", "e2b", "pretty", …) with the table of all
 * these functions as its argument; pushes what it returns. */
int lebb_open_embedded(lua_State *L, const char *name);
