/* SPDX-License-Identifier: MIT */

/* One life of the run, in a process of its own. */

#include "spec/sim/sim.h"

#include "lua/lrun.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REAL_SECONDS_MAX 60 /* a life takes some milliseconds */

static ebb_lua *lua_here;

bool sim_life_interrupt(void)
{
    if (lua_here != NULL)
        ebb_lua_cancel(lua_here);
    return lua_here != NULL;
}

/* ---- what the script has besides ebb ---- */

/* see(text): a line of what the script saw, with the time */
static int l_see(lua_State *L)
{
    sim_life *life = sim_self;
    const char *text = luaL_checkstring(L, 1);
    size_t room = sizeof life->log - life->log_n;
    int n;

    if (life->off_record)
        return 0;
    if (strstr(text, "lost_ownership") != NULL ||
        strstr(text, "replay_mismatch") != NULL ||
        strstr(text, "no journal") != NULL) {
        life->off_record = true; /* of the run itself, not of a step */
        return 0;
    }
    n = snprintf(life->log + life->log_n, room, "%lld %s\n",
                 (long long)sim->wall_ms, text);
    if (n < 0 || (size_t)n >= room)
        sim_fail("a life that saw too much");
    life->log_n += (size_t)n;
    return 0;
}

/* effect(name) → value: what the function of an ebb.step does */
static int l_effect(lua_State *L)
{
    int64_t value;
    ebb_code code = sim_world_body(luaL_checkstring(L, 1), &value);

    if (code != EBB_OK) {
        lua_pushstring(L, ebb_code_name(code));
        return lua_error(L);
    }
    lua_pushinteger(L, value);
    return 1;
}

/* ---- the life ---- */

static char script_text[SIM_TEXT_BYTES];

/* 'n7' becomes 'x7', wherever the script has it. */
static void rename_step(const char *name)
{
    char quoted[SIM_PATH_BYTES + 2];
    char *at = script_text;

    snprintf(quoted, sizeof quoted, "'%s'", name);
    while ((at = strstr(at, quoted)) != NULL)
        at[1] = 'x';
}

static void keep_outcome(sim_life *life, const ebb_value *outcome)
{
    char *text = outcome != NULL
                     ? ebb_value_write(outcome, EBB_WRITE_COMPACT, NULL)
                     : NULL;

    snprintf(life->outcome, sizeof life->outcome, "%s",
             text != NULL ? text : "");
    ebb_free(text);
}

static void run_script(sim_life *life, ebb_runtime *rt, ebb_run *run,
                       ebb_err *err)
{
    ebb_lua_config config;
    ebb_lua_script script = { .path = "sim.lua",
                              .text = script_text,
                              .text_n = strlen(script_text) };
    ebb_value *out = NULL;

    ebb_lua_config_init(&config);
    config.runtime = rt;
    config.run = run;
    lua_here = ebb_lua_open(&config, err);
    if (lua_here == NULL)
        sim_fail("no Lua: %s", err->msg);
    lua_register(lua_here->L, "see", l_see);
    lua_register(lua_here->L, "effect", l_effect);
    if (ebb_lua_start(lua_here, &script, err) < 0)
        sim_fail("the script does not start: %s", err->msg);
    while (!ebb_lua_done(lua_here))
        if (ebb_lua_poll(lua_here, -1, err) < 0)
            sim_fail("the script cannot go on: %s", err->msg);
    err->code = EBB_OK;
    life->ending = true;
    ebb_lua_take(lua_here, &out, err);
    life->code = err->code;
    life->off_record = true;
    keep_outcome(life, out);
    ebb_value_free(out);
    ebb_lua_close(lua_here);
    lua_here = NULL;
}

