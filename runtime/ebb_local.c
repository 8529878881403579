/* SPDX-License-Identifier: MIT */

/*
 * Finds this user's local service, or starts it, without blocking the loop:
 * connect; if nobody answers, take the lock that lets one starter in, start,
 * wait for the line that says it serves; then ask for its version.
 */

#include "ebb_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

#define START_MS 20000
#define LOCK_RETRY_MS 20
#define READY_BYTES_MAX 4096
#define VERSION_BYTES_MAX 65536
#define REPLACE_MS 10000
#define REPLACES_MAX 3
#define VANISHED_MAX 5
#define BUSY_MAX 10
#define AGAIN_MS 50

typedef struct waiter {
    struct waiter *next;
    ebb_local_fn *done;
    void *context;
} waiter;

struct ebb_local {
    ebb_runtime *rt;
    char *socket_path;
    waiter *waiters;
    ebb_loop_timer *timer; /* tries the lock again; bounds the start */
    int64_t give_up_ms;
    int lock_fd;  /* -1: not ours */
    int ready_fd; /* -1: nothing was started */
    ebb_loop_watch *ready_watch;
    ebb_buf ready;
    ebb_http_call *asking;
    ebb_buf answer;
    int replaced; /* services of another version that were stopped */
    int vanished; /* connections that ended without an answer */
    int busy;     /* times that a service of another version was not idle */
    bool started; /* what serves now was started here */
};

static void look(void *context);

/* Back to where nothing goes on; the path stays known. */
static void rest(ebb_local *local)
{
    ebb_loop_timer_cancel(local->timer);
    ebb_loop_watch_free(local->ready_watch);
    local->ready_watch = NULL;
    if (local->ready_fd >= 0)
        close(local->ready_fd);
    if (local->lock_fd >= 0)
        close(local->lock_fd);
    local->ready_fd = local->lock_fd = -1;
    if (local->asking != NULL)
        ebb_http_cancel(local->asking);
    local->asking = NULL;
    ebb_buf_clear(&local->ready);
    ebb_buf_clear(&local->answer);
}

/* Tells everyone who waits; err NULL: the service is there. */
static void answer_all(ebb_local *local, const ebb_err *err)
{
    waiter *waiters = local->waiters;

    local->waiters = NULL;
    rest(local);
    while (waiters != NULL) {
        waiter *w = waiters;
        waiters = w->next;
        w->done(w->context, err == NULL ? local->socket_path : NULL, err);
        ebb_mem_free(w);
    }
}

/* ---- asking for the version ---- */

static int collect(void *context, ebb_http_call *call, const char *bytes,
                   size_t n)
{
    ebb_local *local = context;

    (void)call;
    return ebb_buf_add(&local->answer, bytes, n);
}

/* Looks again in a moment, from the beginning. */
static void look_again(ebb_local *local)
{
    rest(local);
    local->started = false; /* another one may serve by then */
    ebb_loop_timer_start(local->timer, AGAIN_MS);
}

/*
 * What was started a moment ago is of another version: no other start makes
 * it better, so it is said, and what nobody can use ends again.
 */
static void refuse_own(ebb_local *local, const ebb_value *about)
{
    int pid = (int)ebb_value_find_int(about, "pid", 0);
    ebb_err err = { 0 }, ignored = { 0 };
    char *program = ebb_libexec("ebb-sandboxd", &ignored);

    if (pid > 1 && ebb_value_find_bool(about, "idle", false))
        ebb_launch_stop(pid, REPLACE_MS, &ignored);
    ebb_err_set(&err, EBB_NO_SERVICE,
                "the service that belongs to this program is version %.40s, "
                "and this is %.40s: install both from one build, or set "
                "EBB_LIBEXEC to where its own is (found: %s)",
                ebb_value_find_string(about, "version"), ebb_version(),
                program != NULL ? program : "nothing");
    ebb_mem_free(program);
    answer_all(local, &err);
}

