/* SPDX-License-Identifier: MIT */
#include "support/e2b_rig.h"

#include "e2b/files.h"
#include "e2b/filesystem.h"
#include "e2b/multipart.h"

#define CONNECT "/v2/sandboxes/i1/connect"
#define STAT    "/filesystem.Filesystem/Stat"
#define LIST    "/filesystem.Filesystem/ListDir"
/* entry: name a, type, path /a, size */
#define FILE_OF(size)                                                          \
    "\x0a\x0b\x0a\x01"                                                         \
    "a"                                                                        \
    "\x10\x01\x1a\x02/a\x20" size
#define DIRECTORY                                                              \
    "\x0a\x09\x0a\x01"                                                         \
    "d"                                                                        \
    "\x10\x02\x1a\x02/d"
#define FIFO                                                                   \
    "\x0a\x07\x0a\x01"                                                         \
    "f"                                                                        \
    "\x1a\x02/f"
#define DANGLING                                                               \
    "\x0a\x0b\x0a\x01"                                                         \
    "l"                                                                        \
    "\x1a\x02/l\x52\x02/l"
#define LINK_TO_PROC                                                           \
    "\x0a\x14\x0a\x01"                                                         \
    "l"                                                                        \
    "\x10\x01\x1a\x02/l\x20\x07\x52\x07/proc/1"
#define LINK_TO_FILE                                                           \
    "\x0a\x0f\x0a\x01"                                                         \
    "l"                                                                        \
    "\x10\x01\x1a\x02/l\x20\x02\x52\x02/a"
#define NOT_FOUND                                                              \
    "{\"code\":\"not_found\",\"message\":\"file not found: lstat /a\"}"
#define BODY(text) .body = text, .n = sizeof(text) - 1

static rig *open_with(const char *envd_version)
{
    static char connected[128];
    rig *r = rig_open();

    snprintf(connected, sizeof connected,
             "{\"sandboxID\":\"i1\",\"envdAccessToken\":\"tok\","
             "\"envdVersion\":\"%s\"}",
             envd_version);
    rig_on(r, "POST", CONNECT, 200, connected);
    return r;
}

/* ---- readFile ---- */

#define READ     "e2b.readFile"
#define IN(rest) "{\"sandboxId\":\"i1\",\"path\":\"/a\"" rest "}"

static rig *open_file(rig_rule stat, rig_rule get)
{
    rig *r = open_with("0.6.13");

    stat.method = "POST";
    stat.path = STAT;
    get.method = "GET";
    get.path = "/files";
    rig_add(r, stat);
    rig_add(r, get);
    return r;
}

static void a_file_comes_back_whole(void **state)
{
    static const char all[] = "\x00\x01\xff\xfe\x89PNG";
    rig *r = open_file((rig_rule){ .status = 200, BODY(FILE_OF("\x08")) },
                       (rig_rule){ .status = 200, BODY(all) });
    rig_call *call;

    (void)state;
    call = rig_call_task(r, READ, IN(",\"encoding\":\"base64\""));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_text(call->result, "content"), "AAH//olQTkc=");
    assert_int_equal(rig_int(call->result, "byteCount"), 8);
    assert_string_equal(rig_get(r, "GET /files", 0)->query, "path=/a");
    assert_non_null(
        strstr(rig_get(r, "GET /files", 0)->headers, "x-access-token: tok\n"));
    rig_call_free(call);
    call = rig_call_task(r, READ, IN(""));
    assert_code(call, EBB_NOT_UTF8);
    assert_null(call->result);
    rig_call_free(call);
    rig_close(r);
}

