/* SPDX-License-Identifier: MIT */
#include "net/gzip.h"

#include <limits.h>

#define ZLIB_CONST /* next_in is only read */
#include <zlib.h>

#include "base/mem.h"

/* windowBits: 15 is the largest window, + 16 means a gzip header. */
#define GZIP_WINDOW (15 + 16)

#define PIECE_BYTES 32768

struct ebb_gunzip {
    z_stream z;
    size_t bytes_max;
    size_t bytes; /* decoded */
    bool ended;   /* at the end of a member: more members may follow */
    bool broken;
    unsigned char piece[PIECE_BYTES];
};

/* What add was called with. */
typedef struct sink {
    int (*fn)(void *context, const char *bytes, size_t n);
    void *context;
} sink;

ebb_gunzip *ebb_gunzip_new(size_t bytes_max, ebb_err *err)
{
    ebb_gunzip *gunzip = ebb_mem_zero(sizeof *gunzip);

    if (gunzip == NULL || inflateInit2(&gunzip->z, GZIP_WINDOW) != Z_OK) {
        ebb_mem_free(gunzip);
        ebb_err_set(err, EBB_NO_MEMORY, "gzip decoder");
        return NULL;
    }
    gunzip->bytes_max = bytes_max;
    return gunzip;
}

void ebb_gunzip_free(ebb_gunzip *gunzip)
{
    if (gunzip == NULL)
        return;
    inflateEnd(&gunzip->z);
    ebb_mem_free(gunzip);
}

static int give(ebb_gunzip *g, const sink *to, ebb_err *err)
{
    size_t n = PIECE_BYTES - g->z.avail_out;

    if (n == 0)
        return 0;
    if (g->bytes_max > 0 && n > g->bytes_max - g->bytes)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "gzip data has more than %zu bytes decoded",
                           g->bytes_max);
    g->bytes += n;
    return to->fn(to->context, (const char *)g->piece, n);
}

/* Decodes into one piece. */
static int step(ebb_gunzip *g, const sink *to, ebb_err *err)
{
    int status;

    if (g->ended) { /* RFC 1952 2.2: members follow one another */
        inflateReset(&g->z);
        g->ended = false;
    }
    g->z.next_out = g->piece;
    g->z.avail_out = PIECE_BYTES;
    status = inflate(&g->z, Z_NO_FLUSH);
    if (status == Z_STREAM_END)
        g->ended = true;
    else if (status == Z_MEM_ERROR)
        return ebb_err_set(err, EBB_NO_MEMORY, "gzip data");
    else if (status != Z_OK && status != Z_BUF_ERROR)
        return ebb_err_set(err, EBB_PROTOCOL, "gzip data is broken: %s",
                           g->z.msg == NULL ? "error" : g->z.msg);
    return give(g, to, err);
}

int ebb_gunzip_add(ebb_gunzip *gunzip, const char *bytes, size_t n,
                   int (*fn)(void *context, const char *bytes, size_t n),
                   void *context, ebb_err *err)
{
    ebb_gunzip *g = gunzip;
    const sink to = { fn, context };

    if (g->broken)
        return ebb_err_set(err, EBB_PROTOCOL, "gzip data is broken");
    while (n > 0) {
        uInt part = n > INT_MAX ? INT_MAX : (uInt)n;

        g->z.next_in = (const Bytef *)bytes;
        g->z.avail_in = part;
        do {
            if (step(g, &to, err) != 0) {
                g->broken = true;
                return -1;
            }
        } while (g->z.avail_in > 0 || (g->z.avail_out == 0 && !g->ended));
        bytes += part;
        n -= part;
    }
    return 0;
}

int ebb_gunzip_finish(ebb_gunzip *gunzip, ebb_err *err)
{
    if (gunzip->broken || !gunzip->ended)
        return ebb_err_set(err, EBB_PROTOCOL, "gzip data is cut off");
    return 0;
}

int ebb_gzip(const void *bytes, size_t n, ebb_buf *out, ebb_err *err)
{
    z_stream z = { 0 };
    char *room = NULL;
    size_t bound;
    int status = Z_MEM_ERROR;

    if (n > INT_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED, "gzip of %zu bytes", n);
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return ebb_err_set(err, EBB_NO_MEMORY, "gzip");
    bound = deflateBound(&z, (uLong)n);
    room = ebb_mem_alloc(bound);
    if (room != NULL) {
        z.next_in = bytes;
        z.avail_in = (uInt)n;
        z.next_out = (Bytef *)room;
        z.avail_out = (uInt)bound;
        status = deflate(&z, Z_FINISH);
    }
    deflateEnd(&z);
    if (status != Z_STREAM_END)
        ebb_err_set(err, EBB_NO_MEMORY, "gzip of %zu bytes", n);
    else if (ebb_buf_add(out, room, bound - z.avail_out) != 0)
        ebb_buf_check(out, "gzip", err);
    else
        status = Z_OK;
    ebb_mem_free(room);
    return status == Z_OK ? 0 : -1;
}
