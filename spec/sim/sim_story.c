/* SPDX-License-Identifier: MIT */

/*
 * One program from its seed to its end: lives that are killed, stopped, taken
 * over or cancelled, until the run has ended, and what the oracle says.
 */

#include "spec/sim/sim.h"

#include <errno.h>
#include <lauxlib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define EPOCH_MS         INT64_C(1900000000000) /* of the virtual clock */
#define TROUBLED_MAX     8 /* lives; then they are left in peace */
#define THREADED_PERCENT 10
#define BLOW_PERCENT     35 /* of what is disturbed is killed a little later */
#define DOOMED_LIVES     13 /* of a run that ends its process again and again */
#define RESUMES_MAX      3
#define RECOVERIES_MAX   10 /* as docs/durable.md promises */

enum { ACTIVE, DONE, FAILED, CANCELLED, STUCK }; /* as the journal has them */

typedef struct story {
    lua_State *L;
    int oracle; /* its index on L's stack */
    int state;
    int64_t seq; /* outcomes so far */
    int looks;
    int troubles; /* lives to come that are not left in peace */
    bool doomed, resume, opened_again;
    int resumes;
    sim_owner owner;
    int claim; /* of the last owner */
    int fruitless;
    bool crowded; /* more than one owner at a time: not counted */
} story;

/* ---- the oracle ---- */

/* Takes the journal as it is now. */
static void look(story *s)
{
    lua_State *L = s->L;

    lua_getfield(L, s->oracle, "look");
    lua_pushvalue(L, s->oracle);
    sim_facts_push_journal(L);
    lua_getfield(L, -1, "state");
    s->state = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    lua_getfield(L, -1, "seq");
    if (lua_tointeger(L, -1) > s->seq)
        s->fruitless = 0;
    s->seq = lua_tointeger(L, -1);
    lua_pop(L, 1);
    lua_pushinteger(L, sim->requests_n);
    lua_call(L, 3, 0);
    s->looks++;
}

/* Asks it for one of the steps that are recorded, by how ("path", "name"). */
static bool pick(const story *s, const char *how, char out[SIM_PATH_BYTES])
{
    lua_State *L = s->L;
    const char *found;

    lua_getfield(L, s->oracle, "pick");
    lua_pushvalue(L, s->oracle);
    lua_pushstring(L, how);
    lua_pushinteger(L, sim_random(1000));
    lua_call(L, 3, 1);
    found = lua_tostring(L, -1);
    snprintf(out, SIM_PATH_BYTES, "%s", found != NULL ? found : "");
    lua_pop(L, 1);
    return out[0] != '\0';
}

/* ---- lives ---- */

static sim_life *new_life(sim_fate fate)
{
    sim_life *life = &sim->lives[sim->lives_n++];

    memset(life, 0, offsetof(sim_life, log));
    life->fate = fate;
    life->threaded = sim_chance(THREADED_PERCENT) && fate != SIM_POWER &&
                     fate != SIM_FULL; /* their disk knows one writer */
    sim_total->lives++;
    if (fate >= SIM_CHANGED)
        sim_total->fates[fate]++; /* it has no moment of its own */
    return life;
}

/* One of all moments, of which turns are most; or one of those of a name. */
static void choose_moment(const story *s, sim_life *life)
{
    static const int within[] = { 8, 40, 200, 800 };

    if (sim_chance(BLOW_PERCENT))
        life->blow = 1 + sim_random(within[sim_random(3)]);
    if (s->doomed || sim_chance(60)) {
        life->moment = 1 + sim_random(s->doomed ? 6 : within[sim_random(4)]);
        return;
    }
    life->at = sim_moment_name();
    if (life->fate >= SIM_INTERRUPT && sim_chance(30))
        life->at = "body"; /* while the script itself computes */
    life->moment = 1 + sim_random(within[sim_random(2)]);
    if (strncmp(life->at, "run-", 4) == 0 || strncmp(life->at, "last", 4) == 0)
        life->moment = 1 + sim_random(2);
}

static sim_fate some_fate(const story *s)
{
    static const sim_fate fates[] = {
        SIM_KILL,        SIM_KILL,       SIM_KILL,      SIM_KILL,
        SIM_KILL,        SIM_POWER,      SIM_POWER,     SIM_FULL,
        SIM_STOP_KILL,   SIM_STOP_OWNED, SIM_STOP_TAKE, SIM_STOP_TAKE,
        SIM_STOP_CANCEL, SIM_STOP_LONG,  SIM_INTERRUPT, SIM_GIVE_UP,
    };

    if (s->doomed)
        return SIM_KILL;
    return fates[sim_random(sizeof fates / sizeof *fates)];
}