/*
 * Another version serves: an idle one makes way, a busy one is named. A client
 * that has just left may count as one for a moment, so it is asked again.
 */
static void replace(ebb_local *local, const ebb_value *about)
{
    int pid = (int)ebb_value_find_int(about, "pid", 0);
    bool idle = ebb_value_find_bool(about, "idle", false);
    ebb_err err = { 0 };

    if (local->started) {
        refuse_own(local, about);
        return;
    }
    if (!idle && local->busy < BUSY_MAX) {
        local->busy++;
        look_again(local);
        return;
    }
    if (!idle || pid <= 1 || local->replaced >= REPLACES_MAX) {
        ebb_err_set(&err, EBB_NO_SERVICE,
                    "the local service (pid %d) is version %s and busy, this "
                    "is %s; stop it with `ebb serve --stop`",
                    pid, ebb_value_find_string(about, "version"),
                    ebb_version());
        answer_all(local, &err);
        return;
    }
    local->replaced++;
    if (ebb_launch_stop(pid, REPLACE_MS, &err) < 0)
        answer_all(local, &err);
    else
        look(local);
}

static void asked(void *context, ebb_http_call *call, const ebb_err *failed)
{
    ebb_local *local = context;
    ebb_err err = { 0 };
    ebb_value *about = NULL;
    const char *version;

    local->asking = NULL;
    if (failed == NULL && ebb_http_status(call) == 200)
        about = ebb_value_parse(local->answer.bytes, local->answer.n, 1000,
                                &err);
    version = ebb_value_find_string(about, "version");
    ebb_buf_reset(&local->answer);
    if (failed != NULL && failed->code == EBB_NETWORK &&
        local->vanished < VANISHED_MAX) {
        local->vanished++; /* it was ending just then */
        look_again(local);
    } else if (version == NULL) {
        ebb_err_set(&err, EBB_NO_SERVICE,
                    "what listens at %s is not ebb's service (%s)",
                    local->socket_path,
                    failed != NULL ? failed->msg : "no version");
        answer_all(local, &err);
    } else if (strcmp(version, ebb_version()) != 0) {
        replace(local, about);
    } else {
        answer_all(local, NULL);
    }
    ebb_value_free(about);
}

static void ask(ebb_local *local)
{
    ebb_http_request request = {
        .method = "GET",
        .url = "http://localhost/ebb/version",
        .socket_path = local->socket_path,
        .body_max = VERSION_BYTES_MAX,
        .limits = { .total_ms = START_MS },
        .context = local,
        .on_body = collect,
        .on_done = asked,
    };
    ebb_err err = { 0 };

    local->asking = ebb_http_start(local->rt->http, &request, &err);
    if (local->asking == NULL)
        answer_all(local, &err);
}

/* ---- starting ---- */

static void started(ebb_local *local)
{
    ebb_err err = { 0 };
    const char *line = local->ready.bytes != NULL ? local->ready.bytes : "";

    if (strncmp(line, "error: ", 7) == 0) {
        ebb_err_set(&err, EBB_NO_SERVICE, "the local service: %.*s",
                    (int)strcspn(line + 7, "\n"), line + 7);
        answer_all(local, &err);
    } else if (strchr(line, '\n') == NULL) {
        ebb_err_set(&err, EBB_NO_SERVICE,
                    "the local service ended before it served; see %s.log",
                    local->socket_path);
        answer_all(local, &err);
    } else {
        rest(local);
        local->started = true;
        ask(local);
    }
}

static void read_ready(void *context, unsigned events)
{
    ebb_local *local = context;
    char bytes[512];
    ssize_t n = read(local->ready_fd, bytes, sizeof bytes);

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && ebb_buf_add(&local->ready, bytes, (size_t)n) == 0 &&
        strchr(local->ready.bytes, '\n') == NULL)
        return;
    started(local);
}

