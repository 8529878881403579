/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <signal.h>
#include <unistd.h>

#define GIVE_UP 3 /* the third Ctrl-C waits for nothing */

/* A signal handler has no context: hence these statics. */
static void (*volatile interrupt_fn)(void *context);
static void *volatile interrupt_context;
static volatile sig_atomic_t interrupts, terminated;

static void interrupted(int signum)
{
    if (signum != SIGINT)
        terminated = 1;
    interrupts = interrupts + 1;
    if (interrupts >= GIVE_UP)
        _exit(130);
    if (interrupt_fn != NULL)
        interrupt_fn(interrupt_context);
}

static void handle(void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler,
                                .sa_flags = SA_RESTART };

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

void ebb_interrupt_on(void (*fn)(void *context), void *context)
{
    interrupts = 0;
    interrupt_context = context;
    interrupt_fn = fn;
    handle(interrupted);
}

void ebb_interrupt_off(void)
{
    handle(SIG_DFL);
    interrupt_fn = NULL;
}

bool ebb_interrupted(void)
{
    return interrupts > 0;
}

bool ebb_terminated(void)
{
    return terminated != 0;
}
