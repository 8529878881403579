/* SPDX-License-Identifier: MIT */

/*
 * Each allocation of a whole call fails in turn, from opening the runtime to
 * closing it: alone, and with all that come after it. The call succeeds or
 * says that there is no memory, and gives back every block. `make oom` runs
 * this under AddressSanitizer, which sees the libraries' blocks too.
 */

#include "ebb.h"

#include "support/e2b_boxes.h"
#include "support/e2b_entries.h"
#include "support/e2b_frames.h"
#include "support/flood.h"
#include "support/starving.h"

#define ALLOCATIONS_MAX 20000
#define ROUTES_MAX      5

typedef struct oom_case {
    const char *task, *input;
    flood_route routes[ROUTES_MAX];
} oom_case;

#define AT(text)         .line = text " "
#define TWO(first, then) BODY(first), .later = then, .later_n = sizeof(then) - 1
#define END_0            "\0\0\0\0\x06\x0a\x04\x1a\x02\x10\x01"
#define RUNNING          BOX("i1", "running", OLD)
#define PAUSED           BOX("i1", "paused", OLD)

static const oom_case cases[] = {
    { "e2b.createSandbox",
      "{\"idempotencyKey\":\"k1\",\"timeoutMs\":60000,\"template\":\"base\","
      "\"metadata\":{\"a\":\"b\"},\"envs\":{\"A\":\"1\"}}",
      { { .line = "GET /v2/sandboxes?", .body = "[]" },
        { AT("POST /v2/sandboxes"), .body = MADE },
        { AT("GET /sandboxes/inew"), .body = BOX("inew", "running", NEW) } } },
    /* Two have the key: the older one is adopted. */
    { "e2b.createSandbox",
      "{\"idempotencyKey\":\"k1\"}",
      { { .line = "GET /v2/sandboxes?",
          .body = "[" BOX("iother", "paused", NEW) "," RUNNING "]" } } },
    { "e2b.getSandbox",
      "{\"sandboxId\":\"i1\"}",
      { { AT("GET /sandboxes/i1"), .body = RUNNING } } },
    { "e2b.pauseSandbox",
      "{\"sandboxId\":\"i1\",\"keepMemory\":false}",
      { { AT("GET /sandboxes/i1"), .body = RUNNING },
        { AT("POST /sandboxes/i1/pause"), .body = "{}" } } },
    { "e2b.resumeSandbox",
      "{\"sandboxId\":\"i1\",\"timeoutMs\":60000}",
      { { AT("GET /sandboxes/i1"), .body = PAUSED } } },
    { "e2b.killSandbox",
      "{\"sandboxId\":\"i1\"}",
      { { AT("DELETE /sandboxes/i1"), .body = "{}" } } },
    { "e2b.runCommand",
      "{\"sandboxId\":\"i1\",\"command\":\"x\",\"cwd\":\"/\","
      "\"envs\":{\"A\":\"1\",\"B\":\"2\"},\"user\":\"root\"}",
      { { AT("POST /process.Process/Start"),
          BODY(START OUT_HI ERR_NO KEEP EXIT_3 FINISH) } } },
    { "e2b.runCommand",
      "{\"sandboxId\":\"i1\",\"command\":\"cat\",\"stdin\":\"hi\\n\"}",
      { { AT("POST /process.Process/Start"), TWO(START, OUT_HI END_0 FINISH) },
        { AT("POST /process.Process/SendInput"), .body = "" },
        { AT("POST /process.Process/CloseStdin"), .body = "" } } },
    { "e2b.runCode",
      "{\"sandboxId\":\"i1\",\"code\":\"x\",\"envs\":{\"A\":\"1\"}}",
      { { AT("POST /execute"),
          .body = "{\"type\":\"stdout\",\"text\":\"a\"}\n"
                  "{\"type\":\"result\",\"text\":\"b\",\"png\":\"AAAA\"}\n"
                  "{\"type\":\"error\",\"name\":\"E\",\"value\":\"v\","
                  "\"traceback\":\"t\"}\n"
                  "{\"type\":\"number_of_executions\","
                  "\"execution_count\":1}\n"
                  "{\"type\":\"end_of_execution\"}\n" } } },
    { "e2b.writeFiles",
      "{\"sandboxId\":\"i1\",\"files\":[{\"path\":\"a\",\"content\":\"x\"},"
      "{\"path\":\"b\",\"content\":\"eA==\",\"encoding\":\"base64\"}]}",
      { { .line = "POST /files",
          .body = "[{\"path\":\"/a\"},{\"path\":\"/b\"}]" } } },
    { "e2b.readFile",
      "{\"sandboxId\":\"i1\",\"path\":\"/a\",\"encoding\":\"base64\"}",
      { { AT("POST " STAT), BODY(FILE_OF("\x02")) },
        { .line = "GET /files", .body = "hi" } } },
    { "e2b.readFile",
      "{\"sandboxId\":\"i1\",\"path\":\"/a\"}",
      { { AT("POST " STAT), BODY(FILE_OF("\x03")) },
        { .line = "GET /files", .body = "\xe2\x82\xac" } } },
    { "e2b.listFiles",
      "{\"sandboxId\":\"i1\",\"path\":\"/\"}",
      { { AT("POST " LIST), BODY(FILE_OF("\x02") DIRECTORY DANGLING) } } },
    { "e2b.getSandboxLogs",
      "{\"sandboxId\":\"i1\",\"search\":\"m\"}",
      { { .line = "GET /v2/sandboxes/i1/logs",
          .body = "{\"logs\":[{\"timestamp\":\"2026-01-01T00:00:00Z\","
                  "\"level\":\"info\",\"message\":\"m\","
                  "\"fields\":{\"logger\":\"l\"}}]}" } } },
    { "e2b.getSandboxMetrics",
      "{\"sandboxId\":\"i1\",\"start\":\"2026-01-01T00:00:00Z\"}",
      { { .line = "GET /sandboxes/i1/metrics",
          .body = "[{\"timestamp\":\"2026-01-01T00:00:00Z\","
                  "\"timestampUnix\":1767225600,\"cpuUsedPct\":1.5,"
                  "\"cpuCount\":2,\"memUsed\":1,\"memTotal\":2,"
                  "\"diskUsed\":1,\"diskTotal\":2}]" } } },
    { "e2b.getSandbox", "{\"sandboxId\":\"i1\",\"other\":1}", { { 0 } } },
    { "e2b.nothing", "{}", { { 0 } } },
};

