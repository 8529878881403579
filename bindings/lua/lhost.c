/* SPDX-License-Identifier: MIT */
/* What a script asks of the machine: its steady clock, random bits. */
#include <errno.h>
#include <lauxlib.h>
#include <string.h>
#include <sys/random.h>

#include "lua/ldurable.h"
#include "lua/lerror.h"
#include "lua/lmodule.h"

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

    if (lebb_durable_derives(s->current)) {
        lebb_durable_uuid(L, s->current);
        return 1;
    }
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        return lebb_raise_code(L, EBB_UNSUPPORTED, "ebb.uuid: getrandom: %s",
                               strerror(errno));
    lebb_push_uuid(L, b);
    return 1;
}

void lebb_add_host(lua_State *L)
{
    static const luaL_Reg functions[] = { { "monotonic", l_host_monotonic },
                                          { "uuid", l_host_uuid },
                                          { NULL, NULL } };

    luaL_setfuncs(L, functions, 0);
}
