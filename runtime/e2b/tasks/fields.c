/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/fields.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define TABLE(list)                                                            \
    {                                                                          \
        list, COUNT(list)                                                      \
    }

/* Times in ms stay below thirty years, where every sum of them is exact. */
#define TIME_MS_MAX 1e12

#define SANDBOX_ID                                                             \
    {                                                                          \
        .name = "sandboxId", .type = EBB_FIELD_STRING,                         \
        .flags = EBB_FIELD_REQUIRED | EBB_FIELD_NOT_BLANK | EBB_FIELD_ID,      \
        .help = "the sandbox, as e2b.createSandbox returns it"                 \
    }

#define LIMIT(of)                                                              \
    {                                                                          \
        .name = "limit", .type = EBB_FIELD_INT, .flags = EBB_FIELD_CLAMP,      \
        .otherwise = "100", .min = 1, .max = EBB_E2B_COLLECTION_MAX,           \
        .help = "how many " of " at most"                                      \
    }

#define BYTES(field, default_json, ceiling, text)                              \
    {                                                                          \
        .name = (field), .type = EBB_FIELD_INT, .otherwise = (default_json),   \
        .min = 1, .max = (ceiling), .help = (text)                             \
    }

static const char *const encodings[] = { "utf8", "base64", NULL };
static const char *const languages[] = { "python", "javascript", "typescript",
                                         "r",      "java",       "bash",
                                         NULL };
static const char *const directions[] = { "forward", "backward", NULL };
static const char *const levels[] = { "debug", "info", "warn", "error", NULL };

static const ebb_field create[] = {
    { .name = "idempotencyKey",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_REQUIRED | EBB_FIELD_NOT_BLANK | EBB_FIELD_NO_NUL,
      .help = "one key, one sandbox: the same key finds the same one again" },
    { .name = "template",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_NOT_BLANK | EBB_FIELD_NO_NUL,
      .otherwise = "\"code-interpreter-v1\"",
      .help = "what the sandbox is made of" },
    { .name = "timeoutMs",
      .type = EBB_FIELD_NUMBER,
      .flags = EBB_FIELD_POSITIVE,
      .min = 0,
      .max = TIME_MS_MAX,
      .help = "how long it lives; the server's default is 300,000" },
    { .name = "metadata",
      .type = EBB_FIELD_MAP,
      .flags = EBB_FIELD_NO_NUL,
      .help = "strings to find it by" },
    { .name = "envs",
      .type = EBB_FIELD_MAP,
      .flags = EBB_FIELD_NO_NUL,
      .help = "environment of everything in it" },
    { .name = "allowInternetAccess",
      .type = EBB_FIELD_BOOL,
      .help = "false: no network; else what the service offers" },
};
const ebb_e2b_fields ebb_e2b_fields_create = TABLE(create);

static const ebb_field get[] = { SANDBOX_ID };
const ebb_e2b_fields ebb_e2b_fields_get = TABLE(get);

static const ebb_field pause_[] = {
    SANDBOX_ID,
    { .name = "keepMemory",
      .type = EBB_FIELD_BOOL,
      .otherwise = "true",
      .help = "false: keep the disk only, processes end" },
};
const ebb_e2b_fields ebb_e2b_fields_pause = TABLE(pause_);

static const ebb_field resume[] = {
    SANDBOX_ID,
    { .name = "timeoutMs",
      .type = EBB_FIELD_NUMBER,
      .flags = EBB_FIELD_POSITIVE,
      .min = 0,
      .max = TIME_MS_MAX,
      .help = "how long it lives from now; the server's default is 300,000" },
};
const ebb_e2b_fields ebb_e2b_fields_resume = TABLE(resume);

static const ebb_field kill_[] = { SANDBOX_ID };
const ebb_e2b_fields ebb_e2b_fields_kill = TABLE(kill_);

static const ebb_field command[] = {
    SANDBOX_ID,
    { .name = "command",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_REQUIRED | EBB_FIELD_NO_NUL,
      .help = "for /bin/bash -l -c; at most 131,071 bytes" },
    { .name = "cwd",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_NO_NUL | EBB_FIELD_PATH,
      .help = "where it runs; the user's home when left out" },
    { .name = "envs",
      .type = EBB_FIELD_MAP,
      .flags = EBB_FIELD_NO_NUL,
      .help = "further environment; at most 1 MiB" },
    { .name = "timeoutMs",
      .type = EBB_FIELD_NUMBER,
      .otherwise = "60000",
      .min = 0,
      .max = TIME_MS_MAX,
      .help = "when it is killed; 0: never" },
    BYTES("maxOutputBytes", "65536", EBB_E2B_TEXT_BYTES_MAX,
          "of stdout and of stderr that are kept; all of it is counted"),
    { .name = "user",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_NOT_BLANK | EBB_FIELD_NO_NUL,
      .help = "who runs it; the template's user when left out" },
    { .name = "stdin",
      .type = EBB_FIELD_STRING,
      .help = "what it reads; /dev/null when left out" },
};
const ebb_e2b_fields ebb_e2b_fields_command = TABLE(command);

