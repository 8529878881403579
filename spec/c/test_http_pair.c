/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include <sys/wait.h>

#include "base/mem.h"
#include "net/http_server.h"
#include "support/calls.h"

/* The client against the server, on one loop. */

#define SOON 10000
#define STREAM_BYTES (20u << 20)

typedef struct pair {
    ebb_loop *loop;
    ebb_http_client *client;
    ebb_http_server *server;
    char dir[32];
    char socket[64];
    char url[100];
    int closed;
    size_t written; /* of the stream */
    outcome o;
} pair;

/* Bytes that tell where in the stream they are. */
static char byte_at(size_t i)
{
    return (char)('!' + (i * 7 + i / 251) % 90);
}

static void write_more(void *context, ebb_exchange *e)
{
    pair *f = context;
    char piece[33333];

    while (f->written < STREAM_BYTES && ebb_exchange_unsent(e) < 200000) {
        size_t n = STREAM_BYTES - f->written < sizeof piece
                       ? STREAM_BYTES - f->written
                       : sizeof piece;

        for (size_t i = 0; i < n; i++)
            piece[i] = byte_at(f->written + i);
        assert_int_equal(ebb_exchange_write(e, piece, n), 0);
        f->written += n;
    }
    if (f->written == STREAM_BYTES)
        ebb_exchange_end(e);
}

static void echo(void *context, ebb_exchange *e)
{
    const ebb_buf *body = ebb_exchange_body(e);

    (void)context;
    ebb_exchange_reply(e, 200, "text/plain", body->bytes, body->n);
}

static void count_close(void *context, ebb_exchange *e)
{
    (void)e;
    ((pair *)context)->closed++;
}

static void handle(void *context, ebb_exchange *e)
{
    pair *f = context;
    const char *path = ebb_exchange_path(e);

    ebb_exchange_on_close(e, count_close, f);
    if (strcmp(path, "/echo") == 0) {
        ebb_exchange_collect(e, 64 << 20, echo, NULL);
    } else if (strcmp(path, "/stream") == 0) {
        f->written = 0;
        ebb_exchange_on_drain(e, write_more, f);
        ebb_exchange_begin(e, 200, NULL, -1);
        write_more(f, e);
    } else if (strcmp(path, "/abort") == 0) {
        ebb_exchange_begin(e, 200, NULL, -1);
        ebb_exchange_write(e, "part", 4);
        ebb_exchange_abort(e);
    } else if (strcmp(path, "/wait") != 0) {
        ebb_exchange_add_header(e, "X-Thing", "yes");
        ebb_exchange_reply(e, 200, NULL, "hello", 5);
    }
}

static void open_all(pair *f, bool on_unix)
{
    ebb_http_server_config config;
    ebb_err err = { 0 };

    ebb_http_server_config_init(&config);
    config.on_request = handle;
    config.context = f;
    config.host = "127.0.0.1";
    if (on_unix)
        config.socket_path = f->socket;
    f->loop = ebb_loop_new(NULL, &err);
    if (f->loop == NULL)
        return;
    f->server = ebb_http_server_open(f->loop, &config, &err);
    f->client = ebb_http_client_new(f->loop, &err);
}

static void close_all(pair *f)
{
    ebb_http_client_free(f->client);
    ebb_http_server_close(f->server);
    ebb_loop_free(f->loop);
    f->client = NULL;
    f->server = NULL;
    f->loop = NULL;
}

static int setup(void **state)
{
    pair *f = calloc(1, sizeof *f);

    alarm(120);
    *state = f;
    strcpy(f->dir, "/tmp/ebb-test-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->socket, sizeof f->socket, "%s/s", f->dir);
    open_all(f, false);
    assert_non_null(f->server);
    return 0;
}

static int teardown(void **state)
{
    pair *f = *state;

    close_all(f);
    rmdir(f->dir);
    ebb_buf_clear(&f->o.body);
    free(f);
    return 0;
}

static ebb_http_request request_to(pair *f, const char *method,
                                   const char *path)
{
    snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d%s",
             ebb_http_server_port(f->server), path);
    return request_for(&f->o, method, f->url);
}

static bool run(pair *f, const ebb_http_request *request)
{
    ebb_err err = { 0 };

    f->o.call = ebb_http_start(f->client, request, &err);
    assert_string_equal(err.msg, "");
    assert_true(run_to_end(&f->o, f->loop, SOON));
    return f->o.ok;
}

