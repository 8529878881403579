/* SPDX-License-Identifier: MIT */
#include "e2b/long_line.h"

#include <string.h>

/* Where in the object the next byte is. */
enum {
    BEFORE,      /* the opening brace */
    BEFORE_NAME, /* or the closing brace */
    AFTER_NAME,  /* the colon */
    BEFORE_VALUE,
    IN_STRING,
    IN_ESCAPE,
    IN_HEX,
    IN_SCALAR,
    IN_NESTED,
    IN_NESTED_STRING,
    IN_NESTED_ESCAPE,
    AFTER_VALUE, /* a comma or the closing brace */
    DONE
};

void ebb_e2b_long_line_init(ebb_e2b_long_line *line, ebb_e2b_piece_fn *fn,
                            void *context)
{
    *line =
        (ebb_e2b_long_line){ .state = BEFORE, .fn = fn, .context = context };
}

static int broken(ebb_err *err)
{
    return ebb_err_set(err, EBB_PROTOCOL, "a line that is no JSON object");
}

/* Names of any length may come; the ones anybody asks for are short. */
static void add_name(ebb_e2b_long_line *line, const char *bytes, size_t n)
{
    if (n >= sizeof line->name - line->name_n) {
        line->name_n = sizeof line->name;
        return;
    }
    memcpy(line->name + line->name_n, bytes, n);
    line->name_n += n;
}

static int give(ebb_e2b_long_line *line, const char *bytes, size_t n,
                ebb_err *err)
{
    if (n == 0)
        return 0;
    if (!line->in_name)
        return line->fn(line->context, line->name, bytes, n, err);
    add_name(line, bytes, n);
    return 0;
}

static void begin_name(ebb_e2b_long_line *line)
{
    line->name_n = 0;
    line->in_name = true;
    line->state = IN_STRING;
}

/* An empty string is a member too: every one ends with an empty piece. */
static int end_string(ebb_e2b_long_line *line, ebb_err *err)
{
    if (!line->in_name) {
        line->state = AFTER_VALUE;
        return line->fn(line->context, line->name, "", 0, err);
    }
    if (line->name_n >= sizeof line->name)
        line->name_n = 0;
    line->name[line->name_n] = '\0';
    line->in_name = false;
    line->state = AFTER_NAME;
    return 0;
}

/* A code point as UTF-8; a lone surrogate is U+FFFD. */
static int give_code(ebb_e2b_long_line *line, unsigned code, ebb_err *err)
{
    char out[4];
    size_t n = 0;

    if (code >= 0xD800 && code < 0xE000)
        code = 0xFFFD;
    if (code < 0x80) {
        out[n++] = (char)code;
    } else if (code < 0x800) {
        out[n++] = (char)(0xC0 | code >> 6);
    } else if (code < 0x10000) {
        out[n++] = (char)(0xE0 | code >> 12);
        out[n++] = (char)(0x80 | (code >> 6 & 0x3F));
    } else {
        out[n++] = (char)(0xF0 | code >> 18);
        out[n++] = (char)(0x80 | (code >> 12 & 0x3F));
        out[n++] = (char)(0x80 | (code >> 6 & 0x3F));
    }
    if (code >= 0x80)
        out[n++] = (char)(0x80 | (code & 0x3F));
    return give(line, out, n, err);
}

/* A high surrogate that no low one followed. */
static int drop_high(ebb_e2b_long_line *line, ebb_err *err)
{
    unsigned high = line->high;

    line->high = 0;
    return high == 0 ? 0 : give_code(line, high, err);
}

static int take_unit(ebb_e2b_long_line *line, unsigned unit, ebb_err *err)
{
    unsigned high = line->high;

    if (high != 0 && unit >= 0xDC00 && unit < 0xE000) {
        line->high = 0;
        return give_code(
            line, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00), err);
    }
    if (drop_high(line, err) != 0)
        return -1;
    if (unit >= 0xD800 && unit < 0xDC00) {
        line->high = unit;
        return 0;
    }
    return give_code(line, unit, err);
}

static int take_hex(ebb_e2b_long_line *line, char c, ebb_err *err)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    unsigned value;

    if (at == NULL)
        return broken(err);
    value = (unsigned)(at - digits);
    line->hex = line->hex << 4 | (value > 15 ? value - 6 : value);
    if (++line->hex_n < 4)
        return 0;
    line->state = IN_STRING;
    return take_unit(line, line->hex, err);
}

