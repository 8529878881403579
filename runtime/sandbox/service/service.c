/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sockaddr_un and its size are Linux's */

#include "sandbox/service/service.h"

#include "base/digest.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/service/control/describe.h"
#include "sandbox/service/control/idempotency.h"
#include "sandbox/service/lifecycle.h"
#include "sandbox/service/box/limits.h"
#include "sandbox/service/lock.h"
#include "sandbox/service/control/metrics.h"
#include "sandbox/service/recover.h"
#include "sandbox/service/routes.h"
#include "sandbox/service/table.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LINGER_LOOK_MS 1000
#define KEY_PREFIX     "e2b_"
#define KEY_DIGITS     40

ebb_loop *ebb_service_loop(const ebb_service *service)
{
    return service->loop;
}

/* ---- opening ---- */

static int open_state(ebb_service *service, ebb_err *err)
{
    const char *dir = service->config.state_dir;
    /* Each sandbox's own uid must reach its directory, and nothing else. */
    mode_t mode = geteuid() == 0 ? 0711 : 0700;

    if (ebb_fs_make_dirs(dir, mode, err) != 0 ||
        ebb_fs_check_own_dir(dir, err) != 0)
        return -1;
    service->sandboxes_dir = ebb_fs_join(dir, "sandboxes");
    if (service->sandboxes_dir == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "state directory");
    service->lock_fd = ebb_lock_open(dir, err);
    if (service->lock_fd < 0 ||
        ebb_fs_make_dirs(service->sandboxes_dir, mode, err) != 0)
        return -1;
    if (chmod(dir, mode) != 0 || chmod(service->sandboxes_dir, mode) != 0)
        return ebb_err_set_errno(err, EBB_NO_SERVICE, "chmod %s", dir);
    return 0;
}

/*
 * Sandboxes of two services on one machine should not share a uid, so each
 * begins somewhere in the range.
 */
static int choose_uids(ebb_service *service, ebb_err *err)
{
    if (service->config.uid_first == 0)
        service->config.uid_first = EBB_UID_FIRST;
    if (service->config.uid_count == 0)
        service->config.uid_count = EBB_UID_COUNT;
    return ebb_digest_random(&service->uid_next, sizeof service->uid_next, err);
}

static int make_key(ebb_service *service, ebb_err *err)
{
    char *key = service->config.api_keys[0];

    if (service->config.host == NULL || service->config.api_keys_count > 0)
        return 0;
    service->config.api_keys_count = 1;
    memcpy(key, KEY_PREFIX, sizeof KEY_PREFIX);
    return ebb_id_hex(key + sizeof KEY_PREFIX - 1, KEY_DIGITS + 1, err);
}

/* A socket that nobody serves is left over and may be replaced. */
static int check_socket_is_free(const char *path, ebb_err *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    bool served;
    int fd;

    if (strlen(path) >= sizeof address.sun_path)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "the socket's path is longer than %zu bytes",
                           sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return ebb_err_set_errno(err, EBB_NO_SERVICE, "make a socket");
    served =
        connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    if (served)
        return ebb_err_set(err, EBB_CONFLICT, "another service listens at %s",
                           path);
    return 0;
}

static int listen_local(ebb_service *service, ebb_err *err)
{
    ebb_http_server_config config;

    if (service->config.socket_path == NULL)
        return 0;
    if (check_socket_is_free(service->config.socket_path, err) != 0)
        return -1;
    ebb_http_server_config_init(&config);
    config.socket_path = service->config.socket_path;
    config.on_request = ebb_routes_start;
    config.context = service;
    service->local = ebb_http_server_open(service->loop, &config, err);
    return service->local != NULL ? 0 : -1;
}

static int listen_tcp(ebb_service *service, ebb_err *err)
{
    const char *host = service->config.host;
    ebb_http_server_config config;

    if (host == NULL)
        return 0;
    ebb_http_server_config_init(&config);
    config.host = host;
    config.port = service->config.port;
    config.on_request = ebb_routes_start;
    config.context = service;
    service->tcp = ebb_http_server_open(service->loop, &config, err);
    if (service->tcp == NULL)
        return ebb_err_wrap(err, "port %u", (unsigned)config.port);
    service->url = ebb_mem_printf(
        strchr(host, ':') != NULL ? "http://[%s]:%u" : "http://%s:%u", host,
        (unsigned)ebb_http_server_port(service->tcp));
    if (service->url == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "URL");
    return 0;
}

/* ---- what happens by itself ---- */

static void sample_all(void *context)
{
    ebb_service *service = context;
    ebb_sandbox *s;

    for (s = service->sandboxes; s != NULL; s = s->next)
        if (s->state == EBB_SANDBOX_RUNNING)
            ebb_metrics_sample(s);
    ebb_loop_timer_start(service->meter_timer, EBB_METRICS_PERIOD_MS);
}

