/* SPDX-License-Identifier: MIT */
/* A durable run as a host of the binding sees it: states, ends, replay. */

#include "support/lua_host.h"

#include "lua/lrun.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct rig {
    char dir[64];
    lua_host *host;
    int *counted, *died; /* shared with children */
} rig;

static rig *current;

static void count(void *context, ebb_request *request)
{
    (void)context;
    ++*current->counted;
    ebb_request_finish(request, ebb_value_int(*current->counted));
}

/* Kills the process the first time. */
static void die(void *context, ebb_request *request)
{
    (void)context;
    if (++*current->died == 1)
        kill(getpid(), SIGKILL);
    ebb_request_finish(request, ebb_value_object());
}

static void open_run(rig *r, const char *id)
{
    ebb_task_config tasks[] = {
        { .name = "e2b.count", .start = count },
        { .name = "e2b.die", .start = die, .retry_class = "read" },
    };
    ebb_run_config config;
    lua_host *host = lua_host_open_runtime();

    r->host = host;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(ebb_register(host->rt, &tasks[i], &host->err), 0);
    ebb_run_config_init(&config);
    config.id = id;
    host->run = ebb_run_open(host->rt, &config, &host->err);
    assert_string_equal(host->err.msg, "");
    lua_host_open_state(host);
}

static void close_run(rig *r)
{
    lua_host_close(r->host);
    r->host = NULL;
}

/* Opens the run again, after it was given up. */
static ebb_run_state reopen(rig *r, const char *id)
{
    if (r->host)
        close_run(r);
    open_run(r, id);
    return ebb_run_get_state(r->host->run);
}

