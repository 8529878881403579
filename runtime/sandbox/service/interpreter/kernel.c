/* SPDX-License-Identifier: MIT */
#include "sandbox/service/interpreter/kernel.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/service/environment.h"
#include "sandbox/service/interpreter/frames.h"

#define READ_BYTES         65536
#define TAIL_BYTES         160 /* of standard error, for a failed start */
#define LAST_READS_MAX     32  /* after the exit: 2 MiB */
#define MESSAGE_VALUES_MAX 500000

typedef enum kernel_state {
    SPAWNING, /* the box has been asked for the process */
    STARTING, /* until its first word */
    IDLE,
    RUNNING,
    DEAD
} kernel_state;

typedef struct kernel_pipe {
    ebb_kernel *kernel;
    ebb_kernel_stream stream;
    int fd;
    ebb_loop_watch *watch;
    ebb_frames frames;
    bool ended; /* the active run's end was said here */
} kernel_pipe;

struct ebb_kernel {
    ebb_loop *loop;
    ebb_box *box;
    const ebb_language *language;
    ebb_kernel_events events;
    char nonce[EBB_FRAMES_NONCE_BYTES];
    kernel_state state;
    bool asked;  /* the box still has to answer */
    bool orphan; /* freed while the box still has to answer */
    bool held;
    uint32_t pid;
    int64_t run;
    int status; /* of the run, as the end said */
    kernel_pipe pipes[2];
    int request_fd;
    ebb_loop_watch *request_watch;
    ebb_buf request;       /* what the kernel has not taken yet */
    ebb_err unavailable;   /* code EBB_OK unless it said so */
    ebb_loop_timer *limit; /* of the start or of an interrupt */
    char tail[TAIL_BYTES + 1];
    size_t tail_n;
};

static void ignore(void *context, const ebb_err *err)
{
    (void)context;
    (void)err;
}

static void signal_group(ebb_kernel *kernel, int signum)
{
    if (kernel->pid != 0 && kernel->state != DEAD) {
        ebb_box_signal(kernel->box, kernel->pid, signum, true, ignore, NULL);
    }
}

static void close_pipes(ebb_kernel *kernel)
{
    for (size_t i = 0; i < 2; i++) {
        kernel_pipe *pipe = &kernel->pipes[i];
        ebb_loop_watch_free(pipe->watch);
        pipe->watch = NULL;
        if (pipe->fd >= 0) {
            close(pipe->fd);
            pipe->fd = -1;
        }
    }
    ebb_loop_watch_free(kernel->request_watch);
    kernel->request_watch = NULL;
    if (kernel->request_fd >= 0) {
        close(kernel->request_fd);
        kernel->request_fd = -1;
    }
}

static void destroy(ebb_kernel *kernel)
{
    close_pipes(kernel);
    ebb_frames_clear(&kernel->pipes[0].frames);
    ebb_frames_clear(&kernel->pipes[1].frames);
    ebb_buf_clear(&kernel->request);
    ebb_loop_timer_free(kernel->limit);
    ebb_mem_free(kernel);
}

/* It will never be ready. The process, if there is one, is killed. */
static void fail_start(ebb_kernel *kernel, const ebb_err *err)
{
    signal_group(kernel, SIGKILL);
    kernel->state = DEAD;
    ebb_loop_timer_cancel(kernel->limit);
    close_pipes(kernel);
    kernel->events.on_ready(kernel->events.context, err);
}

/* ---- requests ---- */

static void send_request(ebb_kernel *kernel)
{
    while (kernel->request.n > 0) {
        ssize_t n =
            write(kernel->request_fd, kernel->request.bytes, kernel->request.n);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            ebb_loop_watch_set(kernel->request_watch, EBB_WRITABLE);
            return;
        }
        if (n < 0) {
            break; /* it is dying; its exit tells the rest */
        }
        ebb_buf_drop(&kernel->request, (size_t)n);
    }
    ebb_buf_clear(&kernel->request);
    ebb_loop_watch_set(kernel->request_watch, 0);
}

static void request_writable(void *context, unsigned events)
{
    (void)events;
    send_request(context);
}

