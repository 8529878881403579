/* SPDX-License-Identifier: MIT */
#include "sandbox/service/interpreter/language.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

#define DRIVER_BYTES_MAX 120000 /* one argument of exec, less than 128 KiB */
#define PATH_BYTES       4096

/* The requests move to descriptor 3, and user code's standard input is empty:
 * for programs that cannot do that themselves. */
#define MOVE_STDIN "exec 3<&0 </dev/null; exec \"$@\""

/*
 * As well, for programs that take their text from a file only and can open a
 * descriptor by its path alone: hence a pipe of the sandbox's own user, whose
 * writer an interrupt must not end.
 */
#define FROM_FILE(command)                                                     \
    "f=$(mktemp) && printf %s \"$1\" >\"$f\" && shift && "                     \
    "exec 3< <(trap '' INT; exec cat) </dev/null && exec " command             \
    " \"$f\" \"$f\" \"$@\""

static const char java_command[] =
    FROM_FILE("java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
              "--add-opens java.base/java.util=ALL-UNNAMED --source 11");
static const char r_command[] = FROM_FILE("Rscript --vanilla");

static const ebb_language languages[] = {
    { .name = "python",
      .driver = "python.py",
      .program = "/usr/bin/python3",
      .install = "apt-get install python3",
      .args = { "/usr/bin/python3", "-I", "-X", "utf8", "-c", "@driver",
                "@nonce" } },
    { .name = "javascript",
      .alias = "js",
      .driver = "javascript.js",
      .program = "node",
      .install = "apt-get install nodejs",
      .args = { "/bin/sh", "-c", MOVE_STDIN, "sh", "node", "-e", "@driver",
                "--", "@nonce", "javascript" } },
    { .name = "typescript",
      .alias = "ts",
      .driver = "javascript.js",
      .program = "node",
      .install = "apt-get install nodejs",
      .args = { "/bin/sh", "-c", MOVE_STDIN, "sh", "node", "-e", "@driver",
                "--", "@nonce", "typescript" } },
    { .name = "bash",
      .driver = "bash.sh",
      .program = "/bin/bash",
      .install = "apt-get install bash",
      .is_shell = true,
      .args = { "/bin/bash", "--norc", "--noprofile", "--noediting", "-i" } },
    { .name = "java",
      .driver = "java.java",
      .program = "java",
      .install = "apt-get install openjdk-17-jdk-headless",
      .args = { "/bin/bash", "-c", java_command, "bash", "@driver",
                "@nonce" } },
    { .name = "r",
      .driver = "r.R",
      .program = "Rscript",
      .install = "apt-get install r-base-core",
      .args = { "/bin/bash", "-c", r_command, "bash", "@driver", "@nonce" } },
};

const ebb_language *ebb_language_find(const char *name)
{
    size_t n;
    name += strspn(name, " \t\r\n");
    n = strcspn(name, " \t\r\n");
    if (name[n + strspn(name + n, " \t\r\n")] != '\0') {
        return NULL;
    }
    for (size_t i = 0; i < sizeof languages / sizeof languages[0]; i++) {
        const ebb_language *language = &languages[i];
        const char *names[] = { language->name, language->alias };
        for (size_t j = 0; j < 2 && names[j] != NULL; j++) {
            if (strlen(names[j]) == n && strncasecmp(names[j], name, n) == 0) {
                return language;
            }
        }
    }
    return NULL;
}

void ebb_language_command(const ebb_language *language, const char *driver,
                          const char *nonce,
                          const char *args[EBB_LANGUAGE_ARGS_MAX])
{
    for (size_t i = 0; i < EBB_LANGUAGE_ARGS_MAX; i++) {
        const char *arg = language->args[i];
        if (arg != NULL && strcmp(arg, "@driver") == 0) {
            arg = driver;
        } else if (arg != NULL && strcmp(arg, "@nonce") == 0) {
            arg = nonce;
        }
        args[i] = arg;
    }
}

