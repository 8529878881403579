/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The command line of ebb-sandboxd. Parsing changes nothing in the world;
 * every value is checked for its range here.
 */

#include "base/err.h"
#include "sandbox/service/service.h"

#include <stdbool.h>
#include <stdint.h>

#define EBB_OPTIONS_HOST_BYTES 64

typedef struct ebb_options {
    ebb_service_config service;
    char host[EBB_OPTIONS_HOST_BYTES];
    char *state_dir, *socket_path; /* absolute, owned */
    int ready_fd;    /* -1: none */
    bool help, version, check;
} ebb_options;

/* argv must outlive the options. */
int ebb_options_parse(ebb_options *options, int argc, char **argv,
                      ebb_err *err);
void ebb_options_clear(ebb_options *options);

extern const char ebb_options_usage[];

/*
 * A number of bytes with an optional unit K, M, G or T (powers of 1024; "iB"
 * or "B" may follow): at least 1. Signs, fractions and exponents are refused.
 */
int ebb_options_parse_size(const char *text, uint64_t *bytes, ebb_err *err);
