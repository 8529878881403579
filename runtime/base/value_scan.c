/* SPDX-License-Identifier: MIT */
#include "base/value_scan.h"

#include <stdbool.h>

/* The place after the string that begins at text[i]. */
static size_t string_end(const char *text, size_t n, size_t i)
{
    for (i++; i < n && text[i] != '"'; i++)
        if (text[i] == '\\')
            i++;
    return i < n ? i + 1 : n;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_mark(char c)
{
    return c == ',' || c == ':' || c == ']' || c == '}' || c == '[' ||
           c == '{' || c == '"';
}

/* The place after the number or word that begins at text[i]. */
static size_t word_end(const char *text, size_t n, size_t i)
{
    while (i < n && !is_blank(text[i]) && !is_mark(text[i]))
        i++;
    return i;
}

int ebb_value_scan(const char *text, size_t n, size_t values_max,
                   size_t depth_max, ebb_err *err)
{
    size_t i = 0, values = 0, depth = 0;

    while (i < n) {
        char c = text[i];

        if (is_blank(c) || c == ',') {
            i++;
        } else if (c == ':') { /* what came before was a key */
            values -= values > 0;
            i++;
        } else if (c == ']' || c == '}') {
            depth -= depth > 0;
            i++;
        } else {
            bool opens = c == '[' || c == '{';

            values++;
            depth += opens;
            i = opens      ? i + 1
                : c == '"' ? string_end(text, n, i)
                           : word_end(text, n, i);
        }
        if (depth > depth_max)
            return ebb_err_set(err, EBB_PROTOCOL,
                               "JSON nests deeper than %zu at byte %zu",
                               depth_max, i);
        if (values > values_max && values - values_max > 1)
            break; /* even if the last turns out to be a key */
    }
    if (values > values_max)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "JSON of more than %zu values (at byte %zu)",
                           values_max, i);
    return 0;
}
