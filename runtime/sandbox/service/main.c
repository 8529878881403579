/* SPDX-License-Identifier: MIT */

/*
 * ebb-sandboxd: the local sandbox service. Exit status 0 after a stop, 2 for
 * a bad command line, 3 when it cannot serve.
 */

#include "base/log.h"
#include "net/loop.h"
#include "sandbox/service/box/box.h"
#include "sandbox/service/box/limits.h"
#include "sandbox/service/options.h"
#include "sandbox/service/service.h"

#include <ebb_version.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define EXIT_USAGE      2
#define EXIT_NO_SERVICE 3
#define FILES_MAX       65536
/* How long boxes may take to end before the service leaves them behind. */
#define STOP_MS 10000

/* Whoever started us waits for this one line, or for the end of file. */
static void write_ready(int fd, const char *prefix, const char *text)
{
    char line[EBB_ERR_MSG_BYTES + 32];
    const char *p = line;
    int n = snprintf(line, sizeof line, "%s%s\n", prefix, text);
    size_t left = n < (int)sizeof line ? (size_t)n : sizeof line - 1;

    if (fd < 0)
        return;
    while (left > 0) {
        ssize_t wrote = write(fd, p, left);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            break;
        p += wrote;
        left -= (size_t)wrote;
    }
    close(fd);
}

static int fail(const ebb_options *options, const ebb_err *err, int status)
{
    fprintf(stderr, "error: %s\n", err->msg);
    write_ready(options->ready_fd, "error: ", err->msg);
    return status;
}

static void announce(const ebb_service *service)
{
    if (service->url == NULL)
        return;
    printf("export E2B_API_KEY=%s\n", service->config.api_keys[0]);
    printf("export E2B_API_URL=%s\n", service->url);
    printf("export E2B_SANDBOX_URL=%s\n", service->url);
    fflush(stdout);
}

/* Each stream holds a connection and each command three pipes. */
static void raise_files_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max < FILES_MAX ? limit.rlim_max : FILES_MAX;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void ask_to_stop(void *context)
{
    bool *asked = context;

    *asked = true;
}

/* What does not end is left to the next service, which sweeps it up. */
static void stop(ebb_loop *loop, ebb_service *service)
{
    int64_t until = ebb_loop_now_ms(loop) + STOP_MS;

    ebb_service_stop(service);
    while (!ebb_service_is_stopped(service) && ebb_loop_now_ms(loop) < until)
        ebb_loop_run(loop, 100);
    if (ebb_service_is_stopped(service)) {
        ebb_service_close(service);
        return;
    }
    ebb_log_write(EBB_LOG_ERROR, "some sandboxes did not end within %d ms",
                  STOP_MS);
    _exit(EXIT_FAILURE);
}

static int serve(ebb_loop *loop, ebb_options *options)
{
    ebb_err err;
    bool asked = false;
    ebb_loop_signal *term, *interrupt;
    ebb_service *service;

    term = ebb_loop_signal_new(loop, SIGTERM, ask_to_stop, &asked, &err);
    interrupt = ebb_loop_signal_new(loop, SIGINT, ask_to_stop, &asked, &err);
    service = ebb_service_open(loop, &options->service, &err);
    if (service != NULL) {
        announce(service);
        write_ready(options->ready_fd, "",
                    options->service.socket_path != NULL
                        ? options->service.socket_path
                        : service->url);
        options->ready_fd = -1;
        while (!asked && !service->lingered)
            ebb_loop_run(loop, -1);
        stop(loop, service);
    }
    ebb_loop_signal_free(term);
    ebb_loop_signal_free(interrupt);
    return service != NULL ? 0 : fail(options, &err, EXIT_NO_SERVICE);
}

/* For doctor: whether anything can be isolated here, and what is limited. */
static int check(void)
{
    ebb_limits_report limits;
    ebb_err err;

    if (ebb_box_check(&err) != 0) {
        printf("error: %s\n", err.msg);
        return EXIT_NO_SERVICE;
    }
    ebb_limits_describe(&limits);
    printf("bubblewrap works; memory: %s; processes: %s; cpus: %s; disk: %s; "
           "pause: %s\n",
           limits.memory != NULL ? limits.memory : "not limited",
           limits.pids != NULL ? limits.pids : "not limited",
           limits.cpus != NULL ? limits.cpus : "not limited",
           limits.disk != NULL ? limits.disk : "not limited",
           limits.freeze != NULL ? limits.freeze : "not possible");
    return 0;
}

static int run(ebb_options *options)
{
    ebb_err err;
    ebb_loop *loop;
    int status;

    raise_files_limit();
    if (options->ready_fd >= 0)
        fcntl(options->ready_fd, F_SETFD, FD_CLOEXEC);
    loop = ebb_loop_new(NULL, &err);
    if (loop == NULL)
        return fail(options, &err, EXIT_NO_SERVICE);
    status = serve(loop, options);
    ebb_loop_free(loop);
    return status;
}

/* Every user of the host may read a command line. */
static void hide_keys(char **argv)
{
    static const char option[] = "--api-key";
    const size_t n = sizeof option - 1;

    for (; *argv != NULL; argv++)
        if (strncmp(*argv, option, n) == 0 && (*argv)[n] == '=')
            memset(*argv + n + 1, '*', strlen(*argv + n + 1));
        else if (strcmp(*argv, option) == 0 && argv[1] != NULL)
            memset(argv[1], '*', strlen(argv[1]));
}

int main(int argc, char **argv)
{
    ebb_options options;
    ebb_err err;
    int status;

    signal(SIGPIPE, SIG_IGN);
    status = ebb_options_parse(&options, argc, argv, &err);
    hide_keys(argv);
    if (status != 0)
        status =
            fail(&options, &err,
                 err.code == EBB_UNSUPPORTED ? EXIT_NO_SERVICE : EXIT_USAGE);
    else if (options.help)
        fputs(ebb_options_usage, stdout);
    else if (options.version)
        puts("ebb-sandboxd " EBB_VERSION);
    else if (options.check)
        status = check();
    else
        status = run(&options);
    ebb_options_clear(&options);
    return status;
}
