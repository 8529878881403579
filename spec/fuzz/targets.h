/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What is fuzzed: readers of what comes from the network, a sandbox or a
 * script. Each takes any bytes, never fails on them, and ends the process when
 * a property does not hold. `make fuzz` links each to libFuzzer,
 * spec/c/test_fuzz_corpus.c runs each over its corpus.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EBB_FUZZ_TARGETS(X)                                                    \
    X(connect)   /* a command's stream: envelopes, events */                   \
    X(execution) /* the lines of /execute */                                   \
    X(long_line) /* one of them, read as it arrives */                         \
    X(listing)   /* ListDir, entry by entry */                                 \
    X(value)     /* JSON */                                                    \
    X(fields)    /* a task's input, a task's description */                    \
    X(proto)     /* protobuf, binary and JSON, both ways */                    \
    X(text)      /* Retry-After, URLs, paths, ranges, base64 */                \
    X(multipart) /* uploads */                                                 \
    X(frames)    /* what a kernel's pipe carries */                            \
    X(entries)   /* what a sandbox's agent says of files */

#define EBB_FUZZ_DECLARE(name)                                                 \
    void ebb_fuzz_##name(const uint8_t *bytes, size_t n);
EBB_FUZZ_TARGETS(EBB_FUZZ_DECLARE)
#undef EBB_FUZZ_DECLARE

/* A property that holds for every input. */
static inline void ebb_fuzz_hold(bool holds, const char *property)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz: does not hold: %s\n", property);
    abort();
}

/* The pieces that an input is cut into when it is read again: 1 to 16. */
static inline size_t ebb_fuzz_step(const uint8_t *bytes, size_t n)
{
    return n == 0 ? 1 : 1 + bytes[n / 2] % 16;
}
