/* SPDX-License-Identifier: MIT */

/*
 * JSON text to a value. yajl reads the text and says what comes; here the
 * value is built, and what yajl lets pass is refused: names given twice,
 * integers beyond int64, bytes that are not UTF-8, half a surrogate pair,
 * white space that JSON does not have, the beginning of another value.
 */

#define _GNU_SOURCE /* strtod_l */

#include "base/value_private.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_parse.h>

#define VALUES_MAX_DEFAULT 1000000
#define NUMBER_BYTES       64 /* a longer number is copied to the heap */
#define BLOCKS_MAX         16 /* that yajl holds at once; it has eight */

typedef struct parser {
    const char *text;
    size_t n, values_left;
    yajl_handle handle;
    ebb_value *root;
    ebb_pool *pool; /* of the root, once that is a container */
    size_t end;     /* of its text */
    ebb_value *open[EBB_VALUE_DEPTH_MAX]; /* the containers around */
    size_t depth;
    ebb_member *member; /* of the innermost object: it waits for its value */
    ebb_code code;      /* why a callback stopped the reading, if it did */
    const char *why;
    void *blocks[BLOCKS_MAX];
    jmp_buf no_memory;
} parser;

/* ---- yajl's memory: it does not look whether it got any ---- */

static void *resize_block(void *context, void *old, size_t bytes)
{
    parser *p = context;
    void *block = NULL;
    size_t i = 0;

    while (i < BLOCKS_MAX && p->blocks[i] != old)
        i++;
    if (i < BLOCKS_MAX)
        block = ebb_mem_resize(old, bytes);
    if (block == NULL)
        longjmp(p->no_memory, 1);
    p->blocks[i] = block;
    return block;
}

static void *new_block(void *context, size_t bytes)
{
    return resize_block(context, NULL, bytes);
}

static void free_block(void *context, void *block)
{
    parser *p = context;

    for (size_t i = 0; i < BLOCKS_MAX; i++)
        if (p->blocks[i] == block)
            p->blocks[i] = NULL;
    ebb_mem_free(block);
}

/* ---- what the text says ---- */

static int refuse(parser *p, ebb_code code, const char *why)
{
    p->code = code;
    p->why = why;
    return 0;
}

static void set_root(parser *p, ebb_value *value)
{
    p->root = value;
    p->end = yajl_get_bytes_consumed(p->handle);
}

/* Puts a value where it belongs; of NULL and what fails nothing is left. */
static int take(parser *p, ebb_value *value)
{
    ebb_value *around = p->depth > 0 ? p->open[p->depth - 1] : NULL;

    if (value == NULL)
        return refuse(p, EBB_NO_MEMORY, "JSON");
    if (p->values_left-- == 0) {
        ebb_value_free(value);
        return refuse(p, EBB_LIMIT_EXCEEDED, "values");
    }
    if (around == NULL)
        set_root(p, value);
    else if (around->type == EBB_OBJECT)
        p->member->value = value;
    else if (ebb_value_add(around, value) != 0)
        return refuse(p, EBB_NO_MEMORY, "JSON");
    return 1;
}

static int on_null(void *context)
{
    return take(context, ebb_value_null());
}

static int on_boolean(void *context, int yes)
{
    return take(context, ebb_value_bool(yes != 0));
}

/* The decimal point of JSON is a dot, whatever the host's locale says. */
static int take_number(parser *p, const char *text)
{
    long long i;
    double d;

    errno = 0;
    if (strpbrk(text, ".eE") == NULL) {
        i = strtoll(text, NULL, 10);
        return errno == ERANGE ? refuse(p, EBB_PROTOCOL, "too big integer")
                               : take(p, ebb_pool_int(p->pool, i));
    }
    d = strtod_l(text, NULL, newlocale(LC_ALL_MASK, "C", NULL));
    return isinf(d) ? refuse(p, EBB_PROTOCOL, "real number overflow")
                    : take(p, ebb_pool_float(p->pool, d));
}

