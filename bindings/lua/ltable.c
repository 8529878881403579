/* SPDX-License-Identifier: MIT */
/* The way from tables to values; the way back is lvalue.c. */
#include "lua/lvalue.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/lerror.h"

#define PATH_BYTES 160

/* A list with holes is filled up to this many items, as lua-cjson does. */
#define SPARSE_SAFE  10
#define SPARSE_RATIO 2

/* Where a conversion is: the members from the root, as a list upwards. */
typedef struct place {
    const struct place *up;
    const void *table; /* to find a table that contains itself */
    const char *key;   /* of the member, or NULL: index */
    lua_Integer index;
    int depth;
} place;

typedef struct writer {
    lua_State *L;
    const char *what;
    unsigned how;
    size_t count;
} writer;

static size_t add_text(char *path, size_t n, const char *text)
{
    size_t more = strlen(text);

    if (n + more >= PATH_BYTES)
        return n;
    memcpy(path + n, text, more + 1);
    return n + more;
}

/* "files[3].content" of the place into path. */
static size_t write_path(const place *at, char *path)
{
    char item[80];
    size_t n;

    if (!at->up)
        return 0;
    n = write_path(at->up, path);
    if (!at->key)
        snprintf(item, sizeof item, "[%lld]", (long long)at->index);
    else
        snprintf(item, sizeof item, "%s%.64s", n > 0 ? "." : "", at->key);
    return add_text(path, n, item);
}

static int fail(const writer *w, const place *at, const char *problem)
{
    char path[PATH_BYTES] = "";

    write_path(at, path);
    return lebb_raise_code(w->L, EBB_INVALID_INPUT, "%s: %s%s%s", w->what, path,
                           path[0] ? ": " : "", problem);
}

/* A constructor that gave NULL: no memory, unless an empty string is made. */
static int fail_string(const writer *w, const place *at, const char *problem)
{
    ebb_value *probe = ebb_value_string("", 0);

    if (!probe)
        return lebb_raise_code(w->L, EBB_NO_MEMORY, "%s: no memory", w->what);
    ebb_value_free(probe);
    return fail(w, at, problem);
}

/* What the keys of a table say. */
typedef struct keys {
    lua_Integer integers; /* how many */
    lua_Integer last;     /* the largest of them */
    lua_Integer names;
    size_t bytes; /* of those, each with a NUL */
    bool has_others, below_one;
} keys;

static keys look_at_keys(lua_State *L, int index)
{
    keys k = { 0 };

    lua_pushnil(L);
    while (lua_next(L, index)) {
        if (lua_isinteger(L, -2)) {
            lua_Integer i = lua_tointeger(L, -2);
            k.integers++;
            k.below_one |= i < 1;
            k.last = i > k.last ? i : k.last;
        } else if (lua_type(L, -2) == LUA_TSTRING) {
            k.names++;
            k.bytes += lua_rawlen(L, -2) + 1;
        } else {
            k.has_others = true;
        }
        lua_pop(L, 1);
    }
    return k;
}

static bool sparse_is_fine(const writer *w, const keys *k)
{
    return (w->how & LEBB_VALUE_RELAXED) && !k->below_one &&
           (k->last <= SPARSE_SAFE || k->last / SPARSE_RATIO <= k->integers);
}

/* Whether the table is a list; raises when it is neither list nor object. */
static bool is_list(const writer *w, const place *at, int index, const keys *k)
{
    bool marked = lebb_value_marked(w->L, index);
    bool relaxed = w->how & LEBB_VALUE_RELAXED;

    if (k->has_others)
        return fail(w, at, "a key is neither a string nor an integer");
    if (k->integers == 0 && k->names == 0)
        return marked;
    if (k->integers == 0 && !marked)
        return false;
    if (k->names > 0 || k->below_one) {
        if (relaxed && !marked)
            return false;
        return fail(w, at, "the keys are neither 1..n nor all strings");
    }
    if (k->integers == k->last || sparse_is_fine(w, k))
        return true;
    if (relaxed && !marked)
        return false;
    return fail(w, at, "a list with holes (use ebb.null for an empty item)");
}

