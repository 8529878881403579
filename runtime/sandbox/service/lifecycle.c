/* SPDX-License-Identifier: MIT */
#include "sandbox/service/lifecycle.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "sandbox/service/control/logs.h"
#include "sandbox/service/control/metrics.h"
#include "sandbox/service/state.h"
#include "sandbox/service/table.h"

#define LOGGER "sandbox"

static int64_t wall_ms(void)
{
    return ebb_clock_wall_ms(ebb_clock_real());
}

static int64_t steady_ms(void)
{
    return ebb_clock_steady_ms(ebb_clock_real());
}

/* A lost write costs no more than a sandbox forgotten after a crash. */
static void save(ebb_sandbox *s)
{
    ebb_err err;

    if (ebb_state_write(s, &err) != 0)
        ebb_log_write(EBB_LOG_WARN, "%s", err.msg);
}

static void free_parts(ebb_sandbox *s)
{
    ebb_interpreter_free(s->interpreter);
    ebb_envd_free(s->envd);
    s->interpreter = NULL;
    s->envd = NULL;
}

static int make_parts(ebb_sandbox *s, ebb_err *err)
{
    s->envd = ebb_envd_new(s, err);
    if (s->envd != NULL)
        s->interpreter = ebb_interpreter_new(s, err);
    if (s->interpreter != NULL)
        return 0;
    free_parts(s);
    return -1;
}

static void drop_box(ebb_sandbox *s)
{
    ebb_box_free(s->box);
    s->box = NULL;
    s->life->frozen = false;
    s->life->stopping = false;
    s->life->pid = 0;
}

/* ---- the end of everything ---- */

static void buried(void *context, const ebb_err *err)
{
    ebb_sandbox *s = context;
    const ebb_err *why = s->life->error.code != EBB_OK ? &s->life->error : NULL;

    if (err != NULL)
        ebb_log_write(EBB_LOG_WARN, "remove sandbox %s: %s", s->id, err->msg);
    ebb_table_del(s->service, s, s->life->born ? s->life->cause : NULL);
    ebb_waiter_settle(s, true, why);
    ebb_lifecycle_free(s);
}

static void bury(ebb_sandbox *s)
{
    ebb_logs_close(s->log);
    s->log = NULL;
    ebb_state_del(s);
    ebb_remover_start(&s->life->remover, s->service->loop, s->dir, buried, s);
}

/* ---- the box ---- */

static void end_of_time(void *context)
{
    ebb_sandbox *s = context;

    if (s->state != EBB_SANDBOX_RUNNING)
        return;
    if (s->life->auto_pause) {
        ebb_sandbox_log_add(s, "info", LOGGER, "the timeout has passed");
        ebb_lifecycle_pause(s, s->life->auto_pause_memory);
    } else {
        ebb_lifecycle_kill(s, "its timeout passed");
    }
}

static void arm(ebb_sandbox *s)
{
    int64_t left = s->life->end_steady_ms - steady_ms();

    ebb_loop_timer_start(s->expiry, left > 0 ? left : 0);
}

static void set_end(ebb_sandbox *s, int64_t timeout_ms)
{
    s->life->end_steady_ms = steady_ms() + timeout_ms;
    s->end_ms = wall_ms() + timeout_ms;
    arm(s);
}

/* Its end counts from now, however long the start took. */
static void enter_running(ebb_sandbox *s)
{
    s->state = EBB_SANDBOX_RUNNING;
    s->life->born = true;
    s->life->pid = ebb_box_pid(s->box);
    s->life->pid_start = ebb_state_pid_start(s->life->pid);
    set_end(s, s->life->timeout_ms);
    save(s);
    ebb_metrics_sample(s);
    ebb_waiter_settle(s, false, NULL);
}

/* A box that did not start: a new sandbox ends, a paused one stays paused. */
static void fail_start(ebb_sandbox *s, const ebb_err *err)
{
    ebb_log_write(EBB_LOG_ERROR, "sandbox %s did not start: %s", s->id,
                  err->msg);
    if (s->life->born) {
        s->state = EBB_SANDBOX_PAUSED;
        s->end_ms = s->paused_ms;
        ebb_sandbox_log_add(s, "error", LOGGER, "resume failed: %s", err->msg);
        ebb_waiter_settle(s, false, err);
        return;
    }
    s->life->error = *err;
    s->state = EBB_SANDBOX_KILLING;
    bury(s);
}

