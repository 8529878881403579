/* SPDX-License-Identifier: MIT */
/*
 * bare CASE N: the least that a C program on libcurl does for the exchanges of
 * ebb's tasks, and the baseline of the bench: one kept handle, no parser, no
 * check, no limit. The same requests with the same fields; the body of an
 * answer is kept in a buffer that grows and stays, as by any program that wants
 * it; a stream is walked over and its output kept up to KEPT_BYTES.
 */
#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "driver.h"

#define BODY_BYTES  (160 * 1024)
#define ROOM_BYTES  4096  /* of an answer, at first */
#define KEPT_BYTES  65536 /* of output, as ebb is told to keep */
#define HELD_BYTES  (128 * 1024)
#define CALLS_MAX   1000
#define WRITE_FILES 100
#define BOUNDARY    "0123456789abcdef0123456789abcdef"

typedef struct call {
    CURL *easy;
    bool is_stream;
    bool ended;
    unsigned char held[HELD_BYTES]; /* an envelope that is cut */
    size_t held_n;
    char kept[KEPT_BYTES];
    size_t output; /* bytes of it in all */
    char *answer;  /* the body of one that is no stream */
    size_t answer_n, answer_room;
} call;

static char body[BODY_BYTES];
static size_t body_n;
static struct curl_slist *control, *unary, *stream, *file, *form, *code;

static void die(const char *what)
{
    fprintf(stderr, "bare: %s\n", what);
    exit(1);
}

/* ---- answers ---- */

/* event (1), data (2), stdout (1), each the only field of its message. */
static void take_payload(call *c, const unsigned char *p, size_t n)
{
    static const unsigned char tags[] = { 0x0a, 0x12, 0x0a };

    for (size_t level = 0; level < sizeof tags; level++) {
        if (n < 2 || *p != tags[level]) {
            c->ended = c->ended || (level == 1 && *p == 0x1a);
            return;
        }
        for (p++, n--; n > 0 && *p >= 0x80; n--)
            p++;
        p++;
        n--;
    }
    if (c->output + n <= KEPT_BYTES)
        memcpy(c->kept + c->output, p, n);
    c->output += n;
}

/* Whole envelopes at p; returns the bytes they took. */
static size_t take_envelopes(call *c, const unsigned char *p, size_t n)
{
    size_t at = 0;

    while (n - at >= 5) {
        size_t length = (size_t)p[at + 1] << 24 | (size_t)p[at + 2] << 16 |
                        (size_t)p[at + 3] << 8 | p[at + 4];

        if (n - at - 5 < length)
            break;
        take_payload(c, p + at + 5, length);
        at += 5 + length;
    }
    return at;
}

static void keep(call *c, const char *bytes, size_t n)
{
    size_t room = c->answer_room;

    while (room < c->answer_n + n)
        room = room == 0 ? ROOM_BYTES : room * 2;
    if (room > c->answer_room) {
        c->answer = realloc(c->answer, room);
        c->answer_room = room;
    }
    if (c->answer == NULL)
        die("memory");
    memcpy(c->answer + c->answer_n, bytes, n);
    c->answer_n += n;
}

static size_t on_write(char *bytes, size_t size, size_t count, void *context)
{
    call *c = context;
    size_t n = size * count, taken;
    const unsigned char *p = (const unsigned char *)bytes;

    if (!c->is_stream) {
        keep(c, bytes, n);
        return n;
    }
    if (c->held_n > 0) {
        if (c->held_n + n > sizeof c->held)
            die("envelope");
        memcpy(c->held + c->held_n, bytes, n);
        p = c->held;
        n += c->held_n;
    }
    taken = take_envelopes(c, p, n);
    c->held_n = n - taken;
    memmove(c->held, p + taken, c->held_n);
    return size * count;
}

/* ---- requests ---- */

static void init(call *c)
{
    c->easy = curl_easy_init();
    curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_write);
    curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->easy, CURLOPT_BUFFERSIZE, 65536L);
}

