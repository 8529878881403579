/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the client remembers between attempts: where the back end is, which of
 * its routes it knows, the answers of recent connects. Inside e2b only.
 */

#include "e2b/client.h"
#include "e2b/connection.h"
#include "e2b/job.h"

/* What a base URL has shown about its /v2 routes. */
typedef enum ebb_e2b_routes {
    EBB_E2B_ROUTES_UNKNOWN,
    EBB_E2B_ROUTES_V2,
    EBB_E2B_ROUTES_V1
} ebb_e2b_routes;

struct ebb_e2b {
    ebb_e2b_config config;
    char *user_agent;

    ebb_e2b_place place; /* strings owned */
    bool place_known;    /* false also after the service was lost */
    bool place_asked;    /* find_place has not answered yet */
    ebb_e2b_job *waiting;

    ebb_e2b_routes routes;
    bool list_v1; /* GET /v2/sandboxes is unknown */

    ebb_e2b_connections connections;
};

/* Calls job->next when the place is known, or fails the job. */
void ebb_e2b_place_wait(ebb_e2b_job *job);
void ebb_e2b_place_leave(ebb_e2b_job *job);

/* Nothing answers there any more: ask again before the next request. */
void ebb_e2b_place_lost(ebb_e2b *e2b);
