/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/*
 * The agent by itself, in a bubblewrap with the host's files, and what only a
 * service that was killed and started again would see.
 */

#define WAIT_MS 10000

typedef struct rig {
    char dir[64];
    pid_t outer;
    int fd; /* the connection */
} rig;

typedef struct answer {
    ebb_agent_head head;
    char text[EBB_AGENT_TEXT_BYTES_MAX];
    int fds[EBB_AGENT_FDS_MAX];
    unsigned fds_count;
} answer;

static void address_of(const rig *r, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    snprintf(address->sun_path, sizeof address->sun_path, "%s/s", r->dir);
}

static int connect_to(const rig *r)
{
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    address_of(r, &address);
    assert_int_equal(connect(fd, (struct sockaddr *)&address,
                             sizeof address),
                     0);
    return fd;
}

static void say(int fd, ebb_agent_head head, const char *text, size_t n)
{
    char bytes[EBB_AGENT_MESSAGE_BYTES_MAX];

    head.bytes = (uint32_t)n;
    memcpy(bytes, &head, sizeof head);
    if (n > 0)
        memcpy(bytes + sizeof head, text, n);
    assert_int_equal(send(fd, bytes, sizeof head + n, MSG_NOSIGNAL),
                     sizeof head + n);
}

/* False at the end of the connection. */
static bool hear(int fd, answer *a)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof a->fds)];
    } control;
    struct iovec parts[2] = { { &a->head, sizeof a->head },
                              { a->text, sizeof a->text } };
    struct msghdr message = { .msg_iov = parts,
                              .msg_iovlen = 2,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    struct cmsghdr *part;

    if (poll(&ready, 1, WAIT_MS) != 1)
        fail_msg("the agent said nothing for %d ms", WAIT_MS);
    a->fds_count = 0;
    if (recvmsg(fd, &message, 0) < (ssize_t)sizeof a->head)
        return false;
    part = CMSG_FIRSTHDR(&message);
    if (part != NULL) {
        a->fds_count = (unsigned)((part->cmsg_len - CMSG_LEN(0)) /
                                  sizeof(int));
        memcpy(a->fds, CMSG_DATA(part), sizeof(int) * a->fds_count);
    }
    return true;
}

static void greet(int fd)
{
    answer a;

    say(fd, (ebb_agent_head){ .type = EBB_AGENT_HELLO }, NULL, 0);
    assert_true(hear(fd, &a));
    assert_int_equal(a.head.type, EBB_AGENT_HELLO);
    assert_int_equal(a.head.value, EBB_AGENT_VERSION);
}

/* Starts a shell command; the answer with its two pipes. */
static void spawn(int fd, const char *script, answer *a)
{
    char text[512] = "/\0/bin/sh\0-c\0";
    size_t n = 13, length = strlen(script) + 1;

    memcpy(text + n, script, length);
    say(fd, (ebb_agent_head){ .type = EBB_AGENT_SPAWN, .id = 7, .value = 3,
                              .count = 4 },
        text, n + length);
    assert_true(hear(fd, a));
    assert_int_equal(a->head.type, EBB_AGENT_STARTED);
    assert_int_equal(a->head.id, 7);
    assert_int_equal(a->fds_count, 2);
}

