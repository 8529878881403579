/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A runtime with a few tasks of the host's own, and a Lua state on it, for
 * tests of the binding: the whole core runs, no network is used.
 *
 *   e2b.echo{value=, ms=}  gives {value=} after ms
 *   e2b.fail{code=, message=, details=}  fails
 *   e2b.hang{}             ends only when it is cancelled
 *   e2b.kill{id=}          counts, after 5 ms
 *   e2b.stubborn{ms=}      as echo, but cannot be cancelled
 *
 * Header only: each test program is one file.
 */

#include "lua/ebb_lua.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct lua_host {
    ebb_runtime *rt;
    ebb_run *run; /* that the state executes, or NULL */
    ebb_lua *lua;
    int kills, cancels, running, running_max;
    ebb_err err;
} lua_host;

typedef struct lua_host_wait {
    lua_host *host;
    ebb_request *request;
    ebb_timer *timer;
    ebb_value *result;
    struct lua_host_wait *next;
} lua_host_wait;

static lua_host_wait *lua_host_waits;

static void lua_host_forget(lua_host_wait *wait)
{
    lua_host_wait **link = &lua_host_waits;

    while (*link != wait)
        link = &(*link)->next;
    *link = wait->next;
    wait->host->running--;
    free(wait);
}

static void lua_host_timer(void *context)
{
    lua_host_wait *wait = context;
    ebb_request *request = wait->request;
    ebb_value *result = wait->result;

    lua_host_forget(wait);
    ebb_request_finish(request, result);
}

static void lua_host_later(lua_host *host, ebb_request *request, int64_t ms,
                           ebb_value *result)
{
    lua_host_wait *wait = calloc(1, sizeof *wait);
    ebb_err err;

    wait->host = host;
    wait->request = request;
    wait->result = result;
    wait->next = lua_host_waits;
    lua_host_waits = wait;
    host->running++;
    if (host->running > host->running_max)
        host->running_max = host->running;
    if (ms < 0)
        return;
    wait->timer = ebb_timer_start(host->rt, ms, lua_host_timer, wait, &err);
    if (!wait->timer) {
        ebb_value_free(result);
        lua_host_forget(wait);
        ebb_request_fail(request, &err, NULL);
    }
}

static void lua_host_cancel(void *context, ebb_request *request)
{
    lua_host *host = context;
    lua_host_wait *wait = lua_host_waits;
    ebb_err err = { 0 };

    while (wait->request != request)
        wait = wait->next;
    if (wait->timer)
        ebb_timer_cancel(wait->timer);
    ebb_value_free(wait->result);
    lua_host_forget(wait);
    host->cancels++;
    ebb_err_set(&err, EBB_CANCELLED, "the host's task was cancelled");
    ebb_request_fail(request, &err, NULL);
}

static void lua_host_echo(void *context, ebb_request *request)
{
    const ebb_value *input = ebb_request_input(request);
    ebb_value *out = ebb_value_object();

    if (ebb_value_find(input, "value"))
        ebb_value_set(out, "value",
                      ebb_value_copy(ebb_value_find(input, "value")));
    lua_host_later(context, request, ebb_value_find_int(input, "ms", 0), out);
}

static void lua_host_fail(void *context, ebb_request *request)
{
    const ebb_value *input = ebb_request_input(request);
    const ebb_value *details = ebb_value_find(input, "details");
    const char *code = ebb_value_find_string(input, "code");
    const char *message = ebb_value_find_string(input, "message");
    ebb_err err = { 0 };

    (void)context;
    ebb_err_set(&err, code ? ebb_code_find(code) : EBB_SERVER, "%s",
                message ? message : "test.fail: as asked");
    ebb_request_fail(request, &err, details ? ebb_value_copy(details) : NULL);
}

static void lua_host_hang(void *context, ebb_request *request)
{
    lua_host_later(context, request, -1, NULL);
}

