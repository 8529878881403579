/* SPDX-License-Identifier: MIT */
#include "sandbox/service/environment.h"

#include <stddef.h>

#include "base/mem.h"

static const struct {
    const char *name, *value;
} fixed[] = {
    { "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
    { "HOME", "/home/user" },
    { "USER", "user" },
    { "LOGNAME", "user" },
    { "SHELL", "/bin/bash" },
    { "LANG", "C.UTF-8" },
    { "E2B_SANDBOX", "true" },
};

#define FIXED_COUNT (sizeof fixed / sizeof fixed[0])

/* Adds "name=value"; false when there is no memory. */
static bool add(char **list, size_t *count, const char *name, const char *value)
{
    list[*count] = ebb_mem_printf("%s=%s", name, value);
    return list[(*count)++] != NULL;
}

char **ebb_environment_new(const ebb_value *envs)
{
    size_t count = 0;
    void *place = NULL;
    const char *key;
    ebb_value *member;
    bool ok = ebb_value_size(envs) <= EBB_ENVIRONMENT_COUNT_MAX;
    char **list = ok ? ebb_mem_zero((FIXED_COUNT + ebb_value_size(envs) + 1) *
                                    sizeof *list)
                     : NULL;
    if (list == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < FIXED_COUNT && ok; i++) {
        if (ebb_value_find(envs, fixed[i].name) == NULL) {
            ok = add(list, &count, fixed[i].name, fixed[i].value);
        }
    }
    while (ok && ebb_value_next(envs, &place, &key, &member)) {
        const char *value = ebb_value_get_string(member, NULL);
        ok = value == NULL || add(list, &count, key, value);
    }
    if (!ok) {
        ebb_environment_free(list);
        return NULL;
    }
    return list;
}

void ebb_environment_free(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        ebb_mem_free(list[i]);
    }
    ebb_mem_free(list);
}