/* The body is what was written there; none is a GET. */
static void prepare(call *c, const char *base, const char *path,
                    struct curl_slist *headers)
{
    char url[256];

    snprintf(url, sizeof url, "%s%s", base, path);
    curl_easy_setopt(c->easy, CURLOPT_URL, url);
    curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, headers);
    if (body_n > 0) {
        curl_easy_setopt(c->easy, CURLOPT_POST, 1L);
        curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE, (long)body_n);
        curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, body);
    } else {
        curl_easy_setopt(c->easy, CURLOPT_HTTPGET, 1L);
    }
    c->is_stream = headers == stream;
    c->ended = false;
    c->held_n = 0;
    c->output = 0;
    c->answer_n = 0;
}

static void check(const call *c, CURLcode result)
{
    long status = 0;

    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    if (result != CURLE_OK || status != 200 || (c->is_stream && !c->ended))
        die("answer");
}

static void perform(call *c, const char *base, const char *path,
                    struct curl_slist *headers)
{
    prepare(c, base, path, headers);
    check(c, curl_easy_perform(c->easy));
}

/* A field of protobuf, shorter than 128 bytes. */
static size_t put_field(char *to, int number, const char *bytes, size_t n)
{
    to[0] = (char)(number << 3 | 2);
    to[1] = (char)n;
    memcpy(to + 2, bytes, n);
    return n + 2;
}

static void write_command(const char *text)
{
    char config[128];
    size_t n = put_field(config, 1, "/bin/bash", 9);

    n += put_field(config + n, 2, "-l", 2);
    n += put_field(config + n, 2, "-c", 2);
    n += put_field(config + n, 2, text, strlen(text));
    memset(body, 0, 5);
    body_n = 5 + put_field(body + 5, 1, config, n);
    body[body_n++] = 4 << 3; /* stdin: false */
    body[body_n++] = 0;
    body[4] = (char)(body_n - 5);
}

static void write_text(const char *text)
{
    body_n = strlen(text);
    memcpy(body, text, body_n);
}

static void write_form(void)
{
    body_n = 0;
    for (int i = 0; i < WRITE_FILES; i++) {
        body_n += (size_t)sprintf(
            body + body_n,
            "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"file\"; "
            "filename=\"/home/user/f%d\"\r\nContent-Type: "
            "application/octet-stream\r\n\r\n",
            i);
        memset(body + body_n, 'x', 1024);
        body_n += 1024;
        body_n += (size_t)sprintf(body + body_n, "\r\n");
    }
    body_n += (size_t)sprintf(body + body_n, "--" BOUNDARY "--\r\n");
}

/* Of a request to a port of the sandbox. */
static struct curl_slist *headers(const char *type, const char *port)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");

    list = curl_slist_append(list, "User-Agent: bare");
    if (type != NULL)
        list = curl_slist_append(list, type);
    list = curl_slist_append(list, "E2b-Sandbox-Id: " BENCH_SANDBOX);
    list = curl_slist_append(list, port);
    return curl_slist_append(list, "X-Access-Token: token");
}

static void make_headers(void)
{
    static const char json[] = "Content-Type: application/json";
    static const char version[] = "Connect-Protocol-Version: 1";
    static const char port[] = "E2b-Sandbox-Port: 49983";
    char key[128];

    snprintf(key, sizeof key, "X-API-Key: %s", getenv("E2B_API_KEY"));
    control = curl_slist_append(curl_slist_append(NULL, key), json);
    control = curl_slist_append(control, "User-Agent: bare");
    code = headers(json, "E2b-Sandbox-Port: 49999");
    unary = headers("Content-Type: application/proto", port);
    unary = curl_slist_append(unary, version);
    stream = headers("Content-Type: application/connect+proto", port);
    stream = curl_slist_append(stream, version);
    stream = curl_slist_append(stream, "Keepalive-Ping-Interval: 50");
    stream = curl_slist_append(stream, "Connect-Timeout-Ms: 60000");
    file = headers(NULL, port);
    form =
        headers("Content-Type: multipart/form-data; boundary=" BOUNDARY, port);
}