/* What executes may have run by the time that memory ends. */
static bool executes(const oom_case *c)
{
    return strncmp(c->task, "e2b.run", 7) == 0 ||
           strcmp(c->task, "e2b.writeFiles") == 0;
}

static ebb_runtime *open_runtime(const flood *f, ebb_err *err)
{
    ebb_config config;
    char url[FLOOD_URL_BYTES];

    flood_config(f, &config, url);
    return ebb_open(&config, err);
}

/* From opening to closing; the code of how it ended. */
static ebb_code call_once(const flood *f, const oom_case *c, ebb_err *err)
{
    ebb_runtime *rt = open_runtime(f, err);
    ebb_value *in, *out = NULL;

    if (rt == NULL)
        return err->code;
    in = ebb_value_parse(c->input, strlen(c->input), 0, err);
    if (in != NULL && ebb_call(rt, c->task, in, &out, err) == 0)
        err->code = EBB_OK;
    ebb_value_free(in);
    ebb_value_free(out);
    ebb_close(rt);
    return err->code;
}

/* Returns whether the allocation after `left` was still needed. */
static bool starve(const flood *f, const oom_case *c, int left, bool once,
                   ebb_code usual)
{
    starving s;
    ebb_err err = { 0 };
    ebb_code code;

    starving_start(&s, left);
    s.once = once;
    code = call_once(f, c, &err);
    starving_stop();
    if (s.blocks != 0)
        fail_msg("%s: %d blocks leak when allocation %d fails", c->task,
                 s.blocks, left);
    if (code == EBB_OUTCOME_UNKNOWN && executes(c))
        code = EBB_NO_MEMORY;
    if (code != usual && code != EBB_NO_MEMORY)
        fail_msg("%s: allocation %d fails: %s: %s", c->task, left,
                 ebb_code_name(code), err.msg);
    return s.left < 0;
}

static void check(const oom_case *c, bool once)
{
    flood f = { .times = 0 };
    ebb_err err = { 0 };
    ebb_code usual;
    int n = 0;

    f.routes = c->routes;
    flood_start(&f);
    usual = call_once(&f, c, &err);
    while (starve(&f, c, n, once, usual))
        assert_true(++n < ALLOCATIONS_MAX);
    print_message("# %s: %d allocations, %s\n", c->task, n,
                  once ? "one failed" : "all later ones failed");
    flood_stop(&f);
}

static void a_call_survives_each_failing_allocation(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i], true);
}

static void a_call_survives_the_end_of_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i], false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_survives_each_failing_allocation),
        cmocka_unit_test(a_call_survives_the_end_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