/* ---- what the kernel says ---- */

static void end_run(ebb_kernel *kernel)
{
    if (kernel->pipes[0].ended && kernel->pipes[1].ended) {
        kernel->state = IDLE;
        ebb_loop_timer_cancel(kernel->limit);
        kernel->events.on_end(kernel->events.context, kernel->status);
    }
}

static void started(ebb_kernel *kernel, const ebb_value *message,
                    const char *type)
{
    if (strcmp(type, "unavailable") == 0) {
        const char *why = ebb_value_find_string(message, "message");
        ebb_err_set(&kernel->unavailable, EBB_UNSUPPORTED, "%s",
                    why != NULL ? why : "it does not say why");
    } else if (strcmp(type, "ready") == 0) {
        kernel->state = IDLE;
        ebb_loop_timer_cancel(kernel->limit);
        kernel->events.on_ready(kernel->events.context, NULL);
    }
}

static void on_line(void *context, const char *line, size_t n)
{
    kernel_pipe *pipe = context;
    ebb_kernel *kernel = pipe->kernel;
    ebb_err err;
    ebb_value *message = ebb_value_parse(line, n, MESSAGE_VALUES_MAX, &err);
    const char *type = ebb_value_find_string(message, "type");
    if (type == NULL) {
        /* Not the driver's: dropped. */
    } else if (kernel->state == STARTING) {
        started(kernel, message, type);
    } else if (kernel->state == RUNNING && strcmp(type, "end") == 0) {
        if (ebb_value_find_int(message, "id", 0) == kernel->run) {
            pipe->ended = true;
            kernel->status = (int)ebb_value_find_int(message, "status", 0);
        }
    } else if (kernel->state == RUNNING && !pipe->ended) {
        kernel->events.on_message(kernel->events.context, message);
    }
    ebb_value_free(message);
}

static void on_raw(void *context, const char *bytes, size_t n)
{
    kernel_pipe *pipe = context;
    ebb_kernel *kernel = pipe->kernel;
    if (kernel->state == RUNNING && !pipe->ended) {
        kernel->events.on_output(kernel->events.context, pipe->stream, bytes,
                                 n);
    } else if (kernel->state == STARTING && pipe->stream == EBB_KERNEL_STDERR) {
        size_t room = TAIL_BYTES - kernel->tail_n;
        n = n < room ? n : room;
        memcpy(kernel->tail + kernel->tail_n, bytes, n);
        kernel->tail_n += n;
    }
}

/* Reads once. Whether there may be more now. */
static bool read_pipe(kernel_pipe *pipe)
{
    ebb_kernel *kernel = pipe->kernel;
    char bytes[READ_BYTES];
    ebb_err err;
    ssize_t n = pipe->fd < 0 ? 0 : read(pipe->fd, bytes, sizeof bytes);
    if (n < 0) {
        return errno == EINTR;
    }
    if (n == 0) {
        if (pipe->watch != NULL) {
            ebb_loop_watch_set(pipe->watch, 0); /* the exit tells the rest */
        }
        return false;
    }
    if (ebb_frames_add(&pipe->frames, bytes, (size_t)n, &err) != 0) {
        ebb_log_write(EBB_LOG_WARN, "a %s kernel is killed: %s",
                      kernel->language->name, err.msg);
        signal_group(kernel, SIGKILL);
        return false;
    }
    return true;
}

static void pipe_readable(void *context, unsigned events)
{
    kernel_pipe *pipe = context;
    ebb_kernel *kernel = pipe->kernel;
    (void)events;
    read_pipe(pipe);
    if (kernel->state == STARTING && kernel->unavailable.code != EBB_OK) {
        ebb_err err = kernel->unavailable;
        fail_start(kernel, &err);
    } else if (kernel->state == RUNNING) {
        end_run(kernel);
    }
}

/* ---- start ---- */