static ebb_value *scalar(const writer *w, const place *at, int index)
{
    lua_State *L = w->L;
    size_t n;
    const char *bytes;
    lua_Number d;

    switch (lua_type(L, index)) {
    case LUA_TNIL:
        return ebb_value_null();
    case LUA_TBOOLEAN:
        return ebb_value_bool(lua_toboolean(L, index));
    case LUA_TNUMBER:
        if (lua_isinteger(L, index))
            return ebb_value_int(lua_tointeger(L, index));
        d = lua_tonumber(L, index);
        if (!isfinite(d))
            fail(w, at, "NaN and infinity are not JSON");
        if ((w->how & LEBB_VALUE_RELAXED) && floor(d) == d &&
            fabs(d) <= 9007199254740992.0 && !(d == 0 && signbit(d)))
            return ebb_value_int((int64_t)d);
        return ebb_value_float(d);
    case LUA_TSTRING:
        bytes = lua_tolstring(L, index, &n);
        return ebb_value_string(bytes, n);
    case LUA_TLIGHTUSERDATA:
        if (!lua_touserdata(L, index))
            return ebb_value_null();
        break;
    default:
        break;
    }
    fail(w, at,
         lua_pushfstring(L, "a %s is not JSON", luaL_typename(L, index)));
    return NULL;
}

static void fill(writer *w, const place *at, int index, const keys *k,
                 ebb_value *into);

/* Where a converted member goes: the root's box, a list or an object. */
typedef struct target {
    ebb_value **box;
    ebb_value *into;
    const char *key;
    size_t key_n;
} target;

/* The member belongs to the tree before anything else can raise. */
static void put(const writer *w, const place *at, const target *to,
                ebb_value *member)
{
    int failed;

    if (to->box) {
        *to->box = member;
        failed = member ? 0 : -1;
    } else if (to->key) {
        failed = ebb_value_set_n(to->into, to->key, to->key_n, member);
    } else {
        failed = ebb_value_add(to->into, member);
    }
    if (failed)
        fail_string(w, at, "a string that is not UTF-8 (send base64)");
}

static void check_table(const writer *w, const place *at)
{
    if (at->depth > EBB_VALUE_DEPTH_MAX)
        fail(w, at, "nested deeper than 100");
    for (const place *p = at->up; p; p = p->up)
        if (p->table == at->table)
            fail(w, at, "the table contains itself");
}

static void convert(writer *w, place *at, int index, const target *to)
{
    ebb_value *table;
    keys k;

    if (++w->count > LEBB_VALUES_MAX)
        lebb_raise_code(w->L, EBB_LIMIT_EXCEEDED, "%s: more than %d values",
                        w->what, LEBB_VALUES_MAX);
    if (lua_type(w->L, index) != LUA_TTABLE) {
        put(w, at, to, scalar(w, at, index));
        return;
    }
    at->table = lua_topointer(w->L, index);
    check_table(w, at);
    k = look_at_keys(w->L, index);
    table = is_list(w, at, index, &k) ? ebb_value_array() : ebb_value_object();
    put(w, at, to, table);
    fill(w, at, index, &k, table);
}

static void fill_list(writer *w, const place *at, int index, const keys *k,
                      ebb_value *into)
{
    target to = { .into = into };
    lua_Integer n = k->last;

    for (lua_Integer i = 1; i <= n; i++) {
        place member = { .up = at, .index = i, .depth = at->depth + 1 };
        lua_rawgeti(w->L, index, i);
        convert(w, &member, lua_gettop(w->L), &to);
        lua_pop(w->L, 1);
    }
}

/* A key of an object. */
typedef struct entry {
    const char *name; /* NULL: the integer */
    size_t n;
    lua_Integer integer;
} entry;

