/* SPDX-License-Identifier: MIT */

/*
 * Calls for days, in a minute: of each ten one is cancelled and one fails, and
 * nothing of the process grows with their number. EBB_FLAT_CALLS sets it
 * (20,000; in `make soak` a million).
 */

#include "lua/ebb_lua.h"

#include <dirent.h>
#include <malloc.h>
#include <sys/stat.h>

#include "support/case.h"
#include "support/e2b_boxes.h"
#include "support/e2b_entries.h"
#include "support/e2b_frames.h"
#include "support/flood.h"
#include "support/self.h"

#if defined(__SANITIZE_ADDRESS__)
#define IS_PLAIN false
#else
#define IS_PLAIN true
#endif

#define CALLS_DEFAULT 20000
#define CALLS_A_BATCH 1000
#define BATCHES_A_RUN 10 /* each tenth batch is a durable run, then pruned */
#define SAMPLES       10
#define BATCH_MS      60000

#define RSS_KB_MAX     2048 /* by which the second half may exceed the first */
#define LUA_KB_MAX     256
#define FDS_MAX        80 /* 50 calls at once, and connections that wait */
#define REFS_MAX       4
#define JOURNAL_KB_MAX 4096

#define AT(text) .line = text " "
#define OF(id)   .also = "E2b-Sandbox-Id: " id "\r\n"
#define SLOWLY   .later = " ", .later_n = 1, .pause_us = 50000
#define OUTPUT   OUT_HI ERR_NO KEEP EXIT_3 FINISH
#define CODE_LINES                                                             \
    "{\"type\":\"stdout\",\"text\":\"a\"}\n"                                   \
    "{\"type\":\"result\",\"text\":\"b\"}\n"                                   \
    "{\"type\":\"end_of_execution\"}\n"

static const flood_route routes[] = {
    { AT("POST /v2/sandboxes/islow/connect"),
      .body = "{\"sandboxID\":\"islow\"}" },
    { AT("POST /v2/sandboxes/idead/connect"),
      .body = "{\"sandboxID\":\"idead\"}" },
    { AT("GET /sandboxes/i1"), .body = BOX("i1", "running", OLD) },
    { AT("GET /sandboxes/inone"), .status = 404,
      .body = "{\"code\":404,\"message\":\"no such sandbox\"}" },
    { AT("GET /sandboxes/islow"), .body = "{", SLOWLY },
    { AT("GET /sandboxes/idead"), .body = BOX("idead", "running", OLD) },
    { AT("POST /process.Process/Start"), OF("idead"), .closes = true },
    { AT("POST /process.Process/Start"), OF("islow"), BODY(START),
      .later = EXIT_3 FINISH, .later_n = sizeof EXIT_3 FINISH - 1,
      .pause_us = 50000 },
    { AT("POST /process.Process/Start"), BODY(START OUTPUT) },
    { AT("POST /process.Process/SendSignal"), .body = "" },
    { AT("POST /execute"), OF("islow"), .body = CODE_LINES, SLOWLY },
    { AT("POST /execute"), OF("idead"), .status = 500, .body = "{}" },
    { AT("POST /execute"), .body = CODE_LINES },
    { AT("POST " STAT), OF("idead"), .status = 404,
      BODY("{\"code\":\"not_found\",\"message\":\"no\"}") },
    { AT("POST " STAT), BODY(FILE_OF("\x02")) },
    { AT("POST " LIST), BODY(FILE_OF("\x02") DIRECTORY) },
    { .line = "GET /files", OF("islow"), .body = "h", SLOWLY },
    { .line = "GET /files", .body = "hi" },
    { .line = "POST /files", .body = "[{\"path\":\"/a\"}]" },
    { .line = "GET /v2/sandboxes/i1/logs", .body = "{\"logs\":[]}" },
    { .line = "GET /sandboxes/i1/metrics", .body = "[]" },
    { 0 },
};

