/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <stdio.h>
#include <unistd.h>

#include "lua/ebb_lua.h"

#define AFTER_MS 500

/* A line that went round the edge could not be wiped: it is cut there. */
#define BEGIN "\r\033[K\033[?7l"
#define END   "\033[?7h"

static bool shown;

void ebb_progress_show(const ebb_cli *cli, const char *what, int attempt,
                       int64_t wait_ms, double elapsed_ms, size_t others)
{
    if (elapsed_ms < AFTER_MS || cli->quiet || cli->json ||
        isatty(STDERR_FILENO) != 1)
        return;
    fprintf(stderr, BEGIN "%s %.1f s", what, elapsed_ms / 1000);
    if (attempt > 1)
        fprintf(stderr, ", attempt %d", attempt);
    if (wait_ms > 0)
        fprintf(stderr, ", next in %.1f s", (double)wait_ms / 1000);
    if (others > 0)
        fprintf(stderr, ", and %zu more", others);
    fputs(END, stderr);
    fflush(stderr);
    shown = true;
}

void ebb_progress_lua(const ebb_cli *cli, const ebb_lua *lua)
{
    ebb_lua_activity oldest;
    size_t n = ebb_lua_activities(lua, &oldest, 1);

    if (n > 0)
        ebb_progress_show(cli, oldest.task, oldest.attempt, oldest.wait_ms,
                          oldest.elapsed_ms, n - 1);
}

void ebb_progress_wipe(void)
{
    if (!shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    shown = false;
}