static int take_escape(ebb_e2b_long_line *line, char c, ebb_err *err)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at = c == '\0' ? NULL : strchr(from, c);

    if (c == 'u') {
        line->hex = line->hex_n = 0;
        line->state = IN_HEX;
        return 0;
    }
    if (at == NULL)
        return broken(err);
    line->state = IN_STRING;
    if (drop_high(line, err) != 0)
        return -1;
    return give(line, &to[at - from], 1, err);
}

/* A run of a string's plain bytes; returns how many it took, -1 to stop. */
static long take_run(ebb_e2b_long_line *line, const char *bytes, size_t n,
                     ebb_err *err)
{
    size_t run = 0;

    while (run < n && bytes[run] != '"' && bytes[run] != '\\')
        run++;
    if (run > 0 && drop_high(line, err) != 0)
        return -1;
    if (give(line, bytes, run, err) != 0)
        return -1;
    if (run == n)
        return (long)run;
    if (bytes[run] == '\\') {
        line->state = IN_ESCAPE;
    } else {
        if (drop_high(line, err) != 0 || end_string(line, err) != 0)
            return -1;
    }
    return (long)run + 1;
}

static void begin_value(ebb_e2b_long_line *line, char c)
{
    line->depth = 1;
    line->state = c == '"'               ? IN_STRING
                  : c == '{' || c == '[' ? IN_NESTED
                                         : IN_SCALAR;
}

static void take_nested(ebb_e2b_long_line *line, char c)
{
    if (line->state == IN_NESTED_ESCAPE)
        line->state = IN_NESTED_STRING;
    else if (line->state == IN_NESTED_STRING && c == '\\')
        line->state = IN_NESTED_ESCAPE;
    else if (c == '"')
        line->state =
            line->state == IN_NESTED_STRING ? IN_NESTED : IN_NESTED_STRING;
    else if (line->state == IN_NESTED && (c == '{' || c == '['))
        line->depth++;
    else if (line->state == IN_NESTED && (c == '}' || c == ']') &&
             --line->depth == 0)
        line->state = AFTER_VALUE;
}

/* Between names and values one byte decides where it goes on. */
static int take_between(ebb_e2b_long_line *line, char c, ebb_err *err)
{
    static const struct {
        int state;
        char c;
        int next;
    } moves[] = {
        { BEFORE, '{', BEFORE_NAME },      { BEFORE_NAME, '}', DONE },
        { AFTER_NAME, ':', BEFORE_VALUE }, { AFTER_VALUE, ',', BEFORE_NAME },
        { AFTER_VALUE, '}', DONE },
    };

    if (c == ' ' || c == '\t' || c == '\r')
        return 0;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (moves[i].state == line->state && moves[i].c == c) {
            line->state = moves[i].next;
            return 0;
        }
    if (line->state == BEFORE_NAME && c == '"')
        begin_name(line);
    else if (line->state == BEFORE_VALUE && strchr(",}]:", c) == NULL)
        begin_value(line, c);
    else
        return broken(err);
    return 0;
}

static int take_byte(ebb_e2b_long_line *line, char c, ebb_err *err)
{
    switch (line->state) {
    case IN_ESCAPE:
        return take_escape(line, c, err);
    case IN_HEX:
        return take_hex(line, c, err);
    case IN_NESTED:
    case IN_NESTED_STRING:
    case IN_NESTED_ESCAPE:
        take_nested(line, c);
        return 0;
    case IN_SCALAR:
        if (c != ',' && c != '}')
            return 0;
        line->state = AFTER_VALUE;
        break;
    default:
        break;
    }
    return take_between(line, c, err);
}

int ebb_e2b_long_line_add(ebb_e2b_long_line *line, const char *bytes, size_t n,
                          ebb_err *err)
{
    long took;

    while (n > 0) {
        took = 1;
        if (line->state == IN_STRING)
            took = take_run(line, bytes, n, err);
        else if (take_byte(line, *bytes, err) != 0)
            took = -1;
        if (took < 0)
            return -1;
        bytes += took;
        n -= (size_t)took;
    }
    return 0;
}

int ebb_e2b_long_line_finish(const ebb_e2b_long_line *line, ebb_err *err)
{
    return line->state == DONE ? 0 : broken(err);
}
