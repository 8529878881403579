/* SPDX-License-Identifier: MIT */
/* A listing gives the same entries however it is cut; so does Stat's entry. */
#include "targets.h"

#include <inttypes.h>
#include <string.h>

#include "e2b/filesystem.h"

static int on_entry(void *context, const ebb_e2b_entry *entry, ebb_err *err)
{
    ebb_buf_printf(context, "%.*s %.*s %s %" PRId64 " %.*s\n",
                   (int)entry->name_n, entry->name, (int)entry->path_n,
                   entry->path, entry->type, entry->size,
                   entry->link_target ? (int)entry->link_target_n : 1,
                   entry->link_target ? entry->link_target : "-");
    return ebb_buf_check(context, "what was told", err);
}

static int hear(const char *bytes, size_t n, size_t step, ebb_buf *said)
{
    ebb_e2b_listing listing;
    ebb_err err = { 0 };
    int failed = 0;

    ebb_buf_init(said, 0);
    ebb_e2b_listing_init(&listing, on_entry, said);
    for (size_t at = 0; at < n && !failed; at += step)
        failed = ebb_e2b_listing_add(&listing, bytes + at,
                                     n - at < step ? n - at : step, &err);
    if (!failed)
        failed = ebb_e2b_listing_finish(&listing, &err);
    ebb_e2b_listing_clear(&listing);
    return failed;
}

void ebb_fuzz_listing(const uint8_t *bytes, size_t n)
{
    const char *text = (const char *)bytes;
    ebb_err err = { 0 };
    ebb_buf whole, cut;

    ebb_fuzz_hold(hear(text, n, n + 1, &whole) ==
                      hear(text, n, ebb_fuzz_step(bytes, n), &cut),
                  "both fail or none");
    ebb_fuzz_hold(
        whole.n == cut.n &&
            (whole.n == 0 || memcmp(whole.bytes, cut.bytes, whole.n) == 0),
        "the same entries however it is cut");
    ebb_e2b_filesystem_parse_stat(text, n, on_entry, &whole, &err);
    ebb_buf_clear(&whole);
    ebb_buf_clear(&cut);
}
