/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The simulator (`make sim`): the real scheduler, retries and journal, executed
 * in a process of its own for each life of a run, under a virtual clock, with a
 * fake world outside of it. The world is memory that all processes share, so
 * it survives their deaths.
 *
 * Invariant: whatever happens follows from the seed. One process runs at a
 * time; the journal writes only while the loop waits for it; time passes only
 * when nothing else can happen.
 *
 *   sim_main.c   seeds, counts, what people see
 *   sim_story.c  the lives of one run: who is killed, resumed, taken over
 *   sim_life.c   one life: runtime, run, script
 *   sim_time.c   the clock, random numbers, the turns of the loop
 *   sim_gate.c   when the journal does its jobs
 *   sim_crash.c  moments at which a life may be ended, and how
 *   sim_disk.c   the disk under the journal: full, or without power
 *   sim_world.c  the tasks, their faults, what was executed
 *   sim_client.c stands in for the client of E2B
 *   sim_facts.c  what happened, as tables for the oracle
 *   script.lua   makes a script from a seed
 *   model.lua, library.lua
 *                the reference: what a script sees of given outcomes
 *   check.lua, steps.lua, ends.lua, show.lua
 *                the oracle: what must be true of what happened
 */

#include "ebb.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SIM_NAME_BYTES   32
#define SIM_DEEDS_MAX    512
#define SIM_REQUESTS_MAX 4096
#define SIM_LIVES_MAX    64
#define SIM_LOG_BYTES    65536
#define SIM_TEXT_BYTES   65536 /* of a script */
#define SIM_PATH_BYTES   128

/* ---- what the world keeps ---- */

#define SIM_FAULTS(X)                                                          \
    X(SIM_CALM, "none")                                                        \
    X(SIM_LOST, "partition before the server")                                 \
    X(SIM_UNHEARD, "partition before the answer")                              \
    X(SIM_SLOW, "slow")                                                        \
    X(SIM_LATE, "late past the deadline")                                      \
    X(SIM_TWICE, "delivered twice")                                            \
    X(SIM_BUSY, "refused, come again")                                         \
    X(SIM_BROKEN, "server error")

typedef enum sim_fault {
#define SIM_FAULT_ENUM(id, name) id,
    SIM_FAULTS(SIM_FAULT_ENUM)
#undef SIM_FAULT_ENUM
        SIM_FAULTS_COUNT
} sim_fault;

/* What a step asks the world to do, by the name that it has in the script. */
typedef struct sim_deed {
    char name[SIM_NAME_BYTES];
    int received, executed;
    bool is_box; /* a sandbox … */
    bool alive;  /* … that nobody ended yet */
} sim_deed;

typedef struct sim_request {
    int deed, life, attempt;
    int delivered; /* outcomes in that life before */
    sim_fault fault;
    bool executed;
    bool cancelled;   /* by the caller */
    int64_t began_ms; /* as all here by the virtual wall clock */
    int64_t ended_ms; /* when the caller heard; 0: never */
    ebb_code code;    /* what it heard */
    int64_t retry_after_ms;
} sim_request;

/* ---- a life ---- */

typedef enum sim_owner { SIM_NOBODY, SIM_DEAD, SIM_ALIVE } sim_owner;

/* What befalls it, at its nth moment. */
#define SIM_FATES(X)                                                           \
    X(SIM_PEACE, "none")                                                       \
    X(SIM_KILL, "killed")                                                      \
    X(SIM_POWER, "power cut")                                                  \
    X(SIM_FULL, "disk full")                                                   \
    X(SIM_STOP_KILL, "stopped, killed")                                        \
    X(SIM_STOP_OWNED, "asked for while alive")                                 \
    X(SIM_STOP_TAKE, "taken over")                                             \
    X(SIM_STOP_CANCEL, "cancelled by another")                                 \
    X(SIM_STOP_LONG, "suspended for long")                                     \
    X(SIM_INTERRUPT, "interrupted")                                            \
    X(SIM_GIVE_UP, "interrupted twice")                                        \
    X(SIM_CHANGED, "given another script")                                     \
    X(SIM_CANCEL, "cancelled while nobody runs it")                            \
    X(SIM_FORK, "forked")                                                      \
    X(SIM_SHOW, "asked for its sandboxes")                                     \
    X(SIM_PRUNE, "removed")

typedef enum sim_fate {
#define SIM_FATE_ENUM(id, name) id,
    SIM_FATES(SIM_FATE_ENUM)
#undef SIM_FATE_ENUM
        SIM_FATES_COUNT
} sim_fate;

typedef struct sim_life {
    sim_fate fate;
    const char *at; /* its name; NULL: whatever moment it is */
    int moment;     /* when; what is left until then */
    int blow;       /* so many moments after that it is killed; 0: not */
    bool ending;    /* the script has ended, and that is being recorded */
    int delivered;  /* outcomes, so far */
    char what[SIM_PATH_BYTES]; /* the step to fork from, or to rename */
    bool resume, take_over, force;
    bool threaded; /* the journal's thread writes; else the loop does */

    int owner; /* of the run when it began: a sim_owner */
    bool was_active;
    int since;   /* looks at the journal that were taken before */
    int look;    /* the number of the one after it */
    int claim;   /* it passed "run-opened": which of those of the run, from 1 */
    bool struck; /* its fate has come */
    char where[24];      /* at which point */
    bool finished;       /* it came to its end by itself */
    ebb_code code;       /* of opening, or of the script's end */
    ebb_run_state state; /* as it found it, or left it */
    char outcome[4096];  /* of one that was found ended; JSON */
    int64_t began_ms, ended_ms;
    bool off_record; /* what the script sees from here on is not recorded */
    size_t log_n;    /* "MS text\n" for each line that the script showed */
    char log[SIM_LOG_BYTES];
} sim_life;

