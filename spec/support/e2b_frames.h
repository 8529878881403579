/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * runCommand on a rig: the frames that process.Process/Start answers with, in
 * binary Connect, and what else every test of it needs.
 */

#include "support/e2b_call.h"

/* Frames of process.Process/Start in binary Connect. */
#define START  "\0\0\0\0\x07\x0a\x05\x0a\x03\x08\xd2\x09" /* pid 1234 */
#define OUT_HI "\0\0\0\0\x09\x0a\x07\x12\x05\x0a\x03hi\n"
#define ERR_NO "\0\0\0\0\x09\x0a\x07\x12\x05\x12\x03no\n"
#define KEEP   "\0\0\0\0\x04\x0a\x02\x22\0"
#define EXIT_3                                                                 \
    "\0\0\0\0\x17\x0a\x15\x1a\x13\x08\x06\x10\x01\x1a\x0d"                     \
    "exit status 3"
#define KILLED                                                                 \
    "\0\0\0\0\x16\x0a\x14\x1a\x12\x08\x01\x1a\x0e"                             \
    "signal: killed"
#define FINISH "\x02\0\0\0\x02{}"
#define DEADLINE                                                               \
    "\x02\0\0\0\x4c{\"error\":{\"code\":\"deadline_exceeded\",\"message\":"    \
    "\"context deadline exceeded\"}}"
#define BODY(text) .body = text, .n = sizeof(text) - 1

#define RUN        "e2b.runCommand"
#define START_PATH "/process.Process/Start"
#define START_LINE "POST " START_PATH
#define CONNECT    "/v2/sandboxes/i1/connect"
#define CONNECTED                                                              \
    "{\"sandboxID\":\"i1\",\"envdAccessToken\":\"tok\","                       \
    "\"trafficAccessToken\":\"tra\",\"domain\":null,"                          \
    "\"envdVersion\":\"0.6.13\"}"
#define GONE                                                                   \
    "{\"sandboxId\":\"i1\",\"message\":\"The sandbox was not found\","         \
    "\"code\":502}"
#define IN(rest) "{\"sandboxId\":\"i1\",\"command\":\"echo hi\"" rest "}"

static inline rig *open_connected(void)
{
    rig *r = rig_open();

    rig_on(r, "POST", CONNECT, 200, CONNECTED);
    return r;
}

/* What Start answers, once. */
static inline void on_start(rig *r, rig_how how, const char *body, size_t n)
{
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = START_PATH,
                           .status = 200,
                           .body = body,
                           .n = n,
                           .how = how,
                           .times = 1 });
}
#define ON_START(r, how, text) on_start(r, how, text, sizeof(text) - 1)
