/* SPDX-License-Identifier: MIT */

/*
 * More than fits in memory: what a call costs while a server sends without
 * end. EBB_FLOOD_BYTES sets how much output (1 GB, in `make soak` 10 GB).
 */

#include "ebb.h"

#include <fcntl.h>
#include <malloc.h>
#include <time.h>
#include <zlib.h>

#include "support/case.h"
#include "support/flood.h"
#include "support/self.h"

#if defined(__SANITIZE_ADDRESS__)
#define IS_PLAIN      false
#define FLOOD_DEFAULT 50000000
#else
#define IS_PLAIN      true
#define FLOOD_DEFAULT 1000000000
#endif

#define KB_MAX        4096  /* above the idle process */
#define ANSWER_KB_MAX 20480 /* twice the largest answer of a control plane */

#define COMMAND "{\"sandboxId\":\"i1\",\"command\":\"x\",\"timeoutMs\":0}"
#define CODE    "{\"sandboxId\":\"i1\",\"code\":\"x\",\"timeoutMs\":0}"

/* From now on VmHWM is the highest since here. */
static void forget_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY);

    assert_true(fd >= 0 && write(fd, "5", 1) == 1);
    close(fd);
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t flood_bytes(void)
{
    const char *given = getenv("EBB_FLOOD_BYTES");

    return given != NULL ? strtoull(given, NULL, 10) : FLOOD_DEFAULT;
}

static ebb_runtime *open_runtime(const flood *f)
{
    ebb_config config;
    ebb_runtime *rt;
    ebb_err err = { 0 };
    char url[FLOOD_URL_BYTES];

    flood_config(f, &config, url);
    rt = ebb_open(&config, &err);
    assert_non_null(rt);
    return rt;
}

typedef struct measured {
    ebb_value *out; /* the result or the error object */
    ebb_err err;
    long kb; /* above what the process had before */
    double seconds;
} measured;

/* One call, after a small one that makes the runtime warm. */
static measured measure(const flood *f, const char *task, const char *json)
{
    measured m = { .out = NULL };
    ebb_runtime *rt = open_runtime(f);
    ebb_err ignored;
    ebb_value *in = ebb_value_parse(json, strlen(json), 0, &ignored);
    double start;
    long idle;

    ebb_call(rt, "e2b.nothing", NULL, &m.out, &m.err);
    ebb_value_free(m.out);
    m.err = (ebb_err){ 0 };
    malloc_trim(0); /* what an earlier test has freed must not hide this one */
    forget_peak();
    idle = self_status("VmHWM:");
    start = now_s();
    ebb_call(rt, task, in, &m.out, &m.err);
    m.seconds = now_s() - start;
    m.kb = self_status("VmHWM:") - idle;
    ebb_value_free(in);
    ebb_close(rt);
    return m;
}

static const ebb_value *member(const measured *m, const char *a, const char *b)
{
    return ebb_value_find(ebb_value_find(m->out, a), b);
}

static void say(const char *what, uint64_t bytes, const measured *m)
{
    print_message("# %s: %.0f MB in %.2f s, %.0f MB/s, %ld KiB above idle\n",
                  what, (double)bytes / 1e6, m->seconds,
                  (double)bytes / 1e6 / m->seconds, m->kb);
}

static void assert_small(const measured *m, long kb_max)
{
    if (IS_PLAIN && m->kb > kb_max)
        fail_msg("%ld KiB above the idle process", m->kb);
}

static void output_without_end_costs_its_bound(void **state)
{
    flood f = { .times = 0 };
    uint64_t bytes = flood_command(&f, flood_bytes(), 32768);
    measured m;

    (void)state;
    flood_start(&f);
    m = measure(&f, "e2b.runCommand", COMMAND);
    flood_stop(&f);
    say("output of a command", bytes, &m);
    assert_string_equal(m.err.msg, "");
    assert_int_equal(ebb_value_get_int(member(&m, "stdout", "byteCount")),
                     bytes);
    assert_int_equal(ebb_value_get_int(member(&m, "stdout", "returnedBytes")),
                     65536);
    assert_true(ebb_value_get_bool(member(&m, "stdout", "truncated")));
    assert_small(&m, KB_MAX);
    ebb_value_free(m.out);
}

static double seconds_of_small_events(uint64_t total, const char *what)
{
    flood f = { .times = 0 };
    uint64_t bytes = flood_command(&f, total, 16);
    measured m;

    flood_start(&f);
    m = measure(&f, "e2b.runCommand", COMMAND);
    flood_stop(&f);
    say(what, bytes, &m);
    assert_string_equal(m.err.msg, "");
    assert_int_equal(ebb_value_get_int(member(&m, "stdout", "byteCount")),
                     bytes);
    assert_small(&m, KB_MAX);
    ebb_value_free(m.out);
    return m.seconds;
}

/* Sixteen times as much may cost more only in proportion. */
static void small_events_cost_the_same_each(void **state)
{
    double few = seconds_of_small_events(4u << 20, "16-byte events");
    double many = seconds_of_small_events(64u << 20, "16-byte events");

    (void)state;
    assert_true(many < 64 * (few > 0.05 ? few : 0.05));
}

