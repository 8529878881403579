/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/log.h"
#include "sandbox/protocol.h"
#include "support/box_run.h"

#include <dirent.h>
#include <sys/socket.h>

/*
 * This program is also the agent of its own tests: as pid 1 in a sandbox it
 * speaks to the service as no agent of ours would. Which way is its argument,
 * the limit of processes.
 */
typedef enum way {
    BYTES = 100,    /* a message of ten bytes */
    EMPTY,          /* an empty message */
    OTHER_VERSION,
    EARLY,          /* an answer before HELLO */
    TWICE,          /* HELLO twice */
    GONE,           /* no message, the end */
    UNASKED,        /* an answer to nothing */
    LENGTH,         /* a length that is not the message's */
    TYPE,           /* a type that does not exist */
    EXIT_WITH_ID,
    DESCRIPTORS,    /* descriptors where none belong, many times */
    FILES_AS_PIPES, /* STARTED with files */
    ONE_PIPE,       /* STARTED with one descriptor */
    NO_PID,         /* STARTED with pid 0 */
    DONE_NOT_STARTED,
    NEGATIVE,       /* an errno below 0 */
    ENTRY_CUT,
    ENTRY_LONG,
    ENTRY_NO_END,
    ENTRY_ODD,      /* metadata that is no pairs */
    ENTRY_RELATIVE,
    ENTRIES_MANY,
    ENTRIES_NONE,   /* DONE to a stat without the entry */
    STARTED_FOR_OPEN,
    LAST_FATAL,

    /* These the box survives. */
    FLAGS,          /* clears O_NONBLOCK of the pipes it has passed */
    EXITS,          /* exits of processes that never were */
    FILE_PROC, FILE_DIR, FILE_FIFO, FILE_PATH, FILE_READ_ONLY, FILE_NULL
} way;

/* ---- the agent's side ---- */

static void say(int fd, const ebb_agent_head *head, const void *text,
                size_t n, const int *fds, unsigned count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * 8)];
    } control = { .bytes = { 0 } };
    char bytes[EBB_AGENT_MESSAGE_BYTES_MAX];
    struct iovec part = { bytes, sizeof *head + n };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

    memcpy(bytes, head, sizeof *head);
    if (n > 0)
        memcpy(bytes + sizeof *head, text, n);
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * count);
    }
    (void)!sendmsg(fd, &message, MSG_NOSIGNAL);
}

static void answer_entry(int fd, uint32_t id, way how)
{
    char text[256] = "", *at = text + sizeof(ebb_agent_entry);
    ebb_agent_head head = { .type = EBB_AGENT_ENTRIES, .id = id, .count = 1 };
    static const char strings[] = "/x\0t\0o\0g";
    ebb_agent_entry entry = { .mode = S_IFREG };
    size_t n = sizeof strings;

    memcpy(at, strings, n);
    if (how == ENTRY_RELATIVE)
        *at = 'x';
    if (how == ENTRY_NO_END)
        n = 6;
    if (how == ENTRY_ODD)
        n += 2, at[n - 2] = 'k';
    entry.text_bytes = how == ENTRY_LONG ? 0xfffffff0u : (uint32_t)n;
    if (how == ENTRIES_MANY)
        head.count = 3;
    memcpy(text, &entry, sizeof entry);
    n = how == ENTRY_CUT ? 9 : n + sizeof entry;
    head.bytes = (uint32_t)n;
    say(fd, &head, text, n, NULL, 0);
}

static void answer_file(int fd, uint32_t id, way how)
{
    ebb_agent_head head = { .type = EBB_AGENT_FILE, .id = id };
    int pipes[2], file = -1;

    switch (how) {
    case FILE_PROC: file = open("/proc/self/stat", O_RDONLY); break;
    case FILE_DIR: file = open("/tmp", O_RDONLY); break;
    case FILE_PATH: file = open("/etc/passwd", O_PATH); break;
    case FILE_NULL: file = open("/dev/null", O_RDONLY); break;
    case FILE_READ_ONLY: file = open("/etc/passwd", O_RDONLY); break;
    default: file = pipe(pipes) == 0 ? pipes[0] : -1; break;
    }
    say(fd, &head, NULL, 0, &file, 1);
    close(file);
}

