/* SPDX-License-Identifier: MIT */

/* Where the journal is, and its opening at the first durable run. */

#include "ebb_run_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"

#define FILE_NAME "journal.db"

/* The folder of ebb's state of this user; NULL with err. */
static char *state_dir(const ebb_config *config, ebb_err *err)
{
    const struct {
        const char *dir, *below;
    } places[] = {
        { config->state_dir, NULL },
        { getenv("EBB_STATE"), NULL },
        { getenv("XDG_STATE_HOME"), "ebb" },
        { getenv("HOME"), ".local/state/ebb" },
    };
    char *dir;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i].dir == NULL || *places[i].dir == '\0')
            continue;
        dir = places[i].below == NULL
                  ? ebb_mem_dup(places[i].dir)
                  : ebb_fs_join(places[i].dir, places[i].below);
        if (dir == NULL)
            ebb_err_set(err, EBB_NO_MEMORY, "open the journal");
        return dir;
    }
    ebb_err_set(err, EBB_JOURNAL,
                "no place for the journal: set EBB_JOURNAL, EBB_STATE or "
                "HOME");
    return NULL;
}

char *ebb_journal_path(const ebb_config *config, ebb_err *err)
{
    const char *set = getenv("EBB_JOURNAL");
    char *dir, *path;

    if (config->journal != NULL && *config->journal != '\0')
        path = ebb_mem_dup(config->journal);
    else if (set != NULL && *set != '\0')
        path = ebb_mem_dup(set);
    else if ((dir = state_dir(config, err)) == NULL)
        return NULL;
    else {
        path = ebb_fs_join(dir, FILE_NAME);
        ebb_mem_free(dir);
    }
    if (path == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "open the journal");
    return path;
}

ebb_journal *ebb_runtime_journal(ebb_runtime *rt, ebb_err *err)
{
    char *path;

    if (rt->journal != NULL)
        return rt->journal;
    path = ebb_journal_path(&rt->config, err);
    if (path == NULL)
        return NULL;
    rt->journal = ebb_journal_open(rt->loop, rt->clock, path, err);
    ebb_mem_free(path);
    return rt->journal;
}

void ebb_runtime_journal_close(ebb_runtime *rt)
{
    while (rt->runs != NULL)
        ebb_run_close(rt->runs);
    ebb_journal_close(rt->journal);
    rt->journal = NULL;
}

/* ---- for doctor ---- */

typedef struct problems {
    char first[200];
} problems;

static void note_problem(void *context, const char *run, const char *what)
{
    problems *p = context;

    if (p->first[0] == '\0')
        snprintf(p->first, sizeof p->first, "%s%s%.150s",
                 *run != '\0' ? run : "the file", ": ", what);
}

static bool look(ebb_runtime *rt, const char *path, char *line, size_t n)
{
    problems found = { 0 };
    ebb_err err = { 0 };
    ebb_journal *journal;
    int count;

    if (access(path, F_OK) < 0) {
        snprintf(line, n, "none yet; it will be %s", path);
        return true;
    }
    journal = ebb_runtime_journal(rt, &err);
    count = journal != NULL
                ? ebb_journal_check(journal, note_problem, &found, &err)
                : -1;
    if (count < 0)
        snprintf(line, n, "%s", err.msg);
    else if (count == 0)
        snprintf(line, n, "every row is sound, %s", path);
    else
        snprintf(line, n, "%d problems in %s, the first: %s", count, path,
                 found.first);
    return count == 0;
}

bool ebb_journal_look(ebb_runtime *rt, char *line, size_t n)
{
    ebb_err err = { 0 };
    char *path = ebb_journal_path(&rt->config, &err);
    bool sound = false;

    if (path == NULL)
        snprintf(line, n, "%s", err.msg);
    else
        sound = look(rt, path, line, n);
    ebb_mem_free(path);
    return sound;
}
