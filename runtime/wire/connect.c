/* SPDX-License-Identifier: MIT */
#include "wire/connect.h"

#include <string.h>

void ebb_connect_reader_init(ebb_connect_reader *reader, size_t payload_max,
                             ebb_connect_fn *fn, void *context)
{
    *reader = (ebb_connect_reader){ .payload_max = payload_max,
                                    .fn = fn,
                                    .context = context };
    ebb_buf_init(&reader->held, payload_max + EBB_CONNECT_HEAD_BYTES);
}

void ebb_connect_reader_clear(ebb_connect_reader *reader)
{
    ebb_buf_clear(&reader->held);
}

/* The promised length, or -1 if it is more than the reader takes. */
static int promised(const ebb_connect_reader *reader, const char *head,
                    size_t *length, ebb_err *err)
{
    const unsigned char *p = (const unsigned char *)head;

    *length =
        (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (*length > reader->payload_max)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "envelope of %zu bytes, the maximum is %zu", *length,
                           reader->payload_max);
    return 0;
}

static int deliver(ebb_connect_reader *reader, const char *head, size_t length,
                   ebb_err *err)
{
    return reader->fn(reader->context, (unsigned char)head[0],
                      head + EBB_CONNECT_HEAD_BYTES, length, err);
}

/*
 * Moves bytes to what is held until it is `wanted` long. Memory follows the
 * bytes that came, never the length that was promised.
 */
static int hold(ebb_connect_reader *reader, const char **bytes, size_t *n,
                size_t wanted, ebb_err *err)
{
    size_t missing = wanted - reader->held.n;
    size_t taken = missing < *n ? missing : *n;

    if (ebb_buf_add(&reader->held, *bytes, taken) < 0)
        return ebb_buf_check(&reader->held, "envelope", err);
    *bytes += taken;
    *n -= taken;
    return 0;
}

/* Goes on with the envelope that is held. */
static int proceed(ebb_connect_reader *reader, const char **bytes, size_t *n,
                   ebb_err *err)
{
    ebb_buf *held = &reader->held;
    size_t length;

    if (held->n < EBB_CONNECT_HEAD_BYTES &&
        hold(reader, bytes, n, EBB_CONNECT_HEAD_BYTES, err) < 0)
        return -1;
    if (held->n < EBB_CONNECT_HEAD_BYTES)
        return 0;
    if (promised(reader, held->bytes, &length, err) < 0 ||
        hold(reader, bytes, n, EBB_CONNECT_HEAD_BYTES + length, err) < 0)
        return -1;
    if (held->n < EBB_CONNECT_HEAD_BYTES + length)
        return 0;
    if (deliver(reader, held->bytes, length, err) < 0)
        return -1;
    ebb_buf_reset(held);
    return 0;
}

int ebb_connect_add(ebb_connect_reader *reader, const char *bytes, size_t n,
                    ebb_err *err)
{
    while (n > 0) {
        size_t length, whole;

        if (reader->held.n > 0 || n < EBB_CONNECT_HEAD_BYTES) {
            if (proceed(reader, &bytes, &n, err) < 0)
                return -1;
            continue;
        }
        if (promised(reader, bytes, &length, err) < 0)
            return -1;
        whole = EBB_CONNECT_HEAD_BYTES + length;
        if (n < whole)
            return hold(reader, &bytes, &n, whole, err);
        if (deliver(reader, bytes, length, err) < 0)
            return -1;
        bytes += whole;
        n -= whole;
    }
    return 0;
}

int ebb_connect_finish(const ebb_connect_reader *reader, ebb_err *err)
{
    if (reader->held.n == 0)
        return 0;
    return ebb_err_set(err, EBB_PROTOCOL,
                       "the stream ended inside an envelope, after %zu bytes "
                       "of it",
                       reader->held.n);
}

int ebb_connect_write(ebb_buf *out, unsigned flags, const void *payload,
                      size_t n)
{
    char *to;

    if (n > UINT32_MAX) {
        out->failed = true;
        return -1;
    }
    to = ebb_buf_reserve(out, EBB_CONNECT_HEAD_BYTES + n);
    if (to == NULL)
        return -1;
    to[0] = (char)flags;
    for (int i = 1; i <= 4; i++)
        to[i] = (char)(n >> (32 - 8 * i));
    if (n > 0)
        memcpy(to + EBB_CONNECT_HEAD_BYTES, payload, n);
    ebb_buf_grew(out, EBB_CONNECT_HEAD_BYTES + n);
    return 0;
}

static const struct {
    const char *name;
    int status;
} codes[] = { [EBB_CONNECT_OK] = { "ok", 200 },
#define CODE_FACTS(id, name, status) [EBB_CONNECT_##id] = { name, status },
              EBB_CONNECT_CODES(CODE_FACTS)
#undef CODE_FACTS
};

#define CODES_COUNT (sizeof codes / sizeof *codes)

const char *ebb_connect_code_name(ebb_connect_code code)
{
    return codes[(size_t)code < CODES_COUNT ? code : EBB_CONNECT_UNKNOWN].name;
}

int ebb_connect_code_status(ebb_connect_code code)
{
    return codes[(size_t)code < CODES_COUNT ? code : EBB_CONNECT_UNKNOWN]
        .status;
}

ebb_connect_code ebb_connect_code_find(const char *name)
{
    for (size_t i = EBB_CONNECT_OK + 1; i < CODES_COUNT; i++)
        if (strcmp(codes[i].name, name) == 0)
            return (ebb_connect_code)i;
    return EBB_CONNECT_OK;
}
