/* SPDX-License-Identifier: MIT */
#include "net/http_server_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

typedef union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un un;
    struct sockaddr_storage room;
} address;

static int new_socket(int family, ebb_err *err)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        ebb_err_set_errno(err, EBB_NETWORK, "listening socket");
    return fd;
}

static int listen_at(int fd, const address *at, socklen_t n, const char *name,
                     ebb_err *err)
{
    if (bind(fd, &at->any, n) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    ebb_err_set_errno(err, errno == EADDRINUSE ? EBB_CONFLICT : EBB_NETWORK,
                      "listen on %s", name);
    close(fd);
    return -1;
}

static int listen_tcp(const char *host, uint16_t port, ebb_err *err)
{
    address at = { 0 };
    socklen_t n = sizeof at.v4;
    int one = 1;
    int fd;

    if (inet_pton(AF_INET, host, &at.v4.sin_addr) == 1) {
        at.v4.sin_family = AF_INET;
        at.v4.sin_port = htons(port);
    } else if (inet_pton(AF_INET6, host, &at.v6.sin6_addr) == 1) {
        at.v6.sin6_family = AF_INET6;
        at.v6.sin6_port = htons(port);
        n = sizeof at.v6;
    } else {
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "listen on %s: not an IPv4 or IPv6 address", host);
    }
    fd = new_socket(at.any.sa_family, err);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (at.any.sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    return listen_at(fd, &at, n, host, err);
}

/* Whether somebody listens there. */
static bool is_served(const address *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool served;

    if (fd < 0)
        return true;
    served = connect(fd, &at->any, sizeof at->un) == 0 || errno == EAGAIN;
    close(fd);
    return served;
}

/* Makes the path free: a socket that nobody serves any more is removed. */
static int remove_stale(const address *at, const char *path, ebb_err *err)
{
    struct stat st;

    if (lstat(path, &st) != 0)
        return 0; /* bind says what is wrong, if something is */
    if (!S_ISSOCK(st.st_mode))
        return ebb_err_set(err, EBB_CONFLICT,
                           "listen on %s: it exists and is not a socket", path);
    if (is_served(at))
        return ebb_err_set(err, EBB_CONFLICT,
                           "listen on %s: another process serves it", path);
    if (unlink(path) != 0 && errno != ENOENT)
        return ebb_err_set_errno(err, EBB_NETWORK, "remove %s", path);
    return 0;
}

static int remember_path(ebb_http_server *server, const char *path,
                         ebb_err *err)
{
    struct stat st;

    server->socket_path = ebb_mem_dup(path);
    if (server->socket_path == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "listen on %s", path);
    if (lstat(path, &st) == 0) {
        server->socket_dev = st.st_dev;
        server->socket_ino = st.st_ino;
    }
    return 0;
}

static int listen_unix(ebb_http_server *server, const char *path, ebb_err *err)
{
    address at = { 0 };
    int fd;

    if (strlen(path) >= sizeof at.un.sun_path)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "listen on %s: a socket's path has at most %zu "
                           "bytes; choose a shorter one",
                           path, sizeof at.un.sun_path - 1);
    at.un.sun_family = AF_UNIX;
    memcpy(at.un.sun_path, path, strlen(path) + 1);
    if (remove_stale(&at, path, err) != 0)
        return -1;
    fd = new_socket(AF_UNIX, err);
    if (fd < 0)
        return -1;
    /* bind takes the mode from the socket: it is never open to others. */
    fchmod(fd, 0600);
    fd = listen_at(fd, &at, sizeof at.un, path, err);
    if (fd >= 0 && remember_path(server, path, err) != 0) {
        close(fd);
        unlink(path);
        return -1;
    }
    return fd;
}

static void look_at(ebb_http_server *server, int fd)
{
    address at = { 0 };
    socklen_t n = sizeof at;

    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    if (getsockname(fd, &at.any, &n) != 0)
        return;
    server->is_unix = at.any.sa_family == AF_UNIX;
    if (at.any.sa_family == AF_INET)
        server->port = ntohs(at.v4.sin_port);
    if (at.any.sa_family == AF_INET6)
        server->port = ntohs(at.v6.sin6_port);
}

int ebb_http_server_listen(ebb_http_server *server,
                           const ebb_http_server_config *config, ebb_err *err)
{
    int fd;

    if (config->listen_fd >= 0)
        fd = config->listen_fd;
    else if (config->socket_path != NULL)
        fd = listen_unix(server, config->socket_path, err);
    else if (config->host != NULL)
        fd = listen_tcp(config->host, config->port, err);
    else
        fd = ebb_err_set(err, EBB_INVALID_INPUT, "listen: no address");
    if (fd >= 0)
        look_at(server, fd);
    return fd;
}

void ebb_http_server_unlink(ebb_http_server *server)
{
    struct stat st;

    if (server->socket_path != NULL && lstat(server->socket_path, &st) == 0 &&
        st.st_dev == server->socket_dev && st.st_ino == server->socket_ino)
        unlink(server->socket_path);
    ebb_mem_free(server->socket_path);
    server->socket_path = NULL;
}