static void on_ready(void *context, ebb_box *box, const ebb_err *err)
{
    ebb_sandbox *s = context;
    ebb_err parts, why;

    (void)box;
    if (s->state != EBB_SANDBOX_STARTING)
        return;
    if (err != NULL) {
        why = *err; /* the box's own, which goes with it */
        drop_box(s);
        fail_start(s, &why);
    } else if (make_parts(s, &parts) != 0) {
        s->life->error = parts;
        ebb_lifecycle_kill(s, "its server parts could not be made");
    } else {
        ebb_sandbox_log_add(s, "info", LOGGER, "started, network: %s",
                            s->network ? "the host's" : "none");
        enter_running(s);
    }
}

static void on_death(void *context, ebb_box *box)
{
    ebb_sandbox *s = context;

    (void)box;
    if (s->state == EBB_SANDBOX_KILLING)
        return;
    ebb_log_write(EBB_LOG_WARN, "sandbox %s: its first process ended", s->id);
    s->state = EBB_SANDBOX_KILLING;
    s->life->cause = "its first process ended";
    ebb_loop_timer_cancel(s->expiry);
    free_parts(s);
    drop_box(s);
    bury(s);
}

static void on_exit(void *context, ebb_box *box, uint32_t pid, int status)
{
    ebb_sandbox *s = context;

    (void)box;
    if (s->envd != NULL && ebb_envd_exited(s->envd, pid, status))
        return;
    if (s->interpreter != NULL)
        ebb_interpreter_exited(s->interpreter, pid, status);
}

static int start_box(ebb_sandbox *s, ebb_err *err)
{
    ebb_box_config config = { .id = s->id,
                              .dir = s->dir,
                              .uid = s->uid,
                              .network = s->network,
                              .limits = s->service->config.limits,
                              .context = s,
                              .on_ready = on_ready,
                              .on_death = on_death,
                              .on_exit = on_exit };

    s->state = EBB_SANDBOX_STARTING;
    s->box = ebb_box_start(s->service->loop, &config, err);
    return s->box != NULL ? 0 : -1;
}

static void enter_paused(ebb_sandbox *s)
{
    s->state = EBB_SANDBOX_PAUSED;
    s->paused_ms = wall_ms();
    s->end_ms = s->paused_ms;
    save(s);
    ebb_waiter_settle(s, false, NULL);
}

/* Deferred, so that who resumes can wait for the outcome first. */
static void start_again(void *context)
{
    ebb_sandbox *s = context;
    ebb_err err;

    if (s->state == EBB_SANDBOX_STARTING && start_box(s, &err) != 0)
        fail_start(s, &err);
}

static void on_stopped(void *context)
{
    ebb_sandbox *s = context;

    drop_box(s);
    if (s->state == EBB_SANDBOX_KILLING) {
        bury(s);
    } else if (s->state == EBB_SANDBOX_PAUSING) {
        ebb_sandbox_log_add(s, "info", LOGGER, "paused without memory");
        enter_paused(s);
    } else {
        start_again(s);
    }
}

static void stop_box(ebb_sandbox *s)
{
    free_parts(s);
    if (s->life->stopping)
        return;
    s->life->stopping = true;
    ebb_box_stop(s->box, on_stopped, s);
}

static void on_frozen(void *context, const ebb_err *err)
{
    ebb_sandbox *s = context;

    if (s->state != EBB_SANDBOX_PAUSING)
        return;
    if (err == NULL) {
        s->life->frozen = true;
        ebb_sandbox_log_add(s, "info", LOGGER, "paused");
        enter_paused(s);
        return;
    }
    ebb_sandbox_log_add(s, "error", LOGGER, "pause failed: %s", err->msg);
    s->state = EBB_SANDBOX_RUNNING;
    s->life->auto_pause = false;
    arm(s);
    ebb_waiter_settle(s, false, err);
}

