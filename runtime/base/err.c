/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Longer than a message, so that a cut falls where the message is full. */
#define DRAFT_BYTES 1024

typedef struct code_facts {
    const char *name;
    bool retryable;
    int exit_status;
} code_facts;

static const code_facts codes[EBB_CODES_COUNT] = {
    [EBB_OK] = { "ok", false, 0 },
#define CODE_FACTS(id, name, retryable, exit_status)                           \
    [id] = { name, retryable, exit_status },
    EBB_ERR_CODES(CODE_FACTS)
#undef CODE_FACTS
};

typedef struct message {
    char *text;
    size_t n;
    bool full;
} message;

static size_t char_bytes(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* C0, DEL and C1: a terminal would obey them. */
static bool is_control(const char *text, size_t n)
{
    unsigned char first = (unsigned char)text[0];

    return first < 0x20 || first == 0x7F ||
           (n == 2 && first == 0xC2 && (unsigned char)text[1] < 0xA0);
}

static void keep(void *context, const char *text, size_t n)
{
    message *m = context;

    for (size_t i = 0, size; i < n && !m->full; i += size) {
        bool control;

        size = char_bytes((unsigned char)text[i]);
        control = is_control(text + i, size);
        if (m->n + (control ? 1 : size) >= EBB_ERR_MSG_BYTES) {
            m->full = true;
        } else if (control) {
            m->text[m->n++] = ' ';
        } else {
            memcpy(m->text + m->n, text + i, size);
            m->n += size;
        }
    }
}

/* Adds what snprintf left in draft; wrote is what it returned. */
static void add_draft(message *m, const char *draft, int wrote)
{
    ebb_utf8 decoder;
    size_t n = wrote < 0 ? 0 : (size_t)wrote;
    bool cut = n >= DRAFT_BYTES;

    ebb_utf8_init(&decoder);
    ebb_utf8_add(&decoder, draft, cut ? DRAFT_BYTES - 1 : n, keep, m);
    if (cut)
        m->full = true;
    else
        ebb_utf8_finish(&decoder, keep, m);
}

/* Whoever reads a message that was cut sees that it was. */
static void finish(message *m)
{
    static const char mark[] = "…";
    size_t most = EBB_ERR_MSG_BYTES - sizeof mark;

    if (m->full && m->n > most)
        for (m->n = most; ((unsigned char)m->text[m->n] & 0xC0) == 0x80;)
            m->n--;
    m->text[m->n] = '\0';
    if (m->full)
        memcpy(m->text + m->n, mark, sizeof mark);
}

static message begin(ebb_err *err, ebb_code code, int status)
{
    err->code = code;
    err->status = status;
    err->retry_after_ms = 0;
    return (message){ .text = err->msg };
}

static int set_v(ebb_err *err, ebb_code code, int status, const char *fmt,
                 va_list args)
{
    char draft[DRAFT_BYTES];
    int wrote = vsnprintf(draft, sizeof draft, fmt, args);
    message m = begin(err, code, status);

    add_draft(&m, draft, wrote);
    finish(&m);
    return -1;
}

int ebb_err_set(ebb_err *err, ebb_code code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    set_v(err, code, 0, fmt, args);
    va_end(args);
    return -1;
}

int ebb_err_set_status(ebb_err *err, ebb_code code, int status, const char *fmt,
                       ...)
{
    va_list args;

    va_start(args, fmt);
    set_v(err, code, status, fmt, args);
    va_end(args);
    return -1;
}

int ebb_err_set_errno(ebb_err *err, ebb_code code, const char *fmt, ...)
{
    int number = errno;
    char why[128] = "";
    message m = { .text = err->msg };
    va_list args;

    va_start(args, fmt);
    set_v(err, code, number, fmt, args);
    va_end(args);
    if (strerror_r(number, why, sizeof why) != 0)
        snprintf(why, sizeof why, "errno %d", number);
    m.n = strlen(m.text);
    add_draft(&m, ": ", 2);
    add_draft(&m, why, (int)strlen(why));
    finish(&m);
    return -1;
}

int ebb_err_wrap(ebb_err *err, const char *fmt, ...)
{
    char draft[DRAFT_BYTES], inner[EBB_ERR_MSG_BYTES];
    message m = { .text = err->msg };
    va_list args;
    int wrote;

    va_start(args, fmt);
    wrote = vsnprintf(draft, sizeof draft, fmt, args);
    va_end(args);
    memcpy(inner, err->msg, sizeof inner);
    inner[sizeof inner - 1] = '\0';
    add_draft(&m, draft, wrote);
    add_draft(&m, ": ", 2);
    add_draft(&m, inner, (int)strlen(inner));
    finish(&m);
    return -1;
}

static const code_facts *facts(ebb_code code)
{
    size_t i = (size_t)code;

    return i < EBB_CODES_COUNT ? &codes[i] : &codes[EBB_SERVER];
}

const char *ebb_code_name(ebb_code code)
{
    return facts(code)->name;
}

ebb_code ebb_code_find(const char *name)
{
    for (int i = EBB_OK + 1; i < EBB_CODES_COUNT; i++)
        if (strcmp(codes[i].name, name) == 0)
            return (ebb_code)i;
    return EBB_OK;
}

bool ebb_code_retryable(ebb_code code)
{
    return facts(code)->retryable;
}

int ebb_code_exit_status(ebb_code code)
{
    return facts(code)->exit_status;
}
