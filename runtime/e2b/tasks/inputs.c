/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/inputs.h"

#include <math.h>
#include <string.h>

#include "task/place.h"

#define ENVS_BYTES_MAX 1048576

int ebb_e2b_check_envs(const char *task, const ebb_value *envs, ebb_err *err)
{
    size_t total = 0, n = 0;
    void *next = NULL;
    const char *name;
    ebb_value *value;
    char shown[EBB_SHOWN_BYTES];

    while (ebb_value_next(envs, &next, &name, &value)) {
        if (*name == '\0' || strchr(name, '=') != NULL)
            return ebb_err_set(err, EBB_INVALID_INPUT,
                               "%s: envs: \"%s\" cannot be the name of a "
                               "variable",
                               task, ebb_place_shown(name, shown));
        ebb_value_get_string(value, &n);
        total += strlen(name) + n + 2; /* as NAME=value and a NUL */
    }
    if (total > ENVS_BYTES_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "%s: envs: %zu bytes together, at most %d; write "
                           "them to a file with e2b.writeFiles",
                           task, total, ENVS_BYTES_MAX);
    return 0;
}

int64_t ebb_e2b_whole_ms(const ebb_value *number)
{
    return (int64_t)ceil(ebb_value_get_float(number));
}
