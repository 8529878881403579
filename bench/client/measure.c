/* SPDX-License-Identifier: MIT */
/*
 * measure CMD ARG…: prints the whole process's CPU and memory before the last
 * line that it printed. Small and static, since a child's peak begins at the
 * size of the process that forked it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_BYTES 65536

static void read_all(int fd, char text[OUTPUT_BYTES])
{
    size_t n = 0;
    ssize_t got;

    while (n < OUTPUT_BYTES - 1 &&
           (got = read(fd, text + n, OUTPUT_BYTES - 1 - n)) > 0)
        n += (size_t)got;
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
}

int main(int argc, char **argv)
{
    static char text[OUTPUT_BYTES];
    const char *last;
    struct rusage use;
    int fds[2], status = 0;
    pid_t pid;

    if (argc < 2 || pipe(fds) != 0 || (pid = fork()) < 0)
        return 2;
    if (pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        close(fds[1]);
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    close(fds[1]);
    read_all(fds[0], text);
    wait4(pid, &status, 0, &use);
    last = strrchr(text, '\n');
    printf("total_cpu_us=%ld total_kb=%ld %s\n",
           (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000 +
               use.ru_utime.tv_usec + use.ru_stime.tv_usec,
           use.ru_maxrss, last == NULL ? text : last + 1);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
