/* SPDX-License-Identifier: MIT */
#include "e2b/filesystem.h"

#include "wire/filesystem.pb-c.h"
#include "wire/proto_read.h"
#include "wire/proto_write.h"

/* A name, a path, metadata of at most 4 KiB: this is ample. */
#define ENTRY_BYTES_MAX 65536
#define HEAD_BYTES_MAX  10 /* of a varint */

int ebb_e2b_filesystem_write_stat(ebb_buf *out, const char *path)
{
    Filesystem__StatRequest request = FILESYSTEM__STAT_REQUEST__INIT;

    request.path = ebb_proto_text(path);
    return ebb_proto_write(out, &request.base);
}

int ebb_e2b_filesystem_write_list(ebb_buf *out, const char *path)
{
    Filesystem__ListDirRequest request = FILESYSTEM__LIST_DIR_REQUEST__INIT;

    request.path = ebb_proto_text(path);
    request.depth = 1;
    return ebb_proto_write(out, &request.base);
}

/* An entry's fields, as filesystem.proto numbers them. */
enum { NAME = 1, TYPE = 2, PATH = 3, SIZE = 4, LINK_TARGET = 10 };

/*
 * A link's type is its target's on the wire, and none when it dangles: what
 * makes it a link is that it has a target.
 */
static void name_type(ebb_e2b_entry *entry, int32_t type)
{
    entry->is_directory = type == FILESYSTEM__FILE_TYPE__FILE_TYPE_DIRECTORY;
    entry->is_file = type == FILESYSTEM__FILE_TYPE__FILE_TYPE_FILE;
    if (entry->link_target != NULL ||
        type == FILESYSTEM__FILE_TYPE__FILE_TYPE_SYMLINK)
        entry->type = "symlink";
    else if (entry->is_directory)
        entry->type = "directory";
    else if (entry->is_file)
        entry->type = "file";
    else
        entry->type = "other";
}

/* Reads an EntryInfo where it is, checks it and calls fn with it. */
static int deliver(const char *bytes, size_t n, ebb_e2b_entry_fn *fn,
                   void *context, ebb_err *err)
{
    ebb_e2b_entry entry = { .name = "", .path = "" };
    int32_t type = FILESYSTEM__FILE_TYPE__FILE_TYPE_UNSPECIFIED;
    ebb_proto_reader reader;
    ebb_proto_field field;
    int more;

    ebb_proto_reader_init(&reader, &filesystem__entry_info__descriptor, bytes,
                          n);
    while ((more = ebb_proto_next(&reader, &field, err)) > 0) {
        if (field.number == NAME) {
            entry.name = field.bytes;
            entry.name_n = field.n;
        } else if (field.number == PATH) {
            entry.path = field.bytes;
            entry.path_n = field.n;
        } else if (field.number == LINK_TARGET) {
            entry.link_target = field.bytes;
            entry.link_target_n = field.n;
        } else if (field.number == TYPE) {
            type = (int32_t)field.value;
        } else if (field.number == SIZE) {
            entry.size = (int64_t)field.value;
        }
    }
    if (more < 0)
        return -1;
    name_type(&entry, type);
    return fn(context, &entry, err);
}

int ebb_e2b_filesystem_parse_stat(const char *bytes, size_t n,
                                  ebb_e2b_entry_fn *fn, void *context,
                                  ebb_err *err)
{
    ebb_proto_reader reader;
    ebb_proto_field field, entry = { 0 };
    int more;

    ebb_proto_reader_init(&reader, &filesystem__stat_response__descriptor,
                          bytes, n);
    while ((more = ebb_proto_next(&reader, &field, err)) > 0)
        if (field.number == 1)
            entry = field;
    if (more < 0)
        return -1;
    if (entry.bytes == NULL)
        return ebb_err_set(err, EBB_PROTOCOL, "the answer has no entry");
    return deliver(entry.bytes, entry.n, fn, context, err);
}

void ebb_e2b_listing_init(ebb_e2b_listing *listing, ebb_e2b_entry_fn *fn,
                          void *context)
{
    *listing = (ebb_e2b_listing){ .fn = fn, .context = context };
    ebb_buf_init(&listing->held, ENTRY_BYTES_MAX + 2 * HEAD_BYTES_MAX);
}

void ebb_e2b_listing_clear(ebb_e2b_listing *listing)
{
    ebb_buf_clear(&listing->held);
}

