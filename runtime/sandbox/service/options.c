/* SPDX-License-Identifier: MIT */
#include "sandbox/service/options.h"

#include "base/fs.h"
#include "base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define MEMORY_BYTES_MIN (UINT64_C(4) << 20)
#define PIDS_MAX         (1u << 22) /* the kernel's own maximum */
#define CPUS_MAX         4096.0
#define LINGER_S_MAX     ((uint64_t)7 * 24 * 3600)
#define UID_MAX_PLUS_ONE 4294967295u /* (uid_t)-1 is no uid */

const char ebb_options_usage[] =
    "usage: ebb-sandboxd [OPTION]…\n"
    "Serves E2B's API with sandboxes of this machine.\n"
    "\n"
    "  --listen HOST:PORT    serve TCP here; port 0 takes any free one\n"
    "                        (127.0.0.1:0 when --socket is not given)\n"
    "  --socket PATH         serve this Unix socket, to our own uid\n"
    "  --state DIR           keep sandboxes here ($EBB_STATE,\n"
    "                        $XDG_STATE_HOME/ebb or ~/.local/state/ebb)\n"
    "  --api-key KEY         accept this key on TCP (may be repeated;\n"
    "                        one is made when none is given)\n"
    "  --network none|host   what sandboxes may reach (none)\n"
    "  --memory SIZE         limit of each sandbox, such as 512M or 2G\n"
    "  --disk SIZE           limit of each sandbox's files\n"
    "  --pids N              limit of each sandbox's processes\n"
    "  --cpus N              limit of each sandbox, such as 1.5\n"
    "  --uid-range FIRST[:COUNT]  host uids of a root service's sandboxes\n"
    "  --pool N              sandboxes to keep ready (not supported)\n"
    "  --ready-fd N          say there where it serves, or why not\n"
    "  --linger S            end after so many seconds without any use\n"
    "  --check               say whether sandboxes can be isolated here\n"
    "  --version, --help\n";

/* Decimal digits alone, from min to max. */
static int parse_number(const char *text, uint64_t min, uint64_t max,
                        uint64_t *number, ebb_err *err)
{
    char *end = NULL;
    unsigned long long parsed;

    errno = 0;
    parsed = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0 ||
        parsed < min || parsed > max)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "'%s' is not a number from %llu to %llu", text,
                           (unsigned long long)min, (unsigned long long)max);
    *number = parsed;
    return 0;
}

int ebb_options_parse_size(const char *text, uint64_t *bytes, ebb_err *err)
{
    static const char units[] = "KMGT";
    char *end = NULL;
    const char *unit;
    unsigned long long parsed;
    unsigned shift = 0;

    errno = 0;
    parsed = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || errno != 0 || parsed == 0)
        goto bad;
    unit = *end != '\0' ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit != NULL) {
        shift = 10 * (unsigned)(unit - units + 1);
        end++;
        if (*end == 'i' && end[1] == 'B')
            end++;
    }
    if (*end == 'B')
        end++;
    if (*end != '\0')
        goto bad;
    if (parsed > (UINT64_MAX >> 1) >> shift)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "'%s' is more bytes than can be counted", text);
    *bytes = (uint64_t)parsed << shift;
    return 0;
bad:
    return ebb_err_set(err, EBB_INVALID_INPUT,
                       "'%s' is not a size: write bytes, or a number with K, "
                       "M, G or T, such as 512M",
                       text);
}

static int set_memory(ebb_options *o, const char *value, ebb_err *err)
{
    uint64_t bytes = 0;

    if (ebb_options_parse_size(value, &bytes, err) != 0)
        return -1;
    if (bytes < MEMORY_BYTES_MIN)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "'%s' is less than the 4M that a sandbox and its "
                           "shell need",
                           value);
    o->service.limits.memory_bytes = bytes;
    return 0;
}

static int set_disk(ebb_options *o, const char *value, ebb_err *err)
{
    return ebb_options_parse_size(value, &o->service.limits.disk_bytes, err);
}

static int set_pids(ebb_options *o, const char *value, ebb_err *err)
{
    return parse_number(value, 1, PIDS_MAX, &o->service.limits.pids, err);
}