/*
 * What is broken on purpose (EBB_SIM_BREAK), to see that the oracle finds it:
 * a job of the journal is answered and not done, or answered out of order; the
 * network repeats what it must not; retries come too early.
 */
#define SIM_BREAKS(X)                                                          \
    X(SIM_WHOLE, "nothing")                                                    \
    X(SIM_BREAK_INTENT, "intent")                                              \
    X(SIM_BREAK_ATTEMPT, "attempt")                                            \
    X(SIM_BREAK_OUTCOME, "outcome")                                            \
    X(SIM_BREAK_END, "end")                                                    \
    X(SIM_BREAK_FORGET, "forget")                                              \
    X(SIM_BREAK_TWICE, "twice")                                                \
    X(SIM_BREAK_EARLY, "early")                                                \
    X(SIM_BREAK_ORDER, "order")

typedef enum sim_break {
#define SIM_BREAK_ENUM(id, name) id,
    SIM_BREAKS(SIM_BREAK_ENUM)
#undef SIM_BREAK_ENUM
} sim_break;

typedef struct sim_world {
    sim_break broken;
    uint64_t random;
    int64_t wall_ms, steady_ms;
    uint64_t program; /* its seed */
    int storm;        /* faults in a hundred requests */
    int epoch;        /* raised when a run that failed is resumed */
    char dir[128], journal[160];
    char run_id[32];
    bool forked; /* the run is another one's second half */
    char text[SIM_TEXT_BYTES];

    sim_deed deeds[SIM_DEEDS_MAX];
    int deeds_n;
    sim_request requests[SIM_REQUESTS_MAX];
    int requests_n;
    sim_life lives[SIM_LIVES_MAX];
    int lives_n;
    int claims_n;
    char failure[512]; /* the simulator itself cannot go on */
} sim_world;

extern sim_world *sim;     /* shared by all processes */
extern sim_life *sim_self; /* of this process; NULL in the parent */

/* Since the start, over all programs; in the shared memory too. */
typedef struct sim_counts {
    int64_t programs, steps, replayed, lives, requests, executed;
    int64_t recoveries, takeovers, resumes, stuck, unknown;
    int64_t faults[SIM_FAULTS_COUNT], fates[SIM_FATES_COUNT];
    struct {
        char name[24];
        int64_t n;
    } points[32];
    int64_t points_n;
    int64_t virtual_ms;
} sim_counts;

extern sim_counts *sim_total;

/* ---- sim_time.c ---- */

/* From 0 to n - 1. */
int sim_random(int n);
bool sim_chance(int percent);
/* The virtual clock is this process's from now on. */
void sim_time_start(void);
void sim_time_pass(int64_t ms);

/* Ends this process: the simulator itself is at its end. */
_Noreturn void sim_fail(const char *format, ...) EBB_PRINTF(1, 2);

/* ---- sim_gate.c ---- */

bool sim_gate_waiting(void);
/* Lets the journal do the first n jobs (-1: all); the answers come soon. */
void sim_gate_open(int n);
int sim_gate_count(void);

/* ---- sim_crash.c ---- */

/* Something could happen to this life now. where is compared as text. */
void sim_moment(const char *where);
/* The name of one of the moments. */
const char *sim_moment_name(void);

/* ---- sim_disk.c ---- */

/* Before the journal is opened: what a power cut takes is known. */
void sim_disk_install(void);
void sim_disk_fill(void);
void sim_disk_lose_power(void);

/* ---- sim_world.c ---- */

int sim_world_register(ebb_runtime *rt, ebb_err *err);
/* The function of an ebb.step: its value, or a code. */
ebb_code sim_world_body(const char *name, int64_t *value);
/* What a deed answers, as the seed has it. */
ebb_code sim_world_answer(const char *name, int64_t *value);
sim_deed *sim_world_deed(const char *name);
/* What is under way may still arrive. */
void sim_world_orphan(void);
/* The name of a sandbox that is alive and that sandboxes (a list as
 * ebb_runs_show gives it, or NULL) does not have; or NULL. */
const char *sim_world_find_left(const ebb_value *sandboxes);

/* ---- sim_life.c ---- */

_Noreturn void sim_live(sim_life *life);
/* Presses Ctrl-C; false: no script runs that could hear of it. */
bool sim_life_interrupt(void);

/* ---- sim_story.c ---- */

struct lua_State;
/* One program from its seed to its end; false: the oracle found something. */
bool sim_story(struct lua_State *L, uint64_t seed);

/* ---- sim_facts.c ---- */

/* Pushes what the journal has now: {state=, outcome=, rows=}. */
void sim_facts_push_journal(struct lua_State *L);
/* Pushes {lives=, requests=, deeds=, …}. */
void sim_facts_push(struct lua_State *L);