static void on_thawed(void *context, const ebb_err *err)
{
    ebb_sandbox *s = context;

    if (s->state != EBB_SANDBOX_STARTING)
        return;
    if (err != NULL) {
        fail_start(s, err);
        return;
    }
    s->life->frozen = false;
    ebb_sandbox_log_add(s, "info", LOGGER, "resumed");
    enter_running(s);
}

/* ---- what others ask for ---- */

ebb_sandbox *ebb_lifecycle_new(ebb_service *service, const char *name)
{
    return ebb_sandbox_new(service, name, end_of_time);
}

static int begin(ebb_sandbox *s, ebb_err *err)
{
    if (ebb_state_make_dir(s, err) != 0)
        return -1;
    s->log = ebb_logs_open(s->dir, false, err);
    s->meter = ebb_metrics_new(err);
    if (s->log == NULL || s->meter == NULL)
        return -1;
    return start_box(s, err);
}

ebb_sandbox *ebb_lifecycle_start(ebb_service *service,
                                 const ebb_lifecycle_spec *spec, ebb_err *err)
{
    ebb_sandbox *s = ebb_sandbox_new(service, NULL, end_of_time);
    ebb_err dropped;

    if (s == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "create sandbox");
        return NULL;
    }
    if (ebb_table_name(service, s, spec->secured, err) != 0 ||
        ebb_sandbox_set(s, spec, err) != 0)
        goto failed;
    s->started_ms = wall_ms();
    s->life->timeout_ms = spec->timeout_ms;
    if (begin(s, err) != 0) {
        ebb_fs_remove_tree(s->dir, &dropped);
        goto failed;
    }
    ebb_table_add(service, s);
    return s;
failed:
    ebb_lifecycle_free(s);
    return NULL;
}

int ebb_lifecycle_adopt(ebb_sandbox *sandbox, ebb_err *err)
{
    sandbox->log = ebb_logs_open(sandbox->dir, true, err);
    sandbox->meter = ebb_metrics_new(err);
    if (sandbox->log == NULL || sandbox->meter == NULL)
        return -1;
    sandbox->life->born = true;
    sandbox->life->pid = 0;
    ebb_table_add(sandbox->service, sandbox);
    return 0;
}

void ebb_lifecycle_pause(ebb_sandbox *sandbox, bool memory)
{
    ebb_loop_timer_cancel(sandbox->expiry);
    sandbox->state = EBB_SANDBOX_PAUSING;
    if (!memory) {
        stop_box(sandbox);
        return;
    }
    ebb_envd_cancel(sandbox->envd);
    ebb_interpreter_cancel(sandbox->interpreter);
    ebb_box_freeze(sandbox->box, on_frozen, sandbox);
}

void ebb_lifecycle_resume(ebb_sandbox *sandbox, int64_t timeout_ms, bool memory)
{
    sandbox->life->timeout_ms = timeout_ms;
    sandbox->state = EBB_SANDBOX_STARTING;
    if (sandbox->box != NULL && memory)
        ebb_box_thaw(sandbox->box, on_thawed, sandbox);
    else if (sandbox->box != NULL)
        stop_box(sandbox);
    else
        ebb_loop_defer(sandbox->service->loop, start_again, sandbox);
}

void ebb_lifecycle_kill(ebb_sandbox *sandbox, const char *cause)
{
    if (sandbox->state == EBB_SANDBOX_KILLING)
        return;
    ebb_log_write(EBB_LOG_INFO, "sandbox %s ends: %s", sandbox->id, cause);
    ebb_loop_timer_cancel(sandbox->expiry);
    sandbox->state = EBB_SANDBOX_KILLING;
    sandbox->life->cause = cause;
    if (sandbox->box != NULL)
        stop_box(sandbox);
    else
        bury(sandbox);
}

void ebb_lifecycle_set_end(ebb_sandbox *sandbox, int64_t timeout_ms,
                           bool extend_only)
{
    int64_t end = steady_ms() + timeout_ms;

    if (extend_only && end <= sandbox->life->end_steady_ms)
        return;
    set_end(sandbox, timeout_ms);
}

void ebb_lifecycle_free(ebb_sandbox *sandbox)
{
    if (sandbox == NULL)
        return;
    ebb_loop_defer_cancel(sandbox->service->loop, start_again, sandbox);
    free_parts(sandbox);
    ebb_sandbox_free(sandbox);
}
