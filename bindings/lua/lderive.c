/* SPDX-License-Identifier: MIT */
/*
 * Time and random numbers that are the same in every execution of a durable
 * run. Outside one, and inside what is recorded as a whole (the function of
 * ebb.step, which a later execution does not call, and tasks of the script's
 * own), they are Lua's: each function here has the original as upvalue 1.
 */
#include "lua/ldurable.h"

#include <lauxlib.h>
#include <string.h>

static lebb_branch *current(lua_State *L)
{
    lebb_branch *branch = lebb_sched_get(L)->current;

    return lebb_durable_derives(branch) ? branch : NULL;
}

static int call_original(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* ---- time ---- */

static int l_os_time(lua_State *L)
{
    lebb_branch *branch = current(L);

    if (!branch || !lua_isnoneornil(L, 1))
        return call_original(L);
    lua_pushinteger(L, ebb_run_time_ms(branch->sched->run) / 1000);
    return 1;
}

/* os.date(format, time): without a time it would read the clock. */
static int l_os_date(lua_State *L)
{
    lebb_branch *branch = current(L);

    if (!branch || !lua_isnoneornil(L, 2))
        return call_original(L);
    lua_settop(L, 1);
    if (lua_isnil(L, 1)) {
        lua_pushliteral(L, "%c");
        lua_replace(L, 1);
    }
    lua_pushinteger(L, ebb_run_time_ms(branch->sched->run) / 1000);
    return call_original(L);
}

static int l_os_clock(lua_State *L)
{
    lebb_branch *branch = current(L);

    if (!branch)
        return call_original(L);
    lua_pushnumber(L, (lua_Number)ebb_run_time_ms(branch->sched->run) / 1000);
    return 1;
}

/* ---- random numbers ---- */

/* splitmix64, which turns one number into many that look unrelated. */
static uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

/* xoshiro256**, as Lua's own generator. */
static uint64_t next_random(uint64_t s[4])
{
    uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

static void seed(lebb_branch *branch, uint64_t from)
{
    for (int i = 0; i < 4; i++)
        branch->random[i] = mix(&from);
    branch->random[0] |= 1; /* never all zero */
}

/* The path of the branch, with a word for what the numbers are for. */
static uint64_t path_seed(const lebb_branch *branch, const char *what)
{
    char path[2 * LEBB_PATH_BYTES];
    size_t n = branch->path ? strlen(branch->path) : 0;

    if (n > LEBB_PATH_BYTES)
        n = LEBB_PATH_BYTES;
    if (n > 0)
        memcpy(path, branch->path, n);
    memcpy(path + n, what, strlen(what) + 1);
    return ebb_run_seed(branch->sched->run, path);
}

static uint64_t branch_random(lebb_branch *branch)
{
    if (branch->random[0] == 0 && branch->random[1] == 0 &&
        branch->random[2] == 0 && branch->random[3] == 0)
        seed(branch, path_seed(branch, "#random"));
    return next_random(branch->random);
}

/* A number from 0 to most, each as likely. */
static uint64_t below(lebb_branch *branch, uint64_t most)
{
    uint64_t mask = most, number;

    for (int bits = 1; bits < 64; bits *= 2)
        mask |= mask >> bits;
    do
        number = branch_random(branch) & mask;
    while (number > most);
    return number;
}

/* math.random(), (0), (m), (m, n): as Lua's manual says. */
static int l_math_random(lua_State *L)
{
    lebb_branch *branch = current(L);
    lua_Integer low = 1, high;
    uint64_t number;

    if (!branch)
        return call_original(L);
    if (lua_gettop(L) == 0) {
        lua_pushnumber(L, (lua_Number)(branch_random(branch) >> 11) *
                              (0.5 / (UINT64_C(1) << 52)));
        return 1;
    }
    high = luaL_checkinteger(L, 1);
    if (lua_gettop(L) == 1 && high == 0) {
        lua_pushinteger(L, (lua_Integer)branch_random(branch));
        return 1;
    }
    if (lua_gettop(L) == 2) {
        low = high;
        high = luaL_checkinteger(L, 2);
    } else if (lua_gettop(L) > 2) {
        return luaL_error(L, "wrong number of arguments");
    }
    luaL_argcheck(L, low <= high, lua_gettop(L), "interval is empty");
    number = below(branch, (uint64_t)high - (uint64_t)low);
    number += (uint64_t)low;
    lua_pushinteger(L, (lua_Integer)number);
    return 1;
}

/* math.randomseed(): seeds of the branch's own; (n): by n, as ever. */
static int l_math_randomseed(lua_State *L)
{
    lebb_branch *branch = current(L);
    lua_Integer first, second;

    if (!branch)
        return call_original(L);
    if (lua_isnone(L, 1)) {
        first = (lua_Integer)branch_random(branch);
        second = (lua_Integer)branch_random(branch);
    } else {
        lua_Number n = luaL_checknumber(L, 1);
        if (!lua_numbertointeger(n, &first))
            memcpy(&first, &n, sizeof first);
        if (lua_isinteger(L, 1))
            first = lua_tointeger(L, 1);
        second = luaL_optinteger(L, 2, 0);
    }
    seed(branch, (uint64_t)first ^ rotate((uint64_t)second, 32));
    lua_pushinteger(L, first);
    lua_pushinteger(L, second);
    return 2;
}

void lebb_durable_uuid(lua_State *L, lebb_branch *branch)
{
    uint64_t high = path_seed(branch, "#uuid-high") + branch->uuids;
    uint64_t low = path_seed(branch, "#uuid-low") + branch->uuids;
    unsigned char b[16];

    branch->uuids++;
    high = mix(&high);
    low = mix(&low);
    for (int i = 0; i < 8; i++) {
        b[i] = (unsigned char)(high >> 8 * i);
        b[8 + i] = (unsigned char)(low >> 8 * i);
    }
    lebb_push_uuid(L, b);
}

/* Replaces library.name, if it is there, keeping it as the upvalue. */
static void replace(lua_State *L, const char *library, const char *name,
                    lua_CFunction fn)
{
    if (lua_getglobal(L, library) == LUA_TTABLE &&
        lua_getfield(L, -1, name) == LUA_TFUNCTION) {
        lua_pushcclosure(L, fn, 1);
        lua_setfield(L, -2, name);
        lua_pop(L, 1);
        return;
    }
    lua_settop(L, 0);
}

void lebb_durable_install(lua_State *L)
{
    replace(L, "os", "time", l_os_time);
    replace(L, "os", "date", l_os_date);
    replace(L, "os", "clock", l_os_clock);
    replace(L, "math", "random", l_math_random);
    replace(L, "math", "randomseed", l_math_randomseed);
}
