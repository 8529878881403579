/* SPDX-License-Identifier: MIT */
#include "e2b/client.h"

#include <string.h>

#include "base/mem.h"
#include "e2b/state.h"

static void place_clear(ebb_e2b_place *place)
{
    const char *const owned[] = { place->api_key, place->api_url,
                                  place->sandbox_url, place->domain,
                                  place->socket_path };

    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        char *text;
        memcpy(&text, &owned[i], sizeof text);
        ebb_mem_free(text);
    }
    *place = (ebb_e2b_place){ 0 };
}

static bool copied(const char **copy, const char *text)
{
    *copy = ebb_mem_dup(text);
    return text == NULL || *copy != NULL;
}

/* A header's value and a URL's part must not hold what ends them. */
static bool is_plain(const char *text)
{
    for (; text != NULL && *text != '\0'; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7F)
            return false;
    return true;
}

static int check_place(const ebb_e2b_place *place, ebb_err *err)
{
    if (place->socket_path != NULL)
        return 0;
    if (place->api_key == NULL || *place->api_key == '\0')
        return ebb_err_set(err, EBB_MISSING_CREDENTIALS,
                           "E2B_API_KEY is required for the e2b.* tasks; "
                           "set it, or use the local sandbox service with "
                           "--local (EBB_LOCAL=1)");
    if (!is_plain(place->api_key))
        return ebb_err_set(err, EBB_UNAUTHORIZED,
                           "E2B_API_KEY holds a space or a line break: copy "
                           "the key again");
    if (!is_plain(place->api_url) || !is_plain(place->sandbox_url) ||
        !is_plain(place->domain))
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "E2B_API_URL, E2B_SANDBOX_URL and E2B_DOMAIN "
                           "must not hold spaces or line breaks");
    return 0;
}

static bool same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static int set_place(ebb_e2b *e2b, const ebb_e2b_place *place, ebb_err *err)
{
    ebb_e2b_place copy = { 0 };

    if (check_place(place, err) != 0)
        return -1;
    if (!copied(&copy.api_key, place->api_key) ||
        !copied(&copy.api_url, place->api_url) ||
        !copied(&copy.sandbox_url, place->sandbox_url) ||
        !copied(&copy.domain, place->domain ? place->domain : "e2b.app") ||
        !copied(&copy.socket_path, place->socket_path)) {
        place_clear(&copy);
        return ebb_err_set(err, EBB_NO_MEMORY, "place of the service");
    }
    if (!same(copy.api_url, e2b->place.api_url)) {
        e2b->routes = EBB_E2B_ROUTES_UNKNOWN;
        e2b->list_v1 = false;
    }
    place_clear(&e2b->place);
    e2b->place = copy;
    e2b->place_known = true;
    return 0;
}

/* Answers find_place: everyone who waits goes on, or fails. */
static void found(void *context, const ebb_e2b_place *place, const ebb_err *why)
{
    ebb_e2b *e2b = context;
    ebb_err err = { 0 };
    int failed = -1;

    e2b->place_asked = false;
    if (place == NULL)
        err = *why;
    else
        failed = set_place(e2b, place, &err);
    while (e2b->waiting != NULL) {
        ebb_e2b_job *job = e2b->waiting;
        e2b->waiting = job->waits;
        job->waits = NULL;
        if (failed)
            ebb_e2b_job_fail(job, &err, NULL);
        else
            job->next(job);
    }
}

void ebb_e2b_place_wait(ebb_e2b_job *job)
{
    ebb_e2b *e2b = job->e2b;
    ebb_e2b_job **last = &e2b->waiting;

    if (e2b->place_known) {
        job->next(job);
        return;
    }
    while (*last != NULL)
        last = &(*last)->waits;
    *last = job;
    if (e2b->place_asked)
        return;
    e2b->place_asked = true;
    e2b->config.find_place(e2b->config.context, found, e2b);
}

void ebb_e2b_place_leave(ebb_e2b_job *job)
{
    ebb_e2b_job **at = &job->e2b->waiting;

    while (*at != NULL && *at != job)
        at = &(*at)->waits;
    if (*at != NULL)
        *at = job->waits;
}

void ebb_e2b_place_lost(ebb_e2b *e2b)
{
    e2b->place_known = false;
}

static void set_default(int64_t *limit, int64_t otherwise)
{
    if (*limit == 0)
        *limit = otherwise;
}

ebb_e2b *ebb_e2b_new(const ebb_e2b_config *config, ebb_err *err)
{
    ebb_e2b *e2b = ebb_mem_zero(sizeof *e2b);

    if (e2b != NULL) {
        e2b->config = *config;
        set_default(&e2b->config.connect_ms, 10000);
        set_default(&e2b->config.unary_ms, 60000);
        set_default(&e2b->config.transfer_idle_ms, 60000);
        set_default(&e2b->config.stream_first_ms, 60000);
        set_default(&e2b->config.stream_idle_ms, 130000);
        set_default(&e2b->config.extend_ms, 120000);
        e2b->user_agent =
            ebb_mem_dup(config->user_agent ? config->user_agent : "ebb");
        if (e2b->user_agent != NULL)
            return e2b;
    }
    ebb_e2b_free(e2b);
    ebb_err_set(err, EBB_NO_MEMORY, "E2B client");
    return NULL;
}

void ebb_e2b_free(ebb_e2b *e2b)
{
    if (e2b == NULL)
        return;
    place_clear(&e2b->place);
    ebb_e2b_connections_clear(&e2b->connections);
    ebb_mem_free(e2b->user_agent);
    ebb_mem_free(e2b);
}
