/* SPDX-License-Identifier: MIT */

/*
 * Time and random numbers. The program's own clock_gettime and getrandom stand
 * in for the C library's, also for libuv, so nothing of the core knows. The
 * journal's thread, which waits for real locks, has the real clock.
 */

#include "spec/sim/sim.h"

#include "net/loop.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long a slow disk keeps the loop waiting at a time, at most. */
#define SLOW_DISK_MS      40
#define SLOW_DISK_PERCENT 6
/* Some of what waits for the disk is written before the rest. */
#define PART_PERCENT 25

static bool is_virtual;
static pthread_t main_thread;

void sim_time_start(void)
{
    main_thread = pthread_self();
    is_virtual = true;
}

static bool is_ours(void)
{
    return is_virtual && pthread_equal(pthread_self(), main_thread);
}

EBB_API int clock_gettime(clockid_t id, struct timespec *t)
{
    int64_t ms;

    if (!is_ours())
        return (int)syscall(SYS_clock_gettime, id, t);
    switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        ms = sim->wall_ms;
        break;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
        ms = sim->steady_ms;
        break;
    default:
        return (int)syscall(SYS_clock_gettime, id, t);
    }
    t->tv_sec = ms / 1000;
    t->tv_nsec = ms % 1000 * 1000000;
    return 0;
}

/* ---- random numbers ---- */

static uint64_t next_random(void)
{
    uint64_t z = sim->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int sim_random(int n)
{
    return (int)(next_random() % (uint64_t)n);
}

bool sim_chance(int percent)
{
    return sim_random(100) < percent;
}

EBB_API ssize_t getrandom(void *bytes, size_t n, unsigned flags)
{
    char *to = bytes;

    if (!is_ours())
        return syscall(SYS_getrandom, bytes, n, flags);
    for (size_t i = 0; i < n; i++)
        to[i] = (char)next_random();
    return (ssize_t)n;
}

/* ---- the loop ---- */

void sim_time_pass(int64_t ms)
{
    sim->wall_ms += ms;
    sim->steady_ms += ms;
    sim_total->virtual_ms += ms;
}

static bool is_ready(ebb_loop *loop)
{
    struct pollfd wake = { .fd = ebb_loop_fd(loop), .events = POLLIN };

    return ebb_loop_timeout_ms(loop) == 0 || poll(&wake, 1, 0) > 0;
}

static int64_t until_next(const ebb_loop *loop, int timeout_ms)
{
    int64_t left = ebb_loop_timeout_ms(loop);

    if (timeout_ms >= 0 && (left < 0 || timeout_ms < left))
        left = timeout_ms;
    return left;
}

/* Lets the disk work; or, now and then, only time pass that it needs. */
static void write_journal(int64_t left)
{
    if (sim_chance(SLOW_DISK_PERCENT)) {
        int64_t slow = 1 + sim_random(SLOW_DISK_MS);
        sim_time_pass(left >= 0 && left < slow ? left : slow);
    } else if (sim_chance(PART_PERCENT)) {
        sim_gate_open(1 + sim_random(sim_gate_count()));
    } else {
        sim_gate_open(-1);
    }
}

void __real_ebb_loop_run(ebb_loop *loop, int timeout_ms);
void __wrap_ebb_loop_run(ebb_loop *loop, int timeout_ms);

/*
 * One turn. Instead of waiting, what can happen next happens: the journal's
 * thread gets its jobs, and when there are none, the clock jumps.
 */
void __wrap_ebb_loop_run(ebb_loop *loop, int timeout_ms)
{
    int64_t left;

    sim_moment(sim_self != NULL && sim_self->ending ? "last turn" : "turn");
    if (timeout_ms != 0 && !is_ready(loop)) {
        left = until_next(loop, timeout_ms);
        if (sim_gate_waiting())
            write_journal(left);
        else if (left >= 0)
            sim_time_pass(left);
        else
            sim_fail("the script waits, and nothing is left to happen");
    }
    __real_ebb_loop_run(loop, 0);
}

_Noreturn void sim_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(sim->failure, sizeof sim->failure, format, args);
    va_end(args);
    _exit(99);
}
