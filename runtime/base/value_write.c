/* SPDX-License-Identifier: MIT */
#include "base/value.h"

#include "base/buf.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    ebb_buf *out; /* NULL: only count */
    size_t n;
    unsigned how;
    int depth;
    bool failed;
} writer;

typedef struct pair {
    const char *key;
    const ebb_value *member;
} pair;

static void put(writer *w, const char *bytes, size_t n)
{
    w->n += n;
    if (w->out != NULL && ebb_buf_add(w->out, bytes, n) < 0)
        w->failed = true;
}

static void put_text(writer *w, const char *text)
{
    put(w, text, strlen(text));
}

/*
 * The decimal point follows the host's locale, and may be more than a byte:
 * whatever is between the digits becomes one dot.
 */
static void to_dot(char *text)
{
    char *to = text;
    bool dotted = false;

    for (const char *from = text; *from != '\0'; from++)
        if (strchr("0123456789+-e", *from) != NULL) {
            *to++ = *from;
        } else if (!dotted) {
            *to++ = '.';
            dotted = true;
        }
    *to = '\0';
}

/* 17 digits always read back the same; most numbers need fewer. */
static void put_float(writer *w, double d)
{
    char text[40];

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, d);
        if (strtod(text, NULL) == d)
            break;
    }
    to_dot(text);
    put_text(w, text);
    if (strpbrk(text, ".e") == NULL)
        put(w, ".0", 2);
}

static void put_int(writer *w, int64_t i)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, i);
    put_text(w, text);
}

/* Writes \uXXXX for the character at p, in two if it is beyond U+FFFF. */
static size_t put_unicode(writer *w, const unsigned char *p)
{
    char text[16];
    size_t n = *p < 0x80 ? 1 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : 4;
    static const unsigned char lead_bits[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
    unsigned c = *p & lead_bits[n];

    for (size_t i = 1; i < n; i++)
        c = c << 6 | (p[i] & 0x3F);
    if (c < 0x10000)
        snprintf(text, sizeof text, "\\u%04x", c);
    else
        snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xD7C0 + (c >> 10),
                 0xDC00 + (c & 0x3FF));
    put_text(w, text);
    return n;
}

static const char *short_escape(unsigned char c)
{
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        return NULL;
    }
}

#define EACH_BYTE UINT64_C(0x0101010101010101)
#define HIGH_BITS UINT64_C(0x8080808080808080)

/*
 * Whether a byte of the word needs more than to be copied: below 0x20, a
 * quote, a backslash, and above 0x7F if all is to be ASCII. A borrow can only
 * mark a byte beside one that is marked rightly.
 */
static inline bool has_special(uint64_t word, bool ascii)
{
    uint64_t quote = word ^ EACH_BYTE * '"';
    uint64_t backslash = word ^ EACH_BYTE * '\\';
    uint64_t found =
        ((word - EACH_BYTE * 0x20) & ~word) | ((quote - EACH_BYTE) & ~quote) |
        ((backslash - EACH_BYTE) & ~backslash) | (ascii ? word : 0);

    return (found & HIGH_BITS) != 0;
}

/* The leading bytes that stand for themselves, looked at a word at a time. */
static size_t plain_run(const unsigned char *p, size_t n, bool ascii)
{
    unsigned char plain_max = ascii ? 0x7F : 0xFF;
    size_t i = 0;
    uint64_t word;

    for (; i + sizeof word <= n; i += sizeof word) {
        memcpy(&word, p + i, sizeof word);
        if (has_special(word, ascii))
            break;
    }
    while (i < n && p[i] >= 0x20 && p[i] <= plain_max && p[i] != '"' &&
           p[i] != '\\')
        i++;
    return i;
}

static void put_string(writer *w, const char *bytes, size_t n)
{
    const unsigned char *p = (const unsigned char *)bytes;
    bool ascii = (w->how & EBB_WRITE_ASCII) != 0;
    size_t i = 0;

    put(w, "\"", 1);
    while (i < n) {
        size_t run = plain_run(p + i, n - i, ascii);

        put(w, bytes + i, run);
        i += run;
        if (i == n)
            break;
        if (short_escape(p[i]) != NULL)
            put(w, short_escape(p[i++]), 2);
        else
            i += put_unicode(w, p + i);
    }
    put(w, "\"", 1);
}

