/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */

/*
 * Calls of every kind one after the other and at once, to servers that answer
 * well, badly or not at all: each is as if it were the only one. What a call
 * asks for and is answered follows from its number, so that the server, a
 * process of its own, knows what must come, and the test what must come back.
 * EBB_MIX_CALLS sets how many (1,500).
 */

#include "support/calls.h"

#include <netinet/tcp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define CALLS_MAX 200000
#define LIVE_MAX  12
#define SMALL_MAX 3000
#define LARGE_MAX 300000

typedef enum kind { /* of a server's behaviour */
    WELL,
    CHUNKED,
    CLOSES,    /* after its answer, and says so */
    LEAVES,    /* after its answer, and does not say so */
    DROPS,     /* instead of an answer */
    RESETS,    /* so, too */
    STOPS,     /* in the middle of the answer's body */
    HANGS,     /* in the middle of the answer's body */
    KINDS
} kind;

/* What both sides know of a call. */
typedef struct plan {
    kind kind;
    bool has_body, has_header, gzip, gathers, holds, unheld, once, cancels;
    size_t body_n, answer_n;
    int status;
} plan;

typedef struct shared {
    unsigned seen[CALLS_MAX]; /* how often a call was received whole */
    unsigned left;            /* connections that were left without a word */
    char wrong[256];          /* the first thing that was */
} shared;

typedef struct one {
    fixture *f;
    unsigned id;
    plan plan;
    ebb_http_call *call;
    char *body;
    size_t got;
    bool damaged, live;
    int dones, holds;
    unsigned *failed; /* of those whose server did well */
} one;

static shared *both;

static uint32_t mixed(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    return x ^ x >> 16;
}

static plan plan_of(unsigned id)
{
    uint32_t bits = mixed(id + 1), more = mixed(bits), size = mixed(more);
    plan p = { .status = bits & 1 ? 200 : 404 };

    /* Most do well, so that connections and handles are used again. */
    p.kind = more % 3 != 0 ? WELL : (kind)(more / 3 % KINDS);
    p.has_body = bits & 2;
    p.has_header = bits & 4;
    p.gzip = bits & 8;
    p.gathers = bits & 16;
    p.holds = p.has_body && bits & 32;
    p.unheld = p.holds && bits & 64;
    p.once = bits & 128;
    p.cancels = bits % 7 == 0;
    p.body_n = 1 + size % (bits & 256 ? LARGE_MAX : SMALL_MAX);
    p.answer_n = mixed(size) % (bits & 512 ? LARGE_MAX : SMALL_MAX);
    return p;
}

static char byte_of(unsigned id)
{
    return (char)('a' + id % 26);
}

/* ---- the server ---- */

static void say(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0)
            _exit(0);
        bytes += sent;
        n -= (size_t)sent;
    }
}

static void wrong(unsigned id, const char *what)
{
    if (both->wrong[0] == '\0')
        snprintf(both->wrong, sizeof both->wrong, "call %u: %s", id, what);
}

/* The head is at request; how long it is, or the connection has ended. */
static size_t receive_head(int fd, char *request, size_t size, size_t *n)
{
    const char *end;

    *n = 0;
    for (;;) {
        ssize_t got = recv(fd, request + *n, size - 1 - *n, 0);
        if (got <= 0)
            _exit(0);
        *n += (size_t)got;
        request[*n] = '\0';
        end = strstr(request, "\r\n\r\n");
        if (end != NULL)
            return (size_t)(end + 4 - request);
    }
}

static void receive_body(int fd, unsigned id, const char *first, size_t n,
                         size_t all)
{
    static char bytes[65536];

    for (;;) {
        ssize_t got;
        for (size_t i = 0; i < n; i++)
            if (first[i] != byte_of(id))
                wrong(id, "a byte of another body");
        if (n > all)
            wrong(id, "more than its body");
        all -= n;
        if (all == 0)
            return;
        got = recv(fd, bytes, sizeof bytes, 0);
        if (got <= 0)
            _exit(0);
        first = bytes;
        n = (size_t)got;
    }
}