/* The directory of this program, or $EBB_LIBEXEC. */
static int find_libexec(char path[PATH_BYTES], ebb_err *err)
{
    const char *set = getenv("EBB_LIBEXEC");
    if (set != NULL && *set != '\0') {
        snprintf(path, PATH_BYTES, "%s", set);
        return 0;
    }
    ssize_t n = readlink("/proc/self/exe", path, PATH_BYTES - 1);
    char *slash;
    if (n < 0) {
        return ebb_err_set_errno(err, EBB_SERVER, "/proc/self/exe");
    }
    path[n] = '\0';
    slash = strrchr(path, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    return 0;
}

int ebb_language_driver(const ebb_language *language, ebb_buf *out,
                        ebb_err *err)
{
    char dir[PATH_BYTES];
    char *path;
    int status;
    if (find_libexec(dir, err) != 0) {
        return -1;
    }
    path = ebb_fs_join(dir, language->driver);
    if (path == NULL) {
        return ebb_err_set(err, EBB_NO_MEMORY, "no memory for a path");
    }
    status = ebb_fs_read(path, DRIVER_BYTES_MAX, out, err);
    ebb_mem_free(path);
    return status == 0 ? 0 : ebb_err_wrap(err, "the %s driver", language->name);
}

static bool is_shell_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz"
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return n > 0 && name[n] == '\0' && !(*name >= '0' && *name <= '9');
}

const char *ebb_language_refuses(const ebb_language *language,
                                 const ebb_value *code, const ebb_value *env)
{
    void *place = NULL;
    const char *key;
    ebb_value *member;
    size_t n;
    const char *text = ebb_value_get_string(code, &n);
    if (language->is_shell && strlen(text) != n) {
        return "bash code cannot hold a NUL character";
    }
    while (ebb_value_next(env, &place, &key, &member)) {
        text = ebb_value_get_string(member, &n);
        if (text == NULL || strlen(text) != n) {
            return "env_vars must be strings without NUL characters";
        }
        if (*key == '\0' || strchr(key, '=') != NULL ||
            (language->is_shell && !is_shell_name(key))) {
            return "env_vars holds a name that no variable can have";
        }
    }
    return NULL;
}

/* In single quotes, each of its own as '\''. */
static int add_quoted(ebb_buf *out, const char *text)
{
    ebb_buf_add_byte(out, '\'');
    while (*text != '\0') {
        size_t n = strcspn(text, "'");
        ebb_buf_add(out, text, n);
        text += n;
        if (*text == '\'') {
            ebb_buf_add_text(out, "'\\''");
            text++;
        }
    }
    return ebb_buf_add_byte(out, '\'');
}

static int write_shell_run(int64_t run, const ebb_value *code,
                           const ebb_value *env, ebb_buf *out, ebb_err *err)
{
    void *place = NULL;
    const char *key;
    ebb_value *member;
    ebb_buf_printf(out, "__ebb_go %lld; ", (long long)run);
    while (ebb_value_next(env, &place, &key, &member)) {
        ebb_buf_printf(out, "%s=", key);
        add_quoted(out, ebb_value_get_string(member, NULL));
        ebb_buf_add_byte(out, ' ');
    }
    ebb_buf_add_text(out, "eval ");
    add_quoted(out, ebb_value_get_string(code, NULL));
    ebb_buf_add_text(out, " </dev/null; __ebb_say\n");
    return ebb_buf_check(out, "a request to bash", err);
}

/* A line of JSON: {"id", "code", "env"}, or {"env"} before the first run. */
static int write_json(int64_t run, const ebb_value *code, const ebb_value *env,
                      ebb_buf *out, ebb_err *err)
{
    ebb_value *request = ebb_value_object();
    char *text = NULL;
    size_t n;
    int failed = 0;
    if (code != NULL) {
        failed |= ebb_value_set(request, "id", ebb_value_int(run));
        failed |= ebb_value_set(request, "code", ebb_value_copy(code));
    }
    if (env != NULL) {
        failed |= ebb_value_set(request, "env", ebb_value_copy(env));
    }
    text = failed ? NULL : ebb_value_write(request, EBB_WRITE_COMPACT, &n);
    ebb_value_free(request);
    if (text == NULL) {
        return ebb_err_set(err, EBB_NO_MEMORY, "no memory for a request");
    }
    ebb_buf_add(out, text, n);
    ebb_buf_add_byte(out, '\n');
    ebb_mem_free(text);
    return ebb_buf_check(out, "a request to a kernel", err);
}

int ebb_language_write_run(const ebb_language *language, int64_t run,
                           const ebb_value *code, const ebb_value *env,
                           ebb_buf *out, ebb_err *err)
{
    return language->is_shell ? write_shell_run(run, code, env, out, err)
                              : write_json(run, code, env, out, err);
}

int ebb_language_write_start(const ebb_language *language, const char *driver,
                             const char *nonce, const ebb_value *env,
                             ebb_buf *out, ebb_err *err)
{
    if (!language->is_shell) {
        return write_json(0, NULL, env, out, err);
    }
    ebb_buf_printf(out, "__ebb_nonce=%s\n", nonce);
    ebb_buf_add_text(out, driver);
    return ebb_buf_check(out, "a request to bash", err);
}