static void answer_started(int fd, uint32_t id, way how)
{
    ebb_agent_head head = { .type = EBB_AGENT_STARTED, .id = id, .pid = 77 };
    int out[2], err[2], fds[2];

    if (pipe(out) < 0 || pipe(err) < 0)
        return;
    fds[0] = out[0];
    fds[1] = err[0];
    if (how == FILES_AS_PIPES)
        fds[1] = open("/etc/passwd", O_RDONLY);
    if (how == NO_PID)
        head.pid = 0;
    say(fd, &head, NULL, 0, fds, how == ONE_PIPE ? 1 : 2);
    fcntl(out[0], F_SETFL, 0); /* as blocking as we can make it */
    fcntl(err[0], F_SETFL, 0);
    pause();
}

static void answer(int fd, const ebb_agent_head *request, way how)
{
    ebb_agent_head head = { .type = EBB_AGENT_DONE, .id = request->id };

    if (how == STARTED_FOR_OPEN)
        answer_started(fd, request->id, how);
    if (how == DONE_NOT_STARTED || how == ENTRIES_NONE)
        say(fd, &head, NULL, 0, NULL, 0);
    head.result = -5;
    if (how == NEGATIVE)
        say(fd, &head, NULL, 0, NULL, 0);
    head.id += 1000;
    if (how == UNASKED)
        say(fd, &head, NULL, 0, NULL, 0);
    if (request->type == EBB_AGENT_LIST)
        answer_entry(fd, request->id, how);
    if (request->type == EBB_AGENT_OPEN)
        answer_file(fd, request->id, how);
    if (request->type == EBB_AGENT_SPAWN)
        answer_started(fd, request->id, how);
}

static void greet(int fd, way how)
{
    ebb_agent_head head = { .type = EBB_AGENT_HELLO,
                            .value = EBB_AGENT_VERSION };
    int many[4] = { 0, 1, 2, 0 };

    if (how == BYTES)
        (void)!send(fd, "0123456789", 10, 0);
    if (how == EMPTY)
        (void)!send(fd, "", 0, 0);
    head.value += how == OTHER_VERSION;
    head.type = how == TYPE ? 4711 : how == EARLY ? EBB_AGENT_DONE
                                                  : EBB_AGENT_HELLO;
    head.bytes = how == LENGTH ? 7 : 0;
    say(fd, &head, NULL, 0, many, how == DESCRIPTORS ? 4 : 0);
    if (how == TWICE)
        say(fd, &head, NULL, 0, NULL, 0);
    head = (ebb_agent_head){ .type = EBB_AGENT_EXIT, .pid = 9 };
    head.id = how == EXIT_WITH_ID;
    for (int i = 0; i < 5000 && (how == EXITS || how == DESCRIPTORS ||
                                 how == EXIT_WITH_ID); i++)
        say(fd, &head, NULL, 0, many, how == DESCRIPTORS ? 4 : 0);
    head = (ebb_agent_head){ .type = EBB_AGENT_DONE, .id = 99 };
    if (how == DESCRIPTORS)
        say(fd, &head, NULL, 0, NULL, 0);
}

static int be_agent(way how)
{
    int fd;

    fcntl(EBB_AGENT_LISTEN_FD, F_SETFL, 0);
    fd = accept(EBB_AGENT_LISTEN_FD, NULL, NULL);
    if (how == GONE)
        return 0;
    for (;;) {
        ebb_agent_head head;
        ssize_t n = recv(fd, &head, sizeof head, 0);

        if (n <= 0)
            return 1;
        if (head.type == EBB_AGENT_HELLO)
            greet(fd, how);
        else
            answer(fd, &head, how);
    }
}

/* ---- the service's side ---- */

static unsigned lines;

static void count_line(void *context, ebb_log_level level,
                       const char *message)
{
    (void)context;
    (void)message;
    lines += level >= EBB_LOG_WARN;
}

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void start(rig *r, way how)
{
    char id[16], libexec[160], agent[192];
    ebb_err err;

    snprintf(libexec, sizeof libexec, "%s/libexec", r->state);
    snprintf(agent, sizeof agent, "%s/ebb-agent", libexec);
    if (mkdir(libexec, 0755) == 0)
        assert_int_equal(symlink("/proc/self/exe", agent), 0);
    setenv("EBB_LIBEXEC", libexec, 1);
    snprintf(id, sizeof id, "h%d", how);
    rig_make_dirs(r, id);
    r->config.limits.pids = how;
    r->ready = r->dead = r->stopped = false;
    r->box = ebb_box_start(r->loop, &r->config, &err);
    if (r->box == NULL)
        fail_msg("%s", err.msg);
    rig_wait(r, &r->ready);
}