static void what_cannot_be_read_is_refused_by_its_stat(void **state)
{
    static const struct {
        const char *name;
        rig_rule stat;
        ebb_code code;
    } cases[] = {
        { "too large",
          { .status = 200, BODY(FILE_OF("\x09")) },
          EBB_LIMIT_EXCEEDED },
        { "directory", { .status = 200, BODY(DIRECTORY) }, EBB_INVALID_INPUT },
        { "fifo", { .status = 200, BODY(FIFO) }, EBB_INVALID_INPUT },
        { "link to /proc",
          { .status = 200, BODY(LINK_TO_PROC) },
          EBB_UNSUPPORTED },
        { "missing", { .status = 404, .body = NOT_FOUND }, EBB_FILE_NOT_FOUND },
        { "through a file",
          { .status = 500,
            .body = "{\"code\":\"internal\",\"message\":\"lstat /a/b: not a "
                    "directory\"}" },
          EBB_FILE_NOT_FOUND },
        { "forbidden",
          { .status = 403, .body = "{\"code\":\"permission_denied\"}" },
          EBB_FORBIDDEN },
        { "broken",
          { .status = 500, .body = "{\"code\":\"internal\"}" },
          EBB_SERVER },
        { "no entry", { .status = 200, .body = "" }, EBB_PROTOCOL },
        { "garbage", { .status = 200, .body = "\xff\xff" }, EBB_PROTOCOL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = open_file(cases[i].stat, (rig_rule){ .status = 200 });
        rig_call *call = rig_call_task(r, READ, IN(",\"maxBytes\":8"));
        if (call->err.code != cases[i].code)
            fail_msg("%s: %s", cases[i].name, call->err.msg);
        assert_int_equal(rig_count(r, "GET /files"), 0);
        rig_call_free(call);
        rig_close(r);
    }
}

static void a_file_that_grows_is_stopped(void **state)
{
    rig *r = open_file((rig_rule){ .status = 200, BODY(FILE_OF("\x02")) },
                       (rig_rule){ .status = 200, .body = "123456789" });
    rig_call *call;

    (void)state;
    call = rig_call_task(r, READ, IN(",\"maxBytes\":8"));
    assert_code(call, EBB_LIMIT_EXCEEDED);
    rig_call_free(call);
    rig_close(r);
}

static void a_cut_transfer_is_no_result(void **state)
{
    rig *r =
        open_file((rig_rule){ .status = 200, BODY(FILE_OF("\x08")) },
                  (rig_rule){ .status = 200, .body = "1234", .how = RIG_CUT });
    rig_call *call;

    (void)state;
    call = rig_call_task(r, READ, IN(""));
    assert_code(call, EBB_NETWORK);
    assert_null(call->result);
    rig_call_free(call);
    rig_close(r);
}

static void the_size_of_a_link_says_nothing(void **state)
{
    rig *r = open_file((rig_rule){ .status = 200, BODY(LINK_TO_FILE) },
                       (rig_rule){ .status = 200, .body = "four" });
    rig_call *call;

    (void)state;
    call = rig_call_task(r, READ, IN(""));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_text(call->result, "content"), "four");
    rig_call_free(call);
    rig_close(r);
}

static void a_refused_read_connects_again(void **state)
{
    rig *r = open_with("0.6.13");
    rig_call *call;

    (void)state;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = STAT,
                           .status = 502,
                           .body = "{\"message\":\"The sandbox was not "
                                   "found\",\"code\":502}",
                           .times = 1 });
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = STAT,
                           .status = 200,
                           BODY(FILE_OF("\x02")) });
    rig_on(r, "GET", "/files", 200, "hi");
    call = rig_call_task(r, READ, IN(""));
    assert_code(call, EBB_OK);
    assert_int_equal(rig_count(r, "POST " CONNECT), 2);
    rig_call_free(call);
    rig_close(r);
}

static void limits_and_virtual_paths_are_checked_before_anything(void **state)
{
    static const char *const paths[] = {
        "/proc/cpuinfo",  "//proc//1",          "/./sys/x",
        "/tmp/../proc/1", "../../../../proc/1", "/proc",
    };
    rig *r = open_with("0.6.13");

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char json[96];
        snprintf(json, sizeof json, "{\"sandboxId\":\"i1\",\"path\":\"%s\"}",
                 paths[i]);
        rig_call *call = rig_call_task(r, READ, json);
        assert_code(call, EBB_UNSUPPORTED);
        rig_call_free(call);
    }
    rig_call *call = rig_call_task(r, READ, IN(",\"maxBytes\":1048577"));
    assert_code(call, EBB_INVALID_INPUT);
    rig_call_free(call);
    assert_int_equal(r->requests_n, 0);
    rig_close(r);
}

static void ordinary_paths_are_not_virtual(void **state)
{
    static const char *const paths[] = { "/procs/x",     "proc/x", "/home/proc",
                                         "/proc/../etc", "/",      "",
                                         "sys" };

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_false(ebb_e2b_files_is_virtual(paths[i]));
}

/* ---- listFiles ---- */

