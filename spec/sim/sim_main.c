/* SPDX-License-Identifier: MIT */

/*
 * sim SEED STEPS: program after program, the first made from SEED, the next
 * from SEED + 1, until STEPS outcomes were recorded (0: until it is stopped).
 * So a program that fails is replayed alone by its own seed and one step.
 * EBB_SIM_BREAK=intent (see sim.h) breaks something that it must find.
 */

#include "spec/sim/sim.h"

#include <lauxlib.h>
#include <lualib.h>
#include <malloc.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

sim_world *sim;
sim_life *sim_self;
sim_counts *sim_total;

static volatile sig_atomic_t stopping;

static void stop(int signum)
{
    (void)signum;
    stopping = 1;
}

static void *shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("sim: shared memory");
        exit(2);
    }
    return memory;
}

/* In memory if there is such a place: the disk is virtual as well. */
static void make_dir(void)
{
    const char *const places[] = { "/dev/shm", "/tmp" };

    for (size_t i = 0; i < 2; i++) {
        snprintf(sim->dir, sizeof sim->dir, "%s/ebb-sim-XXXXXX", places[i]);
        if (mkdtemp(sim->dir) != NULL) {
            snprintf(sim->journal, sizeof sim->journal, "%s/journal.db",
                     sim->dir);
            return;
        }
    }
    perror("sim: no folder for its journal");
    exit(2);
}

static void remove_dir(void)
{
    char command[256];

    snprintf(command, sizeof command, "rm -rf '%s'", sim->dir);
    if (system(command) != 0)
        perror("sim");
}

/* What each life would do again: the start of libraries, arenas of threads. */
static void warm_up(void)
{
    char hex[65];

    mallopt(M_ARENA_MAX, 1);
    ebb_run_sha256("", 0, hex);
    sqlite3_initialize();
}

static lua_State *open_oracle(void)
{
    lua_State *L = luaL_newstate();

    if (L == NULL)
        exit(2);
    luaL_openlibs(L);
    if (luaL_dofile(L, "spec/sim/main.lua") != LUA_OK) {
        fprintf(stderr, "sim: %s (it is started in the repository's folder)\n",
                lua_tostring(L, -1));
        exit(2);
    }
    return L;
}

/* ---- what people see ---- */

static void show_named(const char *name, int64_t n)
{
    if (n > 0)
        printf("    %-32s %lld\n", name, (long long)n);
}

static void show_counts(void)
{
    static const char *const faults[] = {
#define FAULT_NAME(id, name) [(id)] = (name),
        SIM_FAULTS(FAULT_NAME)
#undef FAULT_NAME
    };
    static const char *const fates[] = {
#define FATE_NAME(id, name) [(id)] = (name),
        SIM_FATES(FATE_NAME)
#undef FATE_NAME
    };
    const sim_counts *c = sim_total;

    printf("%lld steps of %lld programs in %lld lives, %.1f virtual days\n",
           (long long)c->steps, (long long)c->programs, (long long)c->lives,
           (double)c->virtual_ms / 86400000);
    printf("  requests: %lld, executed %lld; by what befell them:\n",
           (long long)c->requests, (long long)c->executed);
    for (int i = 0; i < SIM_FAULTS_COUNT; i++)
        show_named(faults[i], c->faults[i]);
    printf("  lives, by what befell them:\n");
    for (int i = 1; i < SIM_FATES_COUNT; i++)
        show_named(fates[i], c->fates[i]);
    printf("  killed or without power at:\n");
    for (int64_t i = 0; i < c->points_n; i++)
        show_named(c->points[i].name, c->points[i].n);
    printf("  %lld recoveries, %lld resumes, %lld take-overs, %lld stuck, "
           "%lld steps of unknown outcome\n",
           (long long)c->recoveries, (long long)c->resumes,
           (long long)c->takeovers, (long long)c->stuck, (long long)c->unknown);
}

static void show_progress(uint64_t seed)
{
    static time_t last;
    time_t now = time(NULL);

    if (!isatty(1) || now == last)
        return;
    last = now;
    printf("\r%lld steps, %lld lives, seed %llu ", (long long)sim_total->steps,
           (long long)sim_total->lives, (unsigned long long)seed);
    fflush(stdout);
}

static uint64_t read_seed(const char *text)
{
    uint64_t seed = 0;

    if (text != NULL && *text != '\0')
        return strtoull(text, NULL, 10);
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        seed = (uint64_t)time(NULL);
    return seed >> 33;
}

static void read_break(const char *wanted)
{
    static const char *const names[] = {
#define BREAK_NAME(id, name) [(id)] = (name),
        SIM_BREAKS(BREAK_NAME)
#undef BREAK_NAME
    };

    for (size_t i = 0; wanted != NULL && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], wanted) == 0)
            sim->broken = (sim_break)i;
}

int main(int argc, char **argv)
{
    uint64_t seed = read_seed(argc > 1 ? argv[1] : NULL), at = seed;
    int64_t steps = argc > 2 ? strtoll(argv[2], NULL, 10) : 0;
    struct sigaction action = { .sa_handler = stop, .sa_flags = SA_RESTART };
    bool fine = true;
    lua_State *L;

    setvbuf(stdout, NULL, _IOLBF, 0);
    sim = shared(sizeof *sim);
    sim_total = shared(sizeof *sim_total);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGPIPE, &action, NULL); /* its folder goes all the same */
    warm_up();
    L = open_oracle();
    read_break(getenv("EBB_SIM_BREAK"));
    make_dir();
    printf("seed %llu\n", (unsigned long long)seed);
    while (fine && !stopping && (steps == 0 || sim_total->steps < steps)) {
        fine = sim_story(L, at) || stopping;
        show_progress(at);
        at++;
    }
    if (isatty(1))
        printf("\r");
    show_counts();
    if (!fine)
        printf("FAILED: make sim SEED=%llu STEPS=1\n",
               (unsigned long long)(at - 1));
    remove_dir();
    lua_close(L);
    return fine ? 0 : 1;
}
