/* SPDX-License-Identifier: MIT */
#include "workflow/diff.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#define PATH_BYTES_MAX 200
#define SIDE_BYTES 60

typedef struct diff {
    ebb_value *lines;
    size_t count;
    bool numbers_only, failed;
    ebb_buf path;
} diff;

/* One side, cut: a value's JSON, or "nothing". */
static int add_side(ebb_buf *line, const ebb_value *value)
{
    char *text;
    size_t n, cut;

    if (value == NULL)
        return ebb_buf_add_text(line, "nothing");
    text = ebb_value_write(value, EBB_WRITE_SORTED, &n);
    if (text == NULL)
        return -1;
    cut = n;
    if (n > SIDE_BYTES) {
        cut = SIDE_BYTES;
        while (cut > 0 && ((unsigned char)text[cut] & 0xC0) == 0x80)
            cut--; /* not inside a character */
    }
    ebb_buf_add(line, text, cut);
    ebb_mem_free(text);
    return ebb_buf_add_text(line, cut < n ? "…" : "");
}

static void add_line(diff *d, const ebb_value *recorded,
                     const ebb_value *asked)
{
    ebb_buf line = { 0 };
    const char *path = d->path.n > 0 ? d->path.bytes : "input";

    d->count++;
    if (d->count > EBB_DIFF_LINES_MAX)
        return;
    if (ebb_buf_printf(&line, "%s: ", path) < 0 ||
        add_side(&line, recorded) < 0 ||
        ebb_buf_add_text(&line, " → ") < 0 || add_side(&line, asked) < 0 ||
        ebb_value_add(d->lines, ebb_value_text(line.bytes)) < 0)
        d->failed = true;
    ebb_buf_clear(&line);
}

/* Texts that are equal once their digits are left out. */
static bool differ_in_digits(const char *a, const char *b)
{
    for (;;) {
        while (isdigit((unsigned char)*a))
            a++;
        while (isdigit((unsigned char)*b))
            b++;
        if (*a != *b)
            return false;
        if (*a == '\0')
            return true;
        a++;
        b++;
    }
}

static bool is_number(const ebb_value *value)
{
    ebb_type type = ebb_value_type(value);

    return type == EBB_INT || type == EBB_FLOAT;
}

static void compare(diff *d, const ebb_value *recorded,
                    const ebb_value *asked);

static void enter(diff *d, const char *key, const ebb_value *recorded,
                  const ebb_value *asked)
{
    size_t n = d->path.n;

    if (n < PATH_BYTES_MAX)
        ebb_buf_printf(&d->path, "%s%.60s", n > 0 ? "." : "", key);
    compare(d, recorded, asked);
    d->path.n = n;
    if (d->path.bytes != NULL)
        d->path.bytes[n] = '\0';
}

static void compare_objects(diff *d, const ebb_value *recorded,
                            const ebb_value *asked)
{
    void *place = NULL;
    const char *key;
    ebb_value *member;

    while (ebb_value_next(recorded, &place, &key, &member))
        enter(d, key, member, ebb_value_find(asked, key));
    place = NULL;
    while (ebb_value_next(asked, &place, &key, &member))
        if (ebb_value_find(recorded, key) == NULL)
            enter(d, key, NULL, member);
}

static void compare_arrays(diff *d, const ebb_value *recorded,
                           const ebb_value *asked)
{
    size_t n = ebb_value_size(recorded);
    char *key;

    if (ebb_value_size(asked) > n)
        n = ebb_value_size(asked);
    for (size_t i = 0; i < n; i++) {
        key = ebb_mem_printf("[%zu]", i + 1);
        if (key == NULL)
            d->failed = true;
        else
            enter(d, key, ebb_value_at(recorded, i), ebb_value_at(asked, i));
        ebb_mem_free(key);
    }
}

static void compare(diff *d, const ebb_value *recorded,
                    const ebb_value *asked)
{
    ebb_type type = ebb_value_type(recorded);
    bool same_type = recorded != NULL && asked != NULL &&
                     type == ebb_value_type(asked);

    if (recorded != NULL && asked != NULL && ebb_value_equal(recorded, asked))
        return;
    if (same_type && type == EBB_OBJECT) {
        compare_objects(d, recorded, asked);
        return;
    }
    if (same_type && type == EBB_ARRAY) {
        compare_arrays(d, recorded, asked);
        return;
    }
    if (!(is_number(recorded) && is_number(asked)) &&
        !(same_type && type == EBB_STRING &&
          differ_in_digits(ebb_value_get_string(recorded, NULL),
                           ebb_value_get_string(asked, NULL))))
        d->numbers_only = false;
    add_line(d, recorded, asked);
}

ebb_value *ebb_diff(const ebb_value *recorded, const ebb_value *asked,
                    bool *numbers_only)
{
    diff d = { .lines = ebb_value_array(), .numbers_only = true };
    char *more = NULL;

    ebb_buf_init(&d.path, 0);
    if (d.lines != NULL)
        compare(&d, recorded, asked);
    if (d.lines != NULL && d.count > EBB_DIFF_LINES_MAX) {
        more = ebb_mem_printf("and %zu more", d.count - EBB_DIFF_LINES_MAX);
        if (more == NULL ||
            ebb_value_add(d.lines, ebb_value_text(more)) < 0)
            d.failed = true;
    }
    ebb_mem_free(more);
    ebb_buf_clear(&d.path);
    *numbers_only = d.numbers_only && d.count > 0;
    if (d.lines != NULL && !d.failed)
        return d.lines;
    ebb_value_free(d.lines);
    return NULL;
}
