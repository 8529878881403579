/* SPDX-License-Identifier: MIT */
#include "workflow/input.h"

#include "base/mem.h"

#define SECRETS "envs"
#define HIDDEN  "(hidden)"

/* The same names, each with HIDDEN for its value. */
static ebb_value *hide(const ebb_value *variables)
{
    ebb_value *hidden = ebb_value_object();
    ebb_value *member;
    void *place = NULL;
    const char *key;

    while (ebb_value_next(variables, &place, &key, &member))
        if (ebb_value_set(hidden, key, ebb_value_text(HIDDEN)) < 0) {
            ebb_value_free(hidden);
            return NULL;
        }
    return hidden;
}

static char *without_secrets(const ebb_value *value)
{
    ebb_value *copy = ebb_value_copy(value);
    char *text = NULL;

    if (copy != NULL &&
        ebb_value_set(copy, SECRETS,
                      hide(ebb_value_find(value, SECRETS))) == 0)
        text = ebb_value_write(copy, EBB_WRITE_SORTED, NULL);
    ebb_value_free(copy);
    return text;
}

char *ebb_flow_input(const ebb_value *value, char digest[EBB_SHA256_HEX])
{
    size_t n = 4;
    char *text = value != NULL ? ebb_value_write(value, EBB_WRITE_SORTED, &n)
                               : ebb_mem_dup("null");

    if (text == NULL)
        return NULL;
    ebb_digest_hex(text, n, digest);
    if (ebb_value_size(ebb_value_find(value, SECRETS)) == 0)
        return text;
    ebb_mem_free(text);
    return without_secrets(value);
}
