/* SPDX-License-Identifier: MIT */

/*
 * A host forks, as system(3) and popen(3) do, while a call is under way and a
 * run is open: the child inherits none of ebb's descriptors across exec, and
 * whatever it does before, the parent's call and run go on.
 */

#include "ebb.h"

#include "support/case.h"
#include "support/e2b_boxes.h"
#include "support/flood.h"

#define TURNS_MAX 200

static const char slow_head[] = "  ";
static const flood_route routes[] = {
    { .line = "GET /sandboxes/islow ",
      .body = slow_head,
      .later = BOX("islow", "running", OLD),
      .later_n = sizeof BOX("islow", "running", OLD) - 1,
      .pause_us = 150000 },
    { .line = "GET /sandboxes/i1 ", .body = BOX("i1", "running", OLD) },
    { 0 },
};

typedef struct answer {
    bool ended;
    ebb_code code;
} answer;

static void on_done(void *context, ebb_value *out, const ebb_err *err)
{
    answer *a = context;

    a->ended = true;
    a->code = err != NULL ? err->code : EBB_OK;
    ebb_value_free(out);
}

static void wait_for(ebb_runtime *rt, ebb_run *run, const answer *a)
{
    ebb_err err = { 0 };

    for (int i = 0; i < TURNS_MAX && !a->ended; i++) {
        if (run != NULL)
            ebb_run_idle(run);
        assert_int_equal(ebb_poll(rt, 50, &err), 0);
    }
    assert_true(a->ended);
    assert_int_equal(a->code, EBB_OK);
}

static void ask(ebb_runtime *rt, ebb_run *run, const char *path,
                const char *json, answer *a)
{
    ebb_err err = { 0 };
    ebb_value *input = ebb_value_parse(json, strlen(json), 0, &err);
    bool begun;

    if (run != NULL)
        begun = ebb_start_step(run, path, "e2b.getSandbox", input, on_done, a,
                               &err) != NULL;
    else
        begun =
            ebb_start(rt, "e2b.getSandbox", input, on_done, a, &err) != NULL;
    ebb_value_free(input);
    if (!begun)
        fail_msg("%s", err.msg);
}

/*
 * What a program has open that a child of ours becomes: how many files, and
 * connections. libcurl keeps a pair of sockets to itself that leads nowhere.
 */
static void list_inherited(char *text, size_t size)
{
    FILE *pipe = popen("for f in /proc/self/fd/*; do l=$(readlink $f); "
                       "case $l in /proc/*) ;; "
                       "socket:*) i=${l#socket:[}; "
                       "grep -q \" ${i%]} \" /proc/net/tcp && echo TCP;; "
                       "pipe:*) echo pipe;; *) echo $l;; esac; done | sort",
                       "r");
    size_t n = fread(text, 1, size - 1, pipe);

    text[n] = '\0';
    pclose(pipe);
}

/* A child that only ends, one that runs for a while, one that uses all fds. */
static void fork_thrice(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
            for (int fd = 3; i == 2 && fd < 64; fd++)
                close(fd);
            if (i == 1)
                usleep(20000);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

static void a_host_may_fork_in_the_middle(void **state)
{
    flood f = { .routes = routes };
    char url[64], dir[] = "/tmp/ebb-fork-XXXXXX", text[128];
    char before[1024], inherited[1024];
    ebb_config config;
    ebb_run_config run_config;
    ebb_err err = { 0 };
    answer slow = { 0 }, step = { 0 };
    ebb_runtime *rt;
    ebb_run *run;

    (void)state;
    flood_start(&f);
    assert_non_null(mkdtemp(dir));
    snprintf(text, sizeof text, "%s/journal.db", dir);
    setenv("EBB_JOURNAL", text, 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", f.port);
    ebb_config_init(&config);
    config.api_key = "e2b_cafecafecafe";
    config.api_url = config.sandbox_url = url;
    list_inherited(before, sizeof before);
    rt = ebb_open(&config, &err);
    assert_non_null(rt);
    ebb_run_config_init(&run_config);
    run_config.id = "forks";
    run = ebb_run_open(rt, &run_config, &err);
    if (run == NULL)
        fail_msg("%s", err.msg);
    ask(rt, NULL, NULL, "{\"sandboxId\":\"islow\"}", &slow);
    ask(rt, run, "1", "{\"sandboxId\":\"i1\"}", &step);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ebb_poll(rt, 5, &err), 0);
    assert_false(slow.ended);
    fork_thrice();
    list_inherited(inherited, sizeof inherited);
    assert_string_equal(inherited, before);
    wait_for(rt, NULL, &slow);
    wait_for(rt, run, &step);
    fork_thrice();
    step = (answer){ 0 };
    ask(rt, run, "2", "{\"sandboxId\":\"islow\"}", &step);
    wait_for(rt, run, &step);
    ebb_run_close(run);
    ebb_close(rt);
    flood_stop(&f);
    snprintf(text, sizeof text, "rm -rf '%s'", dir);
    assert_int_equal(system(text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_host_may_fork_in_the_middle, "C15"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