static void lua_host_kill(void *context, ebb_request *request)
{
    lua_host *host = context;

    host->kills++;
    lua_host_later(context, request, 5, ebb_value_object());
}

static int lua_host_register(lua_host *host)
{
    const struct {
        const char *name;
        void (*start)(void *context, ebb_request *request);
    } tasks[] = {
        { "e2b.echo", lua_host_echo },     { "e2b.fail", lua_host_fail },
        { "e2b.hang", lua_host_hang },     { "e2b.kill", lua_host_kill },
        { "e2b.stubborn", lua_host_echo },
    };

    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        ebb_task_config config = { .name = tasks[i].name,
                                   .start = tasks[i].start,
                                   .cancel = i < 4 ? lua_host_cancel : NULL,
                                   .context = host };
        if (ebb_register(host->rt, &config, &host->err) < 0)
            return -1;
    }
    return 0;
}

static EBB_UNUSED void lua_host_check(const lua_host *host, bool ok)
{
    if (ok)
        return;
    fprintf(stderr, "lua_host: %s\n", host->err.msg);
    abort();
}

/* The runtime with its tasks, without a state. */
static EBB_UNUSED lua_host *lua_host_open_runtime(void)
{
    lua_host *host = calloc(1, sizeof *host);
    ebb_config config;

    ebb_config_init(&config);
    host->rt = ebb_open(&config, &host->err);
    lua_host_check(host, host->rt && lua_host_register(host) == 0);
    return host;
}

static EBB_UNUSED void lua_host_open_state(lua_host *host)
{
    ebb_lua_config config;

    ebb_lua_config_init(&config);
    config.runtime = host->rt;
    config.run = host->run;
    host->lua = ebb_lua_open(&config, &host->err);
    lua_host_check(host, host->lua != NULL);
}

static EBB_UNUSED lua_host *lua_host_open(void)
{
    lua_host *host = lua_host_open_runtime();

    lua_host_open_state(host);
    return host;
}

static EBB_UNUSED void lua_host_close(lua_host *host)
{
    ebb_lua_close(host->lua);
    if (host->run)
        ebb_run_close(host->run);
    ebb_close(host->rt);
    free(host);
}

/* Starts the text; 0, or -1 with host->err. */
static EBB_UNUSED int lua_host_start(lua_host *host, const char *text)
{
    ebb_lua_script script = { .path = "test.lua",
                              .text = text,
                              .text_n = strlen(text) };

    return ebb_lua_start(host->lua, &script, &host->err);
}

/* Polls until the script has ended, at most ten seconds. */
static EBB_UNUSED void lua_host_wait_end(lua_host *host)
{
    double end = ebb_monotonic_ms(host->rt) + 10000;
    ebb_err err = { 0 };

    while (!ebb_lua_done(host->lua) && ebb_monotonic_ms(host->rt) < end)
        if (ebb_lua_poll(host->lua, 100, &err) < 0) {
            fprintf(stderr, "lua_host: %s\n", err.msg);
            abort();
        }
}

/*
 * Runs the text; the result as JSON, or "code: message" of its error with
 * host->err set. Freed by the next call.
 */
static EBB_UNUSED const char *lua_host_run(lua_host *host, const char *text)
{
    static char answer[8192];
    ebb_value *out = NULL;
    char *json;

    host->err.code = EBB_OK;
    if (lua_host_start(host, text) == 0) {
        lua_host_wait_end(host);
        if (ebb_lua_take(host->lua, &out, &host->err) == 0) {
            json = out ? ebb_value_write(out, EBB_WRITE_SORTED, NULL) : NULL;
            snprintf(answer, sizeof answer, "%s", json ? json : "nothing");
            ebb_free(json);
            ebb_value_free(out);
            return answer;
        }
    }
    snprintf(answer, sizeof answer, "%s: %s", ebb_code_name(host->err.code),
             host->err.msg);
    ebb_value_free(out);
    return answer;
}
