/* SPDX-License-Identifier: MIT */

/*
 * Where the back end is: the local service, or what the environment variables
 * of E2B's SDKs say. Read when the first task is called, never earlier.
 */

#include "ebb_private.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The local service knows its user by the socket; no key is checked there. */
#define DOMAIN "e2b.app"
#define LOCAL_KEY "e2b_0000000000000000000000000000000000000000"

typedef struct finding {
    ebb_e2b_place_fn *done;
    void *context;
} finding;

/* A setting of the configuration, else of the environment; "" is unset. */
static const char *setting(const char *configured, const char *variable)
{
    const char *value = configured != NULL ? configured : getenv(variable);

    return value != NULL && *value != '\0' ? value : NULL;
}

bool ebb_place_is_local(const ebb_config *config)
{
    const char *value = getenv("EBB_LOCAL");

    return config->local ||
           (value != NULL &&
            (strcmp(value, "1") == 0 || strcasecmp(value, "true") == 0));
}

static void found_local(void *context, const char *socket_path,
                        const ebb_err *err)
{
    finding *f = context;
    ebb_e2b_place place = {
        .api_key = LOCAL_KEY,
        .api_url = "http://localhost",
        .sandbox_url = "http://localhost",
        .domain = "localhost",
        .socket_path = socket_path,
    };

    f->done(f->context, err == NULL ? &place : NULL, err);
    ebb_mem_free(f);
}

static void find_local(ebb_runtime *rt, ebb_e2b_place_fn *done,
                       void *done_context)
{
    finding *f = ebb_mem_alloc(sizeof *f);
    ebb_err err = { 0 };

    if (f == NULL) {
        ebb_err_set(&err, EBB_NO_MEMORY, "find the local service");
        done(done_context, NULL, &err);
        return;
    }
    f->done = done;
    f->context = done_context;
    ebb_local_find(rt, found_local, f);
}

/* A new string without slashes at its end. */
static char *without_slashes(const char *url)
{
    size_t n = strlen(url);

    while (n > 0 && url[n - 1] == '/')
        n--;
    return ebb_mem_dup_n(url, n);
}

/* The API's address; a new string. */
static char *api_address(const ebb_config *config)
{
    const char *domain = setting(config->domain, "E2B_DOMAIN");
    const char *api = setting(config->api_url, "E2B_API_URL");

    return api != NULL ? without_slashes(api)
                       : ebb_mem_printf("https://api.%s",
                                        domain != NULL ? domain : DOMAIN);
}

/* A name and password in an address are nobody's business. */
static void drop_user(char *url)
{
    char *host = strstr(url, "://"), *at;

    if (host == NULL)
        return;
    host += 3;
    at = memchr(host, '@', strcspn(host, "/?#"));
    if (at != NULL)
        memmove(host, at + 1, strlen(at + 1) + 1);
}

char *ebb_place_name(const ebb_config *config)
{
    char *name;

    if (ebb_place_is_local(config))
        return ebb_mem_dup(EBB_PLACE_LOCAL);
    if (setting(config->api_key, "E2B_API_KEY") == NULL)
        return NULL;
    name = api_address(config);
    if (name != NULL)
        drop_user(name);
    return name;
}

static void find_cloud(const ebb_config *config, ebb_e2b_place_fn *done,
                       void *done_context)
{
    const char *key = setting(config->api_key, "E2B_API_KEY");
    const char *domain = setting(config->domain, "E2B_DOMAIN");
    const char *sandbox = setting(config->sandbox_url, "E2B_SANDBOX_URL");
    char *api_url = api_address(config), *sandbox_url = NULL;
    ebb_err err = { 0 };

    if (domain == NULL)
        domain = DOMAIN;
    if (sandbox != NULL)
        sandbox_url = without_slashes(sandbox);
    if (key == NULL)
        ebb_err_set(&err, EBB_MISSING_CREDENTIALS,
                    "E2B_API_KEY is required for the e2b.* tasks; to run "
                    "without one, use the local sandbox service: --local "
                    "(or EBB_LOCAL=1)");
    else if (api_url == NULL || (sandbox != NULL && sandbox_url == NULL))
        ebb_err_set(&err, EBB_NO_MEMORY, "addresses of the service");
    if (err.code != EBB_OK) {
        done(done_context, NULL, &err);
    } else {
        ebb_e2b_place place = { .api_key = key,
                                .api_url = api_url,
                                .sandbox_url = sandbox_url,
                                .domain = domain };
        done(done_context, &place, NULL);
    }
    ebb_mem_free(api_url);
    ebb_mem_free(sandbox_url);
}

void ebb_place_find(void *runtime, ebb_e2b_place_fn *done,
                    void *done_context)
{
    ebb_runtime *rt = runtime;

    if (ebb_place_is_local(&rt->config))
        find_local(rt, done, done_context);
    else
        find_cloud(&rt->config, done, done_context);
}