static void a_directory_is_listed_up_to_its_limit(void **state)
{
    rig *r = open_with("0.6.13");
    rig_call *call;

    (void)state;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = LIST,
                           .status = 200,
                           BODY(FILE_OF("\x07") DIRECTORY FIFO DANGLING) });
    call = rig_call_task(r, "e2b.listFiles", IN(""));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_text(call->result, "entries.0.type"), "file");
    assert_int_equal(rig_int(call->result, "entries.0.size"), 7);
    assert_string_equal(rig_text(call->result, "entries.1.type"), "directory");
    assert_string_equal(rig_text(call->result, "entries.2.type"), "other");
    assert_string_equal(rig_text(call->result, "entries.3.type"), "symlink");
    assert_string_equal(rig_text(call->result, "entries.3.path"), "/l");
    assert_int_equal(rig_int(call->result, "page.available"), 4);
    assert_false(rig_bool(call->result, "page.truncated"));
    rig_call_free(call);
    call = rig_call_task(r, "e2b.listFiles", IN(",\"limit\":0"));
    assert_int_equal(rig_int(call->result, "page.limit"), 1);
    assert_int_equal(rig_int(call->result, "page.returned"), 1);
    assert_int_equal(rig_int(call->result, "page.available"), 4);
    assert_true(rig_bool(call->result, "page.truncated"));
    rig_call_free(call);
    rig_close(r);
}

static void an_empty_directory_is_an_empty_list(void **state)
{
    rig *r = open_with("0.6.13");
    rig_call *call;

    (void)state;
    rig_on(r, "POST", LIST, 200, "");
    call = rig_call_task(r, "e2b.listFiles", IN(""));
    assert_code(call, EBB_OK);
    assert_int_equal(ebb_value_type(rig_at(call->result, "entries")),
                     EBB_ARRAY);
    rig_call_free(call);
    rig_close(r);
}

static int count_entry(void *context, const ebb_e2b_entry *entry, ebb_err *err)
{
    (void)entry;
    (void)err;
    ++*(int *)context;
    return 0;
}

static void a_listing_is_read_whatever_way_it_is_cut(void **state)
{
    /* A field of every wire type that nobody asked for lies between. */
    static const char all[] = FILE_OF("\x07") "\x10\xff\x01\x19"
                                              "12345678"
                                              "\x22\x03"
                                              "abc"
                                              "\x2d"
                                              "1234" DIRECTORY FIFO;
    size_t n = sizeof all - 1;

    (void)state;
    for (size_t piece = 1; piece <= n; piece++) {
        ebb_e2b_listing listing;
        ebb_err err = { 0 };
        int entries = 0;
        ebb_e2b_listing_init(&listing, count_entry, &entries);
        for (size_t i = 0; i < n; i += piece)
            assert_int_equal(ebb_e2b_listing_add(&listing, all + i,
                                                 n - i < piece ? n - i : piece,
                                                 &err),
                             0);
        assert_int_equal(ebb_e2b_listing_finish(&listing, &err), 0);
        assert_int_equal(entries, 3);
        ebb_e2b_listing_clear(&listing);
    }
}

static void a_hostile_listing_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {
        { "\x0a\xff\xff\xff\xff\x0f", 6 }, /* 4 GiB entry */
        { "\x0b", 1 },                     /* group */
        { "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12 },
        { "\x0a\x03\x0a\x01\xff", 5 }, /* name not UTF-8 */
        { "\x0a\x05\x0a\x01", 4 },     /* cut */
        { "\x22\x05"
          "ab",
          4 }, /* cut while skipping */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ebb_e2b_listing listing;
        ebb_err err = { 0 };
        int entries = 0;
        ebb_e2b_listing_init(&listing, count_entry, &entries);
        if (ebb_e2b_listing_add(&listing, cases[i].bytes, cases[i].n, &err) ==
            0)
            assert_int_equal(ebb_e2b_listing_finish(&listing, &err), -1);
        assert_int_equal(err.code, EBB_PROTOCOL);
        assert_int_equal(entries, 0);
        ebb_e2b_listing_clear(&listing);
    }
}

static void a_directory_of_any_size_needs_the_memory_of_its_limit(void **s)
{
    ebb_e2b_listing listing;
    ebb_err err = { 0 };
    int entries = 0;
    ebb_buf many;

    (void)s;
    ebb_buf_init(&many, 0);
    for (int i = 0; i < 100000; i++)
        ebb_buf_add(&many, FILE_OF("\x07"), sizeof(FILE_OF("\x07")) - 1);
    ebb_e2b_listing_init(&listing, count_entry, &entries);
    for (size_t i = 0; i < many.n; i += 4099)
        assert_int_equal(
            ebb_e2b_listing_add(&listing, many.bytes + i,
                                many.n - i < 4099 ? many.n - i : 4099, &err),
            0);
    assert_int_equal(entries, 100000);
    assert_true(listing.held.room <= 2 * (65536 + 20));
    ebb_e2b_listing_clear(&listing);
    ebb_buf_clear(&many);
}