static void check_head(const char *head, unsigned id, const plan *p)
{
    const char *length = strstr(head, "Content-Length: ");
    const char *header = strstr(head, "\r\nX-Mine: ");

    if (p->has_body != (strncmp(head, "POST ", 5) == 0))
        wrong(id, "another method");
    if (p->has_body != (length != NULL) ||
        (length != NULL && strtoul(length + 16, NULL, 10) != p->body_n))
        wrong(id, "another length");
    if (p->has_header != (header != NULL) ||
        (header != NULL && strtoul(header + 10, NULL, 10) != id))
        wrong(id, "another header");
    if (p->gzip != (strstr(head, "Accept-Encoding: gzip") != NULL))
        wrong(id, "another encoding");
}

static void answer(int fd, unsigned id, const plan *p)
{
    static char bytes[LARGE_MAX];
    size_t n = p->answer_n, half = n / 2;
    char head[256];

    memset(bytes, byte_of(id), n);
    snprintf(head, sizeof head, "HTTP/1.1 %d S\r\nX-Thing: %u\r\n", p->status,
             id);
    say(fd, head, strlen(head));
    if (p->kind == CHUNKED) {
        snprintf(head, sizeof head,
                 "Transfer-Encoding: chunked\r\n\r\n%zx\r\n", n + 1);
        say(fd, head, strlen(head));
        say(fd, bytes, n);
        snprintf(head, sizeof head, "%c\r\n", byte_of(id));
        say(fd, head, strlen(head));
        say(fd, "0\r\n\r\n", 5);
        return;
    }
    snprintf(head, sizeof head, "%sContent-Length: %zu\r\n\r\n",
             p->kind == CLOSES ? "Connection: close\r\n" : "", n + 1);
    say(fd, head, strlen(head));
    say(fd, bytes, p->kind == STOPS || p->kind == HANGS ? half : n);
    if (p->kind == STOPS)
        _exit(0);
    if (p->kind == HANGS)
        recv(fd, bytes, 1, 0); /* the client leaves */
    snprintf(head, sizeof head, "%c", byte_of(id));
    say(fd, head, 1);
}

static void reset(int fd)
{
    struct linger now = { 1, 0 };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    _exit(0);
}

static void serve(int fd)
{
    static char request[65536];

    for (;;) {
        size_t n, head = receive_head(fd, request, sizeof request, &n);
        unsigned id = (unsigned)strtoul(strchr(request, '/') + 1, NULL, 10);
        plan p = plan_of(id % CALLS_MAX);

        request[head - 1] = '\0';
        check_head(request, id, &p);
        receive_body(fd, id, request + head, n - head,
                     p.has_body ? p.body_n : 0);
        __atomic_add_fetch(&both->seen[id % CALLS_MAX], 1, __ATOMIC_RELAXED);
        if (p.kind == DROPS)
            _exit(0);
        if (p.kind == RESETS)
            reset(fd);
        answer(fd, id, &p);
        if (p.kind == LEAVES)
            __atomic_add_fetch(&both->left, 1, __ATOMIC_RELAXED);
        if (p.kind == LEAVES || p.kind == CLOSES)
            _exit(0);
    }
}

static pid_t start_server(int listen_fd)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_IGN);
    fcntl(listen_fd, F_SETFL, 0);
    for (;;) {
        int fd = accept(listen_fd, NULL, NULL), yes = 1;

        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (fd >= 0 && fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(120);
            serve(fd);
        }
        close(fd);
    }
}

/* ---- the calls ---- */

static void look_at(one *o, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        o->damaged = o->damaged || bytes[i] != byte_of(o->id);
    o->got += n;
}

static void on_head(void *context, ebb_http_call *call, int status)
{
    one *o = context;
    const char *thing = ebb_http_answer_header(call, "X-Thing");

    assert_non_null(thing);
    assert_int_equal(strtoul(thing, NULL, 10), o->id);
    assert_int_equal(status, o->plan.status);
}

static int on_body(void *context, ebb_http_call *call, const char *bytes,
                   size_t n)
{
    (void)call;
    look_at(context, bytes, n);
    return 0;
}

static void before_body(void *context, ebb_http_call *call)
{
    one *o = context;

    o->holds++;
    ebb_http_continue(call);
}