static int on_number(void *context, const char *digits, size_t n)
{
    char brief[NUMBER_BYTES];
    char *copy;
    int goes_on;

    if (n < sizeof brief) {
        memcpy(brief, digits, n);
        brief[n] = '\0';
        return take_number(context, brief);
    }
    copy = ebb_mem_dup_n(digits, n);
    if (copy == NULL)
        return refuse(context, EBB_NO_MEMORY, "JSON");
    goes_on = take_number(context, copy);
    ebb_mem_free(copy);
    return goes_on;
}

static int on_string(void *context, const unsigned char *bytes, size_t n)
{
    const char *text = (const char *)bytes;
    parser *p = context;

    if (!ebb_utf8_valid(text, n))
        return refuse(p, EBB_PROTOCOL, "a string is not UTF-8");
    return take(p, ebb_pool_string_valid(p->pool, text, n));
}

static int on_key(void *context, const unsigned char *bytes, size_t n)
{
    parser *p = context;
    ebb_object *object = (ebb_object *)p->open[p->depth - 1];
    const char *key = (const char *)bytes;

    if (!ebb_member_takes(key, n))
        return refuse(p, EBB_PROTOCOL,
                      "an object key is not UTF-8, or holds NUL");
    if (ebb_object_find(object, key, n) != NULL)
        return refuse(p, EBB_PROTOCOL, "duplicate object key");
    p->member = ebb_object_add(object, key, n);
    return p->member != NULL ? 1 : refuse(p, EBB_NO_MEMORY, "JSON");
}

static int begin(parser *p, ebb_value *container)
{
    if (p->depth == EBB_VALUE_DEPTH_MAX) {
        ebb_value_free(container);
        return refuse(p, EBB_PROTOCOL, "it nests deeper than 100");
    }
    if (!take(p, container))
        return 0;
    if (p->depth == 0)
        p->pool = ebb_value_pool(container);
    p->open[p->depth++] = container;
    return p->pool != NULL ? 1 : refuse(p, EBB_NO_MEMORY, "JSON");
}

static int on_object(void *context)
{
    parser *p = context;

    return begin(p, ebb_pool_object(p->pool));
}

static int on_array(void *context)
{
    parser *p = context;

    return begin(p, ebb_pool_array(p->pool));
}

static int on_end(void *context)
{
    parser *p = context;

    if (--p->depth == 0)
        set_root(p, p->root);
    return 1;
}

/* ---- what is wrong with it ---- */

/* \uD800 to \uDBFF, or with the other digits \uDC00 to \uDFFF. */
static bool is_half(const char *text, size_t n, const char digits[4])
{
    return n >= 6 && text[0] == '\\' && text[1] == 'u' &&
           (text[2] | 0x20) == 'd' && memchr(digits, text[3] | 0x20, 4) != NULL;
}

/* Where an escaped first half of a pair stands without its second, else n. */
static size_t find_half(const char *text, size_t n)
{
    const char *escape;
    size_t i = 0;

    while (i < n && (escape = memchr(text + i, '\\', n - i)) != NULL) {
        i = (size_t)(escape - text);
        if (!is_half(escape, n - i, "89ab"))
            i += 2;
        else if (n - i >= 6 && is_half(escape + 6, n - i - 6, "cdef"))
            i += 12;
        else
            return i;
    }
    return n;
}

/* why may end in a line of its own. */
static int invalid(const parser *p, size_t at, const char *why, ebb_err *err)
{
    size_t line = 1, column = 1;

    for (size_t i = 0; i < at && i < p->n; i++) {
        column = p->text[i] == '\n' ? 1 : column + 1;
        line += p->text[i] == '\n';
    }
    return ebb_err_set(err, EBB_PROTOCOL,
                       "invalid JSON at line %zu, column %zu: %.*s", line,
                       column, (int)strcspn(why, "\n"), why);
}

