/* SPDX-License-Identifier: MIT */
#pragma once

/* Values and their text in tests: a wrong one fails the test by name. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/value.h"

static inline ebb_value *parse(const char *text)
{
    ebb_err err = { 0 };
    ebb_value *value = ebb_value_parse(text, strlen(text), 0, &err);

    if (value == NULL)
        fail_msg("%s: %s", text, err.msg);
    return value;
}

static inline void assert_refused(const char *text, size_t n, const char *why)
{
    ebb_err err = { 0 };

    if (ebb_value_parse(text, n, 0, &err) != NULL)
        fail_msg("accepted: %s", text);
    assert_int_equal(err.code, EBB_PROTOCOL);
    if (strstr(err.msg, why) == NULL)
        fail_msg("%s: expected \"%s\" in \"%s\"", text, why, err.msg);
}

/* Writes value, checks the text and the announced length, frees both. */
static inline void assert_written(ebb_value *value, unsigned how,
                                  const char *text)
{
    size_t n;
    char *written = ebb_value_write(value, how, &n);

    assert_non_null(written);
    assert_string_equal(written, text);
    assert_int_equal(n, strlen(text));
    if (how == EBB_WRITE_COMPACT)
        assert_int_equal(ebb_value_length(value), n);
    ebb_mem_free(written);
    ebb_value_free(value);
}

static inline void assert_stays(const char *text)
{
    assert_written(parse(text), EBB_WRITE_COMPACT, text);
}