/* ---- writeFiles ---- */

#define WRITE       "e2b.writeFiles"
#define OK_1        "[{\"path\":\"/a\",\"name\":\"a\",\"type\":\"file\"}]"
#define OK_2        "[{\"path\":\"/a\"},{\"path\":\"/b\"}]"
#define FILES(list) "{\"sandboxId\":\"i1\",\"files\":[" list "]}"

static void plain_files_go_out_as_one_request(void **state)
{
    rig *r = open_with("0.6.13");
    rig_request *request;
    char boundary[64], wanted[512];
    const char *at;
    rig_call *call;

    (void)state;
    rig_on(r, "POST", "/files", 200, OK_2);
    call = rig_call_task(
        r, WRITE,
        FILES("{\"path\":\"/a b\xC3\xA9\",\"content\":\"h\xC3\xA9\"},"
              "{\"path\":\"/b\",\"content\":\"AP8=\",\"encoding\":"
              "\"base64\"}"));
    assert_code(call, EBB_OK);
    request = rig_get(r, "POST /files", 0);
    at = strstr(request->headers, "boundary=");
    assert_non_null(at);
    snprintf(boundary, sizeof boundary, "%.32s", at + 9);
    int n = snprintf(
        wanted, sizeof wanted,
        "--%s\r\nContent-Disposition: form-data; name=\"file\"; "
        "filename=\"/a b\xC3\xA9\"\r\nContent-Type: "
        "application/octet-stream\r\n\r\nh\xC3\xA9\r\n--%s\r\n"
        "Content-Disposition: form-data; name=\"file\"; filename=\"/b\"\r\n"
        "Content-Type: application/octet-stream\r\n\r\n",
        boundary, boundary);
    assert_memory_equal(request->body.bytes, wanted, n);
    assert_memory_equal(request->body.bytes + n, "\x00\xff\r\n--", 6);
    assert_int_equal(rig_int(call->result, "files.0.byteCount"), 3);
    assert_int_equal(rig_int(call->result, "files.1.byteCount"), 2);
    assert_string_equal(rig_text(call->result, "files.1.path"), "/b");
    assert_int_equal(call->effects, 1);
    rig_call_free(call);
    rig_close(r);
}

static void odd_names_travel_in_the_query(void **state)
{
    rig *r = open_with("0.6.13");
    rig_call *call;

    (void)state;
    rig_on(r, "POST", "/files", 200, OK_1);
    call = rig_call_task(r, WRITE,
                         FILES("{\"path\":\"/a%41;\\\"b\\\\\",\"content\":"
                               "\"x\"},{\"path\":\"/c\",\"content\":\"y\"},"
                               "{\"path\":\"/e\",\"content\":\"\"}"));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_get(r, "POST /files", 0)->query,
                        "path=/a%41;\"b\\");
    assert_string_equal(rig_get(r, "POST /files", 0)->body.bytes, "x");
    assert_non_null(strstr(rig_get(r, "POST /files", 0)->headers,
                           "application/octet-stream"));
    assert_string_equal(rig_get(r, "POST /files", 1)->query, "path=/c");
    assert_string_equal(rig_get(r, "POST /files", 2)->query, "path=/e");
    assert_int_equal(rig_int(call->result, "files.2.byteCount"), 0);
    rig_call_free(call);
    rig_close(r);
}