static void start(ebb_local *local)
{
    ebb_err err = { 0 };

    local->ready_fd =
        ebb_launch_service(&local->rt->config, local->socket_path, &err);
    if (local->ready_fd >= 0) {
        fcntl(local->ready_fd, F_SETFL, O_NONBLOCK);
        local->ready_watch = ebb_loop_watch_new(
            local->rt->loop, local->ready_fd, read_ready, local, &err);
    }
    if (local->ready_watch == NULL ||
        ebb_loop_watch_set(local->ready_watch, EBB_READABLE) < 0) {
        if (err.code == EBB_OK)
            ebb_err_set(&err, EBB_NO_MEMORY, "start the local service");
        answer_all(local, &err);
        return;
    }
    ebb_loop_timer_start(local->timer, START_MS);
}

/* ---- looking ---- */

static bool is_there(const ebb_local *local)
{
    int fd = ebb_launch_connect(local->socket_path);

    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* Under the lock nobody else starts one; look again, it may be there now. */
static void look(void *context)
{
    ebb_local *local = context;
    ebb_err err = { 0 };

    if (local->ready_fd >= 0) {
        ebb_err_set(&err, EBB_NO_SERVICE,
                    "the local service does not start; see %s.log",
                    local->socket_path);
        answer_all(local, &err);
        return;
    }
    if (local->lock_fd < 0 && is_there(local)) {
        ask(local);
        return;
    }
    if (local->lock_fd < 0)
        local->lock_fd = ebb_launch_lock(local->socket_path, &err);
    if (local->lock_fd < 0 && err.code == EBB_CONFLICT &&
        ebb_loop_now_ms(local->rt->loop) < local->give_up_ms) {
        ebb_loop_timer_start(local->timer, LOCK_RETRY_MS);
        return;
    }
    if (local->lock_fd < 0)
        answer_all(local, &err);
    else if (is_there(local))
        ask(local);
    else
        start(local);
}

static ebb_local *new_local(ebb_runtime *rt, ebb_err *err)
{
    ebb_local *local = ebb_mem_zero(sizeof *local);

    if (local != NULL) {
        local->rt = rt;
        local->lock_fd = local->ready_fd = -1;
        ebb_buf_init(&local->ready, READY_BYTES_MAX);
        ebb_buf_init(&local->answer, VERSION_BYTES_MAX);
        local->timer = ebb_loop_timer_new(rt->loop, look, local);
    }
    if (local == NULL || local->timer == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "find the local service");
        ebb_mem_free(local);
        return NULL;
    }
    local->socket_path = ebb_local_socket(&rt->config, err);
    if (local->socket_path == NULL) {
        ebb_local_free(local);
        return NULL;
    }
    return local;
}

void ebb_local_find(ebb_runtime *rt, ebb_local_fn *done, void *context)
{
    ebb_err err = { 0 };
    waiter *w = ebb_mem_alloc(sizeof *w);
    bool first;

    if (rt->local == NULL)
        rt->local = new_local(rt, &err);
    if (rt->local == NULL || w == NULL) {
        if (err.code == EBB_OK)
            ebb_err_set(&err, EBB_NO_MEMORY, "find the local service");
        ebb_mem_free(w);
        done(context, NULL, &err);
        return;
    }
    first = rt->local->waiters == NULL;
    *w = (waiter){ rt->local->waiters, done, context };
    rt->local->waiters = w;
    if (first) {
        rt->local->give_up_ms = ebb_loop_now_ms(rt->loop) + START_MS;
        rt->local->replaced = rt->local->vanished = rt->local->busy = 0;
        rt->local->started = false;
        ebb_loop_timer_start(rt->local->timer, 0);
    }
}

void ebb_local_free(ebb_local *local)
{
    if (local == NULL)
        return;
    while (local->waiters != NULL) {
        waiter *w = local->waiters;
        local->waiters = w->next;
        ebb_mem_free(w);
    }
    rest(local);
    ebb_loop_timer_free(local->timer);
    ebb_mem_free(local->socket_path);
    ebb_mem_free(local);
}
