/* SPDX-License-Identifier: MIT */
#include "workflow/steps.h"

#include <string.h>

#include "base/mem.h"

#define SLOTS_FIRST 64

/* FNV-1a: paths are short and come from the script's own order. */
static size_t hash(const char *path)
{
    uint64_t h = UINT64_C(14695981039346656037);

    for (; *path != '\0'; path++)
        h = (h ^ (unsigned char)*path) * UINT64_C(1099511628211);
    return (size_t)(h ^ h >> 32);
}

static void put(ebb_flow_steps *steps, ebb_flow_step *step)
{
    size_t slot = hash(step->path) & (steps->slots_count - 1);

    step->next_in_slot = steps->slots[slot];
    steps->slots[slot] = step;
}

/* Room for one more; slots at least as many as steps. */
static int grow(ebb_flow_steps *steps)
{
    size_t room = steps->room > 0 ? steps->room * 2 : SLOTS_FIRST;
    ebb_flow_step **all, **slots;

    if (steps->count < steps->room)
        return 0;
    all = ebb_mem_resize(steps->all, room * sizeof(ebb_flow_step *));
    if (all == NULL)
        return -1;
    steps->all = all;
    slots = ebb_mem_zero(room * sizeof(ebb_flow_step *));
    if (slots == NULL)
        return -1;
    ebb_mem_free(steps->slots);
    steps->slots = slots;
    steps->slots_count = steps->room = room;
    for (size_t i = 0; i < steps->count; i++)
        put(steps, steps->all[i]);
    return 0;
}

ebb_flow_step *ebb_flow_steps_add(ebb_flow_steps *steps, const char *path,
                                  const char *name, ebb_err *err)
{
    ebb_flow_step *step;

    if (steps->count >= EBB_FLOW_STEPS_MAX) {
        ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                    "a run has at most %d steps; split it into runs",
                    EBB_FLOW_STEPS_MAX);
        return NULL;
    }
    step = ebb_mem_zero(sizeof *step);
    if (step != NULL) {
        step->path = ebb_mem_dup(path);
        step->name = ebb_mem_dup(name);
    }
    if (step == NULL || step->path == NULL || step->name == NULL ||
        grow(steps) < 0) {
        ebb_flow_step_free(step);
        ebb_err_set(err, EBB_NO_MEMORY, "step %s", path);
        return NULL;
    }
    steps->all[steps->count++] = step;
    put(steps, step);
    return step;
}

ebb_flow_step *ebb_flow_steps_find(const ebb_flow_steps *steps,
                                   const char *path)
{
    ebb_flow_step *step;

    if (steps->slots_count == 0)
        return NULL;
    step = steps->slots[hash(path) & (steps->slots_count - 1)];
    while (step != NULL && strcmp(step->path, path) != 0)
        step = step->next_in_slot;
    return step;
}

void ebb_flow_step_free(ebb_flow_step *step)
{
    if (step == NULL)
        return;
    ebb_mem_free(step->path);
    ebb_mem_free(step->name);
    ebb_mem_free(step->input);
    ebb_mem_free(step->outcome);
    ebb_value_free(step->value);
    ebb_mem_free(step);
}

void ebb_flow_steps_clear(ebb_flow_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++)
        ebb_flow_step_free(steps->all[i]);
    ebb_mem_free(steps->all);
    ebb_mem_free(steps->slots);
    *steps = (ebb_flow_steps){ 0 };
}

void ebb_flow_queue_add(ebb_flow_queue *queue, ebb_flow_step *step)
{
    step->next_in_queue = NULL;
    if (queue->last != NULL)
        queue->last->next_in_queue = step;
    else
        queue->first = step;
    queue->last = step;
}

ebb_flow_step *ebb_flow_queue_take(ebb_flow_queue *queue)
{
    ebb_flow_step *step = queue->first;

    if (step == NULL)
        return NULL;
    queue->first = step->next_in_queue;
    if (queue->first == NULL)
        queue->last = NULL;
    step->next_in_queue = NULL;
    return step;
}
