/* SPDX-License-Identifier: MIT */
#include "task/registry.h"

#include <string.h>

#include "base/mem.h"
#include "task/nearest.h"

/* The twelve and what one host registers; more is a mistake in a loop. */
#define TASKS_MAX 4096

struct ebb_registry {
    ebb_task *tasks; /* owned, in order of registration */
    size_t count, room;
};

ebb_registry *ebb_registry_new(ebb_err *err)
{
    ebb_registry *registry = ebb_mem_zero(sizeof *registry);

    if (registry == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "task registry");
    return registry;
}

void ebb_registry_free(ebb_registry *registry)
{
    if (registry == NULL)
        return;
    ebb_mem_free(registry->tasks);
    ebb_mem_free(registry);
}

static int grow(ebb_registry *registry, ebb_err *err)
{
    size_t room = registry->room == 0 ? 16 : registry->room * 2;
    ebb_task *tasks;

    if (registry->count < registry->room)
        return 0;
    tasks = ebb_mem_resize(registry->tasks, room * sizeof *tasks);
    if (tasks == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "task registry");
    registry->tasks = tasks;
    registry->room = room;
    return 0;
}

int ebb_registry_add(ebb_registry *registry, const ebb_task *task, ebb_err *err)
{
    if (ebb_registry_find(registry, task->name) != NULL)
        return ebb_err_set(err, EBB_CONFLICT,
                           "a task named %s is already registered", task->name);
    if (registry->count >= TASKS_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "%s: more than %d tasks are registered", task->name,
                           TASKS_MAX);
    if (grow(registry, err) != 0)
        return -1;
    registry->tasks[registry->count++] = *task;
    return 0;
}

const ebb_task *ebb_registry_find(const ebb_registry *registry,
                                  const char *name)
{
    for (size_t i = 0; i < registry->count; i++)
        if (strcmp(registry->tasks[i].name, name) == 0)
            return &registry->tasks[i];
    return NULL;
}

size_t ebb_registry_count(const ebb_registry *registry)
{
    return registry->count;
}

const ebb_task *ebb_registry_at(const ebb_registry *registry, size_t index)
{
    return index < registry->count ? &registry->tasks[index] : NULL;
}

/* The part of a name that people type: "runCommand" of "e2b.runCommand". */
static const char *bare(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot == NULL ? name : dot + 1;
}

static bool same_prefix(const char *a, const char *b)
{
    size_t n = (size_t)(bare(a) - a);

    return n == (size_t)(bare(b) - b) && memcmp(a, b, n) == 0;
}

/*
 * The nearest by the whole name, or by the part after the last dot. A prefix
 * that is right makes no name likelier.
 */
static const char *nearest(const ebb_registry *registry, const char *name)
{
    size_t best = EBB_NEAREST_NONE;
    const char *found = NULL;

    for (size_t i = 0; i < registry->count; i++) {
        const char *known = registry->tasks[i].name;
        size_t distance = ebb_nearest_distance(bare(name), bare(known));

        if (!same_prefix(name, known)) {
            size_t whole = ebb_nearest_distance(name, known);
            distance = whole < distance ? whole : distance;
        }

        if (distance < best) {
            best = distance;
            found = known;
        }
    }
    return found;
}

int ebb_registry_unknown(const ebb_registry *registry, const char *name,
                         ebb_err *err)
{
    const char *near = nearest(registry, name);

    if (near == NULL)
        return ebb_err_set(err, EBB_NOT_FOUND,
                           "there is no task %.64s; `ebb tasks` lists them",
                           name);
    return ebb_err_set(err, EBB_NOT_FOUND,
                       "there is no task %.64s; did you mean %s?", name, near);
}

ebb_value *ebb_task_describe(const ebb_task *task)
{
    const char *name = ebb_retry_class_name(task->retry_class);
    int64_t attempts = ebb_retry_attempts(task->retry_class);
    ebb_value *out = ebb_value_object();

    if (out != NULL &&
        ebb_value_set(out, "name", ebb_value_text(task->name)) == 0 &&
        ebb_value_set(out, "class", ebb_value_text(name)) == 0 &&
        ebb_value_set(out, "attempts", ebb_value_int(attempts)) == 0 &&
        ebb_value_set(out, "help",
                      ebb_value_text(task->help ? task->help : "")) == 0 &&
        ebb_value_set(out, "fields",
                      ebb_fields_describe(task->fields, task->fields_count)) ==
            0)
        return out;
    ebb_value_free(out);
    return NULL;
}

ebb_value *ebb_registry_describe(const ebb_registry *registry)
{
    ebb_value *out = ebb_value_array();

    for (size_t i = 0; out != NULL && i < registry->count; i++)
        if (ebb_value_add(out, ebb_task_describe(&registry->tasks[i])) != 0) {
            ebb_value_free(out);
            out = NULL;
        }
    return out;
}