static void a_unix_socket_is_spoken_to_by_its_path(void **state)
{
    pair *f = *state;
    ebb_http_request request;

    close_all(f);
    open_all(f, true);
    request = request_for(&f->o, "GET", "http://localhost/x");
    request.socket_path = f->socket;
    assert_true(run(f, &request));
    assert_string_equal(f->o.body.bytes, "hello");
    assert_string_equal(f->o.header, "yes");
}

static void large_bodies_arrive_as_they_were(void **state)
{
    pair *f = *state;
    ebb_http_request request = request_to(f, "POST", "/echo");
    char *body = malloc(6000001);

    for (size_t i = 0; i < 6000001; i++)
        body[i] = byte_at(i);
    request.body = body;
    request.body_n = 6000001;
    assert_true(run(f, &request));
    assert_int_equal(f->o.body.n, 6000001);
    assert_memory_equal(f->o.body.bytes, body, 6000001);
    free(body);
}

static void a_long_stream_arrives_as_it_was(void **state)
{
    pair *f = *state;
    ebb_http_request request = request_to(f, "GET", "/stream");

    assert_true(run(f, &request));
    assert_int_equal(f->o.body.n, STREAM_BYTES);
    for (size_t i = 0; i < STREAM_BYTES; i++)
        if (f->o.body.bytes[i] != byte_at(i))
            fail_msg("byte %zu", i);
}

static void many_calls_run_at_once(void **state)
{
    pair *f = *state;
    outcome *all = calloc(300, sizeof *all);
    int64_t end = peer_now_ms() + SOON;
    int done = 0;

    for (int i = 0; i < 300; i++) {
        ebb_http_request request = request_to(f, "GET", "/x");

        request.context = &all[i];
        all[i].keep = true;
        all[i].call = ebb_http_start(f->client, &request, &(ebb_err){ 0 });
    }
    for (; done < 300 && peer_now_ms() < end; ebb_loop_run(f->loop, 5)) {
        done = 0;
        for (int i = 0; i < 300; i++)
            done += all[i].dones;
    }
    for (int i = 0; i < 300; i++) {
        assert_true(all[i].ok && all[i].body.n == 5);
        clear_outcome(&all[i]);
    }
    free(all);
}

static void an_aborted_answer_is_a_network_error(void **state)
{
    pair *f = *state;
    ebb_http_request request = request_to(f, "GET", "/abort");

    assert_false(run(f, &request));
    assert_int_equal(f->o.err.code, EBB_NETWORK);
    clear_outcome(&f->o);
    request = request_to(f, "GET", "/x"); /* and the next one is fine */
    assert_true(run(f, &request));
}

static void a_closed_server_is_a_network_error(void **state)
{
    pair *f = *state;
    ebb_http_request request = request_to(f, "GET", "/wait");

    request.once = true;
    f->o.call = ebb_http_start(f->client, &request, &(ebb_err){ 0 });
    run_for(f->loop, 30);
    ebb_http_server_close(f->server);
    f->server = NULL;
    assert_true(run_to_end(&f->o, f->loop, SOON));
    assert_int_equal(f->o.err.code, EBB_NETWORK);
    assert_true(f->o.sent);
    assert_int_equal(f->closed, 1);
}

static void a_cancelled_call_closes_the_servers_exchange(void **state)
{
    pair *f = *state;
    ebb_http_request request = request_to(f, "GET", "/wait");

    f->o.call = ebb_http_start(f->client, &request, &(ebb_err){ 0 });
    run_for(f->loop, 30);
    assert_int_equal(f->closed, 0);
    ebb_http_cancel(f->o.call);
    for (int i = 0; i < 1000 && f->closed == 0; i++)
        ebb_loop_run(f->loop, 10);
    assert_int_equal(f->closed, 1);
}

static void a_proxy_is_for_others_than_this_host(void **state)
{
    pair *f = *state;
    uint16_t port = 0;
    int listen_fd = peer_listen(&port);
    char proxy[64];
    ebb_http_request request;
    peer p;

    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", port);
    setenv("http_proxy", proxy, 1);
    request = request_to(f, "GET", "/x");
    assert_true(run(f, &request));
    clear_outcome(&f->o);
    request = request_for(&f->o, "GET", "http://far.invalid/x");
    f->o.call = ebb_http_start(f->client, &request, &(ebb_err){ 0 });
    p = accept_peer(listen_fd, f->loop, SOON);
    assert_true(peer_wait(&p, f->loop, "GET http://far.invalid/x ", SOON));
    peer_close(&p);
    assert_true(run_to_end(&f->o, f->loop, SOON));
    unsetenv("http_proxy");
    close(listen_fd);
}

