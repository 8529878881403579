/* SPDX-License-Identifier: MIT */
/* Entries that an agent sends are strings within the message, or none. */
#include "targets.h"

#include <string.h>

#include "sandbox/service/box/box_parts.h"

#define ENTRIES_MAX 16

static void on_entry(void *context, const ebb_box_entry *entry)
{
    size_t *left = context;

    ebb_fuzz_hold(entry->path[0] == '/', "a path is absolute");
    ebb_fuzz_hold(strlen(entry->name) <= strlen(entry->path) &&
                      strlen(entry->target) + strlen(entry->owner) +
                              strlen(entry->group) <
                          EBB_AGENT_MESSAGE_BYTES_MAX,
                  "strings have an end");
    for (const char *at = entry->metadata; *at != '\0';) {
        at += strlen(at) + 1;
        at += strlen(at) + 1;
    }
    (*left)--;
}

void ebb_fuzz_entries(const uint8_t *bytes, size_t n)
{
    ebb_agent_head head = { .type = EBB_AGENT_ENTRIES };
    size_t left = ENTRIES_MAX;
    ebb_box_request request = { .type = EBB_AGENT_LIST,
                                .entries_left = ENTRIES_MAX,
                                .on_entry = on_entry,
                                .context = &left };

    if (n == 0 || n > EBB_AGENT_TEXT_BYTES_MAX)
        return;
    head.count = bytes[0];
    head.bytes = (uint32_t)n - 1;
    ebb_box_answer_entries(&request, &head, (const char *)bytes + 1);
    ebb_fuzz_hold(left == request.entries_left, "each entry is counted");
}
