/* SPDX-License-Identifier: MIT */
#include "wire/proto_shape.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define SECONDS_MIN INT64_C(-62135596800) /* 0001-01-01 */
#define SECONDS_MAX INT64_C(253402300799) /* 9999-12-31 */
#define NANOS_MAX   999999999
#define TO_SECOND   19 /* characters of 2006-01-02T15:04:05 */

/* The next character of a field's name in JSON; moves over it. */
static char next_camel(const char **name)
{
    bool upper = false;
    char c;

    for (; **name == '_'; (*name)++)
        upper = true;
    c = **name;
    if (c != '\0')
        (*name)++;
    if (upper && c >= 'a' && c <= 'z')
        c = (char)(c - 'a' + 'A');
    return c;
}

void ebb_proto_json_name(const char *name, char out[EBB_PROTO_NAME_BYTES])
{
    size_t n = 0;
    char c;

    while (n + 1 < EBB_PROTO_NAME_BYTES && (c = next_camel(&name)) != '\0')
        out[n++] = c;
    out[n] = '\0';
}

static bool is_json_name(const char *name, const char *key)
{
    char c;

    do
        c = next_camel(&name);
    while (c == *key++ && c != '\0');
    return c == '\0' && key[-1] == '\0';
}

const ProtobufCFieldDescriptor *ebb_proto_json_field(
    const ProtobufCMessageDescriptor *descriptor, const char *key)
{
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[i];

        if (strcmp(field->name, key) == 0 || is_json_name(field->name, key))
            return field;
    }
    return NULL;
}

bool ebb_proto_is_map(const ProtobufCFieldDescriptor *field)
{
    const ProtobufCMessageDescriptor *entry = field->descriptor;
    size_t n;

    if (field->label != PROTOBUF_C_LABEL_REPEATED ||
        field->type != PROTOBUF_C_TYPE_MESSAGE || entry->n_fields != 2)
        return false;
    n = strlen(entry->short_name);
    return n > 5 && strcmp(entry->short_name + n - 5, "Entry") == 0 &&
           entry->fields[0].id == 1 && entry->fields[1].id == 2 &&
           strcmp(entry->fields[0].name, "key") == 0 &&
           strcmp(entry->fields[1].name, "value") == 0;
}

bool ebb_proto_is_timestamp(const ProtobufCMessageDescriptor *descriptor)
{
    return strcmp(descriptor->name, "google.protobuf.Timestamp") == 0;
}

bool ebb_proto_time_write(int64_t seconds, int32_t nanos,
                          char out[EBB_PROTO_TIME_BYTES])
{
    char iso[EBB_CLOCK_ISO_BYTES], digits[16];
    int n = 9;

    if (seconds < SECONDS_MIN || seconds > SECONDS_MAX || nanos < 0 ||
        nanos > NANOS_MAX)
        return false;
    ebb_clock_iso(seconds * 1000, iso);
    snprintf(digits, sizeof digits, "%09d", (int)nanos);
    while (n > 0 && memcmp(digits + n - 3, "000", 3) == 0)
        n -= 3;
    snprintf(out, EBB_PROTO_TIME_BYTES, "%.*s%s%.*sZ", TO_SECOND, iso,
             n > 0 ? "." : "", n, digits);
    return true;
}

bool ebb_proto_time_parse(const char *text, int64_t *seconds, int32_t *nanos)
{
    int64_t ms, part;
    int digits = 0;

    if (!ebb_clock_parse_iso(text, &ms))
        return false;
    part = (ms % 1000 + 1000) % 1000;
    *seconds = (ms - part) / 1000;
    *nanos = 0;
    if (text[TO_SECOND] == '.')
        for (const char *p = text + TO_SECOND + 1; *p >= '0' && *p <= '9';
             p++) {
            if (++digits > 9)
                return false;
            *nanos = *nanos * 10 + (*p - '0');
        }
    for (; digits < 9; digits++)
        *nanos *= 10;
    return *seconds >= SECONDS_MIN && *seconds <= SECONDS_MAX;
}