static void some_time(void)
{
    int kind = sim_random(100);

    if (kind < 2)
        sim_time_pass(sim_random(86400) * INT64_C(1000));
    else if (kind < 12)
        sim_time_pass(sim_random(3600) * INT64_C(1000));
    else
        sim_time_pass(sim_random(5000));
}

static void run_life(story *s, sim_life *life);

/* Its owner is stopped: another process asks for the run. */
static void meanwhile(story *s, sim_life *stopped)
{
    sim_life *other = NULL;

    some_time();
    look(s);
    switch (stopped->fate) {
    case SIM_STOP_OWNED:
        other = new_life(SIM_PEACE);
        break;
    case SIM_STOP_TAKE:
        other = new_life(sim_chance(50) ? SIM_PEACE : SIM_KILL);
        choose_moment(s, other);
        other->take_over = true;
        sim_total->takeovers++;
        break;
    case SIM_STOP_CANCEL:
        other = new_life(SIM_CANCEL);
        break;
    case SIM_STOP_LONG:
        sim_time_pass(sim_random(86400) * INT64_C(1000));
        break;
    default:
        break;
    }
    if (other != NULL) {
        s->crowded = true;
        s->owner = stopped->claim > 0 ? SIM_ALIVE : s->owner;
        run_life(s, other);
    }
}

/* Who owns the run now that this life is over, and what that counts for. */
static void count_owner(story *s, sim_life *life, bool killed)
{
    bool recovers =
        life->owner == SIM_DEAD && life->claim > s->claim && life->was_active;

    if (!s->crowded && life->code == EBB_STUCK && s->fruitless < RECOVERIES_MAX)
        snprintf(sim->failure, sizeof sim->failure,
                 "stuck after %d recoveries in a row", s->fruitless);
    if (!s->crowded && recovers && !life->resume &&
        s->fruitless >= RECOVERIES_MAX)
        snprintf(sim->failure, sizeof sim->failure,
                 "not stuck after %d recoveries in a row", s->fruitless);
    sim_total->stuck += life->code == EBB_STUCK;
    if (life->claim <= s->claim)
        return;
    s->claim = life->claim;
    s->owner = killed ? SIM_DEAD : SIM_NOBODY;
    if (recovers) {
        s->fruitless++;
        sim_total->recoveries++;
    } else if (life->resume) {
        s->fruitless = 0;
    }
}

/* What it will find, as long as it has not claimed the run. */
static void note_state(const story *s, sim_life *life)
{
    life->owner = s->owner;
    life->was_active = s->state == ACTIVE;
    life->since = s->looks;
}

static void run_life(story *s, sim_life *life)
{
    int status = 0;
    pid_t pid;
    bool killed;

    note_state(s, life);
    life->began_ms = sim->wall_ms;
    pid = fork();
    if (pid < 0) {
        snprintf(sim->failure, sizeof sim->failure, "fork: %s",
                 strerror(errno));
        return;
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sim_live(life);
    }
    while (waitpid(pid, &status, WUNTRACED) >= 0 && WIFSTOPPED(status)) {
        meanwhile(s, life);
        if (life->claim == 0)
            note_state(s, life);
        kill(pid, life->fate == SIM_STOP_KILL ? SIGKILL : SIGCONT);
    }
    life->ended_ms = sim->wall_ms;
    killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!killed && !(WIFEXITED(status) && WEXITSTATUS(status) == 0) &&
        sim->failure[0] == '\0')
        snprintf(sim->failure, sizeof sim->failure,
                 "life %d came to an end of its own: signal %d, status %d",
                 (int)(life - sim->lives) + 1,
                 WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                 WIFEXITED(status) ? WEXITSTATUS(status) : 0);
    count_owner(s, life, killed);
    if (life->fate < SIM_SHOW)
        look(s);
    life->look = s->looks;
}

/* ---- the story ---- */