static void start_limit(void *context)
{
    ebb_kernel *kernel = context;
    ebb_err err = { 0 };
    if (kernel->state == STARTING || kernel->state == SPAWNING) {
        ebb_err_set(&err, EBB_TIMEOUT, "the %s kernel did not start in %d s",
                    kernel->language->name, EBB_KERNEL_START_MS / 1000);
        fail_start(kernel, &err);
        return;
    }
    signal_group(kernel, SIGKILL);
}

static int watch_pipes(ebb_kernel *kernel, ebb_err *err)
{
    for (size_t i = 0; i < 2; i++) {
        kernel_pipe *pipe = &kernel->pipes[i];
        pipe->watch = ebb_loop_watch_new(kernel->loop, pipe->fd, pipe_readable,
                                         pipe, err);
        if (pipe->watch == NULL ||
            ebb_loop_watch_set(pipe->watch, kernel->held ? 0 : EBB_READABLE) !=
                0) {
            return ebb_err_wrap(err, "the %s kernel's output",
                                kernel->language->name);
        }
    }
    kernel->request_watch = ebb_loop_watch_new(kernel->loop, kernel->request_fd,
                                               request_writable, kernel, err);
    return kernel->request_watch != NULL ? 0 : -1;
}

static void spawned(void *context, uint32_t pid, int stdin_fd, int stdout_fd,
                    int stderr_fd, const ebb_err *failed)
{
    ebb_kernel *kernel = context;
    ebb_err err = { 0 };
    kernel->asked = false;
    if (failed == NULL) {
        kernel->pid = pid;
        kernel->request_fd = stdin_fd;
        kernel->pipes[0].fd = stdout_fd;
        kernel->pipes[1].fd = stderr_fd;
    }
    if (kernel->orphan || kernel->state == DEAD) {
        kernel->state = STARTING;
        signal_group(kernel, SIGKILL);
        kernel->state = DEAD;
        close_pipes(kernel);
        if (kernel->orphan) {
            destroy(kernel);
        }
        return;
    }
    kernel->state = STARTING;
    if (failed != NULL) {
        fail_start(kernel, failed);
    } else if (watch_pipes(kernel, &err) != 0) {
        fail_start(kernel, &err);
    } else {
        send_request(kernel);
    }
}

static int spawn(ebb_kernel *kernel, const ebb_value *envs, const char *cwd,
                 ebb_err *err)
{
    const char *args[EBB_LANGUAGE_ARGS_MAX];
    char **env = ebb_environment_new(envs);
    ebb_buf driver;
    int status = -1;
    ebb_buf_init(&driver, 0);
    if (env == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "no memory for %zu variables",
                    ebb_value_size(envs));
    } else if (ebb_language_driver(kernel->language, &driver, err) == 0 &&
               ebb_language_write_start(kernel->language, driver.bytes,
                                        kernel->nonce, envs, &kernel->request,
                                        err) == 0) {
        ebb_language_command(kernel->language, driver.bytes, kernel->nonce,
                             args);
        ebb_box_spawn(kernel->box,
                      &(ebb_box_spawn_config){ .argv = args,
                                               .envp = (const char *const *)env,
                                               .cwd = cwd,
                                               .stdin_pipe = true },
                      spawned, kernel);
        kernel->asked = true;
        status = 0;
    }
    ebb_environment_free(env);
    ebb_buf_clear(&driver);
    return status;
}

ebb_kernel *ebb_kernel_start(ebb_sandbox *sandbox, const ebb_language *language,
                             const char *cwd, const ebb_kernel_events *events,
                             ebb_err *err)
{
    ebb_kernel *kernel = ebb_mem_zero(sizeof *kernel);
    if (kernel == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "no memory for a kernel");
        return NULL;
    }
    kernel->loop = ebb_service_loop(sandbox->service);
    kernel->box = sandbox->box;
    kernel->language = language;
    kernel->events = *events;
    kernel->request_fd = -1;
    ebb_buf_init(&kernel->request, EBB_KERNEL_REQUEST_BYTES_MAX);
    if (ebb_id_hex(kernel->nonce, sizeof kernel->nonce, err) != 0) {
        ebb_mem_free(kernel);
        return NULL;
    }
    for (size_t i = 0; i < 2; i++) {
        kernel_pipe *pipe = &kernel->pipes[i];
        *pipe = (kernel_pipe){ .kernel = kernel,
                               .stream = (ebb_kernel_stream)i,
                               .fd = -1 };
        ebb_frames_init(&pipe->frames, kernel->nonce,
                        &(ebb_frames_sink){ on_raw, on_line, pipe });
    }
    kernel->limit = ebb_loop_timer_new(kernel->loop, start_limit, kernel);
    if (kernel->limit == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "no memory for a timer");
    }
    if (kernel->limit == NULL || spawn(kernel, sandbox->envs, cwd, err) != 0) {
        destroy(kernel);
        return NULL;
    }
    ebb_loop_timer_start(kernel->limit, EBB_KERNEL_START_MS);
    return kernel;
}

