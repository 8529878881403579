/* SPDX-License-Identifier: MIT */

/*
 * The world outside: tasks of each class and sandboxes, on a network that
 * loses, delays and repeats. What was executed is counted in memory that no
 * death of a process takes away.
 */

#include "spec/sim/sim.h"

#include "base/crash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATENCY_MS  100
#define SLOW_MS     20000
#define DEADLINE_MS 60000
#define PAD_BYTES   70000 /* above what the journal keeps in its row */

typedef struct kind {
    const char *task, *retry_class;
    bool makes_box, ends_box;
} kind;

static const kind kinds[] = {
    { "e2b.look", "read", false, false },
    { "e2b.make", "lifecycle", false, false },
    { "e2b.act", "none", false, false },
    { "e2b.createSandbox", "lifecycle", true, false },
    { "e2b.killSandbox", "lifecycle", false, true },
};

/* A request under way. */
typedef struct call {
    struct call *next;
    const kind *kind;
    ebb_request *request;
    ebb_runtime *rt;
    ebb_timer *timer;
    sim_request *seen;
    bool arrives, arrived;
    int64_t answer_ms;        /* after its arrival */
    char box[SIM_NAME_BYTES]; /* to be ended */
} call;

static call *calls;
static ebb_runtime *runtime;

/* ---- deeds ---- */

sim_deed *sim_world_deed(const char *name)
{
    sim_deed *deed;

    for (int i = 0; i < sim->deeds_n; i++)
        if (strcmp(sim->deeds[i].name, name) == 0)
            return &sim->deeds[i];
    if (sim->deeds_n == SIM_DEEDS_MAX)
        sim_fail("a script with more than %d deeds", SIM_DEEDS_MAX);
    deed = &sim->deeds[sim->deeds_n++];
    snprintf(deed->name, sizeof deed->name, "%s", name);
    return deed;
}