static void an_old_envd_gets_multipart_only(void **state)
{
    static const struct {
        const char *version;
        bool bytes;
    } cases[] = {
        { "0.5.6", false }, { "0.5.7", true }, { "0.4.9", false },
        { "0.6.0", true },  { "1.0.0", true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = open_with(cases[i].version);
        rig_on(r, "POST", "/files", 200, OK_1);
        rig_call *call = rig_call_task(
            r, WRITE, FILES("{\"path\":\"/a\",\"content\":\"x\"}"));
        assert_code(call, EBB_OK);
        assert_int_equal(strstr(rig_get(r, "POST /files", 0)->headers,
                                "octet-stream") != NULL,
                         cases[i].bytes);
        rig_call_free(call);
        rig_close(r);
    }
}

static void wrong_contents_are_named_before_anything_is_sent(void **state)
{
    static const struct {
        const char *in;
        ebb_code code;
        const char *part;
    } cases[] = {
        { FILES("{\"path\":\"/a\",\"content\":\"AP9=\",\"encoding\":"
                "\"base64\"}"),
          EBB_INVALID_INPUT, "files[1].content: not canonical" },
        { FILES("{\"path\":\"/a\",\"content\":\"AP8\",\"encoding\":"
                "\"base64\"}"),
          EBB_INVALID_INPUT, "files[1].content: not canonical" },
        { FILES("{\"path\":\"/a\",\"content\":\"\"},{\"path\":\"/a\","
                "\"content\":\"\"}"),
          EBB_INVALID_INPUT, "files[2].path: the same as files[1].path" },
        { "{\"sandboxId\":\"i1\",\"maxTotalBytes\":3,\"files\":[{\"path\":"
          "\"/a\",\"content\":\"ab\"},{\"path\":\"/b\",\"content\":\"ab\"}]}",
          EBB_LIMIT_EXCEEDED, "4 bytes in all" },
        { FILES(""), EBB_INVALID_INPUT, "1 to 100 entries" },
        { FILES("{\"path\":\"/a\"}"), EBB_INVALID_INPUT,
          "files[1].content: expected string, got nil" },
    };
    rig *r = open_with("0.6.13");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig_call *call = rig_call_task(r, WRITE, cases[i].in);
        assert_code(call, cases[i].code);
        if (strstr(call->err.msg, cases[i].part) == NULL)
            fail_msg("%s", call->err.msg);
        rig_call_free(call);
    }
    assert_int_equal(r->requests_n, 0);
    rig_close(r);
}

static void a_failure_says_what_was_written(void **state)
{
    static const struct {
        rig_rule second;
        ebb_code code;
    } cases[] = {
        { { .status = 400,
            .body = "{\"code\":400,\"message\":\"path is a "
                    "directory\"}" },
          EBB_INVALID_INPUT },
        { { .status = 507, .body = "{\"message\":\"not enough disk\"}" },
          EBB_LIMIT_EXCEEDED },
        { { .status = 500, .body = "{}" }, EBB_OUTCOME_UNKNOWN },
        { { .how = RIG_DROP }, EBB_OUTCOME_UNKNOWN },
        { { .status = 200, .body = "[]" }, EBB_OUTCOME_UNKNOWN },
        { { .status = 200, .body = "what" }, EBB_OUTCOME_UNKNOWN },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = open_with("0.6.13");
        rig_rule second = cases[i].second;
        rig_add(r, (rig_rule){ .method = "POST",
                               .path = "/files",
                               .status = 200,
                               .body = OK_1,
                               .times = 1 });
        second.method = "POST";
        second.path = "/files";
        rig_add(r, second);
        rig_call *call = rig_call_task(
            r, WRITE,
            FILES("{\"path\":\"/a;\",\"content\":\"x\"},{\"path\":\"/b\","
                  "\"content\":\"y\"},{\"path\":\"/c\",\"content\":\"z\"}"));
        assert_code(call, cases[i].code);
        assert_int_equal(rig_count(r, "POST /files"), 2);
        assert_int_equal(ebb_value_size(rig_at(call->details, "written")), 1);
        assert_string_equal(rig_text(call->details, "written.0.path"), "/a;");
        rig_call_free(call);
        rig_close(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_comes_back_whole),
        cmocka_unit_test(what_cannot_be_read_is_refused_by_its_stat),
        cmocka_unit_test(a_file_that_grows_is_stopped),
        cmocka_unit_test(a_cut_transfer_is_no_result),
        cmocka_unit_test(the_size_of_a_link_says_nothing),
        cmocka_unit_test(a_refused_read_connects_again),
        cmocka_unit_test(limits_and_virtual_paths_are_checked_before_anything),
        cmocka_unit_test(ordinary_paths_are_not_virtual),
        cmocka_unit_test(a_directory_is_listed_up_to_its_limit),
        cmocka_unit_test(an_empty_directory_is_an_empty_list),
        cmocka_unit_test(a_listing_is_read_whatever_way_it_is_cut),
        cmocka_unit_test(a_hostile_listing_is_refused),
        cmocka_unit_test(a_directory_of_any_size_needs_the_memory_of_its_limit),
        cmocka_unit_test(plain_files_go_out_as_one_request),
        cmocka_unit_test(odd_names_travel_in_the_query),
        cmocka_unit_test(an_old_envd_gets_multipart_only),
        cmocka_unit_test(wrong_contents_are_named_before_anything_is_sent),
        cmocka_unit_test(a_failure_says_what_was_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
