/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the service and the agent (pid 1 in a sandbox) say to each other over
 * one SOCK_SEQPACKET connection. It is between two programs of one build on
 * one machine: host byte order, no negotiation; a HELLO of another version
 * ends the connection. The service believes nothing it receives.
 *
 * A message is one head, then `bytes` bytes of text: `count` strings, each
 * with its NUL (or entries, see below). Descriptors travel with the message by
 * SCM_RIGHTS, in the order of the table. Text that does not fit goes into a
 * sealed memfd (flag MEMFD), which is then the last descriptor.
 *
 * Every request has an id of its own, never 0, and gets one last answer with
 * that id: DONE, or for SPAWN and OPEN also STARTED and FILE. Events have id 0.
 *
 *   request       fields                  strings            fds
 *   HELLO         value: version
 *   SPAWN         value: argc, flags:     cwd, argv…,        stdin if STDIN
 *                 STDIN MEMFD             environment…
 *   SIGNAL        pid, value: signum,
 *                 flags: GROUP
 *   STOP, CONT    (all processes but the agent)
 *   LIST          value: depth, 0 for     path
 *                 the entry of the path
 *                 itself; limit: entries
 *   MAKE_DIR      (and its parents)       path
 *   MOVE          (makes parents of to)   from, to
 *   REMOVE        (recursive)             path
 *   OPEN          flags: WRITE            path
 *   SET_METADATA                          path, (key, value)…
 *
 *   answer, event
 *   HELLO         value: version
 *   DONE          result: 0 or an errno
 *   STARTED       pid                                        stdout, stderr
 *   FILE                                                     the file
 *   ENTRIES       count: entries, any number before DONE
 *   EXIT          pid, result: as wait's; event, also repeated after a HELLO
 *
 * Types 32 to 63 are kept for relaying ports and terminals.
 */

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#define EBB_AGENT_VERSION 1u

#define EBB_AGENT_MESSAGE_BYTES_MAX 65536u
#define EBB_AGENT_MEMFD_BYTES_MAX (4u * 1024 * 1024)
#define EBB_AGENT_STRINGS_MAX 65536u
#define EBB_AGENT_FDS_MAX 4u
#define EBB_AGENT_PATH_BYTES_MAX 16384u /* with its NUL */
#define EBB_AGENT_METADATA_BYTES_MAX 8192u
#define EBB_AGENT_DEPTH_MAX 512u /* of LIST and REMOVE */

/* The descriptors that the agent is started with, and its one argument. */
#define EBB_AGENT_LISTEN_FD 3
#define EBB_AGENT_PROGRAM_FD 4

typedef enum ebb_agent_type {
    EBB_AGENT_HELLO = 1,
    EBB_AGENT_SPAWN,
    EBB_AGENT_SIGNAL,
    EBB_AGENT_STOP,
    EBB_AGENT_CONT,
    EBB_AGENT_LIST,
    EBB_AGENT_MAKE_DIR,
    EBB_AGENT_MOVE,
    EBB_AGENT_REMOVE,
    EBB_AGENT_OPEN,
    EBB_AGENT_SET_METADATA,

    EBB_AGENT_DONE = 16,
    EBB_AGENT_STARTED,
    EBB_AGENT_FILE,
    EBB_AGENT_ENTRIES,
    EBB_AGENT_EXIT
} ebb_agent_type;

/* Flags, by request. */
#define EBB_AGENT_STDIN 1u /* SPAWN */
#define EBB_AGENT_MEMFD 2u /* SPAWN */
#define EBB_AGENT_GROUP 1u /* SIGNAL */
#define EBB_AGENT_WRITE 1u /* OPEN: create and truncate */

typedef struct ebb_agent_head {
    uint32_t type; /* ebb_agent_type */
    uint32_t id;
    int32_t result;
    uint32_t pid;
    uint32_t value;
    uint32_t limit;
    uint32_t flags;
    uint32_t count; /* strings or entries */
    uint32_t bytes; /* their length together, here or in the memfd */
} ebb_agent_head;

_Static_assert(sizeof(ebb_agent_head) == 36, "no padding in a message");

#define EBB_AGENT_TEXT_BYTES_MAX \
    (EBB_AGENT_MESSAGE_BYTES_MAX - (uint32_t)sizeof(ebb_agent_head))

/*
 * One entry of ENTRIES, not aligned; text_bytes bytes follow: path, target,
 * owner and group, each with its NUL, then the metadata as pairs of strings.
 * target is empty unless the entry is a link.
 */
typedef struct ebb_agent_entry {
    int64_t size;
    int64_t mtime_s;
    uint32_t mtime_ns;
    uint32_t mode;
    uint32_t target_mode;
    uint32_t text_bytes;
} ebb_agent_entry;

_Static_assert(sizeof(ebb_agent_entry) == 32, "no padding in an entry");

/* The control part of a message: room for its descriptors. */
typedef union ebb_agent_control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * EBB_AGENT_FDS_MAX)];
} ebb_agent_control;

/* Lets a message take descriptors along; control must live until it is sent. */
static inline void ebb_agent_control_set(ebb_agent_control *control,
                                         struct msghdr *message,
                                         const int *fds, unsigned count)
{
    if (count == 0)
        return;
    memset(control, 0, sizeof *control);
    message->msg_control = control->bytes;
    message->msg_controllen = CMSG_SPACE(sizeof(int) * count);
    control->header.cmsg_level = SOL_SOCKET;
    control->header.cmsg_type = SCM_RIGHTS;
    control->header.cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(&control->header), fds, sizeof(int) * count);
}

/* The descriptors that a received message brought; how many. */
static inline unsigned ebb_agent_control_get(struct msghdr *message,
                                             int fds[EBB_AGENT_FDS_MAX])
{
    struct cmsghdr *part = CMSG_FIRSTHDR(message);
    unsigned count = 0;

    for (; part != NULL; part = CMSG_NXTHDR(message, part)) {
        size_t n = part->cmsg_len - CMSG_LEN(0);

        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
            n > sizeof(int) * EBB_AGENT_FDS_MAX)
            continue;
        memcpy(fds, CMSG_DATA(part), n);
        count = (unsigned)(n / sizeof(int));
    }
    return count;
}
