/* SPDX-License-Identifier: MIT */

/*
 * Moments at which a life may be ended or disturbed: the points of
 * base/crash.h, whose functions these are here, each turn of the loop, each
 * request.
 */

#include "spec/sim/sim.h"

#include "base/crash.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {
#define CRASH_NAME(id, name) [(id)] = (name),
    EBB_CRASH_POINTS(CRASH_NAME)
#undef CRASH_NAME
};

const char *ebb_crash_point_name(ebb_crash_point point)
{
    return names[point];
}

const char *sim_moment_name(void)
{
    static const char *const others[] = { "turn",    "last turn",   "last turn",
                                          "request", "body begins", "body" };
    int n = sim_random(EBB_CRASH_POINTS_COUNT +
                       (int)(sizeof others / sizeof *others));

    return n < EBB_CRASH_POINTS_COUNT ? names[n]
                                      : others[n - EBB_CRASH_POINTS_COUNT];
}

void ebb_crash_at(ebb_crash_point point)
{
    if (sim_self != NULL && point == EBB_CRASH_DELIVER)
        sim_self->delivered++;
    if (sim_self != NULL && point == EBB_CRASH_RUN_OPENED)
        sim_self->claim = ++sim->claims_n;
    sim_moment(names[point]);
}

static void count(const char *where)
{
    int64_t i = 0;

    while (i < sim_total->points_n &&
           strcmp(sim_total->points[i].name, where) != 0)
        i++;
    if (i == sizeof sim_total->points / sizeof *sim_total->points)
        return;
    if (i == sim_total->points_n) {
        snprintf(sim_total->points[i].name, sizeof sim_total->points[i].name,
                 "%s", where);
        sim_total->points_n++;
    }
    sim_total->points[i].n++;
}

/* The disk may have had time for a part of what was asked for. */
static _Noreturn void die(void)
{
    if (sim_gate_waiting())
        sim_gate_open(sim_random(sim_gate_count() + 1));
    sim_world_orphan();
    if (sim_self->fate == SIM_POWER)
        sim_disk_lose_power();
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* What befell it before is not over when it is killed. */
static void strike_again(sim_life *self, const char *where)
{
    if (self->blow == 0 || --self->blow > 0)
        return;
    snprintf(self->where, sizeof self->where, "%s", where);
    sim_total->fates[SIM_KILL]++;
    count(where);
    die();
}

void sim_moment(const char *where)
{
    sim_life *self = sim_self;

    if (self != NULL && self->struck)
        strike_again(self, where);
    if (self == NULL || self->fate == SIM_PEACE || self->fate >= SIM_CHANGED ||
        self->struck || (self->at != NULL && strcmp(self->at, where) != 0) ||
        --self->moment > 0)
        return;
    self->struck = true;
    snprintf(self->where, sizeof self->where, "%s", where);
    sim_total->fates[self->fate]++;
    switch (self->fate) {
    case SIM_KILL:
    case SIM_POWER:
        count(where);
        die();
    case SIM_FULL:
        sim_disk_fill();
        break;
    case SIM_INTERRUPT:
        sim_life_interrupt();
        break;
    case SIM_GIVE_UP:
        self->off_record = sim_life_interrupt();
        sim_life_interrupt();
        break;
    default: /* the parent decides what comes meanwhile */
        raise(SIGSTOP);
        break;
    }
}