static void run_life(sim_life *life, ebb_runtime *rt)
{
    ebb_run_config config;
    ebb_err err = { 0 };
    char hex[65];
    ebb_run *run;

    ebb_run_sha256(script_text, strlen(script_text), hex);
    ebb_run_config_init(&config);
    config.id = sim->run_id;
    config.script = "sim.lua";
    config.script_sha256 = hex;
    config.resume = life->resume;
    config.take_over = life->take_over;
    config.force = life->force;
    run = ebb_run_open(rt, &config, &err);
    if (run == NULL) {
        life->code = err.code;
        snprintf(life->outcome, sizeof life->outcome, "%s", err.msg);
        return;
    }
    life->state = ebb_run_get_state(run);
    if (life->state == EBB_RUN_ACTIVE)
        run_script(life, rt, run, &err);
    else
        keep_outcome(life, ebb_run_outcome(run));
    ebb_run_close(run);
}

/* ---- what others do with the run ---- */

static void check_left(const ebb_value *sandboxes, const char *when)
{
    const char *name = sim_world_find_left(sandboxes);

    if (name != NULL)
        sim_fail("sandbox %s %s", name, when);
}

static void cancel_run(sim_life *life, ebb_runtime *rt)
{
    ebb_err err = { 0 };
    int failed = ebb_runs_cancel(rt, sim->run_id, &err);

    life->code = err.code;
    snprintf(life->outcome, sizeof life->outcome, "%s", err.msg);
    if (failed == 0 && life->owner != SIM_ALIVE && !sim->forked)
        check_left(NULL, "is alive after its run was cancelled");
}

static void fork_run(sim_life *life, ebb_runtime *rt)
{
    ebb_err err = { 0 };
    char *id = NULL;

    if (ebb_runs_fork(rt, sim->run_id, life->what, &id, &err) < 0)
        sim_fail("fork: %s", err.msg);
    snprintf(sim->run_id, sizeof sim->run_id, "%s", id);
    sim->forked = true;
    ebb_free(id);
}

static void show_run(ebb_runtime *rt)
{
    ebb_value *out = NULL;
    ebb_err err = { 0 };

    if (ebb_runs_show(rt, sim->run_id, &out, &err) == 0)
        check_left(ebb_value_find(out, "sandboxes"),
                   "is alive, and `runs show` does not list it");
    ebb_value_free(out);
}

static void prune_run(ebb_runtime *rt)
{
    ebb_value *out = NULL;
    ebb_err err = { 0 };

    if (ebb_runs_prune(rt, true, &out, &err) < 0)
        sim_fail("prune: %s", err.msg);
    if (ebb_value_size(ebb_value_find(out, "failed")) == 0)
        check_left(NULL, "is alive after its run was removed");
    ebb_value_free(out);
}

void sim_live(sim_life *life)
{
    ebb_config config;
    ebb_err err = { 0 };
    ebb_runtime *rt;

    sim_self = life;
    alarm(REAL_SECONDS_MAX);
    sim_time_start();
    memcpy(script_text, sim->text, sizeof script_text);
    ebb_log_set(NULL, NULL, EBB_LOG_ERROR);
    if (life->fate == SIM_POWER || life->fate == SIM_FULL)
        sim_disk_install();
    ebb_config_init(&config);
    config.journal = sim->journal;
    config.state_dir = sim->dir;
    if (sim->broken == SIM_BREAK_EARLY)
        config.retry_base_ms = 200;
    rt = ebb_open(&config, &err);
    if (rt == NULL || sim_world_register(rt, &err) < 0)
        sim_fail("no runtime: %s", err.msg);
    if (life->fate == SIM_CHANGED)
        rename_step(life->what);
    if (life->fate == SIM_CANCEL)
        cancel_run(life, rt);
    else if (life->fate == SIM_FORK)
        fork_run(life, rt);
    else if (life->fate == SIM_SHOW)
        show_run(rt);
    else if (life->fate == SIM_PRUNE)
        prune_run(rt);
    else
        run_life(life, rt);
    ebb_close(rt);
    life->finished = true;
    _exit(0);
}
