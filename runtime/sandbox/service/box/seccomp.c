/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/service/box/seccomp.h"

#include <errno.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Refused as if the caller lacked the privilege. */
static const int denied[] = {
    /* Loading code into the kernel, and replacing it. */
    SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(bpf),
    /* Large surfaces with a history of holes. */
    SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd),
    SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(keyctl),
    /* Mounts and namespaces. */
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root),
    SCMP_SYS(chroot), SCMP_SYS(move_mount), SCMP_SYS(open_tree),
    SCMP_SYS(fsopen), SCMP_SYS(fsconfig), SCMP_SYS(fsmount),
    SCMP_SYS(fspick), SCMP_SYS(mount_setattr), SCMP_SYS(setns),
    SCMP_SYS(unshare),
    /* Other processes' memory and descriptors. */
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev), SCMP_SYS(kcmp), SCMP_SYS(pidfd_getfd),
    /* Files by handle pass the walls that paths have. */
    SCMP_SYS(name_to_handle_at), SCMP_SYS(open_by_handle_at),
    SCMP_SYS(fanotify_init),
    /* The machine. */
    SCMP_SYS(reboot), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(acct),
    SCMP_SYS(quotactl), SCMP_SYS(syslog), SCMP_SYS(vhangup),
    SCMP_SYS(settimeofday), SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime), SCMP_SYS(adjtimex), SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname), SCMP_SYS(iopl), SCMP_SYS(ioperm),
    SCMP_SYS(modify_ldt), SCMP_SYS(lookup_dcookie), SCMP_SYS(move_pages),
};

/* Refused as if this kernel did not know them: programs then do without. */
static const int absent[] = {
    SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    /* Its flags are in memory, where a filter cannot look: see clone. */
    SCMP_SYS(clone3),
};

static int deny(scmp_filter_ctx filter, const int *calls, size_t n, int error)
{
    for (size_t i = 0; i < n; i++) {
        int failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)error),
                                      calls[i], 0);

        /* A call that this architecture does not have cannot be made. */
        if (failed != 0 && failed != -EDOM)
            return failed;
    }
    return 0;
}

/* Calls that are refused with some arguments only. */
static int deny_arguments(scmp_filter_ctx filter)
{
    static const unsigned namespaces[] = {
        0x00020000u, 0x02000000u, 0x04000000u,
        0x08000000u, 0x10000000u, 0x20000000u, 0x40000000u
    };
    static const unsigned families[] = { AF_ALG, AF_VSOCK, AF_KEY, AF_RDS,
                                         AF_TIPC, AF_BLUETOOTH };
    static const unsigned ioctls[] = { TIOCSTI, TIOCLINUX };
    int failed = 0;

    for (size_t i = 0; !failed && i < sizeof namespaces / 4; i++)
        failed = seccomp_rule_add(
            filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
            SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
    for (size_t i = 0; !failed && i < sizeof families / 4; i++)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT),
                                  SCMP_SYS(socket), 1,
                                  SCMP_A0(SCMP_CMP_EQ, families[i]));
    /* The kernel looks at the low half of an ioctl's number only. */
    for (size_t i = 0; !failed && i < sizeof ioctls / 4; i++)
        failed = seccomp_rule_add(
            filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
            SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, ioctls[i]));
    return failed;
}

static int build(scmp_filter_ctx filter, int fd)
{
    int failed = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH,
                                  SCMP_ACT_ERRNO(ENOSYS));

    if (failed == 0)
        failed = deny(filter, denied, sizeof denied / sizeof *denied, EPERM);
    if (failed == 0)
        failed = deny(filter, absent, sizeof absent / sizeof *absent, ENOSYS);
    if (failed == 0)
        failed = deny_arguments(filter);
    if (failed == 0)
        failed = seccomp_export_bpf(filter, fd);
    if (failed == 0 && lseek(fd, 0, SEEK_SET) < 0)
        failed = -errno;
    return failed;
}

int ebb_seccomp_open(ebb_err *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int fd = memfd_create("seccomp", MFD_CLOEXEC);
    int failed = filter == NULL ? -ENOMEM : fd < 0 ? -errno : 0;

    if (failed == 0)
        failed = build(filter, fd);
    if (filter != NULL)
        seccomp_release(filter);
    if (failed == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    errno = -failed;
    return ebb_err_set_errno(err, EBB_SERVER, "build the seccomp filter");
}