void ebb_kernel_free(ebb_kernel *kernel)
{
    if (kernel == NULL) {
        return;
    }
    signal_group(kernel, SIGKILL);
    if (kernel->asked) {
        kernel->orphan = true;
        ebb_loop_timer_cancel(kernel->limit);
        return;
    }
    destroy(kernel);
}

/* ---- runs ---- */

bool ebb_kernel_is_ready(const ebb_kernel *kernel)
{
    return kernel->state == IDLE;
}

int ebb_kernel_run(ebb_kernel *kernel, const ebb_value *code,
                   const ebb_value *env, ebb_err *err)
{
    if (ebb_language_write_run(kernel->language, kernel->run + 1, code, env,
                               &kernel->request, err) != 0) {
        ebb_buf_clear(&kernel->request);
        return -1;
    }
    kernel->run++;
    kernel->status = 0;
    kernel->pipes[0].ended = kernel->pipes[1].ended = false;
    kernel->state = RUNNING;
    send_request(kernel);
    return 0;
}

void ebb_kernel_interrupt(ebb_kernel *kernel)
{
    if (kernel->state == RUNNING) {
        signal_group(kernel, SIGINT);
        ebb_loop_timer_start(kernel->limit, EBB_KERNEL_INTERRUPT_MS);
    }
}

void ebb_kernel_hold(ebb_kernel *kernel, bool held)
{
    kernel->held = held;
    for (size_t i = 0; i < 2; i++) {
        if (kernel->pipes[i].watch != NULL) {
            ebb_loop_watch_set(kernel->pipes[i].watch, held ? 0 : EBB_READABLE);
        }
    }
}

/* Before its first word: the program is missing, or could not go on. */
static void died_early(ebb_kernel *kernel, int exit_status)
{
    const ebb_language *language = kernel->language;
    ebb_err err = kernel->unavailable;
    if (err.code != EBB_OK) {
        /* It has said why itself. */
    } else if (WIFEXITED(exit_status) && WEXITSTATUS(exit_status) == 127) {
        ebb_err_set(&err, EBB_UNSUPPORTED,
                    "%s: there is no program '%s' here; install it on the "
                    "machine of the service with: %s",
                    language->name, language->program, language->install);
    } else {
        ebb_err_set(&err, EBB_SERVER, "the %s kernel did not start: %s",
                    language->name,
                    kernel->tail_n > 0 ? kernel->tail : "it ended");
    }
    fail_start(kernel, &err);
}

bool ebb_kernel_exited(ebb_kernel *kernel, uint32_t pid, int exit_status)
{
    bool starting = kernel->state == STARTING;
    if (kernel->state == DEAD || kernel->pid != pid) {
        return false;
    }
    kernel->pid = 0;
    /* Its last words are in the pipes; a child of it may go on writing. */
    for (size_t i = 0; i < 2; i++) {
        size_t reads = 0;
        while (reads < LAST_READS_MAX && read_pipe(&kernel->pipes[i])) {
            reads++;
        }
    }
    if (starting && kernel->state == STARTING) {
        died_early(kernel, exit_status);
        return true;
    }
    kernel->state = DEAD;
    ebb_loop_timer_cancel(kernel->limit);
    close_pipes(kernel);
    kernel->events.on_death(kernel->events.context, exit_status);
    return true;
}
