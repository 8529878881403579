/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The E2B client: what the twelve tasks share. It talks to E2B's cloud, to a
 * self-hosted E2B and to the local service alike; where that is, config says.
 * It knows neither retries nor runs: each attempt stands alone.
 */

#include "base/clock.h"
#include "base/err.h"
#include "base/value.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "task/registry.h"

typedef struct ebb_e2b ebb_e2b;

/* Where the service is. Strings are owned by whoever fills it. */
typedef struct ebb_e2b_place {
    const char *api_key;     /* NULL: none (EBB_MISSING_CREDENTIALS) */
    const char *api_url;     /* no trailing slash */
    const char *sandbox_url; /* NULL: derived from the domain, as SDKs do */
    const char *domain;
    const char *socket_path; /* the local service's Unix socket, or NULL */
} ebb_e2b_place;

/* Answer to find_place: place is borrowed for the call; NULL: err says why. */
typedef void ebb_e2b_place_fn(void *context, const ebb_e2b_place *place,
                              const ebb_err *err);

typedef struct ebb_e2b_config {
    ebb_loop *loop;
    ebb_http_client *http;
    const ebb_clock *clock;
    const char *user_agent;
    /*
     * Asked at the first request and again after the service was lost: finds
     * or starts the back end and calls done, at once or later.
     */
    void (*find_place)(void *context, ebb_e2b_place_fn *done,
                       void *done_context);
    void *context;

    /* Limits of one attempt; 0 means the contract's default. */
    int64_t connect_ms;       /* 10,000 */
    int64_t unary_ms;         /* 60,000 */
    int64_t transfer_idle_ms; /* 60,000 */
    int64_t stream_first_ms;  /* 60,000 */
    int64_t stream_idle_ms;   /* 130,000 */
    int64_t extend_ms;        /* 120,000: how often a long call extends */
} ebb_e2b_config;

ebb_e2b *ebb_e2b_new(const ebb_e2b_config *config, ebb_err *err);
void ebb_e2b_free(ebb_e2b *e2b);

/* Adds the twelve tasks; their context is this client. */
int ebb_e2b_register(ebb_e2b *e2b, ebb_registry *registry, ebb_err *err);

/*
 * Every sandbox of the account that is running or paused, as SandboxDTOs:
 * for `ebb sandbox list`. The callback comes once, from the loop; the array
 * is the callee's.
 */
void ebb_e2b_list(ebb_e2b *e2b,
                  void (*done)(void *context, ebb_value *sandboxes,
                               const ebb_err *err),
                  void *context);