/* Bytes of a varint at p: how many it has, 0 if it is cut, -1 if too long. */
static int varint(const char *p, size_t n, uint64_t *value)
{
    *value = 0;
    for (int i = 0; i < HEAD_BYTES_MAX && (size_t)i < n; i++) {
        unsigned char byte = (unsigned char)p[i];
        *value |= (uint64_t)(byte & 0x7F) << (7 * i);
        if (byte < 0x80)
            return i + 1;
    }
    return n >= HEAD_BYTES_MAX ? -1 : 0;
}

static int unknown_form(ebb_err *err)
{
    return ebb_err_set(err, EBB_PROTOCOL, "the listing cannot be read");
}

/*
 * The bytes a field takes before its contents and the contents' length:
 * returns 1 when both are known, 0 when more bytes are needed.
 */
static int field_head(const char *p, size_t n, unsigned *number, size_t *head,
                      uint64_t *length, ebb_err *err)
{
    uint64_t tag, value;
    int first = varint(p, n, &tag), second;

    if (first <= 0)
        return first < 0 ? unknown_form(err) : 0;
    second = varint(p + first, n - (size_t)first, &value);
    *number = (unsigned)(tag >> 3);
    *head = (size_t)first;
    switch (tag & 7) {
    case 0: /* varint: its bytes are the contents */
        *length = (uint64_t)(second > 0 ? second : 0);
        break;
    case 1: /* 64 bits */
        *length = 8;
        return 1;
    case 2: /* length-delimited */
        *head += (size_t)(second > 0 ? second : 0);
        *length = value;
        break;
    case 5: /* 32 bits */
        *length = 4;
        return 1;
    default:
        return unknown_form(err);
    }
    return second < 0 ? unknown_form(err) : second > 0;
}

/*
 * Takes one field off the front of bytes; used says how much it was, 0 when
 * it is not complete.
 */
static int take_field(ebb_e2b_listing *listing, const char *bytes, size_t n,
                      size_t *used, ebb_err *err)
{
    unsigned number = 0;
    size_t head = 0;
    uint64_t length = 0;
    int known = field_head(bytes, n, &number, &head, &length, err);
    bool is_entry;

    *used = 0;
    if (known <= 0)
        return known;
    is_entry = number == 1 && (bytes[0] & 7) == 2;
    if (!is_entry) {
        listing->skip = length;
        *used = head;
        return 0;
    }
    if (length > ENTRY_BYTES_MAX)
        return ebb_err_set(err, EBB_PROTOCOL,
                           "an entry of the listing has more than %d bytes",
                           ENTRY_BYTES_MAX);
    if (n - head < length)
        return 0;
    *used = head + (size_t)length;
    return deliver(bytes + head, (size_t)length, listing->fn, listing->context,
                   err);
}

static size_t skipped(ebb_e2b_listing *listing, size_t n)
{
    size_t skip = listing->skip < n ? (size_t)listing->skip : n;

    listing->skip -= skip;
    return skip;
}

/* Takes the whole fields in bytes; used says how much that was. */
static int take_fields(ebb_e2b_listing *listing, const char *bytes, size_t n,
                       size_t *used, ebb_err *err)
{
    size_t taken;

    *used = skipped(listing, n);
    while (*used < n) {
        if (take_field(listing, bytes + *used, n - *used, &taken, err) != 0)
            return -1;
        if (taken == 0)
            return 0;
        *used += taken;
        *used += skipped(listing, n - *used);
    }
    return 0;
}

int ebb_e2b_listing_add(ebb_e2b_listing *listing, const char *bytes, size_t n,
                        ebb_err *err)
{
    size_t used, piece;

    /* A field that was cut is completed piece by piece in held. */
    while (listing->held.n > 0 && n > 0) {
        piece = listing->held.bytes_max - listing->held.n;
        piece = piece < n ? piece : n;
        if (piece == 0)
            return unknown_form(err);
        if (ebb_buf_add(&listing->held, bytes, piece) != 0)
            return ebb_buf_check(&listing->held, "a listing", err);
        bytes += piece;
        n -= piece;
        if (take_fields(listing, listing->held.bytes, listing->held.n, &used,
                        err) != 0)
            return -1;
        ebb_buf_drop(&listing->held, used);
    }
    if (n == 0)
        return 0;
    if (take_fields(listing, bytes, n, &used, err) != 0)
        return -1;
    ebb_buf_add(&listing->held, bytes + used, n - used);
    return ebb_buf_check(&listing->held, "a listing", err);
}

int ebb_e2b_listing_finish(const ebb_e2b_listing *listing, ebb_err *err)
{
    if (listing->held.n == 0 && listing->skip == 0)
        return 0;
    return ebb_err_set(err, EBB_PROTOCOL, "the listing is cut short");
}