/* A batch: how many ended in which way, what Lua holds afterwards. */
static const char script[] =
    "local e2b, ebb = require 'e2b', require 'ebb'\n"
    "local tasks = {\n"
    "  { 'getSandbox' }, { 'runCommand', command = 'x' },\n"
    "  { 'runCode', code = 'x' }, { 'readFile', path = '/a' },\n"
    "  { 'listFiles', path = '/' }, { 'getSandboxLogs' },\n"
    "  { 'writeFiles', files = { { path = '/a', content = 'x' } } },\n"
    "  { 'getSandboxMetrics' } }\n"
    "local function call(task, id)\n"
    "  local input = { sandboxId = id }\n"
    "  for k, v in pairs(task) do if k ~= 1 then input[k] = v end end\n"
    "  return e2b[task[1]](input)\n"
    "end\n"
    "local fails = { { 1, 'inone' }, { 2, 'idead' }, { 3, 'idead' },\n"
    "  { 4, 'idead' } }\n"
    "local ends = {}\n"
    "local function one(i)\n"
    "  local kind, n = i % 10, i // 10\n"
    "  local ok, err\n"
    "  if kind == 0 then\n"
    "    ok, err = pcall(ebb.timeout, 0.002, call, tasks[n % 4 + 1],\n"
    "      'islow')\n"
    "  elseif kind == 5 then\n"
    "    local row = fails[n % 4 + 1]\n"
    "    ok, err = pcall(call, tasks[row[1]], row[2])\n"
    "  else\n"
    "    ok, err = pcall(call, tasks[i % 8 + 1], 'i1')\n"
    "  end\n"
    "  local name = ok and 'done' or kind == 0 and err.code\n"
    "    or kind == 5 and 'failed' or tostring(err)\n"
    "  ends[name] = (ends[name] or 0) + 1\n"
    "end\n"
    "local list = {}\n"
    "for i = 1, 1000 do list[i] = i end\n"
    "ebb.map(list, one, { limit = 50 })\n"
    "list = nil\n"
    "collectgarbage() collectgarbage()\n"
    "local registry, refs = debug.getregistry(), 0\n"
    "for _ in next, registry do refs = refs + 1 end\n"
    "ends.refs, ends.kb = refs, collectgarbage 'count' // 1 | 0\n"
    "return ends\n";

typedef struct sample {
    long fds, threads, rss_kb, lua_kb, refs, journal_kb;
} sample;

typedef struct flat {
    flood server;
    ebb_runtime *rt;
    ebb_lua *lua; /* of the batches that are no run */
    char dir[64];
    long fds_before, calls, done, cancelled, failed, batches;
    sample samples[SAMPLES];
} flat;

static void assert_ok(int result, const ebb_err *err)
{
    if (result != 0)
        fail_msg("%s", err->msg);
}

static ebb_lua *open_state(flat *f, ebb_run *run)
{
    ebb_lua_config config;
    ebb_lua *lua;
    ebb_err err = { 0 };

    ebb_lua_config_init(&config);
    config.runtime = f->rt;
    config.run = run;
    lua = ebb_lua_open(&config, &err);
    if (lua == NULL)
        fail_msg("%s", err.msg);
    return lua;
}

/* Runs the script once and adds up what it says. */
static void run_batch(flat *f, ebb_lua *lua, sample *now)
{
    const ebb_lua_script batch = { .path = "flat.lua",
                                   .text = script,
                                   .text_n = sizeof script - 1 };
    double end = ebb_monotonic_ms(f->rt) + BATCH_MS;
    ebb_value *out = NULL;
    ebb_err err = { 0 };
    long done, cancelled, failed;

    assert_ok(ebb_lua_start(lua, &batch, &err), &err);
    while (!ebb_lua_done(lua)) {
        assert_ok(ebb_lua_poll(lua, 1000, &err), &err);
        assert_true(ebb_monotonic_ms(f->rt) < end);
    }
    assert_ok(ebb_lua_take(lua, &out, &err), &err);
    done = (long)ebb_value_find_int(out, "done", 0);
    cancelled = (long)ebb_value_find_int(out, "timeout", 0);
    failed = (long)ebb_value_find_int(out, "failed", 0);
    if (done + cancelled + failed != CALLS_A_BATCH)
        fail_msg("%s", ebb_value_write(out, EBB_WRITE_SORTED, NULL));
    f->done += done;
    f->cancelled += cancelled;
    f->failed += failed;
    now->refs = (long)ebb_value_find_int(out, "refs", 0);
    now->lua_kb = (long)ebb_value_find_int(out, "kb", 0);
    ebb_value_free(out);
}

static void run_durable_batch(flat *f)
{
    ebb_run_config config;
    sample ignored;
    ebb_value *out = NULL;
    ebb_err err = { 0 };
    ebb_run *run;
    ebb_lua *lua;
    char id[32];

    snprintf(id, sizeof id, "batch-%ld", f->batches);
    ebb_run_config_init(&config);
    config.id = id;
    run = ebb_run_open(f->rt, &config, &err);
    if (run == NULL)
        fail_msg("%s", err.msg);
    lua = open_state(f, run);
    run_batch(f, lua, &ignored);
    ebb_lua_close(lua);
    ebb_run_close(run);
    assert_ok(ebb_runs_prune(f->rt, false, &out, &err), &err);
    ebb_value_free(out);
}