static const ebb_field code[] = {
    SANDBOX_ID,
    { .name = "code",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_REQUIRED,
      .help = "what to run; state persists between calls" },
    { .name = "language",
      .type = EBB_FIELD_STRING,
      .otherwise = "\"python\"",
      .choices = languages,
      .help = "of the code" },
    { .name = "envs",
      .type = EBB_FIELD_MAP,
      .flags = EBB_FIELD_NO_NUL,
      .help = "environment of this run; at most 1 MiB" },
    { .name = "timeoutMs",
      .type = EBB_FIELD_NUMBER,
      .otherwise = "60000",
      .min = 0,
      .max = TIME_MS_MAX,
      .help = "when it is interrupted; 0: never" },
    BYTES("maxOutputBytes", "65536", EBB_E2B_TEXT_BYTES_MAX,
          "of stdout, of stderr and of a traceback that are kept"),
    BYTES("maxResultBytes", "262144", EBB_E2B_TEXT_BYTES_MAX,
          "of all text results together"),
    BYTES("maxArtifactBytes", "524288", EBB_E2B_BINARY_BYTES_MAX,
          "of one picture; a larger one is an error"),
};
const ebb_e2b_fields ebb_e2b_fields_code = TABLE(code);

static const ebb_field write_items[] = {
    { .name = "path",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_REQUIRED | EBB_FIELD_NOT_BLANK | EBB_FIELD_NO_NUL |
               EBB_FIELD_PATH,
      .help = "where; missing directories are made" },
    { .name = "encoding",
      .type = EBB_FIELD_STRING,
      .otherwise = "\"utf8\"",
      .choices = encodings,
      .help = "of content" },
    { .name = "content",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_REQUIRED,
      .help = "the whole file" },
};
static const ebb_field write_[] = {
    SANDBOX_ID,
    { .name = "files",
      .type = EBB_FIELD_LIST,
      .flags = EBB_FIELD_REQUIRED,
      .min = 1,
      .max = EBB_E2B_WRITE_MAX,
      .items = write_items,
      .items_count = COUNT(write_items),
      .help = "the files, each path once; a failure lists them in "
              "details.written and details.mayBeWritten" },
    BYTES("maxTotalBytes", "1048576", EBB_E2B_BINARY_BYTES_MAX,
          "of all contents together, decoded"),
};
const ebb_e2b_fields ebb_e2b_fields_write = TABLE(write_);

static const ebb_field read_[] = {
    SANDBOX_ID,
    { .name = "path",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_REQUIRED | EBB_FIELD_NOT_BLANK | EBB_FIELD_NO_NUL |
               EBB_FIELD_PATH,
      .help = "the file" },
    { .name = "encoding",
      .type = EBB_FIELD_STRING,
      .otherwise = "\"utf8\"",
      .choices = encodings,
      .help = "base64 for anything that is not text" },
    BYTES("maxBytes", "262144", EBB_E2B_BINARY_BYTES_MAX,
          "a larger file is an error; at most 1,048,576 for utf8"),
};
const ebb_e2b_fields ebb_e2b_fields_read = TABLE(read_);

static const ebb_field list[] = {
    SANDBOX_ID,
    { .name = "path",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_REQUIRED | EBB_FIELD_NOT_BLANK | EBB_FIELD_NO_NUL |
               EBB_FIELD_PATH,
      .help = "the directory; its entries only, not theirs" },
    LIMIT("entries"),
};
const ebb_e2b_fields ebb_e2b_fields_list = TABLE(list);

static const ebb_field logs[] = {
    SANDBOX_ID,
    { .name = "cursor",
      .type = EBB_FIELD_INT,
      .min = 0,
      .max = 9e15,
      .help = "where to go on, in ms since 1970: the last answer's cursor" },
    { .name = "direction",
      .type = EBB_FIELD_STRING,
      .choices = directions,
      .help = "from the cursor on, or back from it; the server's default is "
              "backward" },
    { .name = "level",
      .type = EBB_FIELD_STRING,
      .choices = levels,
      .help = "the least severe one wanted" },
    { .name = "search",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_NO_NUL,
      .help = "what a line must hold; at most 256 bytes" },
    LIMIT("lines"),
    BYTES("maxBytes", "262144", EBB_E2B_TEXT_BYTES_MAX,
          "of all messages together"),
};
const ebb_e2b_fields ebb_e2b_fields_logs = TABLE(logs);

static const ebb_field metrics[] = {
    SANDBOX_ID,
    { .name = "start",
      .type = EBB_FIELD_STRING,
      .help = "ISO 8601 with a zone, such as 2026-11-29T15:00:00Z" },
    { .name = "end", .type = EBB_FIELD_STRING, .help = "ISO 8601 with a zone" },
    LIMIT("samples"),
};
const ebb_e2b_fields ebb_e2b_fields_metrics = TABLE(metrics);