/* Serves TLS with a certificate that nobody vouches for. */
static pid_t serve_tls(const pair *f, uint16_t port)
{
    char command[600];
    pid_t pid;

    snprintf(command, sizeof command,
             "cd %s && openssl req -x509 -newkey rsa:2048 -nodes -days 2 "
             "-subj /CN=127.0.0.1 -keyout k -out c >/dev/null 2>&1 && "
             "exec openssl s_server -quiet -www -accept 127.0.0.1:%d "
             "-key k -cert c >/dev/null 2>&1", f->dir, port);
    pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void a_certificate_that_nobody_vouches_for_is_refused(void **state)
{
    pair *f = *state;
    uint16_t port = 0;
    int64_t end = peer_now_ms() + SOON;
    char path[64];
    pid_t pid;
    peer p;

    close(peer_listen(&port));
    pid = serve_tls(f, port);
    do {
        usleep(50000);
        p = peer_connect(port);
        if (p.fd >= 0)
            close(p.fd);
    } while (p.fd < 0 && peer_now_ms() < end);
    snprintf(f->url, sizeof f->url, "https://127.0.0.1:%d/", port);
    ebb_http_request request = request_for(&f->o, "GET", f->url);
    run(f, &request);
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%c", f->dir, "kc"[i]);
        unlink(path);
    }
    assert_int_equal(f->o.err.code, EBB_NETWORK);
    if (strstr(f->o.err.msg, "certificate") == NULL)
        fail_msg("%s", f->o.err.msg);
    assert_false(f->o.sent);
}

/* ---- memory ---- */

typedef struct counted {
    long left; /* allocations until one fails */
    long live;
} counted;

static void *resize(void *context, void *block, size_t size)
{
    counted *c = context;
    void *resized;

    if (size == 0) {
        c->live -= block != NULL;
        free(block);
        return NULL;
    }
    if (c->left-- == 0)
        return NULL;
    resized = realloc(block, size);
    c->live += block == NULL;
    return resized;
}

/* One exchange with the nth allocation failing; true if none failed. */
static bool exchange_with_failure(pair *f, counted *c, long n)
{
    int64_t end = peer_now_ms() + SOON;

    c->left = n;
    open_all(f, false);
    if (f->server != NULL && f->client != NULL) {
        ebb_http_request request = request_to(f, "POST", "/echo");
        ebb_http_header header = { "X-One", "1" };

        request.headers = &header;
        request.headers_count = 1;
        request.body = "body";
        request.body_n = 4;
        request.limits.total_ms = 60000; /* never reached */
        f->o.keep = false;
        f->o.call = ebb_http_start(f->client, &request, &(ebb_err){ 0 });
        while (f->o.call != NULL && f->o.dones == 0) {
            assert_true(peer_now_ms() < end);
            ebb_loop_run(f->loop, 10);
        }
    }
    close_all(f);
    return c->left >= 0;
}

static void each_allocation_may_fail(void **state)
{
    pair *f = *state;
    counted c = { 0 };
    ebb_allocator allocator = { resize, &c };
    long n = 0;
    bool whole = false;

    close_all(f);
    ebb_mem_set(&allocator);
    while (!whole && n < 1000) {
        whole = exchange_with_failure(f, &c, n);
        assert_int_equal(c.live, 0);
        assert_true(whole || !f->o.ok);
        if (!whole)
            clear_outcome(&f->o);
        n++;
    }
    ebb_mem_set(NULL);
    assert_in_range(n, 20, 999);
    assert_true(f->o.ok);
    assert_int_equal(f->o.body_n, 4);
}

#define PAIRED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PAIRED(a_unix_socket_is_spoken_to_by_its_path),
        PAIRED(large_bodies_arrive_as_they_were),
        PAIRED(a_long_stream_arrives_as_it_was),
        PAIRED(many_calls_run_at_once),
        PAIRED(an_aborted_answer_is_a_network_error),
        PAIRED(a_closed_server_is_a_network_error),
        PAIRED(a_cancelled_call_closes_the_servers_exchange),
        PAIRED(a_proxy_is_for_others_than_this_host),
        PAIRED(a_certificate_that_nobody_vouches_for_is_refused),
        PAIRED(each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
