/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Listing sandboxes over all pages. What a server filters is not trusted:
 * whoever lists looks at every item again.
 */

#include "e2b/job.h"

typedef struct ebb_e2b_sandboxes ebb_e2b_sandboxes;
struct ebb_e2b_sandboxes {
    ebb_e2b_job *job;
    const char *key, *value; /* metadata to ask for; NULL: everything */
    /* Each item as the control plane describes it. -1 with err set stops. */
    int (*on_item)(ebb_e2b_job *job, const ebb_value *item, ebb_err *err);
    /* After the last page; err is NULL if all went well. */
    void (*on_end)(ebb_e2b_job *job, const ebb_err *err);

    char *token; /* of the page being asked for */
    unsigned pages;
};

/* Starts; the struct must stay where it is until on_end. */
void ebb_e2b_sandboxes_start(ebb_e2b_sandboxes *listing, ebb_e2b_job *job);
void ebb_e2b_sandboxes_clear(ebb_e2b_sandboxes *listing);
