/* SPDX-License-Identifier: MIT */
/* What a script asks of the machine: random bits, the log. */
#include <errno.h>
#include <lauxlib.h>
#include <string.h>
#include <sys/random.h>

#include "lua/lcheck.h"
#include "lua/ldurable.h"
#include "lua/lerror.h"
#include "lua/lmodule.h"
#include "lua/lvalue.h"

static int l_host_monotonic(lua_State *L)
{
    lua_pushnumber(L, ebb_monotonic_ms(lebb_sched_check(L)->rt) / 1000);
    return 1;
}

void lebb_push_uuid(lua_State *L, unsigned char b[16])
{
    char text[36], *p = text;

    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *p++ = '-';
        *p++ = "0123456789abcdef"[b[i] >> 4];
        *p++ = "0123456789abcdef"[b[i] & 15];
    }
    lua_pushlstring(L, text, sizeof text);
}

/* uuid(): RFC 9562 version 4; in a run derived, else random. */
static int l_host_uuid(lua_State *L)
{
    lebb_sched *s = lebb_sched_get(L);
    unsigned char b[16];

    if (lebb_durable_run(s->current)) {
        lebb_durable_uuid(L, s->current);
        return 1;
    }
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        return lebb_raise_code(L, EBB_UNSUPPORTED, "ebb.uuid: getrandom: %s",
                               strerror(errno));
    lebb_push_uuid(L, b);
    return 1;
}

static ebb_log_level check_level(lua_State *L)
{
    const char *name = lebb_check_text(L, 1, "ebb.log", "level");

    for (int level = EBB_LOG_DEBUG; level <= EBB_LOG_ERROR; level++)
        if (strcmp(name, ebb_log_level_name((ebb_log_level)level)) == 0)
            return (ebb_log_level)level;
    lebb_raise_code(L, EBB_INVALID_INPUT,
                    "ebb.log: level: '%s' is not debug, info, warn or error",
                    name);
    return EBB_LOG_INFO;
}

/* log(level, message, fields) */
static int l_host_log(lua_State *L)
{
    lebb_sched *s = lebb_sched_check(L);
    ebb_log_level level = check_level(L);
    const char *message = lebb_check_text(L, 2, "ebb.log", "message");
    const ebb_value *fields = NULL;
    ebb_run *run = lebb_durable_run(s->current);
    char path[LEBB_PATH_BYTES];

    if (!lua_isnoneornil(L, 3)) {
        luaL_checktype(L, 3, LUA_TTABLE);
        fields = *lebb_value_check(L, 3, "ebb.log", LEBB_VALUE_EXACT);
    }
    if (run) {
        lebb_durable_last(s->current, path);
        ebb_run_log(run, path, level, message, fields);
    } else {
        ebb_log(s->rt, level, message, fields);
    }
    return 0;
}

void lebb_add_host(lua_State *L)
{
    static const luaL_Reg functions[] = { { "monotonic", l_host_monotonic },
                                          { "uuid", l_host_uuid },
                                          { "log", l_host_log },
                                          { NULL, NULL } };

    luaL_setfuncs(L, functions, 0);
}
