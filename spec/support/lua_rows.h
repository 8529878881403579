/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Tables of scripts and what each gives, as lua_host_run says it. After every
 * row nothing is left in flight. All rows run three times: as they are,
 * with the generational collector, and with a collection at every call.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lua/lrun.h"
#include "support/lua_host.h"

typedef struct lua_row {
    const char *script, *answer;
} lua_row;

typedef enum lua_rows_gc {
    LUA_ROWS_AS_IT_IS,
    LUA_ROWS_GENERATIONAL,
    LUA_ROWS_EVERY_CALL
} lua_rows_gc;

/* A full collection at every call, and at every hundredth after many. */
static void lua_rows_collect(lua_State *L, lua_Debug *ar)
{
    static unsigned calls;

    (void)ar;
    if (++calls % 5000 < 1000 || calls % 100 == 0)
        lua_gc(L, LUA_GCCOLLECT);
}

static EBB_UNUSED void lua_rows_check(const lua_row *rows, size_t n,
                                      lua_rows_gc gc)
{
    lua_host *host = lua_host_open();

    if (gc == LUA_ROWS_GENERATIONAL)
        lua_gc(host->lua->L, LUA_GCGEN, 0, 0);
    if (gc == LUA_ROWS_EVERY_CALL) /* coroutines inherit it */
        lua_sethook(host->lua->L, lua_rows_collect, LUA_MASKCALL, 0);
    for (size_t i = 0; i < n; i++) {
        const char *answer = lua_host_run(host, rows[i].script);
        if (strcmp(answer, rows[i].answer) != 0)
            print_error("%s\n", rows[i].script);
        assert_string_equal(answer, rows[i].answer);
        assert_int_equal(host->running, 0);
        assert_int_equal(ebb_lua_activities(host->lua, NULL, 0), 0);
    }
    lua_host_close(host);
}

#define LUA_ROWS_CHECK(rows)                                                   \
    for (int gc = LUA_ROWS_AS_IT_IS; gc <= LUA_ROWS_EVERY_CALL; gc++)          \
    lua_rows_check(rows, sizeof(rows) / sizeof *(rows), (lua_rows_gc)gc)