static void put_line(writer *w)
{
    if (!(w->how & EBB_WRITE_PRETTY))
        return;
    put(w, "\n", 1);
    for (int i = 0; i < w->depth; i++)
        put(w, "  ", 2);
}

static void put_value(writer *w, const ebb_value *value);

static void put_array(writer *w, const ebb_value *value)
{
    size_t n = ebb_value_size(value);

    put(w, "[", 1);
    w->depth++;
    for (size_t i = 0; i < n && !w->failed; i++) {
        if (i > 0)
            put(w, ",", 1);
        put_line(w);
        put_value(w, ebb_value_at(value, i));
    }
    w->depth--;
    if (n > 0)
        put_line(w);
    put(w, "]", 1);
}

static void put_member(writer *w, bool first, const char *key,
                       const ebb_value *member)
{
    if (!first)
        put(w, ",", 1);
    put_line(w);
    put_string(w, key, strlen(key));
    put_text(w, w->how & EBB_WRITE_PRETTY ? ": " : ":");
    put_value(w, member);
}

static int by_key(const void *a, const void *b)
{
    const pair *left = a, *right = b;

    return strcmp(left->key, right->key);
}

static void put_sorted(writer *w, const ebb_value *value)
{
    size_t n = ebb_value_size(value), i = 0;
    pair *pairs = ebb_mem_alloc(n * sizeof *pairs);
    void *place = NULL;
    ebb_value *member;
    const char *key;

    if (pairs == NULL) {
        w->failed = true;
        return;
    }
    while (i < n && ebb_value_next(value, &place, &key, &member))
        pairs[i++] = (pair){ key, member };
    qsort(pairs, n, sizeof *pairs, by_key);
    for (i = 0; i < n && !w->failed; i++)
        put_member(w, i == 0, pairs[i].key, pairs[i].member);
    ebb_mem_free(pairs);
}

static void put_object(writer *w, const ebb_value *value)
{
    void *place = NULL;
    ebb_value *member;
    const char *key;
    bool first = true;

    put(w, "{", 1);
    w->depth++;
    if (w->how & EBB_WRITE_SORTED)
        put_sorted(w, value);
    else
        while (!w->failed && ebb_value_next(value, &place, &key, &member)) {
            put_member(w, first, key, member);
            first = false;
        }
    w->depth--;
    if (ebb_value_size(value) > 0)
        put_line(w);
    put(w, "}", 1);
}

static void put_value(writer *w, const ebb_value *value)
{
    ebb_type type = ebb_value_type(value);
    const char *bytes;
    size_t n;

    if (type >= EBB_ARRAY && w->depth >= EBB_VALUE_DEPTH_MAX) {
        w->failed = true;
        return;
    }
    switch (type) {
    case EBB_NULL:
        put(w, "null", 4);
        break;
    case EBB_BOOL:
        put_text(w, ebb_value_get_bool(value) ? "true" : "false");
        break;
    case EBB_INT:
        put_int(w, ebb_value_get_int(value));
        break;
    case EBB_FLOAT:
        put_float(w, ebb_value_get_float(value));
        break;
    case EBB_STRING:
        bytes = ebb_value_get_string(value, &n);
        put_string(w, bytes, n);
        break;
    case EBB_ARRAY:
        put_array(w, value);
        break;
    case EBB_OBJECT:
        put_object(w, value);
        break;
    }
}

char *ebb_value_write(const ebb_value *value, unsigned how, size_t *n)
{
    ebb_buf out = { 0 };
    writer w = { .out = &out, .how = how };

    put_value(&w, value);
    if (w.failed)
        goto done;
    if (n != NULL)
        *n = out.n;
    return ebb_buf_take(&out);
done:
    ebb_buf_clear(&out);
    return NULL;
}

size_t ebb_value_length(const ebb_value *value)
{
    writer w = { .how = EBB_WRITE_COMPACT };

    put_value(&w, value);
    return w.failed ? 0 : w.n;
}