/* Runs the text in a child, which is killed. */
static void run_killed(const char *id, const char *text)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        open_run(current, id);
        lua_host_run(current->host, text);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static int setup(void **state)
{
    rig *r = calloc(1, sizeof *r);
    char journal[128];
    int *shared = mmap(NULL, 2 * sizeof(int), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    alarm(120);
    strcpy(r->dir, "/tmp/ebb-lua-run-XXXXXX");
    if (!mkdtemp(r->dir) || shared == MAP_FAILED)
        return -1;
    r->counted = shared;
    r->died = shared + 1;
    snprintf(journal, sizeof journal, "%s/journal.db", r->dir);
    setenv("EBB_JOURNAL", journal, 1);
    current = r;
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    rig *r = *state;
    char command[128];

    if (r->host)
        close_run(r);
    snprintf(command, sizeof command, "rm -rf '%s'", r->dir);
    munmap(r->counted, 2 * sizeof(int));
    free(r);
    return system(command);
}

static void it_records_the_result_as_the_end(void **state)
{
    rig *r = *state;

    assert_int_equal(reopen(r, "ends"), EBB_RUN_ACTIVE);
    assert_string_equal(
        lua_host_run(r->host, "local e2b = require 'e2b' "
                              "return { e2b.count{}, e2b.echo{ value = 2 } }"),
        "[1,{\"value\":2}]");
    assert_int_equal(reopen(r, "ends"), EBB_RUN_DONE);
    assert_int_equal(ebb_value_size(ebb_run_outcome(r->host->run)), 2);
}

static void it_records_errors_as_the_end(void **state)
{
    rig *r = *state;

    open_run(r, "fails");
    assert_string_equal(lua_host_run(r->host, "error('no', 0)"), "script: no");
    assert_int_equal(reopen(r, "fails"), EBB_RUN_FAILED);
    assert_string_equal(
        ebb_value_find_string(ebb_run_outcome(r->host->run), "message"), "no");
    assert_int_equal(reopen(r, "function"), EBB_RUN_ACTIVE);
    lua_host_run(r->host, "return print");
    assert_int_equal(r->host->err.code, EBB_SCRIPT);
    assert_int_equal(reopen(r, "function"), EBB_RUN_FAILED);
}

static const char killed_text[] =
    "local e2b, ebb = require 'e2b', require 'ebb' "
    "local got = ebb.parallel { "
    "  function() e2b.count{} return e2b.count{} end, "
    "  function() ebb.sleep(0.01) return ebb.now() > 0 end } "
    "local id = ebb.uuid() "
    "local r = math.random(1000000) "
    "e2b.echo{ value = id } e2b.echo{ value = r } "
    "e2b.die{} "
    "return { got[1], got[2], #id }";

static void it_executes_nothing_twice_after_a_kill(void **state)
{
    rig *r = *state;

    run_killed("killed", killed_text);
    assert_int_equal(*r->counted, 2);
    open_run(r, "killed");
    assert_string_equal(lua_host_run(r->host, killed_text), "[2,true,36]");
    assert_int_equal(*r->counted, 2);
    assert_int_equal(reopen(r, "killed"), EBB_RUN_DONE);
}

static void it_stops_at_a_mismatch_and_stays_interrupted(void **state)
{
    rig *r = *state;

    run_killed("other", killed_text);
    open_run(r, "other");
    lua_host_run(r->host, "local e2b = require 'e2b' "
                          "pcall(e2b.echo, { value = 1 }) "
                          "pcall(e2b.count, {}) return 'went on'");
    assert_int_equal(r->host->err.code, EBB_REPLAY_MISMATCH);
    assert_int_equal(*r->counted, 2);
    assert_int_equal(reopen(r, "other"), EBB_RUN_ACTIVE);
}

static void cancel_while_it_waits(rig *r, const char *text, int times)
{
    ebb_err err = { 0 };
    ebb_lua_activity activity;

    assert_int_equal(lua_host_start(r->host, text), 0);
    for (int i = 0; i < times; i++) {
        double end = ebb_monotonic_ms(r->host->rt) + 300;
        while (ebb_monotonic_ms(r->host->rt) < end ||
               (i == 0 && !ebb_lua_activities(r->host->lua, &activity, 1)))
            ebb_lua_poll(r->host->lua, 10, &err);
        ebb_lua_cancel(r->host->lua);
    }
    lua_host_wait_end(r->host);
    assert_true(ebb_lua_done(r->host->lua));
}

static ebb_code take(rig *r)
{
    ebb_value *out;
    ebb_err err = { 0 };

    ebb_lua_take(r->host->lua, &out, &err);
    ebb_value_free(out);
    return err.code;
}

static void it_ends_as_cancelled_when_it_is_cancelled(void **state)
{
    rig *r = *state;

    open_run(r, "cancel");
    cancel_while_it_waits(r,
                          "local e2b, ebb = require 'e2b', require 'ebb' "
                          "local _ <close> = ebb.defer(e2b.kill, { id = 1 }) "
                          "ebb.parallel { function() e2b.hang{} end, "
                          "  function() ebb.sleep(60) end }",
                          1);
    assert_int_equal(take(r), EBB_CANCELLED);
    assert_int_equal(r->host->kills, 1);
    assert_int_equal(reopen(r, "cancel"), EBB_RUN_CANCELLED);
}

static void it_stays_interrupted_when_it_is_given_up(void **state)
{
    rig *r = *state;

    open_run(r, "give up");
    cancel_while_it_waits(r,
                          "local e2b, ebb = require 'e2b', require 'ebb' "
                          "local _ <close> = ebb.defer(ebb.sleep, 60) "
                          "e2b.count{} e2b.hang{}",
                          2);
    assert_int_equal(take(r), EBB_CANCELLED);
    assert_int_equal(reopen(r, "give up"), EBB_RUN_ACTIVE);
}

/* Ctrl-C at the very start of a run that goes on: it is no mismatch. */
static void it_is_cancelled_after_what_is_recorded(void **state)
{
    rig *r = *state;

    run_killed("early", killed_text);
    open_run(r, "early");
    assert_int_equal(lua_host_start(r->host, killed_text), 0);
    ebb_lua_cancel(r->host->lua);
    lua_host_wait_end(r->host);
    assert_int_equal(take(r), EBB_CANCELLED);
    assert_int_equal(*r->counted, 2);
    assert_int_equal(reopen(r, "early"), EBB_RUN_CANCELLED);
}

/* How many steps of the run have an outcome. */
static int count_outcomes(rig *r, const char *id)
{
    ebb_value *shown = NULL, *steps;
    int count = 0;

    assert_int_equal(ebb_runs_show(r->host->rt, id, &shown, &r->host->err), 0);
    steps = ebb_value_find(shown, "steps");
    for (size_t i = 0; i < ebb_value_size(steps); i++)
        count += ebb_value_find(ebb_value_at(steps, i), "endedAt") != NULL;
    ebb_value_free(shown);
    return count;
}

/* What was in flight when it was given up goes on with the run. */
static void it_records_nothing_once_it_is_given_up(void **state)
{
    rig *r = *state;

    open_run(r, "dropped");
    cancel_while_it_waits(r,
                          "local e2b, ebb = require 'e2b', require 'ebb' "
                          "local _ <close> = ebb.defer(ebb.parallel, { "
                          "  function() e2b.hang{} end, "
                          "  function() ebb.sleep(60) end }) "
                          "e2b.count{} e2b.hang{}",
                          2);
    assert_int_equal(take(r), EBB_CANCELLED);
    assert_int_equal(reopen(r, "dropped"), EBB_RUN_ACTIVE);
    assert_int_equal(count_outcomes(r, "dropped"), 2);
}

static void on_alarm(int signum)
{
    (void)signum;
    ebb_lua_cancel(current->host->lua);
}

/* In the function of a step, of which nobody waits for the first end. */
static void it_is_given_up_while_a_step_computes(void **state)
{
    static const struct itimerval every = { { 0, 30000 }, { 0, 30000 } };
    static const struct itimerval never;
    rig *r = *state;

    signal(SIGALRM, on_alarm);
    open_run(r, "computes");
    setitimer(ITIMER_REAL, &every, NULL);
    lua_host_run(r->host, "local ebb = require 'ebb' "
                          "ebb.step('endless', function() "
                          "  while true do pcall(function() "
                          "    while true do end end) end end)");
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_DFL);
    assert_int_equal(r->host->err.code, EBB_CANCELLED);
    assert_int_equal(reopen(r, "computes"), EBB_RUN_ACTIVE);
}

