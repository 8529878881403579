/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Where in an input a check is, and how a message says so: "e2b.writeFiles:
 * files[3].content: …". It checks nothing itself.
 */

#include "base/attr.h"
#include "base/err.h"
#include "base/value.h"

#include <stddef.h>

/* A chain on the caller's stack, up to the task itself. */
typedef struct ebb_place ebb_place;
struct ebb_place {
    const ebb_place *up; /* NULL: the task */
    const char *name;    /* NULL: an element of a list */
    size_t index;        /* of an element, from 1 as Lua counts */
};

#define EBB_SHOWN_BYTES 48

/* EBB_INVALID_INPUT with the place and what is wrong there. Returns NULL. */
ebb_value *ebb_place_wrong(const ebb_place *at, ebb_err *err, const char *fmt,
                           ...) EBB_PRINTF(3, 4);

/* A hostile string as a message may quote it: short, cut between characters. */
const char *ebb_place_shown(const char *text, char out[EBB_SHOWN_BYTES]);