static int compare_entries(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    int order;

    if (!a->name && !b->name)
        return (a->integer > b->integer) - (a->integer < b->integer);
    if (!a->name || !b->name)
        return a->name ? 1 : -1;
    order = memcmp(a->name, b->name, a->n < b->n ? a->n : b->n);
    return order ? order : (a->n > b->n) - (a->n < b->n);
}

/* Takes the name on top of the stack to where free bytes begin, if it fits. */
static bool copy_name(lua_State *L, entry *to, char **bytes, const char *end)
{
    const char *name = lua_tolstring(L, -1, &to->n);

    if (to->n >= (size_t)(end - *bytes))
        return false;
    memcpy(*bytes, name, to->n + 1);
    to->name = *bytes;
    *bytes += to->n + 1;
    return true;
}

/*
 * Pushes the keys in order, so that one table is one text in every process;
 * Lua's own order differs. Whenever Lua gives memory, finalizers of the script
 * may run and change the table: the keys are copied, and not more than were
 * there when room for them was made.
 */
static const entry *push_entries(lua_State *L, int index, const keys *k,
                                 size_t *n)
{
    size_t room = (size_t)(k->integers + k->names);
    entry *entries =
        lua_newuserdatauv(L, room * sizeof *entries + k->bytes + 1, 0);
    char *bytes = (char *)(entries + room), *end = bytes + k->bytes;
    int top = lua_gettop(L);

    *n = 0;
    lua_pushnil(L);
    while (*n < room && lua_next(L, index)) {
        entry *next = &entries[*n];
        lua_pop(L, 1);
        *next = (entry){ 0 };
        if (lua_type(L, -1) != LUA_TSTRING)
            next->integer = lua_tointeger(L, -1);
        else if (!copy_name(L, next, &bytes, end))
            continue;
        ++*n;
    }
    lua_settop(L, top);
    qsort(entries, *n, sizeof *entries, compare_entries);
    return entries;
}

static void fill_member(writer *w, const place *at, int index,
                        const entry *from, ebb_value *into)
{
    lua_State *L = w->L;
    char digits[24];
    place member = { .up = at, .key = from->name, .depth = at->depth + 1 };
    target to = { .into = into, .key = from->name, .key_n = from->n };

    if (!from->name) {
        to.key_n = (size_t)snprintf(digits, sizeof digits, "%lld",
                                    (long long)from->integer);
        to.key = member.key = digits;
        lua_rawgeti(L, index, from->integer);
    } else {
        lua_pushlstring(L, from->name, from->n);
        lua_rawget(L, index);
    }
    if (memchr(to.key, '\0', to.key_n))
        fail(w, at, "a key holds a NUL byte");
    if ((w->how & LEBB_VALUE_RELAXED) && ebb_value_find(into, to.key))
        fail(w, &member, "the key is there as integer and as string");
    convert(w, &member, lua_gettop(L), &to);
    lua_pop(L, 1);
}

static void fill_object(writer *w, const place *at, int index, const keys *k,
                        ebb_value *into)
{
    size_t n;
    const entry *entries = push_entries(w->L, index, k, &n);

    for (size_t i = 0; i < n; i++)
        fill_member(w, at, index, &entries[i], into);
    lua_pop(w->L, 1);
}

static void fill(writer *w, const place *at, int index, const keys *k,
                 ebb_value *into)
{
    luaL_checkstack(w->L, 8, "the value is nested too deeply");
    if (ebb_value_type(into) == EBB_ARRAY)
        fill_list(w, at, index, k, into);
    else
        fill_object(w, at, index, k, into);
}

ebb_value **lebb_value_check(lua_State *L, int index, const char *what,
                             unsigned how)
{
    writer w = { .L = L, .what = what, .how = how };
    place root = { .depth = 1 };
    target to = { 0 };
    int at = lua_absindex(L, index);

    to.box = lebb_value_box(L);
    convert(&w, &root, at, &to);
    return to.box;
}
