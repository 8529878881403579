/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The scheduler: branches (a script, each function of ebb.parallel, each call
 * of a script's own task) take turns on one thread. It knows neither tasks nor
 * groups; they make a branch wait and later ready.
 *
 * A branch that waits yields one mark, which lcoro.c passes on through the
 * script's own coroutines up to the scheduler. It is resumed with no values:
 * the continuation looks up what it waited for. So an answer needs no way down
 * through the coroutines.
 *
 * Invariant: Lua is entered from lebb_sched_turn only, at the top of the loop;
 * the core's callbacks call lebb_branch_ready, which allocates nothing.
 */

#include "lua/ebb_lua.h"

#include <signal.h>

/* At once, in one state. */
#define LEBB_BRANCHES_MAX 10000
/* Functions that open and close scopes. */
#define LEBB_SCOPES_MAX 4

typedef struct lebb_sched lebb_sched;
typedef struct lebb_branch lebb_branch;
typedef struct lebb_call lebb_call;       /* lcall.h */
typedef struct lebb_group lebb_group;     /* lgroup.c */
typedef struct lebb_request lebb_request; /* lhandler.c */
typedef struct lebb_handler lebb_handler;

typedef enum lebb_cancel {
    LEBB_CANCEL_NONE,
    LEBB_CANCEL_WANTED,   /* the next wait raises */
    LEBB_CANCEL_DELIVERED /* an error was raised for it: cleanup goes on */
} lebb_cancel;

/* A userdata, kept alive by the scheduler until it has ended. */
struct lebb_branch {
    lebb_sched *sched;
    lua_State *co; /* anchored by the userdata */
    int args;      /* of the first resume; then -1 */
    bool ok;       /* how it ended; its results are left on co */
    bool ended;

    lebb_cancel cancel;
    int shield; /* > 0: in cleanup, which a cancel does not interrupt */
    int step;   /* > 0: in ebb.step, which may not wait */

    /* In a durable run; see ldurable.h. */
    bool durable;
    char *path;            /* its own; NULL: the script's */
    uint64_t steps;        /* asked for */
    uint64_t lines_before; /* the step before which ebb.log wrote last … */
    lua_Integer lines;     /* … so many lines */
    uint64_t uuids;
    uint64_t random[4]; /* of math.random; all zero: not seeded */

    /* What it waits for: at most one of the two. */
    lebb_call *call;
    lebb_group *waits;
    lebb_call *joint; /* with waits: the step of the combinator, or NULL */

    /* At its end, in a turn; L may raise. */
    void (*on_end)(lua_State *L, lebb_branch *branch);
    void *owner; /* whose end it is: a group, a request */
    lua_Integer index;
    lebb_branch *next_ended; /* a group's */

    lebb_branch *next_ready;
    bool is_ready;
    lebb_branch *prev, *next; /* all that have not ended, by age */
};

struct lebb_sched {
    ebb_runtime *rt; /* NULL once detached */
    lebb_branch *current;
    lua_State *volatile running; /* the coroutine of current that computes */
    lua_State *blocked; /* whose C call keeps it from waiting, or NULL */
    bool turning;

    lebb_branch *ready_first, *ready_last;
    lebb_branch *first, *last; /* all that have not ended */
    size_t count;

    /* Set by lebb_sched_interrupt, in a signal handler. */
    volatile sig_atomic_t cancels;
    int cancels_seen;
    bool gave_up;
    const void *scopes[LEBB_SCOPES_MAX]; /* see lebb_sched_add_scope */
    lebb_branch *job; /* what a cancel ends, or NULL */
    int exit_status;  /* of os.exit, or -1 */

    ebb_run *run;     /* NULL: nothing is recorded */
    ebb_err run_stop; /* set: why the run cannot go on here */
    bool run_cancel_seen;

    lebb_request *requests; /* of the script's own tasks, the newest first */
    lebb_handler *handlers;
};

/* Makes the scheduler of a state; lebb_sched_get gives NULL before that. */
lebb_sched *lebb_sched_new(lua_State *L, ebb_runtime *rt);
lebb_sched *lebb_sched_get(lua_State *L);

/* The runtime goes: what waits for it is cancelled, calls raise. */
void lebb_sched_detach(lebb_sched *s);

/* Pushes the table that keeps the branches that have not ended alive. */
void lebb_sched_push_branches(lua_State *L);

/* As lebb_sched_get, but raises when it is gone or its runtime is closed. */
lebb_sched *lebb_sched_check(lua_State *L);

/*
 * Makes a branch of the function and args at the top, which are popped, and
 * pushes it. It runs at the next turn. handler: errors get a traceback.
 */
lebb_branch *lebb_branch_new(lua_State *L, lebb_sched *s, int args,
                             bool handler);
void lebb_branch_ready(lebb_branch *branch);
void lebb_branch_init(lua_State *L); /* the metatable */

/* Wants the branch to end by an error at its next wait, or the current one. */
void lebb_branch_cancel(lebb_branch *branch);

/* Ends what it waits for; at_once: not waiting for the core's answer. */
void lebb_branch_interrupt(lebb_branch *branch, bool at_once);

/* It has run to its end: calls on_end. For the scheduler. */
void lebb_branch_end(lua_State *L, lebb_branch *branch);

/* Moves the results, or the error, to L; returns how many. Once. */
int lebb_branch_results(lua_State *L, lebb_branch *branch);

/*
 * The branch that may wait here. NULL outside any branch: the caller then
 * returns lebb_sched_block(L). Raises where a wait is impossible, naming the
 * place, and when a cancel is due. what: who asks.
 */
lebb_branch *lebb_branch_enter(lua_State *L, lebb_sched *s, const char *what);

/*
 * Raises when a cancel is due in the branch. In a run only inside ebb.step, or
 * after giving up: else the next step is asked for and cancelled, so that the
 * journal records where.
 */
void lebb_branch_check(lua_State *L, lebb_branch *branch);

/* Waits: k goes on when the branch is made ready. */
int lebb_branch_yield(lua_State *L, lua_KFunction k);

/*
 * Runs the C function that calls it, with the same arguments, in a branch of
 * its own and the loop until that has ended; returns or raises what it did.
 */
int lebb_sched_block(lua_State *L);

/* Runs each branch that is ready once. false: none was. */
bool lebb_sched_turn(lua_State *L, lebb_sched *s);

/* Notes a cancel and stops a computing coroutine; for a signal handler. */
void lebb_sched_interrupt(lebb_sched *s);

/*
 * The function at index opens or closes a scope: a cancel that stops what
 * computes comes before it or after it, never in it, or what the scope holds
 * would be held for ever. It is compared by identity and stays its owner's.
 */
void lebb_sched_add_scope(lua_State *L, int index);

/* Acts on what was noted; before a poll, outside Lua. */
void lebb_sched_look(lebb_sched *s);

/* Cancels the job, or without one all branches. */
void lebb_sched_cancel(lebb_sched *s);

/* Cancels all branches and lets none wait any more. */
void lebb_sched_give_up(lebb_sched *s);

/* Before a coroutine of the running branch computes: arms a noted cancel. */
void lebb_sched_arm(lebb_sched *s, lua_State *co);
