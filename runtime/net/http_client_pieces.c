/* SPDX-License-Identifier: MIT */
#include "net/http_client_private.h"

#include <string.h>

#include "base/mem.h"

int ebb_http_pieces_init(ebb_http_pieces *pieces,
                         const ebb_http_request *request)
{
    *pieces = (ebb_http_pieces){ .list = request->pieces,
                                 .count = request->pieces_count };
    if (request->body != NULL && request->body_n > 0) {
        pieces->copied = ebb_mem_dup_n(request->body, request->body_n);
        if (pieces->copied == NULL)
            return -1;
        pieces->one = (ebb_http_piece){ pieces->copied, request->body_n };
        pieces->list = &pieces->one;
        pieces->count = 1;
    }
    for (size_t i = 0; i < pieces->count; i++)
        pieces->n += pieces->list[i].n;
    return 0;
}

void ebb_http_pieces_clear(ebb_http_pieces *pieces)
{
    ebb_mem_free(pieces->copied);
    *pieces = (ebb_http_pieces){ .n = 0 };
}

size_t ebb_http_pieces_take(ebb_http_pieces *pieces, char *to, size_t room)
{
    size_t n = 0;

    while (n < room && pieces->at < pieces->count) {
        const ebb_http_piece *piece = &pieces->list[pieces->at];
        size_t left = piece->n - pieces->within;
        size_t part = left < room - n ? left : room - n;

        if (part > 0)
            memcpy(to + n, piece->bytes + pieces->within, part);
        n += part;
        pieces->within += part;
        if (part == left) {
            pieces->at++;
            pieces->within = 0;
        }
    }
    pieces->handed += n;
    return n;
}

void ebb_http_pieces_rewind(ebb_http_pieces *pieces)
{
    pieces->at = pieces->within = pieces->handed = 0;
}
