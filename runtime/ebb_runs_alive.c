/* SPDX-License-Identifier: MIT */

/* Which of the sandboxes that a run left behind are alive: asked in one go. */

#include "ebb_runs.h"

#include <string.h>

static bool same_text(const ebb_value *a, const char *a_key,
                      const ebb_value *b, const char *b_key)
{
    const char *x = ebb_value_find_string(a, a_key);
    const char *y = ebb_value_find_string(b, b_key);

    return x != NULL && y != NULL && strcmp(x, y) == 0;
}

/* By its id; one whose id the run never heard of by its key. */
static bool is_it(const ebb_value *left, const ebb_value *alive)
{
    if (ebb_value_find_string(left, "sandboxId") != NULL)
        return same_text(left, "sandboxId", alive, "sandboxId");
    return same_text(left, "idempotencyKey",
                     ebb_value_find(alive, "metadata"), EBB_RUNS_KEY_FIELD);
}

/* One that is alive: who made it, and what the back end says of it. */
static int add(ebb_value *list, const ebb_value *left, const ebb_value *alive)
{
    static const char *const told[] = { "sandboxId", "status", "endAt" };
    ebb_value *row = ebb_value_copy(left);
    int bad = row == NULL ? -1 : 0;

    for (size_t i = 0; i < sizeof told / sizeof *told && bad == 0; i++) {
        const char *text = ebb_value_find_string(alive, told[i]);
        if (text != NULL)
            bad = ebb_value_set(row, told[i], ebb_value_text(text));
    }
    if (bad == 0)
        return ebb_value_add(list, row);
    ebb_value_free(row);
    return -1;
}

static ebb_value *those_alive(const ebb_value *left, const ebb_value *alive)
{
    ebb_value *list = ebb_value_array();
    int bad = list == NULL ? -1 : 0;

    for (size_t i = 0; i < ebb_value_size(left); i++)
        for (size_t k = 0; k < ebb_value_size(alive) && bad == 0; k++)
            if (is_it(ebb_value_at(left, i), ebb_value_at(alive, k)))
                bad = add(list, ebb_value_at(left, i), ebb_value_at(alive, k));
    if (bad == 0)
        return list;
    ebb_value_free(list);
    return NULL;
}

static int ask(ebb_runtime *rt, const char *backend, ebb_value **alive,
               ebb_err *err)
{
    ebb_runtime *other, *at;
    int result = -1;

    if (backend == NULL)
        return ebb_err_set(err, EBB_UNSUPPORTED,
                           "an older ebb did not record where they are");
    if (strcmp(backend, EBB_PLACE_LOCAL) == 0 && !ebb_runs_local_serves(rt))
        return ebb_err_set(err, EBB_NO_SERVICE,
                           "the local service is not running");
    at = ebb_runs_reach(rt, backend, &other, err);
    if (at != NULL)
        result = ebb_sandbox_list(at, alive, err);
    ebb_close(other);
    return result;
}

int ebb_runs_find_alive(ebb_runtime *rt, ebb_value *run, ebb_err *err)
{
    const ebb_value *left = ebb_value_find(run, "sandboxes");
    ebb_value *alive = NULL, *list;
    int result;

    if (ebb_value_size(left) == 0)
        return 0;
    result = ask(rt, ebb_value_find_string(run, "backend"), &alive, err);
    if (result == 0) {
        list = those_alive(left, alive);
        if (ebb_value_set(run, "sandboxes", list) < 0)
            result = ebb_err_set(err, EBB_NO_MEMORY, "sandboxes of a run");
    }
    ebb_value_free(alive);
    return result;
}
