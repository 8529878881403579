/* SPDX-License-Identifier: MIT */

/*
 * What happened, as Lua tables for the oracle: the world's memory, and the
 * journal's rows as SQLite has them, read without the core.
 */

#include "spec/sim/sim.h"

#include <lauxlib.h>
#include <sqlite3.h>
#include <string.h>

static const char *const fault_names[] = {
#define FAULT_NAME(id, name) [(id)] = (name),
    SIM_FAULTS(FAULT_NAME)
#undef FAULT_NAME
};

static const char *const fate_names[] = {
#define FATE_NAME(id, name) [(id)] = (name),
    SIM_FATES(FATE_NAME)
#undef FATE_NAME
};

static void set_text(lua_State *L, const char *key, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

static void set_int(lua_State *L, const char *key, int64_t number)
{
    lua_pushinteger(L, (lua_Integer)number);
    lua_setfield(L, -2, key);
}

static void set_bool(lua_State *L, const char *key, bool is)
{
    lua_pushboolean(L, is);
    lua_setfield(L, -2, key);
}

/* ---- JSON ---- */

static void push_value(lua_State *L, const ebb_value *value)
{
    const char *key;
    ebb_value *member;
    void *place = NULL;
    size_t n;

    luaL_checkstack(L, 8, NULL);
    switch (ebb_value_type(value)) {
    case EBB_BOOL:
        lua_pushboolean(L, ebb_value_get_bool(value));
        break;
    case EBB_INT:
        lua_pushinteger(L, (lua_Integer)ebb_value_get_int(value));
        break;
    case EBB_FLOAT:
        lua_pushnumber(L, ebb_value_get_float(value));
        break;
    case EBB_STRING:
        lua_pushstring(L, ebb_value_get_string(value, &n));
        break;
    case EBB_ARRAY:
        lua_newtable(L);
        for (size_t i = 0; i < ebb_value_size(value); i++) {
            push_value(L, ebb_value_at(value, i));
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        break;
    case EBB_OBJECT:
        lua_newtable(L);
        while (ebb_value_next(value, &place, &key, &member)) {
            push_value(L, member);
            lua_setfield(L, -2, key);
        }
        break;
    default:
        lua_pushnil(L);
        break;
    }
}

/* The member `key` of the table at the top, from JSON; NULL: none. */
static void set_json(lua_State *L, const char *key, const char *text)
{
    ebb_err err = { 0 };
    ebb_value *value = text != NULL && *text != '\0'
                           ? ebb_value_parse(text, strlen(text), 0, &err)
                           : NULL;

    push_value(L, value);
    lua_setfield(L, -2, key);
    ebb_value_free(value);
}

/* ---- the journal ---- */

static const char rows_sql[] =
    "SELECT s.path, s.name, s.class, ifnull(s.seq, 0), s.failed, s.attempts,"
    " s.next_ms, s.wake_ms, s.began_ms, s.ended_ms,"
    " coalesce(s.input, (SELECT json FROM large WHERE step = s.key AND kind ="
    " 1)), coalesce(s.outcome, (SELECT json FROM large WHERE step = s.key AND"
    " kind = 2)) FROM step s JOIN run ON run.key = s.run WHERE run.id = ?"
    " ORDER BY s.seq IS NULL, s.seq, s.key";

static const char run_sql[] =
    "SELECT state, outcome, seq, recoveries, fruitless, cancel_ms IS NOT NULL"
    " FROM run WHERE id = ?";

static const char log_sql[] =
    "SELECT message, count(*) FROM log JOIN run ON run.key = log.run"
    " WHERE run.id = ? GROUP BY message";

static const char *text_at(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

static void push_row(lua_State *L, sqlite3_stmt *row)
{
    static const char *const numbers[] = { "seq",     "failed",  "attempts",
                                           "next_ms", "wake_ms", "began_ms",
                                           "ended_ms" };

    lua_newtable(L);
    set_text(L, "path", text_at(row, 0));
    set_text(L, "name", text_at(row, 1));
    set_text(L, "class", text_at(row, 2));
    for (int i = 0; i < 7; i++)
        set_int(L, numbers[i], sqlite3_column_int64(row, 3 + i));
    set_bool(L, "failed", sqlite3_column_int64(row, 4) != 0);
    set_json(L, "input", text_at(row, 10));
    set_json(L, "outcome", text_at(row, 11));
}

static sqlite3_stmt *query(sqlite3 *db, const char *text)
{
    sqlite3_stmt *rows = NULL;

    if (sqlite3_prepare_v2(db, text, -1, &rows, NULL) == SQLITE_OK)
        sqlite3_bind_text(rows, 1, sim->run_id, -1, SQLITE_STATIC);
    return rows; /* no file, no tables: no rows */
}

static void push_run(lua_State *L, sqlite3 *db)
{
    sqlite3_stmt *row = query(db, run_sql);

    lua_newtable(L);
    if (row != NULL && sqlite3_step(row) == SQLITE_ROW) {
        set_int(L, "state", sqlite3_column_int64(row, 0));
        set_json(L, "outcome", text_at(row, 1));
        set_int(L, "seq", sqlite3_column_int64(row, 2));
        set_int(L, "recoveries", sqlite3_column_int64(row, 3));
        set_int(L, "fruitless", sqlite3_column_int64(row, 4));
        set_bool(L, "cancel_asked", sqlite3_column_int64(row, 5) != 0);
    }
    sqlite3_finalize(row);
}

/* How often each line is in the run's log. */
static void push_log(lua_State *L, sqlite3 *db)
{
    sqlite3_stmt *lines = query(db, log_sql);

    lua_newtable(L);
    while (lines != NULL && sqlite3_step(lines) == SQLITE_ROW)
        set_int(L, text_at(lines, 0), sqlite3_column_int64(lines, 1));
    sqlite3_finalize(lines);
}

void sim_facts_push_journal(lua_State *L)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *rows;

    sqlite3_open(sim->journal, &db);
    /* What the last life left in the log is for the next one to recover. */
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    push_run(L, db);
    lua_newtable(L);
    rows = query(db, rows_sql);
    for (int i = 1; rows != NULL && sqlite3_step(rows) == SQLITE_ROW; i++) {
        push_row(L, rows);
        lua_rawseti(L, -2, i);
    }
    lua_setfield(L, -2, "rows");
    sqlite3_finalize(rows);
    push_log(L, db);
    lua_setfield(L, -2, "log");
    sqlite3_close(db);
}

/* ---- the world ---- */

static void push_life(lua_State *L, const sim_life *life)
{
    static const char *const states[] = { "active", "done", "failed",
                                          "cancelled" };

    lua_newtable(L);
    set_text(L, "fate", fate_names[life->fate]);
    set_text(L, "where", life->where);
    set_bool(L, "struck", life->struck);
    set_bool(L, "outside", life->fate >= SIM_CANCEL);
    set_bool(L, "resume", life->resume);
    set_bool(L, "forked", life->fate == SIM_FORK);
    set_bool(L, "changed", life->fate == SIM_CHANGED);
    set_text(L, "what", life->what);
    set_bool(L, "take_over", life->take_over);
    set_bool(L, "force", life->force);
    set_int(L, "claim", life->claim);
    set_bool(L, "finished", life->finished);
    set_text(L, "code", ebb_code_name(life->code));
    set_text(L, "state", states[life->state]);
    set_json(L, "outcome", life->finished ? life->outcome : NULL);
    set_text(L, "message", life->outcome);
    set_int(L, "began_ms", life->began_ms);
    set_int(L, "ended_ms", life->ended_ms);
    set_int(L, "owner", life->owner);
    set_int(L, "since", life->since);
    set_int(L, "look", life->look);
    lua_pushlstring(L, life->log, life->log_n);
    lua_setfield(L, -2, "log");
}

static void push_deed(lua_State *L, const sim_deed *deed)
{
    int64_t value;

    lua_newtable(L);
    set_int(L, "received", deed->received);
    set_int(L, "executed", deed->executed);
    set_bool(L, "is_box", deed->is_box);
    set_bool(L, "alive", deed->alive);
    sim_world_answer(deed->name, &value);
    set_int(L, "value", value);
}

static void push_request(lua_State *L, const sim_request *seen)
{
    lua_newtable(L);
    set_text(L, "name", sim->deeds[seen->deed].name);
    set_int(L, "life", seen->life + 1);
    set_int(L, "attempt", seen->attempt);
    set_int(L, "delivered", seen->delivered);
    set_text(L, "fault", fault_names[seen->fault]);
    set_bool(L, "executed", seen->executed);
    set_bool(L, "cancelled", seen->cancelled);
    set_int(L, "began_ms", seen->began_ms);
    set_int(L, "ended_ms", seen->ended_ms);
    set_text(L, "code", ebb_code_name(seen->code));
    set_bool(L, "retryable", ebb_code_retryable(seen->code));
    set_int(L, "retry_after_ms", seen->retry_after_ms);
}

void sim_facts_push(lua_State *L)
{
    lua_newtable(L);
    set_int(L, "now_ms", sim->wall_ms);
    lua_newtable(L);
    for (int i = 0; i < sim->lives_n; i++) {
        push_life(L, &sim->lives[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "lives");
    lua_newtable(L);
    for (int i = 0; i < sim->deeds_n; i++) {
        push_deed(L, &sim->deeds[i]);
        lua_setfield(L, -2, sim->deeds[i].name);
    }
    lua_setfield(L, -2, "deeds");
    lua_newtable(L);
    for (int i = 0; i < sim->requests_n; i++) {
        push_request(L, &sim->requests[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "requests");
}
