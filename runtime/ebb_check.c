/* SPDX-License-Identifier: MIT */

/* What ebb needs on this machine and has: the facts behind `ebb doctor`. */

#define _GNU_SOURCE /* environ, pipe2 */

#include "ebb_private.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_BYTES 512

/* A row: required false means that ebb works without it. */
static int add(ebb_value *rows, const char *name, bool ok, bool required,
               const char *message, const char *fix)
{
    ebb_value *row = ebb_value_object();
    int bad = 0;

    bad |= ebb_value_set(row, "name", ebb_value_text(name));
    bad |= ebb_value_set(row, "ok", ebb_value_bool(ok));
    bad |= ebb_value_set(row, "required", ebb_value_bool(required));
    bad |= ebb_value_set(row, "message", ebb_value_text(message));
    if (!ok && fix != NULL)
        bad |= ebb_value_set(row, "fix", ebb_value_text(fix));
    if (bad < 0) {
        ebb_value_free(row);
        return -1;
    }
    return ebb_value_add(rows, row);
}

/* Without a shell, which would have words of its own where it cannot run. */
static pid_t spawn(const char *const argv[], bool errors_too, int out)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    union {
        const char *const *given;
        char *const *same;
    } as = { .given = argv };

    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (errors_too)
        posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                         O_WRONLY, 0);
    if (posix_spawnp(&pid, argv[0], &actions, NULL, as.same, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* The first line a program prints, and whether it ended with 0. */
static bool first_line(const char *const argv[], bool errors_too,
                       char line[LINE_BYTES])
{
    int fds[2], status = -1;
    FILE *out;
    pid_t pid;

    line[0] = '\0';
    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    pid = spawn(argv, errors_too, fds[1]);
    close(fds[1]);
    out = fdopen(fds[0], "r");
    if (out == NULL)
        close(fds[0]);
    else if (fgets(line, LINE_BYTES, out) == NULL)
        line[0] = '\0';
    if (out != NULL)
        fclose(out);
    line[strcspn(line, "\n")] = '\0';
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status == 0;
}

static int check_program(ebb_value *rows, const char *name,
                         const char *const argv[], bool required,
                         const char *fix)
{
    char line[LINE_BYTES];
    bool ok = first_line(argv, false, line);

    return add(rows, name, ok, required,
               line[0] != '\0' ? line
               : ok            ? "found"
                               : "not found",
               fix);
}

static int check_libexec(ebb_value *rows, const char *name)
{
    ebb_err err = { 0 };
    char *path = ebb_libexec(name, &err);
    int result =
        add(rows, name, path != NULL, true, path != NULL ? path : err.msg,
            "run `make`, or `make install`, or set EBB_LIBEXEC");

    ebb_mem_free(path);
    return result;
}

/* The service beside this program, which must be of the same build. */
static int check_sandboxd(ebb_value *rows)
{
    static const char name[] = "ebb-sandboxd ";
    ebb_err err = { 0 };
    char *program = ebb_libexec("ebb-sandboxd", &err), *message = NULL;
    const char *const argv[] = { program, "--version", NULL };
    char line[LINE_BYTES];
    int result;

    if (program == NULL)
        return check_libexec(rows, "ebb-sandboxd");
    if (first_line(argv, true, line) &&
        strncmp(line, name, sizeof name - 1) == 0 &&
        strcmp(line + sizeof name - 1, ebb_version()) == 0) {
        result = check_libexec(rows, "ebb-sandboxd");
    } else {
        message = ebb_mem_printf("%s says \"%s\", and this is %s", program,
                                 line, ebb_version());
        result = add(rows, "ebb-sandboxd", false, true,
                     message != NULL ? message : "another version",
                     "install both from one build, or set EBB_LIBEXEC to "
                     "where its own is");
    }
    ebb_mem_free(message);
    ebb_mem_free(program);
    return result;
}

/* The service itself knows whether it could isolate anything here. */
static int check_isolation(ebb_value *rows)
{
    ebb_err err = { 0 };
    char *program = ebb_libexec("ebb-sandboxd", &err);
    const char *const argv[] = { program, "--check", NULL };
    char line[LINE_BYTES];
    bool ok;
    int result;

    if (program == NULL)
        return 0; /* said already */
    ok = first_line(argv, true, line);
    result = add(rows, "isolation", ok, true,
                 line[0] != '\0' ? line : "it gave no reason",
                 "what the message says");
    ebb_mem_free(program);
    return result;
}

static int check_service(ebb_runtime *rt, ebb_value *rows)
{
    ebb_err err = { 0 };
    char *path = ebb_local_socket(&rt->config, &err);
    int fd = path != NULL ? ebb_launch_connect(path) : -1;
    char *message = NULL;
    int result;

    if (path != NULL)
        message = ebb_mem_printf(
            "%s at %s", fd >= 0 ? "running" : "starts on demand", path);
    if (fd >= 0)
        close(fd);
    result = add(rows, "local service", path != NULL, true,
                 message != NULL ? message : err.msg,
                 "give it a folder of your own: EBB_STATE or "
                 "XDG_RUNTIME_DIR");
    ebb_mem_free(message);
    ebb_mem_free(path);
    return result;
}

static int check_journal(ebb_runtime *rt, ebb_value *rows)
{
    char line[LINE_BYTES];
    bool sound = ebb_journal_look(rt, line, sizeof line);

    return add(rows, "journal", sound, true, line,
               "a damaged run stops alone; move the file away to begin a new "
               "journal, or set EBB_JOURNAL");
}

static int check_key(ebb_runtime *rt, ebb_value *rows)
{
    const char *key =
        rt->config.api_key != NULL ? rt->config.api_key : getenv("E2B_API_KEY");
    bool set = key != NULL && *key != '\0';

    return add(rows, "E2B_API_KEY", set, false,
               set ? "set" : "not set: only the local service can be used",
               "export E2B_API_KEY=… to use E2B's cloud");
}

static int check_bubblewrap(ebb_value *rows)
{
    const char *given = getenv("EBB_BWRAP");
    const char *name = given != NULL && *given != '\0' ? given : "bwrap";
    const char *const argv[] = { name, "--version", NULL };

    return check_program(rows, "bubblewrap", argv, true,
                         "apt-get install bubblewrap, or set EBB_BWRAP");
}

/* What runCode needs. */
static int check_languages(ebb_value *rows)
{
    static const char *const python[] = { "/usr/bin/python3", "--version",
                                          NULL };
    static const char *const ipython[] = {
        "/usr/bin/python3", "-c", "import IPython; print(IPython.__version__)",
        NULL
    };
    static const char *const node[] = { "/usr/bin/node", "--version", NULL };
    int bad = 0;

    bad |= check_program(rows, "python3", python, false,
                         "apt-get install python3: runCode needs it");
    bad |= check_program(rows, "IPython", ipython, false,
                         "apt-get install python3-ipython: without it a plain "
                         "driver runs Python");
    bad |= check_program(rows, "node", node, false,
                         "apt-get install nodejs: runCode of javascript needs "
                         "it");
    return bad;
}

ebb_value *ebb_check(ebb_runtime *rt, ebb_err *err)
{
    ebb_value *rows = ebb_value_array();
    int bad = 0;

    bad |= check_sandboxd(rows);
    bad |= check_libexec(rows, "ebb-agent");
    bad |= check_bubblewrap(rows);
    bad |= check_isolation(rows);
    bad |= check_service(rt, rows);
    bad |= check_languages(rows);
    bad |= check_journal(rt, rows);
    bad |= check_key(rt, rows);
    if (rows != NULL && bad == 0)
        return rows;
    ebb_value_free(rows);
    ebb_err_set(err, EBB_NO_MEMORY, "check this machine");
    return NULL;
}