/* Events of 32 KiB, each character escaped. */
static void output_of_code_costs_its_bound(void **state)
{
    flood f = { .times = 0 };
    ebb_buf line = { 0 };
    measured m;

    (void)state;
    ebb_buf_add_text(&line, "{\"type\":\"stdout\",\"text\":\"");
    for (int i = 0; i < 5000; i++)
        ebb_buf_add_text(&line, "\\u20ac");
    ebb_buf_add_text(&line, "\"}\n");
    flood_lines(&f, line.bytes, flood_bytes() / 300000);
    flood_chunk_text(&f.tail, "{\"type\":\"end_of_execution\"}\n");
    ebb_buf_add_text(&f.tail, "0\r\n\r\n");
    flood_start(&f);
    m = measure(&f, "e2b.runCode", CODE);
    flood_stop(&f);
    say("output of code", f.times * line.n, &m);
    assert_string_equal(m.err.msg, "");
    assert_int_equal(ebb_value_get_int(member(&m, "stdout", "byteCount")),
                     f.times * 15000);
    assert_int_equal(ebb_value_get_int(member(&m, "stdout", "returnedBytes")),
                     65535);
    assert_small(&m, KB_MAX);
    ebb_value_free(m.out);
    ebb_buf_clear(&line);
}

/* One event whose member is as long as all the output. */
static measured one_long_line(const char *begin, uint64_t *bytes)
{
    flood f = { .times = 0 };
    ebb_buf block = { 0 };
    measured m;

    for (int i = 0; i < 65536; i++)
        ebb_buf_add_byte(&block, 'A');
    flood_lines(&f, block.bytes, flood_bytes() / 65536 / 10);
    flood_chunk_text(&f.head, begin);
    flood_chunk_text(&f.tail, "\"}\n{\"type\":\"end_of_execution\"}\n");
    ebb_buf_add_text(&f.tail, "0\r\n\r\n");
    flood_start(&f);
    m = measure(&f, "e2b.runCode", CODE);
    flood_stop(&f);
    *bytes = f.times * 65536;
    ebb_buf_clear(&block);
    return m;
}

static void a_line_without_end_costs_its_bound(void **state)
{
    uint64_t bytes;
    measured m = one_long_line("{\"type\":\"stdout\",\"text\":\"", &bytes);

    (void)state;
    say("one line of code", bytes, &m);
    assert_string_equal(m.err.msg, "");
    assert_int_equal(ebb_value_get_int(member(&m, "stdout", "byteCount")),
                     bytes);
    assert_small(&m, KB_MAX);
    ebb_value_free(m.out);
}

static void a_picture_without_end_costs_its_bound(void **state)
{
    uint64_t bytes;
    measured m = one_long_line("{\"type\":\"result\",\"png\":\"", &bytes);

    (void)state;
    say("one picture of code", bytes, &m);
    assert_int_equal(m.err.code, EBB_LIMIT_EXCEEDED);
    assert_small(&m, KB_MAX);
    ebb_value_free(m.out);
}

/* ---- what the control plane may answer ---- */

static void assert_refused(flood *f, const char *what, uint64_t bytes)
{
    measured m;

    f->at_once = true;
    flood_start(f);
    m = measure(f, "e2b.runCommand", COMMAND);
    flood_stop(f);
    say(what, bytes, &m);
    if (m.err.code != EBB_LIMIT_EXCEEDED && m.err.code != EBB_PROTOCOL)
        fail_msg("%s: %s", ebb_code_name(m.err.code), m.err.msg);
    assert_small(&m, ANSWER_KB_MAX);
    ebb_value_free(m.out);
}

/* By their bytes when they are all sent, else by their count. */
static void ten_million_nulls_are_not_built(void **state)
{
    const uint64_t counts[] = { 10000000, 1600000 };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        flood f = { .times = 0 };
        flood_lines(&f, "null,null,null,null,null,null,null,null,null,null,",
                    counts[i] / 10);
        flood_chunk_text(&f.head, "[");
        flood_chunk_text(&f.tail, "null]");
        ebb_buf_add_text(&f.tail, "0\r\n\r\n");
        assert_refused(&f, "nulls", counts[i] * 5);
    }
}

/* A gigabyte of spaces in a megabyte. */
static void a_gzip_bomb_is_not_unpacked(void **state)
{
    static char spaces[1 << 20], packed[65536];
    z_stream z = { .next_out = (Bytef *)packed, .avail_out = sizeof packed };
    flood f = { .times = 0 };
    ebb_buf all = { 0 };

    (void)state;
    memset(spaces, ' ', sizeof spaces);
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, 0), Z_OK);
    for (int i = 0; i < 1024; i++) {
        z.next_in = (Bytef *)spaces;
        z.avail_in = sizeof spaces;
        z.next_out = (Bytef *)packed;
        z.avail_out = sizeof packed;
        deflate(&z, i < 1023 ? Z_NO_FLUSH : Z_FINISH);
        ebb_buf_add(&all, packed, sizeof packed - z.avail_out);
    }
    deflateEnd(&z);
    ebb_buf_printf(&f.head,
                   "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                   "Content-Type: application/json\r\n"
                   "Content-Length: %zu\r\n\r\n",
                   all.n);
    f.block = all;
    f.times = 1;
    assert_refused(&f, "gzip bomb", all.n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(output_without_end_costs_its_bound, "B12, C04"),
        CASE(small_events_cost_the_same_each, "D08"),
        CASE(output_of_code_costs_its_bound, "B12, C04"),
        CASE(a_line_without_end_costs_its_bound, "C04"),
        CASE(a_picture_without_end_costs_its_bound, "B13, C04"),
        CASE(ten_million_nulls_are_not_built, "C04"),
        CASE(a_gzip_bomb_is_not_unpacked, "C04"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