/* Asks for what this way of misbehaving answers. */
static void ask(rig *r, way how)
{
    const char *const argv[] = { "true", NULL };
    ebb_box_spawn_config config = { .argv = argv,
                                    .envp = rig_env,
                                    .cwd = "/" };

    r->done = false;
    r->err.code = EBB_OK;
    if (how >= ENTRY_CUT && how <= ENTRIES_NONE)
        ebb_box_stat(r->box, "/x", rig_on_stat, r);
    else if (how >= FILE_PROC || how == STARTED_FOR_OPEN)
        ebb_box_open(r->box, "/x", EBB_BOX_WRITE * (how == FILE_READ_ONLY),
                     rig_on_opened, r);
    else
        ebb_box_spawn(r->box, &config, rig_on_spawned, r);
    rig_wait(r, &r->done);
}

static void garbage_kills_the_box_and_nothing_else(void **state)
{
    rig *r = *state;

    for (way how = BYTES; how < LAST_FATAL; how++) {
        int before = count_fds();

        lines = 0;
        start(r, how);
        if (r->err.code == EBB_OK) {
            ask(r, how);
            if (!(how >= ENTRY_CUT && how <= ENTRIES_MANY))
                assert_int_equal(r->err.code, EBB_SANDBOX_NOT_RUNNING);
            r->err.code = EBB_OK;
            rig_wait(r, &r->dead);
        }
        if (lines == 0 && r->err.code == EBB_OK)
            fail_msg("way %d left neither an error nor a line", how);
        ebb_box_free(r->box);
        r->box = NULL;
        rig_close_fd(&r->fd);
        ebb_loop_run(r->loop, 0);
        ebb_loop_run(r->loop, 0);
        if (count_fds() != before)
            fail_msg("way %d: %d descriptors, %d before", how, count_fds(),
                     before);
    }
}

static void what_is_no_plain_file_never_arrives(void **state)
{
    rig *r = *state;

    for (way how = FILE_PROC; how <= FILE_NULL; how++) {
        start(r, how);
        assert_int_equal(r->err.code, EBB_OK);
        ask(r, how);
        assert_int_equal(r->fd, -1);
        assert_int_equal(r->err.code, how == FILE_PROC ? EBB_UNSUPPORTED
                                                       : EBB_INVALID_INPUT);
        rig_stop(r);
    }
}

static void a_passed_pipe_can_not_be_made_to_block(void **state)
{
    rig *r = *state;
    char byte;

    start(r, FLAGS);
    ask(r, FLAGS);
    assert_int_equal(r->err.code, EBB_OK);
    usleep(50000);
    assert_true(fcntl(r->stdout_fd, F_GETFL) & O_NONBLOCK);
    assert_int_equal(read(r->stdout_fd, &byte, 1), -1);
    assert_int_equal(errno, EAGAIN);
    rig_stop(r);
}

static void exits_of_nobody_do_no_harm(void **state)
{
    rig *r = *state;

    start(r, EXITS);
    ask(r, EXITS);
    assert_int_equal(r->err.code, EBB_OK);
    assert_false(r->exited);
    rig_stop(r);
}

static int setup(void **state)
{
    static rig r;

    rig_open_state(&r);
    ebb_log_set(count_line, NULL, EBB_LOG_DEBUG);
    *state = &r;
    return 0;
}

static int teardown(void **state)
{
    rig *r = *state;

    if (r->box != NULL)
        rig_stop(r);
    rig_close_state(r);
    ebb_log_set(NULL, NULL, EBB_LOG_INFO);
    return 0;
}

int main(int argc, char **argv)
{
#define BOX(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        BOX(garbage_kills_the_box_and_nothing_else),
        BOX(what_is_no_plain_file_never_arrives),
        BOX(a_passed_pipe_can_not_be_made_to_block),
        BOX(exits_of_nobody_do_no_harm),
    };

    /* At once: a sanitizer's work at exit needs calls that are denied. */
    if (getpid() == 1 && argc > 1)
        _exit(be_agent((way)atoi(argv[1])));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