/* ---- the cases ---- */

static const char *api, *box_url;

static void sandbox_connect(call *c)
{
    write_text("{\"timeout\":300}");
    perform(c, api, "/v2/sandboxes/" BENCH_SANDBOX "/connect", control);
}

static void command(call *c, const char *text)
{
    write_command(text);
    perform(c, box_url, "/process.Process/Start", stream);
}

static void output(call *c, long n, int frame)
{
    char text[64];

    snprintf(text, sizeof text, "true # out=%ld/%d", n, frame);
    command(c, text);
    if (c->output != (size_t)n)
        die("output");
}

static void once(call *c, const char *name)
{
    if (strcmp(name, "kept") == 0) {
        command(c, "true");
    } else if (strcmp(name, "task") == 0) {
        sandbox_connect(c);
        command(c, "true");
    } else if (strcmp(name, "read") == 0) {
        body_n = put_field(body, 1, "/home/user/f", 12);
        perform(c, box_url, "/filesystem.Filesystem/Stat", unary);
        body_n = 0;
        perform(c, box_url, "/files?path=%2Fhome%2Fuser%2Ff", file);
    } else if (strcmp(name, "list") == 0) {
        body_n = put_field(body, 1, "/home/user", 10);
        body[body_n++] = 2 << 3; /* depth: 1 */
        body[body_n++] = 1;
        perform(c, box_url, "/filesystem.Filesystem/ListDir", unary);
    } else if (strcmp(name, "code") == 0) {
        write_text("{\"code\":\"1+1\",\"language\":\"python\"}");
        perform(c, box_url, "/execute", code);
    } else if (strcmp(name, "write") == 0) {
        write_form();
        perform(c, box_url, "/files", form);
    }
}

static void at_once(long n)
{
    CURLM *multi = curl_multi_init();
    call *calls = calloc((size_t)n, sizeof *calls);
    int running = 1, left;
    CURLMsg *message;

    if (multi == NULL || calls == NULL)
        die("memory");
    write_command("true # hold=200");
    for (long i = 0; i < n; i++) {
        init(&calls[i]);
        prepare(&calls[i], box_url, "/process.Process/Start", stream);
        curl_multi_add_handle(multi, calls[i].easy);
    }
    while (running > 0) {
        curl_multi_perform(multi, &running);
        while ((message = curl_multi_info_read(multi, &left)) != NULL)
            if (message->data.result != CURLE_OK)
                die("answer");
        if (running > 0)
            curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    for (long i = 0; i < n; i++) {
        check(&calls[i], CURLE_OK);
        curl_multi_remove_handle(multi, calls[i].easy);
        curl_easy_cleanup(calls[i].easy);
    }
    curl_multi_cleanup(multi);
    free(calls);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "first";
    long n = argc > 2 ? atol(argv[2]) : 1;
    static call c;
    bench_mark mark;

    api = getenv("E2B_API_URL");
    box_url = getenv("E2B_SANDBOX_URL");
    if (api == NULL || box_url == NULL || getenv("E2B_API_KEY") == NULL ||
        n > (1L << 30))
        die("E2B_API_KEY, E2B_API_URL and E2B_SANDBOX_URL");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    make_headers();
    init(&c);
    sandbox_connect(&c);
    command(&c, "true");
    mark = bench_now();
    if (strcmp(name, "conc") == 0)
        at_once(n < CALLS_MAX ? n : CALLS_MAX);
    else if (strcmp(name, "out") == 0 || strcmp(name, "frames") == 0)
        output(&c, n, name[0] == 'o' ? 32768 : 16);
    else if (strcmp(name, "first") != 0)
        for (long i = 0; i < n; i++)
            once(&c, name);
    bench_report(&mark);
    return 0;
}