static void next_life(story *s)
{
    bool troubled = s->troubles > 0;
    char what[SIM_PATH_BYTES];
    sim_life *life;

    s->troubles -= troubled;
    if (s->state == ACTIVE && s->seq > 0 && sim_chance(3)) {
        life = new_life(SIM_CANCEL);
    } else if (s->state == ACTIVE && sim_chance(8) && pick(s, "name", what)) {
        life = new_life(SIM_CHANGED);
        memcpy(life->what, what, sizeof what);
    } else {
        life = new_life(troubled ? some_fate(s) : SIM_PEACE);
        choose_moment(s, life);
        life->resume = s->resume;
        life->force = s->resume && sim_chance(20);
    }
    s->resume = false;
    run_life(s, life);
    some_time();
}

/* Another run begins with what this one had recorded before some step. */
static bool fork_off(story *s)
{
    char path[SIM_PATH_BYTES];
    sim_life *life;

    if (sim->forked || !sim_chance(8) || !pick(s, "path", path))
        return false;
    life = new_life(SIM_FORK);
    memcpy(life->what, path, sizeof path);
    sim->epoch++;
    run_life(s, life);
    s->owner = SIM_NOBODY;
    s->fruitless = 0;
    return true;
}

/* Whether something more is done with a run that has ended. */
static bool goes_on(story *s)
{
    if (s->state == ACTIVE || fork_off(s))
        return true;
    if (s->state == DONE || s->resumes == RESUMES_MAX || sim_chance(40)) {
        if (s->opened_again || sim_chance(80))
            return false;
        s->opened_again = true; /* it gives its recorded end */
        return true;
    }
    s->resume = true;
    s->resumes++;
    sim_total->resumes++;
    sim->epoch++;
    return true;
}

/* What is left alive is known, and ends with the run. */
static void clean_up(story *s)
{
    if (sim_world_find_left(NULL) == NULL || sim->failure[0] != '\0')
        return;
    if (!sim->forked) /* what the first half left is listed there */
        run_life(s, new_life(SIM_SHOW));
    if (s->state != ACTIVE && sim->failure[0] == '\0')
        run_life(s, new_life(SIM_PRUNE));
}

static bool ask_oracle(story *s)
{
    lua_State *L = s->L;
    bool fine;

    lua_getfield(L, s->oracle, "judge");
    lua_pushvalue(L, s->oracle);
    sim_facts_push(L);
    lua_pushstring(L, sim->failure);
    lua_call(L, 3, 3);
    fine = lua_toboolean(L, -3);
    sim_total->steps += lua_tointeger(L, -2);
    sim_total->unknown += lua_tointeger(L, -1);
    lua_pop(L, 3);
    return fine;
}

static void remove_journal(void)
{
    char command[512];

    snprintf(command, sizeof command, "%s-wal", sim->journal);
    unlink(command);
    snprintf(command, sizeof command, "%s-shm", sim->journal);
    unlink(command);
    unlink(sim->journal);
}

/* Pushes the oracle of a new program, and writes down its script. */
static void begin(story *s, uint64_t seed)
{
    lua_State *L = s->L;

    sim->program = sim->random = seed;
    sim->wall_ms = EPOCH_MS;
    sim->steady_ms = 1000;
    sim->epoch = sim->deeds_n = sim->requests_n = sim->lives_n = 0;
    sim->claims_n = 0;
    sim->forked = false;
    snprintf(sim->run_id, sizeof sim->run_id, "run");
    sim->failure[0] = '\0';
    memset(sim->deeds, 0, sizeof sim->deeds);
    for (int i = 0; i < 4; i++)
        sim_random(2);
    sim->storm = (int[]){ 0, 5, 20, 60 }[sim_random(4)];
    s->doomed = sim_chance(3);
    s->troubles = s->doomed ? DOOMED_LIVES : sim_random(TROUBLED_MAX);
    remove_journal();
    lua_getglobal(L, "begin");
    lua_pushinteger(L, (lua_Integer)(seed & INT64_MAX));
    lua_call(L, 1, 2);
    snprintf(sim->text, sizeof sim->text, "%s", lua_tostring(L, -1));
    lua_pop(L, 1);
    s->oracle = lua_gettop(L);
}

bool sim_story(lua_State *L, uint64_t seed)
{
    story s = { .L = L };
    bool fine;

    begin(&s, seed);
    do {
        if (sim->lives_n > SIM_LIVES_MAX - 4)
            snprintf(sim->failure, sizeof sim->failure,
                     "it does not end in %d lives", sim->lives_n);
        else
            next_life(&s);
    } while (sim->failure[0] == '\0' && goes_on(&s));
    clean_up(&s);
    fine = ask_oracle(&s);
    lua_settop(L, s.oracle - 1);
    sim_total->programs++;
    return fine;
}