/* As a function of C that a signal stops. */
static int l_stopped(lua_State *L)
{
    ebb_lua_cancel(current->host->lua);
    return luaL_error(L, "a signal came");
}

/* The function of a step has ended, and so has what holds for it. */
static void it_waits_again_after_a_step_that_ctrl_c_stopped(void **state)
{
    rig *r = *state;

    open_run(r, "stopped");
    lua_register(r->host->lua->L, "stopped", l_stopped);
    assert_string_equal(
        lua_host_run(r->host, "local e2b, ebb = require 'e2b', require 'ebb' "
                              "local _, a = pcall(ebb.step, 'a', stopped) "
                              "local _, b = pcall(e2b.count, {}) "
                              "return { a.code, b.code, e2b.count{} }"),
        "[\"script\",\"cancelled\",1]");
}

static void it_closes_in_the_middle_of_everything(void **state)
{
    rig *r = *state;
    ebb_err err = { 0 };

    open_run(r, "close");
    assert_int_equal(
        lua_host_start(r->host, "local e2b, ebb = require 'e2b', require 'ebb' "
                                "ebb.timeout(60, ebb.parallel, { "
                                "  function() e2b.hang{} end, "
                                "  function() ebb.sleep(60) end, "
                                "  function() ebb.race { function() "
                                "    e2b.echo{ ms = 60000 } end } end })"),
        0);
    for (int i = 0; i < 20; i++)
        ebb_lua_poll(r->host->lua, 10, &err);
    close_run(r);
}

static void it_runs_a_script_s_own_tasks_as_one_step(void **state)
{
    rig *r = *state;
    static const char text[] =
        "local e2b, ebb = require 'e2b', require 'ebb' "
        "local add = ebb.task { name = 'own.add', run = function(input) "
        "  ebb.sleep(0.001) "
        "  return { sum = input.a + e2b.count{} } end } "
        "local got = add{ a = 40 } "
        "e2b.die{} return got.sum";

    run_killed("own", text);
    open_run(r, "own");
    assert_string_equal(lua_host_run(r->host, text), "41");
    assert_int_equal(*r->counted, 1);
}

/* ---- no memory ---- */