static int set_cpus(ebb_options *o, const char *value, ebb_err *err)
{
    char *end = NULL;
    double cpus = strtod(value, &end);
    size_t plain = strspn(value, "0123456789.");

    if (plain == 0 || value[plain] != '\0' || *end != '\0' ||
        !(cpus >= 0.01 && cpus <= CPUS_MAX))
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "'%s' is not a number from 0.01 to %.0f", value,
                           CPUS_MAX);
    o->service.limits.cpus = cpus;
    return 0;
}

static int set_listen(ebb_options *o, const char *value, ebb_err *err)
{
    const char *colon = strrchr(value, ':');
    const char *host = value;
    uint64_t port = 0;
    size_t n;

    if (colon == NULL || colon == value)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "'%s' is not HOST:PORT, such as 127.0.0.1:3000",
                           value);
    if (parse_number(colon + 1, 0, UINT16_MAX, &port, err) != 0)
        return ebb_err_wrap(err, "port");
    n = (size_t)(colon - value);
    if (host[0] == '[' && n > 2 && host[n - 1] == ']') {
        host++;
        n -= 2;
    }
    if (n >= sizeof o->host)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "the host must be an IP address");
    memcpy(o->host, host, n);
    o->host[n] = '\0';
    if (strcmp(o->host, "localhost") == 0)
        memcpy(o->host, "127.0.0.1", sizeof "127.0.0.1");
    o->service.host = o->host;
    o->service.port = (uint16_t)port;
    return 0;
}

/* Whoever reads the path may be in another directory. */
static int set_absolute(char **path, const char *value, ebb_err *err)
{
    char here[PATH_MAX];

    ebb_mem_free(*path);
    *path = NULL;
    if (value[0] == '\0')
        return ebb_err_set(err, EBB_INVALID_INPUT, "the path is empty");
    if (value[0] == '/')
        *path = ebb_mem_dup(value);
    else if (getcwd(here, sizeof here) != NULL)
        *path = ebb_fs_join(here, value);
    else
        return ebb_err_set_errno(err, EBB_INVALID_INPUT,
                                 "find the current directory");
    return *path != NULL ? 0 : ebb_err_set(err, EBB_NO_MEMORY, "%s", value);
}

static int set_socket(ebb_options *o, const char *value, ebb_err *err)
{
    return set_absolute(&o->socket_path, value, err);
}

static int set_state(ebb_options *o, const char *value, ebb_err *err)
{
    return set_absolute(&o->state_dir, value, err);
}

static int set_api_key(ebb_options *o, const char *value, ebb_err *err)
{
    size_t n = strlen(value), i;

    for (i = 0; i < n; i++)
        if (value[i] <= ' ' || value[i] > '~')
            return ebb_err_set(err, EBB_INVALID_INPUT,
                               "a key is of visible ASCII characters");
    if (n == 0 || n >= EBB_API_KEY_BYTES)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "a key has 1 to %d characters",
                           EBB_API_KEY_BYTES - 1);
    if (o->service.api_keys_count == EBB_API_KEYS_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED, "at most %d keys",
                           EBB_API_KEYS_MAX);
    memcpy(o->service.api_keys[o->service.api_keys_count++], value, n + 1);
    return 0;
}

static int set_network(ebb_options *o, const char *value, ebb_err *err)
{
    o->service.network = strcmp(value, "host") == 0;
    if (!o->service.network && strcmp(value, "none") != 0)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "'%s' is neither none nor host", value);
    return 0;
}

static int set_uid_range(ebb_options *o, const char *value, ebb_err *err)
{
    const char *colon = strchr(value, ':');
    char first_text[16];
    uint64_t first = 0, count = EBB_UID_COUNT;
    size_t n = colon != NULL ? (size_t)(colon - value) : strlen(value);

    if (n >= sizeof first_text)
        n = sizeof first_text - 1;
    memcpy(first_text, value, n);
    first_text[n] = '\0';
    if (parse_number(first_text, 1, UID_MAX_PLUS_ONE - 1, &first, err) != 0)
        return ebb_err_wrap(err, "first uid");
    if (colon != NULL &&
        parse_number(colon + 1, 1, UID_MAX_PLUS_ONE, &count, err) != 0)
        return ebb_err_wrap(err, "count of uids");
    if (first + count > UID_MAX_PLUS_ONE) {
        if (colon != NULL)
            return ebb_err_set(err, EBB_INVALID_INPUT,
                               "'%s' goes past the last uid", value);
        count = UID_MAX_PLUS_ONE - first;
    }
    o->service.uid_first = (uint32_t)first;
    o->service.uid_count = (uint32_t)count;
    return 0;
}

