/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The tasks on files on a rig: entries as filesystem.Filesystem gives them.
 */

#include "support/e2b_call.h"

#define CONNECT "/v2/sandboxes/i1/connect"
#define STAT    "/filesystem.Filesystem/Stat"
#define LIST    "/filesystem.Filesystem/ListDir"
/* entry: name a, type, path /a, size */
#define FILE_OF(size)                                                          \
    "\x0a\x0b\x0a\x01"                                                         \
    "a"                                                                        \
    "\x10\x01\x1a\x02/a\x20" size
#define DIRECTORY                                                              \
    "\x0a\x09\x0a\x01"                                                         \
    "d"                                                                        \
    "\x10\x02\x1a\x02/d"
#define FIFO                                                                   \
    "\x0a\x07\x0a\x01"                                                         \
    "f"                                                                        \
    "\x1a\x02/f"
#define DANGLING                                                               \
    "\x0a\x0b\x0a\x01"                                                         \
    "l"                                                                        \
    "\x1a\x02/l\x52\x02/l"
#define LINK_TO_PROC                                                           \
    "\x0a\x14\x0a\x01"                                                         \
    "l"                                                                        \
    "\x10\x01\x1a\x02/l\x20\x07\x52\x07/proc/1"
#define LINK_TO_FILE                                                           \
    "\x0a\x0f\x0a\x01"                                                         \
    "l"                                                                        \
    "\x10\x01\x1a\x02/l\x20\x02\x52\x02/a"
#define NOT_FOUND                                                              \
    "{\"code\":\"not_found\",\"message\":\"file not found: lstat /a\"}"
#define BODY(text) .body = text, .n = sizeof(text) - 1

static inline rig *open_with(const char *envd_version)
{
    static char connected[128];
    rig *r = rig_open();

    snprintf(connected, sizeof connected,
             "{\"sandboxID\":\"i1\",\"envdAccessToken\":\"tok\","
             "\"envdVersion\":\"%s\"}",
             envd_version);
    rig_on(r, "POST", CONNECT, 200, connected);
    return r;
}
