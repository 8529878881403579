/* SPDX-License-Identifier: MIT */

/* What ebb needs on this machine and has: the facts behind `ebb doctor`. */

#include "ebb_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* The first line a command prints, and whether it ended with 0. */
static bool first_line(const char *command, char line[LINE_BYTES])
{
    FILE *pipe = popen(command, "r");

    line[0] = '\0';
    if (pipe == NULL)
        return false;
    if (fgets(line, LINE_BYTES, pipe) == NULL)
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return pclose(pipe) == 0;
}

static int check_program(ebb_value *rows, const char *name,
                         const char *command, bool required, const char *fix)
{
    char line[LINE_BYTES];
    bool ok = first_line(command, line);

    return add(rows, name, ok, required,
               line[0] != '\0' ? line : ok ? "found" : "not found", fix);
}

static int check_libexec(ebb_value *rows, const char *name)
{
    ebb_err err = { 0 };
    char *path = ebb_libexec(name, &err);
    int result = add(rows, name, path != NULL, true,
                     path != NULL ? path : err.msg,
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
    char *command = NULL, line[LINE_BYTES];
    int result;

    if (program == NULL)
        return check_libexec(rows, "ebb-sandboxd");
    command = ebb_mem_printf("'%s' --version 2>&1", program);
    if (command != NULL && first_line(command, line) &&
        strncmp(line, name, sizeof name - 1) == 0 &&
        strcmp(line + sizeof name - 1, ebb_version()) == 0) {
        result = check_libexec(rows, "ebb-sandboxd");
    } else {
        message = ebb_mem_printf("%s says \"%s\", and this is %s", program,
                                 command != NULL ? line : "", ebb_version());
        result = add(rows, "ebb-sandboxd", false, true,
                     message != NULL ? message : "another version",
                     "install both from one build, or set EBB_LIBEXEC to "
                     "where its own is");
    }
    ebb_mem_free(message);
    ebb_mem_free(command);
    ebb_mem_free(program);
    return result;
}

/* The service itself knows whether it could isolate anything here. */
static int check_isolation(ebb_value *rows)
{
    ebb_err err = { 0 };
    char *program = ebb_libexec("ebb-sandboxd", &err);
    char *command;
    int result = 0;

    if (program == NULL)
        return 0; /* said already */
    command = ebb_mem_printf("'%s' --check 2>&1", program);
    if (command != NULL)
        result = check_program(rows, "isolation", command, true,
                               "what the message says");
    ebb_mem_free(command);
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
        message = ebb_mem_printf("%s at %s",
                                 fd >= 0 ? "running" : "starts on demand",
                                 path);
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
    const char *key = rt->config.api_key != NULL ? rt->config.api_key
                                                 : getenv("E2B_API_KEY");
    bool set = key != NULL && *key != '\0';

    return add(rows, "E2B_API_KEY", set, false,
               set ? "set" : "not set: only the local service can be used",
               "export E2B_API_KEY=… to use E2B's cloud");
}

ebb_value *ebb_check(ebb_runtime *rt, ebb_err *err)
{
    ebb_value *rows = ebb_value_array();
    int bad = 0;

    bad |= check_sandboxd(rows);
    bad |= check_libexec(rows, "ebb-agent");
    bad |= check_program(rows, "bubblewrap",
                         "\"${EBB_BWRAP:-bwrap}\" --version 2>/dev/null",
                         true, "apt-get install bubblewrap, or set EBB_BWRAP");
    bad |= check_isolation(rows);
    bad |= check_service(rt, rows);
    bad |= check_program(rows, "python3",
                         "/usr/bin/python3 --version 2>/dev/null", false,
                         "apt-get install python3: runCode needs it");
    bad |= check_program(rows, "IPython",
                         "/usr/bin/python3 -c 'import IPython; "
                         "print(IPython.__version__)' 2>/dev/null",
                         false, "apt-get install python3-ipython: without "
                                "it a plain driver runs Python");
    bad |= check_program(rows, "node", "/usr/bin/node --version 2>/dev/null",
                         false, "apt-get install nodejs: runCode of "
                                "javascript needs it");
    bad |= check_journal(rt, rows);
    bad |= check_key(rt, rows);
    if (rows != NULL && bad == 0)
        return rows;
    ebb_value_free(rows);
    ebb_err_set(err, EBB_NO_MEMORY, "check this machine");
    return NULL;
}