static int set_pool(ebb_options *o, const char *value, ebb_err *err)
{
    (void)o;
    (void)value;
    return ebb_err_set(err, EBB_UNSUPPORTED,
                       "a pool of ready sandboxes is not supported; leave "
                       "the option out");
}

static int set_ready_fd(ebb_options *o, const char *value, ebb_err *err)
{
    uint64_t fd = 0;

    if (parse_number(value, 1, INT_MAX, &fd, err) != 0)
        return -1;
    o->ready_fd = (int)fd;
    return 0;
}

static int set_linger(ebb_options *o, const char *value, ebb_err *err)
{
    uint64_t seconds = 0;

    if (parse_number(value, 1, LINGER_S_MAX, &seconds, err) != 0)
        return -1;
    o->service.linger_ms = (int64_t)seconds * 1000;
    return 0;
}

static const struct {
    const char *name;
    int (*set)(ebb_options *o, const char *value, ebb_err *err);
} valued[] = {
    { "--listen", set_listen },   { "--socket", set_socket },
    { "--state", set_state },     { "--api-key", set_api_key },
    { "--network", set_network }, { "--memory", set_memory },
    { "--disk", set_disk },       { "--pids", set_pids },
    { "--cpus", set_cpus },       { "--uid-range", set_uid_range },
    { "--pool", set_pool },       { "--ready-fd", set_ready_fd },
    { "--linger", set_linger },
};

/* One option at argv[0], as "--name value" or "--name=value". */
static int parse_one(ebb_options *o, char **argv, int *used, ebb_err *err)
{
    const char *arg = argv[0], *equals = strchr(arg, '=');
    size_t n = equals != NULL ? (size_t)(equals - arg) : strlen(arg);
    size_t i;

    *used = 1;
    for (i = 0; i < sizeof valued / sizeof valued[0]; i++) {
        const char *value = equals != NULL ? equals + 1 : argv[1];

        if (strlen(valued[i].name) != n || strncmp(valued[i].name, arg, n) != 0)
            continue;
        if (value == NULL)
            return ebb_err_set(err, EBB_INVALID_INPUT, "%s needs a value", arg);
        *used = equals != NULL ? 1 : 2;
        if (valued[i].set(o, value, err) != 0)
            return ebb_err_wrap(err, "%s", valued[i].name);
        return 0;
    }
    o->help |= strcmp(arg, "--help") == 0;
    o->version |= strcmp(arg, "--version") == 0;
    o->check |= strcmp(arg, "--check") == 0;
    if (!o->help && !o->version && !o->check)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "unknown option '%s'; see --help", arg);
    return 0;
}

static int set_default_state(ebb_options *o, ebb_err *err)
{
    static const struct {
        const char *variable, *below;
    } places[] = {
        { "EBB_STATE", "" },
        { "XDG_STATE_HOME", "ebb" },
        { "HOME", ".local/state/ebb" },
    };
    size_t i;

    for (i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *dir = getenv(places[i].variable);
        char *joined;
        int rc;

        if (dir == NULL || *dir == '\0')
            continue;
        joined = *places[i].below == '\0' ? ebb_mem_dup(dir)
                                          : ebb_fs_join(dir, places[i].below);
        if (joined == NULL)
            return ebb_err_set(err, EBB_NO_MEMORY, "%s", dir);
        rc = set_state(o, joined, err);
        ebb_mem_free(joined);
        return rc;
    }
    return ebb_err_set(err, EBB_INVALID_INPUT,
                       "no place for state: set EBB_STATE or give --state");
}

int ebb_options_parse(ebb_options *options, int argc, char **argv, ebb_err *err)
{
    int i = 1, used;

    *options = (ebb_options){ .ready_fd = -1 };
    while (i < argc) {
        if (parse_one(options, argv + i, &used, err) != 0)
            return -1;
        i += used;
    }
    if (options->help || options->version)
        return 0;
    if (options->service.host == NULL && options->socket_path == NULL)
        set_listen(options, "127.0.0.1:0", err);
    if (options->state_dir == NULL && set_default_state(options, err) != 0)
        return -1;
    options->service.state_dir = options->state_dir;
    options->service.socket_path = options->socket_path;
    return 0;
}

void ebb_options_clear(ebb_options *options)
{
    ebb_mem_free(options->state_dir);
    ebb_mem_free(options->socket_path);
    *options = (ebb_options){ .ready_fd = -1 };
}