static int setup(void **state)
{
    static rig r;
    char agent[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", agent, sizeof agent - 64);
    struct sockaddr_un address;
    int listener;

    agent[n] = '\0';
    strcpy(strrchr(agent, '/'), "/../libexec/ebb-agent");
    strcpy(r.dir, "/tmp/ebb-agent-XXXXXX");
    assert_non_null(mkdtemp(r.dir));
    listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    address_of(&r, &address);
    assert_int_equal(bind(listener, (struct sockaddr *)&address,
                          sizeof address),
                     0);
    assert_int_equal(listen(listener, 4), 0);
    r.outer = fork();
    if (r.outer == 0) {
        if (dup2(listener, EBB_AGENT_LISTEN_FD) < 0)
            _exit(127);
        execlp("bwrap", "bwrap", "--unshare-all", "--unshare-user",
               "--die-with-parent", "--as-pid-1", "--ro-bind", "/", "/",
               "--proc", "/proc", "--dev", "/dev", "--", agent, NULL);
        _exit(127);
    }
    close(listener);
    r.fd = connect_to(&r);
    greet(r.fd);
    *state = &r;
    return 0;
}

static int teardown(void **state)
{
    rig *r = *state;
    char path[80];

    kill(r->outer, SIGKILL);
    waitpid(r->outer, NULL, 0);
    close(r->fd);
    snprintf(path, sizeof path, "%s/s", r->dir);
    unlink(path);
    return rmdir(r->dir);
}

static void a_new_service_learns_of_an_exit_while_there_was_none(void **s)
{
    rig *r = *s;
    answer a;

    spawn(r->fd, "sleep 0.2; exit 9", &a);
    close(a.fds[0]);
    close(a.fds[1]);
    close(r->fd);
    usleep(500000);
    r->fd = connect_to(r);
    greet(r->fd);
    a.head.result = 0;
    assert_true(hear(r->fd, &a));
    assert_int_equal(a.head.type, EBB_AGENT_EXIT);
    assert_int_equal(a.head.id, 0);
    assert_true(WIFEXITED(a.head.result));
    assert_int_equal(WEXITSTATUS(a.head.result), 9);
}

static void a_command_outlives_the_service_that_read_it(void **state)
{
    rig *r = *state;
    answer a;

    /* No SIGPIPE: the agent holds the read ends as long as it runs. */
    spawn(r->fd, "sleep 0.2; echo to nobody; echo $? >&2; exit 4", &a);
    close(a.fds[0]);
    close(a.fds[1]);
    close(r->fd);
    usleep(500000);
    r->fd = connect_to(r);
    greet(r->fd);
    assert_true(hear(r->fd, &a));
    assert_int_equal(WEXITSTATUS(a.head.result), 4);
}

static void the_newest_connection_wins(void **state)
{
    rig *r = *state;
    int second = connect_to(r);
    answer a;

    greet(second);
    assert_false(hear(r->fd, &a));
    close(r->fd);
    r->fd = second;
    spawn(r->fd, "exit 0", &a);
    close(a.fds[0]);
    close(a.fds[1]);
}

static void what_is_no_request_ends_the_connection_only(void **state)
{
    rig *r = *state;
    answer a;

    assert_int_equal(send(r->fd, "garbage", 7, 0), 7);
    assert_false(hear(r->fd, &a));
    close(r->fd);
    r->fd = connect_to(r);
    greet(r->fd);
}

static void an_unknown_request_is_answered_with_enosys(void **state)
{
    rig *r = *state;
    answer a;

    say(r->fd, (ebb_agent_head){ .type = 60, .id = 3 }, NULL, 0);
    assert_true(hear(r->fd, &a));
    assert_int_equal(a.head.type, EBB_AGENT_DONE);
    assert_int_equal(a.head.id, 3);
    assert_int_equal(a.head.result, ENOSYS);
}

static void counts_that_do_not_fit_the_strings_are_einval(void **state)
{
    rig *r = *state;
    static const ebb_agent_head heads[] = {
        { .type = EBB_AGENT_SPAWN, .id = 1, .value = 9, .count = 10 },
        { .type = EBB_AGENT_SPAWN, .id = 1, .value = 0, .count = 2 },
        { .type = EBB_AGENT_SPAWN, .id = 1, .value = 5, .count = 2 },
        { .type = EBB_AGENT_SPAWN, .id = 1, .value = 1, .count = ~0u },
        { .type = EBB_AGENT_SPAWN, .id = 1, .value = 1, .count = 2,
          .flags = EBB_AGENT_STDIN },
        { .type = EBB_AGENT_SPAWN, .id = 1, .value = 1, .count = 2,
          .flags = EBB_AGENT_MEMFD },
        { .type = EBB_AGENT_MOVE, .id = 1, .count = 2 },
        { .type = EBB_AGENT_SET_METADATA, .id = 1, .count = 2 },
    };
    answer a;

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        say(r->fd, heads[i], heads[i].type == EBB_AGENT_SPAWN ? "/\0x" : "/x",
            heads[i].type == EBB_AGENT_SPAWN ? 4 : 3);
        assert_true(hear(r->fd, &a));
        if (heads[i].type != EBB_AGENT_SET_METADATA)
            assert_int_equal(a.head.result, EINVAL);
        assert_int_equal(a.head.type, EBB_AGENT_DONE);
    }
}

static void many_orphans_leave_no_zombie(void **state)
{
    rig *r = *state;
    char text[16];
    answer a;
    ssize_t n;

    spawn(r->fd,
          "i=0; while [ $i -lt 2000 ]; do (true & true &) ; i=$((i+1)); "
          "done; sleep 0.3; cat /proc/[0-9]*/stat | grep -c ') Z '; exit 3",
          &a);
    n = read(a.fds[0], text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    assert_string_equal(text, "0\n");
    close(a.fds[0]);
    close(a.fds[1]);
    assert_true(hear(r->fd, &a));
    assert_int_equal(WEXITSTATUS(a.head.result), 3);
}

int main(void)
{
#define AGENT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        AGENT(a_new_service_learns_of_an_exit_while_there_was_none),
        AGENT(a_command_outlives_the_service_that_read_it),
        AGENT(the_newest_connection_wins),
        AGENT(what_is_no_request_ends_the_connection_only),
        AGENT(an_unknown_request_is_answered_with_enosys),
        AGENT(counts_that_do_not_fit_the_strings_are_einval),
        AGENT(many_orphans_leave_no_zombie),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
