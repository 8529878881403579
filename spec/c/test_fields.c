/* SPDX-License-Identifier: MIT */
#include "task/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static const char *const encodings[] = { "utf8", "base64", NULL };

static const ebb_field items[] = {
    { .name = "path",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_REQUIRED | EBB_FIELD_NO_NUL },
    { .name = "encoding",
      .type = EBB_FIELD_STRING,
      .choices = encodings,
      .otherwise = "\"utf8\"" },
    { .name = "content",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_REQUIRED },
};

static const ebb_field fields[] = {
    { .name = "sandboxId",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_REQUIRED | EBB_FIELD_NOT_BLANK },
    { .name = "files",
      .type = EBB_FIELD_LIST,
      .min = 1,
      .max = 3,
      .items = items,
      .items_count = 3 },
    { .name = "limit",
      .type = EBB_FIELD_INT,
      .flags = EBB_FIELD_CLAMP,
      .min = 1,
      .max = 1000,
      .otherwise = "100" },
    { .name = "maxBytes", .type = EBB_FIELD_INT, .min = 1, .max = 64 },
    { .name = "timeoutMs",
      .type = EBB_FIELD_NUMBER,
      .flags = EBB_FIELD_POSITIVE },
    { .name = "envs", .type = EBB_FIELD_MAP, .flags = EBB_FIELD_NO_NUL },
    { .name = "fast", .type = EBB_FIELD_BOOL },
    { .name = "any", .type = EBB_FIELD_ANY },
    { .name = "id",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_ID,
      .help = "as t.y gives it" },
    { .name = "where", .type = EBB_FIELD_STRING, .flags = EBB_FIELD_PATH },
};
#define COUNT (sizeof fields / sizeof *fields)

/* The checked input as text, or the error's message. */
static const char *check(const char *json)
{
    static char text[512];
    ebb_err err = { 0 };
    ebb_value *in = ebb_value_parse(json, strlen(json), 0, &err);
    ebb_value *out;
    char *written;

    assert_non_null(in);
    out = ebb_fields_check("t.x", fields, COUNT, in, &err);
    if (out == NULL) {
        assert_int_equal(err.code, EBB_INVALID_INPUT);
        snprintf(text, sizeof text, "%s", err.msg);
    } else {
        written = ebb_value_write(out, EBB_WRITE_COMPACT, NULL);
        snprintf(text, sizeof text, "%s", written);
        ebb_mem_free(written);
    }
    ebb_value_free(out);
    ebb_value_free(in);
    return text;
}

static void defaults_are_filled_in_and_null_is_absent(void **state)
{
    (void)state;
    assert_string_equal(check("{\"sandboxId\":\"i1\",\"maxBytes\":null}"),
                        "{\"sandboxId\":\"i1\",\"limit\":100}");
    assert_string_equal(
        check("{\"sandboxId\":\"i1\",\"files\":[{\"path\":\"a\","
              "\"content\":\"\"}],\"fast\":false}"),
        "{\"sandboxId\":\"i1\",\"files\":[{\"path\":\"a\",\"encoding\":"
        "\"utf8\",\"content\":\"\"}],\"limit\":100,\"fast\":false}");
}

