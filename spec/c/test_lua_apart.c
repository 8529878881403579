/* SPDX-License-Identifier: MIT */

/*
 * Two runtimes in two threads, a Lua state on each, with other keys, limits
 * and settings of JSON: neither sees the other's.
 */

#include "lua/ebb_lua.h"

#include <pthread.h>
#include <time.h>

#include "support/case.h"
#include "support/e2b_boxes.h"
#include "support/flood.h"

#define TURNS  100
#define TURN_S 10

#define BUSY "{\"code\":503,\"message\":\"busy\"}"

/* Each key has a sandbox of its own, and one that is always busy. */
static const flood_route routes[] = {
    { .line = "GET /sandboxes/i1 ",
      .also = "X-API-Key: e2b_aaaa\r\n",
      .body = BOX("i1", "running", OLD) },
    { .line = "GET /sandboxes/i1 ",
      .also = "X-API-Key: e2b_bbbb\r\n",
      .body = BOX("i1", "paused", NEW) },
    { .line = "GET /sandboxes/ibusy ", .status = 503, .body = BUSY },
    { .line = "GET /sandboxes/", .status = 401, .body = "{}" },
    { 0 },
};

/* One thread's whole life; its first mistake is left in said. */
typedef struct side {
    uint16_t port;
    const char *key;
    int64_t retry_ms;
    const char *settings; /* of cjson and of Lua's own library */
    const char *expected; /* what the script then gives */
    pthread_barrier_t *barrier;
    double retried_s;
    char said[512];
} side;

static const char script[] =
    "local e2b, cjson = require 'e2b', require 'cjson' "
    "local box = e2b.getSandbox{ sandboxId = 'i1' } "
    "local deep = pcall(cjson.decode, '[[[1]]]') "
    "local odd = pcall(cjson.decode, '[0x10]') "
    "local ok, err = pcall(e2b.getSandbox, { sandboxId = 'ibusy' }) "
    "return { box.status, deep, odd, ('x').shout ~= nil, err.attempts }";

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Runs the text; what it gives as JSON, or NULL with what is wrong said. */
static char *run(side *s, ebb_lua *lua, const char *text)
{
    const ebb_lua_script one = { .path = "apart.lua",
                                 .text = text,
                                 .text_n = strlen(text) };
    double end = now_s() + TURN_S;
    ebb_value *out = NULL;
    ebb_err err = { 0 };
    char *json = NULL;
    int failed = ebb_lua_start(lua, &one, &err);

    while (failed == 0 && !ebb_lua_done(lua) && now_s() < end)
        failed = ebb_lua_poll(lua, 100, &err);
    if (failed == 0 && ebb_lua_take(lua, &out, &err) == 0)
        json = ebb_value_write(out, 0, NULL);
    if (json == NULL)
        snprintf(s->said, sizeof s->said, "%s", err.msg);
    ebb_value_free(out);
    return json;
}

static void live(side *s, ebb_runtime *rt)
{
    ebb_lua_config config;
    ebb_err err = { 0 };
    ebb_lua *lua;
    char *json;

    ebb_lua_config_init(&config);
    config.runtime = rt;
    lua = ebb_lua_open(&config, &err);
    json = lua != NULL ? run(s, lua, s->settings) : NULL;
    ebb_free(json);
    pthread_barrier_wait(s->barrier); /* both have set what they want */
    for (int i = 0; i < TURNS && s->said[0] == '\0'; i++) {
        double began = now_s();

        json = run(s, lua, script);
        s->retried_s += (now_s() - began) / TURNS;
        if (json != NULL && strcmp(json, s->expected) != 0)
            snprintf(s->said, sizeof s->said, "%s", json);
        ebb_free(json);
    }
    ebb_lua_close(lua);
}

static void *start(void *context)
{
    side *s = context;
    ebb_config config;
    ebb_runtime *rt;
    ebb_err err = { 0 };
    char url[64];

    snprintf(url, sizeof url, "http://127.0.0.1:%d", s->port);
    ebb_config_init(&config);
    config.api_key = s->key;
    config.api_url = config.sandbox_url = url;
    config.retry_base_ms = s->retry_ms;
    config.jitter = -1;
    rt = ebb_open(&config, &err);
    if (rt == NULL)
        snprintf(s->said, sizeof s->said, "%s", err.msg);
    else
        live(s, rt);
    ebb_close(rt);
    return NULL;
}

static void threads_have_settings_of_their_own(void **state)
{
    side sides[] = {
        { .key = "e2b_aaaa",
          .retry_ms = 1,
          .settings = "local cjson = require 'cjson' "
                      "cjson.decode_max_depth(2) "
                      "cjson.decode_invalid_numbers(false) "
                      "string.shout = string.upper return {}",
          .expected = "[\"running\",false,false,true,4]" },
        { .key = "e2b_bbbb",
          .retry_ms = 5,
          .settings = "return {}",
          .expected = "[\"paused\",true,true,false,4]" },
    };
    flood f = { .routes = routes };
    pthread_barrier_t barrier;
    pthread_t threads[2];

    (void)state;
    flood_start(&f);
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 2; i++) {
        sides[i].port = f.port;
        sides[i].barrier = &barrier;
        assert_int_equal(pthread_create(&threads[i], NULL, start, &sides[i]),
                         0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    flood_stop(&f);
    pthread_barrier_destroy(&barrier);
    for (int i = 0; i < 2; i++)
        assert_string_equal(sides[i].said, "");
    /* Three waits of 1, 2, 4 and of 5, 10, 20 ms. */
    print_message("# a turn: %.1f and %.1f ms\n", sides[0].retried_s * 1e3,
                  sides[1].retried_s * 1e3);
    assert_true(sides[0].retried_s >= 0.007);
    assert_true(sides[1].retried_s >= 0.035);
    assert_true(sides[1].retried_s > sides[0].retried_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(threads_have_settings_of_their_own, "D13"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