/* Finalizers run wherever memory is asked for; this one empties the table. */
static void pairs_keep_the_keys_of_a_table_that_changes(void **state)
{
    rig *r = *state;

    assert_int_equal(reopen(r, "pairs"), EBB_RUN_ACTIVE);
    assert_string_equal(
        lua_host_run(
            r->host,
            "local t, long, left, emptied = {}, ('k'):rep(500), 0, 0 "
            "local function arm() setmetatable({}, { __gc = function() arm() "
            "left = left - 1 if left == 0 then emptied = emptied + 1 "
            "for k in next, t do t[k] = nil end end end }) end arm() "
            "collectgarbage('setpause', 1) "
            "collectgarbage('setstepmul', 1000) "
            "for i = 1, 6 do "
            "for k = 1, 5000 do t[long .. k] = k end "
            "left = i assert(pairs(t) ~= next) left = 0 end "
            "return emptied > 0"),
        "true");
    close_run(r);
}

static long allocations_left; /* 0: no limit */
static pthread_t script_thread;

/* Fails one allocation of the script's thread, then works again. */
static void *failing_resize(void *context, void *block, size_t size)
{
    (void)context;
    if (size == 0) {
        free(block);
        return NULL;
    }
    if (pthread_equal(pthread_self(), script_thread) && allocations_left > 1 &&
        --allocations_left == 1)
        return NULL;
    return realloc(block, size);
}

static const char starved_text[] =
    "local e2b, ebb = require 'e2b', require 'ebb' "
    "local a = e2b.count{} "
    "local got = ebb.parallel { "
    "  function() ebb.sleep(0) return ebb.now() > 0 end, "
    "  function() return ebb.step('one', function() return { 1 } end, "
    "    { class = 'read' }) end } "
    "ebb.log('info', 'line') "
    "local t = { x = 1, y = 2 } for _ in pairs(t) do math.random() end "
    "return { #ebb.uuid(), got[1], got[2][1] }";

/* One allocation fails; the run is then opened again. Returns whether it was
 * one that the script needed. */
static bool starve(rig *r, const char *id, long n)
{
    bool failed;

    open_run(r, id);
    *r->counted = 0;
    allocations_left = n;
    lua_host_run(r->host, starved_text);
    failed = allocations_left == 1;
    allocations_left = 0;
    if (reopen(r, id) == EBB_RUN_ACTIVE) {
        const char *answer = lua_host_run(r->host, starved_text);
        if (r->host->err.code != EBB_OUTCOME_UNKNOWN)
            assert_string_equal(answer, "[36,true,1]");
    }
    close_run(r);
    assert_true(*r->counted <= 1);
    return failed;
}

static void it_survives_each_failing_allocation(void **state)
{
    static const ebb_allocator allocator = { failing_resize, NULL };
    char id[32];
    long tried = 0, failed = 0;

    script_thread = pthread_self();
    ebb_mem_set(&allocator);
    ebb_log_set(NULL, NULL, EBB_LOG_ERROR);
    for (long n = 2; n < 4000 && failed == tried; n += n < 40 ? 2 : 17) {
        snprintf(id, sizeof id, "starved %ld", n);
        failed += starve(*state, id, n);
        tried++;
    }
    ebb_mem_set(NULL);
    ebb_log_set(NULL, NULL, EBB_LOG_INFO);
    assert_true(failed > 20);
    assert_true(tried > failed);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(it_records_the_result_as_the_end),
        TEST(it_records_errors_as_the_end),
        TEST(it_executes_nothing_twice_after_a_kill),
        TEST(it_stops_at_a_mismatch_and_stays_interrupted),
        TEST(it_ends_as_cancelled_when_it_is_cancelled),
        TEST(it_stays_interrupted_when_it_is_given_up),
        TEST(it_is_cancelled_after_what_is_recorded),
        TEST(it_records_nothing_once_it_is_given_up),
        TEST(it_is_given_up_while_a_step_computes),
        TEST(it_waits_again_after_a_step_that_ctrl_c_stopped),
        TEST(it_closes_in_the_middle_of_everything),
        TEST(it_runs_a_script_s_own_tasks_as_one_step),
        TEST(pairs_keep_the_keys_of_a_table_that_changes),
        TEST(it_survives_each_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