static void check_end(one *o, const ebb_http_call *call, const ebb_err *err)
{
    const plan *p = &o->plan;
    bool well = p->kind < DROPS;

    assert_false(o->damaged);
    assert_true(o->holds <= 1);
    if (err == NULL) {
        assert_true(well);
        assert_int_equal(o->got, p->answer_n + 1);
        assert_int_equal(o->holds, p->holds);
        assert_true(ebb_http_was_sent(call));
    } else if (well) {
        (*o->failed)++;
    }
    if (err != NULL && !ebb_http_was_sent(call))
        assert_int_equal(both->seen[o->id], 0);
}

static void on_done(void *context, ebb_http_call *call, const ebb_err *err)
{
    one *o = context;

    if (o->plan.gathers && err == NULL)
        look_at(o, ebb_http_body(call)->bytes, ebb_http_body(call)->n);
    check_end(o, call, err);
    o->dones++;
    o->live = false;
    free(o->body);
}

static void begin(one *o, fixture *f, unsigned id, unsigned *failed)
{
    char url[64], number[16];
    ebb_http_header header = { "X-Mine", number };
    ebb_err err = { 0 };
    plan p = plan_of(id);
    ebb_http_request request = { .method = p.has_body ? "POST" : "GET",
                                 .url = url,
                                 .headers = &header,
                                 .headers_count = p.has_header,
                                 .accept_gzip = p.gzip,
                                 .body_max = LARGE_MAX + 1,
                                 .gathers = p.gathers,
                                 .once = p.once,
                                 .unheld = p.unheld,
                                 .before_body = p.holds ? before_body : NULL,
                                 .context = o,
                                 .on_head = on_head,
                                 .on_body = on_body,
                                 .on_done = on_done };

    *o = (one){ .f = f, .id = id, .plan = p, .live = true, .failed = failed };
    snprintf(url, sizeof url, "%.*s/%u", (int)(strlen(f->url) - 6), f->url, id);
    snprintf(number, sizeof number, "%u", id);
    if (p.kind == HANGS)
        request.limits.idle_ms = 30;
    if (p.has_body) {
        o->body = malloc(p.body_n);
        memset(o->body, byte_of(id), p.body_n);
        request.body = o->body;
        request.body_n = p.body_n;
    }
    o->call = ebb_http_start(f->client, &request, &err);
    assert_string_equal(err.msg, "");
}

static void cancel_some(one *all, uint32_t turn)
{
    one *o = &all[turn % LIVE_MAX];

    if (!o->live || !o->plan.cancels || mixed(turn) % 5 != 0)
        return;
    ebb_http_cancel(o->call);
    o->live = false;
    free(o->body);
}

static bool any_live(const one *all)
{
    for (int i = 0; i < LIVE_MAX; i++)
        if (all[i].live)
            return true;
    return false;
}

static void each_call_is_as_if_it_were_the_only_one(void **state)
{
    const char *given = getenv("EBB_MIX_CALLS");
    unsigned calls = given != NULL ? (unsigned)atoi(given) : 1500;
    fixture *f = *state;
    one *all = calloc(LIVE_MAX, sizeof *all);
    unsigned next = 0, failed = 0, sent_once = 0;
    pid_t server;

    assert_true(calls <= CALLS_MAX);
    both = mmap(NULL, sizeof *both, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(both, MAP_FAILED);
    server = start_server(f->listen_fd);
    for (uint32_t turn = 0; next < calls || any_live(all); turn++) {
        /* Now one after the other, now many at once. */
        int live_max = next / 100 % 3 == 0 ? 1 : LIVE_MAX;
        for (int i = 0; i < live_max && next < calls; i++)
            if (!all[i].live)
                begin(&all[i], f, next++, &failed);
        ebb_loop_run(f->loop, 5);
        cancel_some(all, turn);
        if (both->wrong[0] != '\0')
            fail_msg("%s", both->wrong);
    }
    for (unsigned id = 0; id < calls; id++) {
        plan p = plan_of(id);
        if (p.has_body && both->seen[id] > 1)
            fail_msg("call %u was received %u times", id, both->seen[id]);
        sent_once += both->seen[id] == 1;
    }
    print_message("# %u calls, %u received once, %u failed beside %u left\n",
                  calls, sent_once, failed, both->left);
    assert_true(failed <= both->left);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    munmap(both, sizeof *both);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            each_call_is_as_if_it_were_the_only_one, calls_setup,
            calls_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
