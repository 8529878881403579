/* SPDX-License-Identifier: MIT */

/*
 * In place of the client of E2B and its HTTP: the tasks are the world's.
 * So neither libcurl nor what that loads is mapped in each life.
 */

#include "spec/sim/sim.h"

#include "e2b/client.h"
#include "net/http_client.h"

static char nothing;

ebb_http_client *__wrap_ebb_http_client_new(ebb_loop *loop, ebb_err *err);
void __wrap_ebb_http_client_free(ebb_http_client *client);
ebb_http_call *__wrap_ebb_http_start(ebb_http_client *client,
                                     const ebb_http_request *request,
                                     ebb_err *err);
void __wrap_ebb_http_cancel(ebb_http_call *call);
int __wrap_ebb_http_status(const ebb_http_call *call);
ebb_e2b *__wrap_ebb_e2b_new(const ebb_e2b_config *config, ebb_err *err);
void __wrap_ebb_e2b_free(ebb_e2b *e2b);
int __wrap_ebb_e2b_register(ebb_e2b *e2b, ebb_registry *registry, ebb_err *err);
int __wrap_ebb_sandbox_list(ebb_runtime *rt, ebb_value **out, ebb_err *err);

ebb_http_client *__wrap_ebb_http_client_new(ebb_loop *loop, ebb_err *err)
{
    (void)loop;
    (void)err;
    return (ebb_http_client *)(void *)&nothing;
}

void __wrap_ebb_http_client_free(ebb_http_client *client)
{
    (void)client;
}

/* Of the local service, which nobody asks for. */
ebb_http_call *__wrap_ebb_http_start(ebb_http_client *client,
                                     const ebb_http_request *request,
                                     ebb_err *err)
{
    (void)client;
    (void)request;
    ebb_err_set(err, EBB_UNSUPPORTED, "the simulator has no network");
    return NULL;
}

void __wrap_ebb_http_cancel(ebb_http_call *call)
{
    (void)call;
}

int __wrap_ebb_http_status(const ebb_http_call *call)
{
    (void)call;
    return 0;
}

ebb_e2b *__wrap_ebb_e2b_new(const ebb_e2b_config *config, ebb_err *err)
{
    (void)config;
    (void)err;
    return (ebb_e2b *)(void *)&nothing;
}

void __wrap_ebb_e2b_free(ebb_e2b *e2b)
{
    (void)e2b;
}

int __wrap_ebb_e2b_register(ebb_e2b *e2b, ebb_registry *registry, ebb_err *err)
{
    (void)e2b;
    (void)registry;
    (void)err;
    return 0;
}

/* The sandboxes that are alive, with the keys that they were made by. */
int __wrap_ebb_sandbox_list(ebb_runtime *rt, ebb_value **out, ebb_err *err)
{
    (void)rt;
    (void)err;
    *out = ebb_value_array();
    for (int i = 0; i < sim->deeds_n; i++) {
        ebb_value *box = ebb_value_object(), *metadata = ebb_value_object();

        if (!sim->deeds[i].alive)
            continue;
        ebb_value_set(metadata, "_render_tasks_idempotency_key",
                      ebb_value_text(sim->deeds[i].name));
        ebb_value_set(box, "metadata", metadata);
        ebb_value_set(box, "sandboxId", ebb_value_text(sim->deeds[i].name));
        ebb_value_add(*out, box);
    }
    return 0;
}