static void look_for_use(void *context)
{
    ebb_service *service = context;
    int64_t now = ebb_loop_now_ms(service->loop);

    if (!ebb_service_is_idle(service, 0))
        service->idle_since_ms = -1;
    else if (service->idle_since_ms < 0)
        service->idle_since_ms = now;
    else if (now - service->idle_since_ms >= service->config.linger_ms)
        service->lingered = true;
    ebb_loop_timer_start(service->linger_timer, LINGER_LOOK_MS);
}

static int start_timers(ebb_service *service, ebb_err *err)
{
    service->meter_timer =
        ebb_loop_timer_new(service->loop, sample_all, service);
    service->linger_timer =
        ebb_loop_timer_new(service->loop, look_for_use, service);
    if (service->meter_timer == NULL || service->linger_timer == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "timers");
    ebb_loop_timer_start(service->meter_timer, EBB_METRICS_PERIOD_MS);
    service->idle_since_ms = ebb_loop_now_ms(service->loop);
    if (service->config.linger_ms > 0)
        ebb_loop_timer_start(service->linger_timer, LINGER_LOOK_MS);
    return 0;
}

static int open_all(ebb_service *service, ebb_err *err)
{
    service->graves = ebb_table_new_graves();
    service->idempotency = ebb_idempotency_new(err);
    if (service->graves == NULL || service->idempotency == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "service");
    if (ebb_box_check(err) != 0 ||
        ebb_limits_check(&service->config.limits, err) != 0 ||
        open_state(service, err) != 0 || choose_uids(service, err) != 0 ||
        make_key(service, err) != 0 || ebb_recover_start(service, err) != 0 ||
        listen_local(service, err) != 0 || listen_tcp(service, err) != 0)
        return -1;
    return start_timers(service, err);
}

ebb_service *ebb_service_open(ebb_loop *loop, const ebb_service_config *config,
                              ebb_err *err)
{
    ebb_service *service = ebb_mem_zero(sizeof *service);

    if (service == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "service");
        return NULL;
    }
    service->loop = loop;
    service->config = *config;
    service->lock_fd = -1;
    if (open_all(service, err) == 0)
        return service;
    ebb_service_close(service);
    return NULL;
}

/* ---- the end ---- */

static bool is_on_disk_only(const ebb_sandbox *s)
{
    return s->state == EBB_SANDBOX_PAUSED && s->box == NULL;
}

/* It will be on disk only in a moment. */
static bool is_leaving_memory(const ebb_sandbox *s)
{
    return s->state == EBB_SANDBOX_PAUSING && s->life->stopping;
}

static void stop_listening(ebb_service *service)
{
    if (service->local != NULL) {
        ebb_http_server_close(service->local);
        unlink(service->config.socket_path);
    }
    if (service->tcp != NULL)
        ebb_http_server_close(service->tcp);
    service->local = service->tcp = NULL;
}

void ebb_service_stop(ebb_service *service)
{
    ebb_sandbox *s;

    service->stopping = true;
    stop_listening(service);
    for (s = service->sandboxes; s != NULL; s = s->next)
        if (!is_on_disk_only(s) && !is_leaving_memory(s))
            ebb_lifecycle_kill(s, "the service was stopped");
}

bool ebb_service_is_stopped(const ebb_service *service)
{
    const ebb_sandbox *s;

    for (s = service->sandboxes; s != NULL; s = s->next)
        if (!is_on_disk_only(s))
            return false;
    return true;
}

void ebb_service_close(ebb_service *service)
{
    if (service == NULL)
        return;
    stop_listening(service);
    while (service->sandboxes != NULL) {
        ebb_sandbox *s = service->sandboxes;

        ebb_table_del(service, s, NULL);
        if (is_on_disk_only(s))
            ebb_lifecycle_free(s);
    }
    ebb_loop_timer_free(service->meter_timer);
    ebb_loop_timer_free(service->linger_timer);
    ebb_idempotency_free(service->idempotency);
    ebb_mem_free(service->graves);
    ebb_mem_free(service->sandboxes_dir);
    ebb_mem_free(service->url);
    ebb_lock_close(service->lock_fd);
    ebb_mem_free(service);
}

bool ebb_service_is_idle(const ebb_service *service, unsigned mine)
{
    const ebb_sandbox *s;
    unsigned connections = 0;

    if (service->local != NULL)
        connections += ebb_http_server_connections(service->local);
    if (service->tcp != NULL)
        connections += ebb_http_server_connections(service->tcp);
    for (s = service->sandboxes; s != NULL; s = s->next)
        if (!is_on_disk_only(s))
            return false;
    return connections <= mine;
}