static void each_mistake_names_its_place(void **state)
{
    static const struct {
        const char *in, *message;
    } cases[] = {
        { "{}", "t.x: sandboxId: expected string, got nil" },
        { "[]", "t.x: sandboxId: expected string, got nil" },
        { "null", "t.x: sandboxId: expected string, got nil" },
        { "[1]", "t.x: expected map, got list" },
        { "\"i1\"", "t.x: expected map, got string" },
        { "{\"sandboxId\":\" \\n\"}", "t.x: sandboxId: must not be blank" },
        { "{\"sandboxId\":7}", "t.x: sandboxId: expected string, got number" },
        { "{\"sandboxID\":\"i1\"}",
          "t.x: unknown field 'sandboxID' (did you mean 'sandboxId'?)" },
        { "{\"sandboxId\":\"i\",\"tiemoutMs\":1}",
          "t.x: unknown field 'tiemoutMs' (did you mean 'timeoutMs'?)" },
        { "{\"sandboxId\":\"i\",\"zzz\":1}", "t.x: unknown field 'zzz'" },
        { "{\"sandboxId\":\"i\",\"files\":[]}",
          "t.x: files: expected 1 to 3 entries, got 0" },
        { "{\"sandboxId\":\"i\",\"files\":{}}",
          "t.x: files: expected 1 to 3 entries, got 0" },
        { "{\"sandboxId\":\"i\",\"files\":{\"a\":1}}",
          "t.x: files: expected list, got map" },
        { "{\"sandboxId\":\"i\",\"files\":[1]}",
          "t.x: files[1]: expected map, got number" },
        { "{\"sandboxId\":\"i\",\"files\":[{\"path\":\"a\",\"content\":\"\"},"
          "{\"path\":\"b\"}]}",
          "t.x: files[2].content: expected string, got nil" },
        { "{\"sandboxId\":\"i\",\"files\":[{\"paht\":\"a\"}]}",
          "t.x: files[1]: unknown field 'paht' (did you mean 'path'?)" },
        { "{\"sandboxId\":\"i\",\"files\":[{\"path\":\"a\\u0000b\","
          "\"content\":\"\"}]}",
          "t.x: files[1].path: must not hold a NUL byte" },
        { "{\"sandboxId\":\"i\",\"files\":[{\"path\":\"a\",\"content\":\"\","
          "\"encoding\":\"utf16\"}]}",
          "t.x: files[1].encoding: expected one of utf8, base64, got "
          "\"utf16\"" },
        { "{\"sandboxId\":\"i\",\"maxBytes\":0}",
          "t.x: maxBytes: expected 1 to 64, got 0" },
        { "{\"sandboxId\":\"i\",\"maxBytes\":65}",
          "t.x: maxBytes: expected 1 to 64, got 65" },
        { "{\"sandboxId\":\"i\",\"maxBytes\":1.5}",
          "t.x: maxBytes: expected a whole number, got 1.5" },
        { "{\"sandboxId\":\"i\",\"maxBytes\":\"1\"}",
          "t.x: maxBytes: expected int, got string" },
        { "{\"sandboxId\":\"i\",\"timeoutMs\":0}",
          "t.x: timeoutMs: expected a number above 0, got 0" },
        { "{\"sandboxId\":\"i\",\"envs\":{\"A\":1}}",
          "t.x: envs.A: expected string, got number" },
        { "{\"sandboxId\":\"i\",\"envs\":{\"A\":\"\\u0000\"}}",
          "t.x: envs.A: must not hold a NUL byte" },
        { "{\"sandboxId\":\"i\",\"envs\":[\"A\"]}",
          "t.x: envs: expected map, got list" },
        { "{\"sandboxId\":\"i\",\"fast\":0}",
          "t.x: fast: expected bool, got number" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(check(cases[i].in), cases[i].message);
}

/* {"sandboxId":"i","<name>":"<text>"} checked, with text n times over. */
static const char *check_long(const char *name, const char *text, size_t n)
{
    char json[8192];
    size_t at = (size_t)snprintf(json, sizeof json,
                                 "{\"sandboxId\":\"i\",\"%s\":\"", name);

    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(json + at, sizeof json - at, "%s", text);
    snprintf(json + at, sizeof json - at, "\"}");
    return check(json);
}

static void an_id_is_what_fits_paths_and_headers(void **state)
{
    static const char *const wrong[] = { "",     "a b",      "a/b",
                                         "a\\n", "\xC3\xA9", "a?" };

    (void)state;
    assert_string_equal(check_long("id", "aZ09-_", 1),
                        "{\"sandboxId\":\"i\",\"limit\":100,\"id\":"
                        "\"aZ09-_\"}");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_non_null(strstr(check_long("id", wrong[i], 1),
                               "t.x: id: expected letters and digits (as t.y "
                               "gives it), at most 128, got \""));
    assert_null(strstr(check_long("id", "a", 128), "expected"));
    assert_non_null(strstr(check_long("id", "a", 129), "expected"));
}

static void a_path_is_what_linux_can_take(void **state)
{
    (void)state;
    assert_null(strstr(check_long("where", "n", 255), "at most"));
    assert_string_equal(check_long("where", "n", 256),
                        "t.x: where: a name of 256 bytes in it, at most 255");
    assert_null(strstr(check_long("where", "a/", 2047), "at most"));
    assert_string_equal(check_long("where", "a/", 2048),
                        "t.x: where: a path of 4096 bytes, at most 4095");
    assert_null(strstr(check_long("where", "//.~", 1), "at most"));
    assert_null(strstr(check_long("where", "/", 255), "at most"));
}

static void a_quoted_text_stays_on_its_line(void **state)
{
    (void)state;
    assert_string_equal(check("{\"sandboxId\":\"i\",\"a\\n\\u001b[2J\":1}"),
                        "t.x: unknown field 'a  [2J'");
}

static void numbers_become_what_the_field_wants(void **state)
{
    (void)state;
    assert_string_equal(check("{\"sandboxId\":\"i\",\"maxBytes\":2.0}"),
                        "{\"sandboxId\":\"i\",\"limit\":100,\"maxBytes\":2}");
    assert_string_equal(check("{\"sandboxId\":\"i\",\"limit\":-5}"),
                        "{\"sandboxId\":\"i\",\"limit\":1}");
    assert_string_equal(check("{\"sandboxId\":\"i\",\"limit\":1e300}"),
                        "{\"sandboxId\":\"i\",\"limit\":1000}");
    assert_string_equal(check("{\"sandboxId\":\"i\",\"limit\":2.9}"),
                        "{\"sandboxId\":\"i\",\"limit\":2}");
    assert_string_equal(
        check("{\"sandboxId\":\"i\",\"timeoutMs\":1.5}"),
        "{\"sandboxId\":\"i\",\"limit\":100,\"timeoutMs\":1.5}");
}

static void lua_s_empty_table_is_a_map_or_a_list_as_wanted(void **state)
{
    (void)state;
    assert_string_equal(check("{\"sandboxId\":\"i\",\"envs\":[]}"),
                        "{\"sandboxId\":\"i\",\"limit\":100,\"envs\":{}}");
}

static void an_input_is_bounded_as_a_whole(void **state)
{
    char *long_text = ebb_mem_zero(4000001);
    ebb_value *in = ebb_value_object();
    ebb_err err = { 0 };

    (void)state;
    memset(long_text, 'a', 4000000);
    ebb_value_set(in, "sandboxId", ebb_value_text(long_text));
    assert_null(ebb_fields_check("t.x", fields, COUNT, in, &err));
    assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
    ebb_value_free(in);
    ebb_mem_free(long_text);
}

static void hostile_names_are_quoted_short_and_whole(void **state)
{
    char json[400] = "{\"sandboxId\":\"i\",\"";

    (void)state;
    for (int i = 0; i < 60; i++)
        strcat(json, "\xC3\xA9");
    strcat(json, "\":1}");
    const char *message = check(json);
    assert_true(strlen(message) < 90);
    assert_string_equal(message + strlen(message) - 3, "\xC3\xA9'");
}

static void a_description_can_be_read_back(void **state)
{
    ebb_err err = { 0 };
    ebb_value *described = ebb_fields_describe(fields, COUNT), *again;
    size_t count = 0;
    ebb_field *parsed = ebb_fields_parse(described, &count, &err);

    (void)state;
    assert_non_null(parsed);
    assert_int_equal(count, COUNT);
    again = ebb_fields_describe(parsed, count);
    assert_true(ebb_value_equal(described, again));
    ebb_value_free(described);
    ebb_value_free(again);
    ebb_fields_free(parsed, count);
}

static void a_wrong_description_names_its_place(void **state)
{
    static const struct {
        const char *in, *message;
    } cases[] = {
        { "{}", "fields: expected a list of fields" },
        { "[{}]", "fields[1]: a field needs a name" },
        { "[{\"name\":\"a\",\"type\":\"text\"}]",
          "fields[1]: unknown type \"text\" (string, bool, int, number, "
          "map, list, any)" },
        { "[{\"name\":\"a\",\"choices\":[1]}]",
          "fields[1]: choices: expected strings" },
        { "[{\"name\":\"a\",\"choices\":[]}]",
          "fields[1]: choices: expected a list of strings" },
        { "[{\"name\":\"a\",\"type\":\"list\",\"items\":[{\"name\":\"b\","
          "\"type\":\"x\"}]}]",
          "fields[1].items[1]: unknown type \"x\" (string, bool, int, "
          "number, map, list, any)" },
    };
    ebb_err err = { 0 };
    size_t count;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ebb_value *in =
            ebb_value_parse(cases[i].in, strlen(cases[i].in), 0, &err);
        assert_null(ebb_fields_parse(in, &count, &err));
        assert_string_equal(err.msg, cases[i].message);
        ebb_value_free(in);
    }
}

static void descriptions_do_not_nest_for_ever(void **state)
{
    char json[2000] = "";
    ebb_err err = { 0 };
    size_t count;
    ebb_value *in;

    (void)state;
    for (int i = 0; i < 20; i++)
        strcat(json, "[{\"name\":\"a\",\"type\":\"list\",\"items\":");
    strcat(json, "[]");
    for (int i = 0; i < 20; i++)
        strcat(json, "}]");
    in = ebb_value_parse(json, strlen(json), 0, &err);
    assert_non_null(in);
    assert_null(ebb_fields_parse(in, &count, &err));
    assert_int_equal(err.code, EBB_INVALID_INPUT);
    ebb_value_free(in);
}

static void the_nearest_name_is_near(void **state)
{
    (void)state;
    assert_string_equal(ebb_fields_nearest("maxbytes", fields, COUNT),
                        "maxBytes");
    assert_string_equal(ebb_fields_nearest("env", fields, COUNT), "envs");
    assert_string_equal(ebb_fields_nearest("fiels", fields, COUNT), "files");
    assert_null(ebb_fields_nearest("", fields, COUNT));
    assert_null(ebb_fields_nearest("unrelated", fields, COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_filled_in_and_null_is_absent),
        cmocka_unit_test(each_mistake_names_its_place),
        cmocka_unit_test(an_id_is_what_fits_paths_and_headers),
        cmocka_unit_test(a_path_is_what_linux_can_take),
        cmocka_unit_test(a_quoted_text_stays_on_its_line),
        cmocka_unit_test(numbers_become_what_the_field_wants),
        cmocka_unit_test(lua_s_empty_table_is_a_map_or_a_list_as_wanted),
        cmocka_unit_test(an_input_is_bounded_as_a_whole),
        cmocka_unit_test(hostile_names_are_quoted_short_and_whole),
        cmocka_unit_test(a_description_can_be_read_back),
        cmocka_unit_test(a_wrong_description_names_its_place),
        cmocka_unit_test(descriptions_do_not_nest_for_ever),
        cmocka_unit_test(the_nearest_name_is_near),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