static long count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    long n = -3; /* the folder itself, and its dots */

    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static long journal_kb(const flat *f)
{
    long bytes = 0;

    for (int i = 0; i < 3; i++) {
        static const char *const ends[] = { "", "-wal", "-shm" };
        char path[128];
        struct stat about;

        snprintf(path, sizeof path, "%s/journal.db%s", f->dir, ends[i]);
        if (stat(path, &about) == 0)
            bytes += (long)about.st_size;
    }
    return bytes / 1024;
}

static void take_sample(const flat *f, sample *now)
{
    malloc_trim(0);
    now->fds = count_fds();
    now->threads = self_status("Threads:");
    now->rss_kb = self_status("VmRSS:");
    now->journal_kb = journal_kb(f);
    print_message("# %ld done, %ld cancelled, %ld failed: %ld fds, "
                  "%ld threads, RSS %ld KiB, Lua %ld KiB, %ld refs, "
                  "journal %ld KiB\n",
                  f->done, f->cancelled, f->failed, now->fds, now->threads,
                  now->rss_kb, now->lua_kb, now->refs, now->journal_kb);
}

static int setup(void **state)
{
    flat *f = calloc(1, sizeof *f);
    const char *calls = getenv("EBB_FLAT_CALLS");
    char path[128], url[64];
    ebb_config config;
    ebb_err err = { 0 };

    f->calls = calls != NULL ? atol(calls) : CALLS_DEFAULT;
    f->server.routes = routes;
    flood_start(&f->server);
    strcpy(f->dir, "/tmp/ebb-flat-XXXXXX");
    if (mkdtemp(f->dir) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/journal.db", f->dir);
    setenv("EBB_JOURNAL", path, 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", f->server.port);
    ebb_config_init(&config);
    config.api_key = "e2b_cafecafecafe";
    config.api_url = config.sandbox_url = url;
    config.retry_base_ms = 1;
    f->rt = ebb_open(&config, &err);
    if (f->rt == NULL)
        return -1;
    ebb_close(f->rt); /* what libuv keeps for the whole process is there now */
    f->fds_before = count_fds();
    f->rt = ebb_open(&config, &err);
    f->lua = f->rt != NULL ? open_state(f, NULL) : NULL;
    *state = f;
    return f->lua != NULL ? 0 : -1;
}

static void close_all(flat *f)
{
    ebb_lua_close(f->lua);
    if (f->rt != NULL)
        ebb_close(f->rt);
    f->lua = NULL;
    f->rt = NULL;
}

static int teardown(void **state)
{
    flat *f = *state;
    char command[128];

    close_all(f);
    flood_stop(&f->server);
    snprintf(command, sizeof command, "rm -rf '%s'", f->dir);
    free(f);
    return system(command);
}

/* The most of a member in the first or the second half of the samples. */
#define MOST(f, half, member)                                                  \
    most((const char *)&(f)->samples[(half)*SAMPLES / 2].member)

static long most(const char *first)
{
    long max = 0;

    for (int i = 0; i < SAMPLES / 2; i++) {
        long value =
            *(const long *)(const void *)(first + sizeof(sample) * (size_t)i);

        max = value > max ? value : max;
    }
    return max;
}

#define ASSERT_FLAT(f, member, more_max)                                       \
    if (MOST(f, 1, member) > MOST(f, 0, member) + (more_max))                  \
    fail_msg(#member ": %ld, then %ld", MOST(f, 0, member), MOST(f, 1, member))

static void calls_without_end_leave_nothing(void **state)
{
    flat *f = *state;
    long batches = f->calls / CALLS_A_BATCH;

    assert_true(batches >= SAMPLES);
    for (int i = 0; i < SAMPLES; i++) {
        for (; f->batches < batches * (i + 1) / SAMPLES; f->batches++)
            if (f->batches % BATCHES_A_RUN == 0)
                run_durable_batch(f);
            else
                run_batch(f, f->lua, &f->samples[i]);
        take_sample(f, &f->samples[i]);
    }
    assert_int_equal(f->done + f->cancelled + f->failed, f->calls);
    assert_int_equal(f->failed, f->calls / 10);
    assert_in_range(f->cancelled, f->calls * 95 / 1000, f->calls / 10);
    assert_in_range(MOST(f, 1, fds), 1, f->fds_before + FDS_MAX);
    ASSERT_FLAT(f, threads, 0);
    ASSERT_FLAT(f, lua_kb, LUA_KB_MAX);
    ASSERT_FLAT(f, refs, REFS_MAX);
    ASSERT_FLAT(f, journal_kb, JOURNAL_KB_MAX);
    if (IS_PLAIN)
        ASSERT_FLAT(f, rss_kb, RSS_KB_MAX);
    close_all(f);
    assert_int_equal(count_fds(), f->fds_before);
    assert_int_equal(self_status("Threads:"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(calls_without_end_leave_nothing, "C23"),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