static uint64_t hash(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ sim->program;

    for (; *name != '\0'; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    h ^= h >> 29;
    return h * UINT64_C(0xbf58476d1ce4e5b9) >> 7;
}

/* One in ten is refused for good; half of those no more after a resume. */
ebb_code sim_world_answer(const char *name, int64_t *value)
{
    static const ebb_code refusals[] = { EBB_CONFLICT, EBB_NOT_FOUND,
                                         EBB_FORBIDDEN };
    uint64_t h = hash(name);

    *value = (int64_t)(h % 1000);
    if (h / 1000 % 10 != 0 || (sim->epoch > 0 && h / 10000 % 2 == 0))
        return EBB_OK;
    return refusals[h / 20000 % 3];
}

static sim_request *new_request(const char *name, int attempt)
{
    sim_deed *deed = sim_world_deed(name);
    sim_request *seen = &sim->requests[sim->requests_n++];

    if (sim->requests_n == SIM_REQUESTS_MAX)
        sim_fail("more than %d requests", SIM_REQUESTS_MAX);
    *seen = (sim_request){ .deed = (int)(deed - sim->deeds),
                           .life = (int)(sim_self - sim->lives),
                           .attempt = attempt,
                           .delivered = sim_self->delivered,
                           .began_ms = sim->wall_ms };
    sim_total->requests++;
    return seen;
}

ebb_code sim_world_body(const char *name, int64_t *value)
{
    sim_request *seen = new_request(name, 1);
    sim_deed *deed = &sim->deeds[seen->deed];

    sim_moment("body begins");
    deed->received++;
    seen->executed = true;
    deed->executed++;
    sim_total->executed++;
    sim_moment("body");
    seen->code = sim_world_answer(name, value);
    seen->ended_ms = sim->wall_ms;
    return seen->code;
}

/* ---- a request ---- */

static void forget(call *c)
{
    call **link = &calls;

    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    if (c->timer != NULL)
        ebb_timer_cancel(c->timer);
    free(c);
}

static void execute(call *c)
{
    sim_deed *deed = &sim->deeds[c->seen->deed];
    int times = c->seen->fault == SIM_TWICE ? 2 : 1;
    int64_t value;

    c->arrived = true;
    if (!c->kind->makes_box && !c->kind->ends_box &&
        sim_world_answer(deed->name, &value) != EBB_OK)
        return;
    if (c->kind->makes_box && deed->executed == 0)
        deed->is_box = deed->alive = true; /* by its key: once */
    if (c->kind->ends_box)
        sim_world_deed(c->box)->alive = false;
    c->seen->executed = true;
    deed->executed += times;
    sim_total->executed += times;
}

static ebb_value *result_of(const call *c)
{
    const sim_deed *deed = &sim->deeds[c->seen->deed];
    ebb_value *out = ebb_value_object();
    int64_t value;

    sim_world_answer(deed->name, &value);
    ebb_value_set(out, "value", ebb_value_int(value));
    if (c->kind->makes_box)
        ebb_value_set(out, "sandboxId", ebb_value_text(deed->name));
    if (c->kind->ends_box)
        ebb_value_set(out, "changed", ebb_value_bool(true));
    if (hash(deed->name) / 7 % 50 == 0) {
        char *pad = malloc(PAD_BYTES);
        memset(pad, 'p', PAD_BYTES);
        ebb_value_set(out, "pad", ebb_value_string(pad, PAD_BYTES));
        free(pad);
    }
    return out;
}

/* The caller hears of it; c is gone. */
static void answer(call *c, ebb_code code, int64_t retry_after_ms)
{
    ebb_request *request = c->request;
    sim_request *seen = c->seen;
    ebb_value *out = code == EBB_OK ? result_of(c) : NULL;
    ebb_err err = { 0 };

    seen->code = code;
    seen->retry_after_ms = retry_after_ms;
    seen->ended_ms = sim->wall_ms;
    forget(c);
    if (code == EBB_OK) {
        ebb_request_finish(request, out);
        return;
    }
    ebb_err_set(&err, code, "the world says %s", ebb_code_name(code));
    err.retry_after_ms = retry_after_ms;
    ebb_request_fail(request, &err, NULL);
}

static void answer_as_fated(call *c)
{
    static const int64_t asked_ms[] = { 0, 500, 3000, 20000, 40000 };
    int64_t value;
    ebb_code code;

    switch (c->seen->fault) {
    case SIM_LOST:
    case SIM_UNHEARD:
        answer(c, EBB_NETWORK, 0);
        break;
    case SIM_LATE:
        answer(c, EBB_TIMEOUT, 0);
        break;
    case SIM_BUSY:
        answer(c, sim_chance(50) ? EBB_RATE_LIMITED : EBB_SERVER,
               asked_ms[sim_random(5)]);
        break;
    case SIM_BROKEN:
        answer(c, EBB_SERVER, 0);
        break;
    default:
        code = c->kind->makes_box || c->kind->ends_box
                   ? EBB_OK
                   : sim_world_answer(sim->deeds[c->seen->deed].name, &value);
        answer(c, code, 0);
        break;
    }
}

static void on_time(void *context);

static void wait_for(call *c, int64_t ms)
{
    ebb_err err;

    c->timer = ebb_timer_start(c->rt, ms, on_time, c, &err);
    if (c->timer == NULL)
        sim_fail("no timer for the world");
}

static void on_time(void *context)
{
    call *c = context;

    c->timer = NULL;
    if (c->arrives && !c->arrived) {
        execute(c);
        wait_for(c, c->answer_ms);
        ebb_crash_at(EBB_CRASH_SENT);
    } else {
        answer_as_fated(c);
    }
}

static sim_fault choose(const kind *k)
{
    sim_fault fault = SIM_CALM;

    if (sim_chance(sim->storm))
        fault = (sim_fault)(1 + sim_random(SIM_FAULTS_COUNT - 1));
    if (fault != SIM_CALM && k->makes_box && sim_chance(40))
        fault = SIM_BUSY; /* where capacity is short */
    if (fault == SIM_TWICE && strcmp(k->retry_class, "none") == 0 &&
        sim->broken != SIM_BREAK_TWICE)
        fault = SIM_UNHEARD; /* what is sent once comes at most once */
    sim_total->faults[fault]++;
    return fault;
}

/* How it travels; returns when the first thing happens to it. */
static int64_t travel(call *c)
{
    int64_t there = 1 + sim_random(LATENCY_MS);

    c->arrives = c->seen->fault != SIM_LOST && c->seen->fault != SIM_BUSY;
    if (c->seen->fault == SIM_BROKEN)
        c->arrives = sim_chance(50);
    c->answer_ms = 1 + sim_random(LATENCY_MS);
    if (c->seen->fault == SIM_SLOW)
        c->answer_ms = sim_random(SLOW_MS);
    if (c->seen->fault == SIM_LATE)
        c->answer_ms = DEADLINE_MS;
    return there;
}

static void start(void *context, ebb_request *request)
{
    const kind *k = context;
    const ebb_value *input = ebb_request_input(request);
    const char *name = ebb_value_find_string(input, "n");
    const char *box = ebb_value_find_string(input, "sandboxId");
    char own[SIM_NAME_BYTES];
    call *c = calloc(1, sizeof *c);

    if (c == NULL)
        sim_fail("no memory for the world");
    snprintf(own, sizeof own, "end %s", box != NULL ? box : "");
    snprintf(c->box, sizeof c->box, "%s", box != NULL ? box : "");
    c->kind = k;
    c->request = request;
    c->rt = runtime;
    c->seen =
        new_request(name != NULL ? name : own, ebb_request_attempt(request));
    sim->deeds[c->seen->deed].received++;
    c->seen->fault = choose(k);
    c->next = calls;
    calls = c;
    wait_for(c, travel(c));
    sim_moment("request");
}

/* What was sent may still be executed; that is said, or not known. */
static void cancel(void *context, ebb_request *request)
{
    const kind *k = context;
    bool executes = strcmp(k->retry_class, "none") == 0;
    call *c = calls;
    ebb_code code = EBB_CANCELLED;

    while (c != NULL && c->request != request)
        c = c->next;
    if (c == NULL)
        sim_fail("a request was cancelled that is not under way");
    c->seen->cancelled = true;
    if (executes && !c->arrived)
        code = EBB_OUTCOME_UNKNOWN;
    else if (sim_chance(10))
        code = EBB_NETWORK; /* the line broke just then */
    if (c->arrives && !c->arrived && sim_chance(50))
        execute(c);
    answer(c, code, 0);
}

void sim_world_orphan(void)
{
    for (call *c = calls; c != NULL; c = c->next)
        if (c->arrives && !c->arrived && sim_chance(50))
            execute(c);
}

static bool is_listed(const ebb_value *sandboxes, const char *name)
{
    for (size_t i = 0; i < ebb_value_size(sandboxes); i++) {
        const ebb_value *box = ebb_value_at(sandboxes, i);
        const char *id = ebb_value_find_string(box, "sandboxId");
        const char *key = ebb_value_find_string(box, "idempotencyKey");

        if ((id != NULL && strcmp(id, name) == 0) ||
            (key != NULL && strcmp(key, name) == 0))
            return true;
    }
    return false;
}

const char *sim_world_find_left(const ebb_value *sandboxes)
{
    for (int i = 0; i < sim->deeds_n; i++)
        if (sim->deeds[i].alive && !is_listed(sandboxes, sim->deeds[i].name))
            return sim->deeds[i].name;
    return NULL;
}

int sim_world_register(ebb_runtime *rt, ebb_err *err)
{
    static kind own[sizeof kinds / sizeof *kinds];

    memcpy(own, kinds, sizeof own);
    runtime = rt;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        ebb_task_config task = { .name = own[i].task,
                                 .retry_class = own[i].retry_class,
                                 .start = start,
                                 .cancel = cancel,
                                 .context = &own[i] };

        if (ebb_register(rt, &task, err) < 0)
            return -1;
    }
    return 0;
}