/* yajl's words without their kind, as in "lexical error: invalid char". */
static const char *words_of(const parser *p)
{
    const char *words = (const char *)yajl_get_error(p->handle, 0, NULL, 0);
    const char *colon = strstr(words, ": ");

    return colon != NULL ? colon + 2 : words;
}

/* A reading that ended at a byte, for yajl's reason or for ours. */
static int explain(const parser *p, size_t at, size_t values_max, ebb_err *err)
{
    if (p->code == EBB_NO_MEMORY)
        return ebb_err_set(err, EBB_NO_MEMORY, "%s", p->why);
    if (p->code == EBB_LIMIT_EXCEEDED)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "JSON of more than %zu values (at byte %zu)",
                           values_max, at);
    return invalid(p, at, p->why != NULL ? p->why : words_of(p), err);
}

/* To yajl a vertical tab and a form feed are white space, too. */
static int check_blanks(const parser *p, ebb_err *err)
{
    const char *odd = memchr(p->text, '\v', p->n);

    if (odd == NULL)
        odd = memchr(p->text, '\f', p->n);
    return odd == NULL
               ? 0
               : invalid(p, (size_t)(odd - p->text), "invalid char", err);
}

/* What yajl would read as another character. */
static int check_pairs(const parser *p, ebb_err *err)
{
    size_t half = find_half(p->text, p->n);

    return half == p->n ? 0 : invalid(p, half, "half a surrogate pair", err);
}

/* yajl overlooks the beginning of a string or word after the value. */
static int check_rest(const parser *p, ebb_err *err)
{
    static const char blanks[] = { ' ', '\t', '\r', '\n' };

    for (size_t i = p->end; i < p->n; i++)
        if (memchr(blanks, p->text[i], sizeof blanks) == NULL)
            return invalid(p, i, "more than one value", err);
    return 0;
}

static int read_text(parser *p, size_t values_max, ebb_err *err)
{
    static const yajl_callbacks callbacks = {
        .yajl_null = on_null,
        .yajl_boolean = on_boolean,
        .yajl_number = on_number,
        .yajl_string = on_string,
        .yajl_start_map = on_object,
        .yajl_map_key = on_key,
        .yajl_end_map = on_end,
        .yajl_start_array = on_array,
        .yajl_end_array = on_end,
    };
    yajl_alloc_funcs memory = { new_block, resize_block, free_block, p };

    if (setjmp(p->no_memory) != 0)
        return ebb_err_set(err, EBB_NO_MEMORY, "JSON");
    p->handle = yajl_alloc(&callbacks, &memory, p);
    yajl_config(p->handle, yajl_dont_validate_strings, 1);
    p->values_left = values_max;
    if (yajl_parse(p->handle, (const unsigned char *)p->text, p->n) !=
        yajl_status_ok)
        return explain(p, yajl_get_bytes_consumed(p->handle) - 1, values_max,
                       err); /* the last byte that it took */
    if (p->root != NULL && p->depth == 0)
        return check_rest(p, err);
    /* A number that the text ends with, or the text is cut. */
    if (yajl_complete_parse(p->handle) != yajl_status_ok)
        return explain(p, p->n, values_max, err);
    return 0;
}

ebb_value *ebb_value_parse(const char *text, size_t n, size_t values_max,
                           ebb_err *err)
{
    parser p = { .text = text != NULL ? text : "", .n = n };
    int failed = check_blanks(&p, err) != 0 || check_pairs(&p, err) != 0;

    if (!failed)
        failed = read_text(&p, values_max > 0 ? values_max : VALUES_MAX_DEFAULT,
                           err);
    for (size_t i = 0; i < BLOCKS_MAX; i++)
        ebb_mem_free(p.blocks[i]);
    if (!failed)
        return p.root;
    ebb_value_free(p.root);
    return NULL;
}
